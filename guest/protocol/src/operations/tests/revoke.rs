//! Revoking.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Claim, Decision, Delivery, Submission};
use crate::kernel::{Decision as Decided, Principal, Request, Status};
use alloc::{format, string::String};
use serde_json::{Value, json};

fn revocation(version: i64) -> Value {
    json!({"grantId": format!("grant_survey-bridge-{version}"), "expectedGrantVersion": version})
}

fn decided(world: &World, message: &str) -> (Decision, Option<String>) {
    let life = world.life(message);
    (life.decision, life.reason)
}

#[test]
fn a_revocation_acts_at_once_and_marks_steers_but_not_advice() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    for (id, intent) in [("msg_steer-0001", "steer"), ("msg_steer-0002", "steer"), ("msg_tell-0001", "suggest")] {
        world.send(&survey, &bridge, id, intent);
    }
    world.send(&survey, &bridge, "msg_steer-0003", "steer");
    world.accept(&survey, &bridge, "msg_steer-0001");
    let prepare = with(named(&survey, "msg_steer-0001"), json!({"expectedRevision": 1}));
    let prepared = world.call(&bridge, "adapter.prepareSubmission", prepare).ok();
    let claim = with(named(&survey, "msg_steer-0002"), json!({"expectedRevision": 0}));
    world.call(&bridge, "mailbox.claim", claim.clone()).ok();
    let reject = with(named(&survey, "msg_steer-0003"), json!({"expectedRevision": 0, "decision": "rejected"}));
    world.call(&bridge, "messages.respond", reject).ok();

    let alice = user("alice");
    assert_eq!(
        world.call(&alice, "relationships.revoke", with(revocation(1), json!({"expectedGrantVersion": 2}))).rule(),
        "OP-7"
    );
    let keyed = with(revocation(1), json!({"idempotencyKey": "idem_revoke-1"}));
    let revoked = world.call(&alice, "relationships.revoke", keyed.clone()).ok();
    let at = "2026-06-01T08:00:00.000Z";
    let expected = |invalidated: i64, replay: bool| {
        json!({"grantId": "grant_survey-bridge-1", "grantVersion": 1, "revokedAt": at,
            "invalidatedMessages": invalidated, "remaining": false, "replay": replay})
    };
    assert_eq!(revoked, expected(2, false));
    world.now += 10;
    let again = world.call(&alice, "relationships.revoke", keyed);
    assert_eq!((again.status, again.value), (Status::Replayed, expected(0, true)));
    assert_eq!(world.call(&policy("board"), "relationships.revoke", revocation(1)).ok(), expected(0, true));

    assert_eq!(decided(&world, "msg_steer-0001"), (Decision::Revoked, Some("revoked".into())));
    assert_eq!(decided(&world, "msg_steer-0002"), (Decision::Revoked, Some("revoked".into())));
    assert_eq!(decided(&world, "msg_steer-0003").0, Decision::Rejected);
    assert_eq!(decided(&world, "msg_tell-0001").0, Decision::Pending);
    assert_eq!(world.life("msg_steer-0002").claim.unwrap().state, Claim::Free);
    assert_eq!(
        world.events("msg_steer-0001")[2..],
        ["receiver-decided", "adapter-submission-prepared", "authorization-revoked"]
    );
    let begin = json!({"submissionId": prepared["submission"]["submissionId"], "expectedRevision": 1});
    assert_eq!(world.call(&bridge, "adapter.beginSubmission", begin).code(), Code::PolicyDenied);
    let listed = world.call(&bridge, "mailbox.listPending", json!({"receiver": reference(&bridge)})).ok();
    assert_eq!(listed["items"], json!([]));
    let claim = with(named(&survey, "msg_tell-0001"), json!({"expectedRevision": 0}));
    assert_eq!(world.call(&bridge, "mailbox.claim", claim).rule(), "PO-3");
    let later = message(world.now, &survey, &bridge, "msg_tell-0002", "suggest");
    assert_eq!(world.call(&survey, "messages.send", later).rule(), "PO-3");
    world.check();
}

#[test]
fn an_unknown_attempt_is_marked_when_it_is_resolved() {
    for found in [true, false] {
        let mut world = World::new();
        let (survey, bridge) = world.pair("supervisor");
        world.send(&survey, &bridge, "msg_steer-0001", "steer");
        world.accept(&survey, &bridge, "msg_steer-0001");
        let submission = world.begin(&survey, &bridge, "msg_steer-0001");
        let revoked = world.call(&user("alice"), "relationships.revoke", revocation(1)).ok();
        assert_eq!(revoked["invalidatedMessages"], 0);
        let life = world.life("msg_steer-0001");
        assert_eq!(
            (life.decision, life.revision, life.pending_relabel),
            (Decision::Accepted, 1, Some("revoked".into()))
        );
        world.now += 60_000;
        let query = json!({"submissionId": submission, "evidenceRefs": ["log:1"]});
        let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
        let query = match found {
            true => with(query, json!({"result": "found", "receipt": receipt})),
            false => with(query, json!({"result": "absent-final"})),
        };
        world.call(&host(), "adapter.recordQuery", query).ok();
        let life = world.life("msg_steer-0001");
        assert_eq!((life.decision, life.pending_relabel), (Decision::Revoked, None));
        let delivery = if found { Delivery::AdapterSubmitted } else { Delivery::DurablyReceived };
        assert_eq!(life.delivery, delivery);
        world.check();
    }
}

#[test]
fn a_quarantined_attempt_keeps_the_revocation_until_the_operator_ends_it() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    world.send(&survey, &bridge, "msg_steer-0001", "steer");
    world.accept(&survey, &bridge, "msg_steer-0001");
    let submission = world.begin(&survey, &bridge, "msg_steer-0001");
    world.now += 60_000;
    let reconcile = |resolution: &str| {
        json!({"submissionId": submission, "expectedRevision": 1,
            "reconciliation": {"resolution": resolution, "evidenceRefs": ["log:1"]}})
    };
    world.call(&bridge, "adapter.reconcileSubmission", reconcile("manual-required")).ok();
    world.call(&user("alice"), "relationships.revoke", revocation(1)).ok();
    assert_eq!(world.life("msg_steer-0001").decision, Decision::Accepted);
    world.call(&operator(), "adapter.reconcileSubmission", reconcile("confirmed-not-submitted")).ok();
    let life = world.life("msg_steer-0001");
    assert_eq!((life.decision, life.attempt.unwrap().state), (Decision::Revoked, Submission::ConfirmedNotSubmitted));
    world.check();
}

#[test]
fn many_messages_are_marked_in_pages_and_a_repeated_call_goes_on_where_a_crash_ended() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    for index in 0..120 {
        if index % 25 == 0 {
            world.now += 60_000;
        }
        world.send(&survey, &bridge, &format!("msg_steer-{index:04}"), "steer");
    }
    let mut crashed = world.clone();
    let reply = world.call(&user("alice"), "relationships.revoke", revocation(1));
    assert_eq!(reply.pages, 3);
    let first = reply.ok();
    assert_eq!((&first["invalidatedMessages"], &first["remaining"]), (&json!(50), &json!(true)));
    let count = |world: &World| world.lives().iter().filter(|life| life.decision == Decision::Revoked).count();
    assert_eq!(count(&world), 120);
    world.check();

    let request = crashed.request(&user("alice"), "relationships.revoke", revocation(1));
    assert!(matches!(crashed.turn(&request), Turn::Done(decision) if decision.proceed.is_some()));
    assert_eq!(count(&crashed), 50);
    let next = crashed.call(&user("alice"), "relationships.revoke", revocation(1)).ok();
    assert_eq!((&next["invalidatedMessages"], &next["replay"]), (&json!(50), &json!(true)));
    assert_eq!(count(&crashed), 120);
}

/// Two owners may use the same ids, so that the params of a revocation may mean another grant by the time of its next page.
#[test]
fn what_is_left_is_of_the_grant_that_was_revoked() {
    let mut world = World::new();
    let (alice, survey, bridge) = (user("alice"), task("alice", "survey"), task("alice", "bridge"));
    for one in [&survey, &bridge] {
        world.call(&alice, "tasks.register", registration(one)).ok();
    }
    world.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, "supervisor", 1)).ok();
    for index in 0..60 {
        world.now += i64::from(index % 25 == 0) * 60_000;
        world.send(&survey, &bridge, &format!("msg_steer-{index:04}"), "steer");
    }
    let request = world.request(&alice, "relationships.revoke", revocation(1));
    let Turn::Done(Decided { proceed: Some(cursor), .. }) = world.turn(&request) else { panic!("nothing is left") };
    let mut own = grant(&survey, &bridge, "supervisor", 1);
    own["grant"]["relationshipId"] = "rel_another".into();
    world.call(&alice, "relationships.grant", own).ok();
    let rest = |cursor: &str| Request { cursor: Some(cursor.into()), ..request.clone() };
    let Turn::Done(decision) = world.turn(&rest(&cursor)) else { panic!("it waits") };
    assert_eq!((decision.status, decision.proceed), (Status::Accepted, None));
    assert!(world.lives().iter().all(|life| life.decision == Decision::Revoked), "all of it is done");
    assert_eq!(world.call(&alice, "relationships.revoke", revocation(1)).ok()["replay"], false, "hers stood until now");
}

#[test]
fn only_issuer_target_owner_and_policy_revoke() {
    let mut world = World::new();
    let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
    world.call(&user("alice"), "tasks.register", registration(&survey)).ok();
    world.call(&user("bob"), "tasks.register", registration(&bridge)).ok();
    world.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, "supervisor", 1)).ok();
    let mut revoke = |who: &Principal| world.call(who, "relationships.revoke", revocation(1));
    assert_eq!(revoke(&user("alice")).code(), Code::GrantRevokeDenied);
    assert_eq!(revoke(&user("carol")).code(), Code::NotVisible);
    assert_eq!(revoke(&bridge).code(), Code::ControlPlaneRequired);
    assert_eq!(revoke(&operator()).code(), Code::ControlPlaneRequired);
    assert_eq!(revoke(&user("bob")).ok()["replay"], false);
    assert_eq!(revoke(&policy("other")).ok()["replay"], true);
    let missing = json!({"grantId": "grant_nothing", "expectedGrantVersion": 1});
    let missing = world.call(&user("carol"), "relationships.revoke", missing);
    let foreign = world.call(&user("carol"), "relationships.revoke", revocation(1));
    assert_eq!(missing.value, foreign.value);
}

#[test]
fn a_revoked_version_shadows_older_ones_and_a_newer_one_follows() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let alice = user("alice");
    world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 2)).ok();
    world.call(&alice, "relationships.revoke", revocation(2)).ok();
    let send = |world: &mut World, id: &str| {
        let params = message(world.now, &survey, &bridge, id, "suggest");
        world.call(&survey, "messages.send", params)
    };
    assert_eq!(send(&mut world, "msg_river-0001").rule(), "PO-3");
    // Revoking what is superseded changes nothing about the route.
    world.call(&alice, "relationships.revoke", revocation(1)).ok();
    assert_eq!(send(&mut world, "msg_river-0001").rule(), "PO-3");
    let again = world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 2)).ok();
    assert_eq!(again["revokedAt"], "2026-06-01T08:00:00.000Z");
    world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 3)).ok();
    send(&mut world, "msg_river-0001").ok();
    world.check();
}
