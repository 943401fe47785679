//! Tasks that move on.

use super::world::*;
use crate::Code;
use crate::generated::machines::Decision;
use crate::kernel::{Principal, Status};
use alloc::{format, string::String};
use serde_json::{Value, json};

fn update(task: &Principal, runtime: Value, revision: i64) -> Value {
    json!({"task": reference(task), "runtime": runtime, "expectedRevision": revision})
}

fn decided(world: &World, message: &str) -> (Decision, Option<String>) {
    let life = world.life(message);
    (life.decision, life.reason)
}

#[test]
fn an_update_keeps_what_it_does_not_name_and_marks_stale_what_does_not_fit() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    world.send(&survey, &bridge, "msg_steer-0001", "steer");
    world.send(&survey, &bridge, "msg_tell-0001", "suggest");
    let mut other = message(world.now, &survey, &bridge, "msg_run-0001", "interrupt");
    other["envelope"]["freshness"] = json!({"expectedRunId": "run-1"});
    world.call(&survey, "messages.send", other).ok();

    let keyed = with(update(&bridge, json!({"objectiveVersion": 2}), 0), json!({"idempotencyKey": "idem_update-1"}));
    let updated = world.call(&bridge, "tasks.updateRuntime", keyed.clone()).ok();
    assert_eq!(updated["runtime"], json!({"runId": "run-1", "objectiveVersion": 2, "checkpoint": "start"}));
    assert_eq!(updated["revision"], 1);
    assert_eq!(world.call(&bridge, "tasks.updateRuntime", keyed).status, Status::Replayed);
    assert_eq!(decided(&world, "msg_steer-0001"), (Decision::Stale, Some("stale-objective".into())));
    assert_eq!(decided(&world, "msg_run-0001"), (Decision::Pending, None));
    assert_eq!(world.events("msg_steer-0001"), ["message-durably-received", "message-stale"]);
    let seen = world.call(&survey, "messages.getDisposition", named(&survey, "msg_steer-0001")).ok();
    assert_eq!((&seen["decision"], &seen["revision"]), (&json!("stale"), &json!(1)));

    let back = update(&bridge, json!({"objectiveVersion": 1}), 1);
    assert_eq!(world.call(&user("alice"), "tasks.updateRuntime", back).code(), Code::RuntimeRegression);
    let late = update(&bridge, json!({"runId": "run-2"}), 0);
    assert_eq!(world.call(&policy("board"), "tasks.updateRuntime", late).code(), Code::RevisionConflict);
    let next = update(&bridge, json!({"runId": "run-2"}), 1);
    for stranger in [user("bob"), survey.clone()] {
        assert_eq!(world.call(&stranger, "tasks.updateRuntime", next.clone()).code(), Code::NotVisible);
    }
    for stranger in [operator(), host()] {
        assert_eq!(world.call(&stranger, "tasks.updateRuntime", next.clone()).rule(), "TK-5");
    }
    world.call(&policy("board"), "tasks.updateRuntime", next).ok();
    assert_eq!(decided(&world, "msg_run-0001"), (Decision::Stale, Some("stale-run".into())));
    assert_eq!(decided(&world, "msg_tell-0001"), (Decision::Pending, None));
    world.check();
}

#[test]
fn stale_mail_is_marked_in_pages_and_what_still_fits_is_passed_over() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    for index in 0..130 {
        if index % 25 == 0 {
            world.now += 60_000;
        }
        let mut steer = message(world.now, &survey, &bridge, &format!("msg_steer-{index:04}"), "steer");
        if index % 2 == 0 {
            steer["envelope"]["freshness"] = json!({"expectedRunId": "run-1"});
        }
        world.call(&survey, "messages.send", steer).ok();
    }
    let reply = world.call(&bridge, "tasks.updateRuntime", update(&bridge, json!({"objectiveVersion": 7}), 0));
    assert_eq!(reply.pages, 3);
    let stale = world.lives().iter().filter(|life| life.decision == Decision::Stale).count();
    assert_eq!(stale, 65);
    world.check();
}

fn rotation(old: &Principal, new: &Principal, revision: i64) -> Value {
    json!({"previous": reference(old), "next": registration(new)["task"], "expectedRevision": revision})
}

#[test]
fn a_rotation_retires_and_its_open_mail_is_stale() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let (second, alice) = (incarnation("alice", "bridge", 2), user("alice"));
    for index in 0..120 {
        world.send(&survey, &bridge, &format!("msg_river-{index:04}"), "suggest");
    }
    world.accept(&survey, &bridge, "msg_river-0007");
    let quiet = json!({"task": reference(&bridge), "consent": {"mute": true}, "expectedRevision": 0});
    world.call(&bridge, "tasks.setConsent", quiet).ok();

    assert_eq!(world.call(&bridge, "tasks.rotateIncarnation", rotation(&bridge, &second, 1)).rule(), "OP-3");
    assert_eq!(
        world.call(&user("bob"), "tasks.rotateIncarnation", rotation(&bridge, &second, 1)).code(),
        Code::NotVisible
    );
    assert_eq!(
        world.call(&alice, "tasks.rotateIncarnation", rotation(&bridge, &second, 0)).code(),
        Code::RevisionConflict
    );
    let renamed = rotation(&bridge, &incarnation("alice", "tower", 2), 1);
    assert_eq!(world.call(&alice, "tasks.rotateIncarnation", renamed).code(), Code::TaskRotationMismatch);
    let same = rotation(&bridge, &bridge, 1);
    assert_eq!(world.call(&alice, "tasks.rotateIncarnation", same).code(), Code::IncarnationConflict);

    let keyed = with(rotation(&bridge, &second, 1), json!({"idempotencyKey": "idem_rotate-1"}));
    let reply = world.call(&alice, "tasks.rotateIncarnation", keyed.clone());
    assert_eq!(reply.pages, 3);
    let rotated = reply.ok();
    assert_eq!(rotated["previous"]["revision"], 2);
    assert_eq!(rotated["current"]["incarnationId"], "inc_bridge-0002");
    assert_eq!(rotated["current"]["consent"]["mute"], true);
    let again = world.call(&alice, "tasks.rotateIncarnation", keyed);
    assert_eq!((again.status, again.value), (Status::Replayed, rotated));

    assert_eq!(decided(&world, "msg_river-0000"), (Decision::Stale, Some("stale-incarnation".into())));
    assert_eq!(decided(&world, "msg_river-0007"), (Decision::Accepted, Some("accepted".into())));
    assert_eq!(world.lives().iter().filter(|life| life.decision == Decision::Stale).count(), 119);
    let old = json!({"receiver": reference(&bridge)});
    assert_eq!(world.call(&bridge, "mailbox.listPending", old).code(), Code::TaskRetired);
    assert_eq!(world.call(&bridge, "tasks.get", json!({"task": reference(&bridge)})).code(), Code::TaskRetired);
    assert_eq!(
        world.call(&bridge, "messages.getDisposition", named(&survey, "msg_river-0000")).code(),
        Code::TaskRetired
    );
    let get = world.call(&alice, "tasks.get", json!({"task": reference(&bridge)})).ok();
    assert_eq!(get["state"], "archived");
    let third = incarnation("alice", "bridge", 3);
    assert_eq!(world.call(&alice, "tasks.register", registration(&third)).code(), Code::TaskLive);
    world.call(&policy("board"), "tasks.rotateIncarnation", rotation(&second, &third, 0)).ok();
    world.check();
}

#[test]
fn a_successor_sees_the_attempts_that_it_inherits() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.accept(&survey, &bridge, "msg_river-0001");
    let submission = world.begin(&survey, &bridge, "msg_river-0001");
    let second = incarnation("alice", "bridge", 2);
    world.call(&user("alice"), "tasks.rotateIncarnation", rotation(&bridge, &second, 0)).ok();
    let get = json!({ "submissionId": submission });
    assert_eq!(world.call(&bridge, "adapter.getSubmission", get.clone()).code(), Code::TaskRetired);
    world.call(&second, "adapter.getSubmission", get.clone()).ok();
    let never = incarnation("alice", "bridge", 3);
    assert_eq!(world.call(&never, "adapter.getSubmission", get).code(), Code::NotVisible);
    let receipt = json!({"submissionId": submission, "expectedRevision": 1,
        "receipt": {"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"}});
    assert_eq!(world.call(&second, "adapter.recordReceipt", receipt.clone()).code(), Code::SubmissionSettling);
    world.now += 100_000;
    let recorded = world.call(&second, "adapter.recordReceipt", receipt).ok();
    assert_eq!(recorded["disposition"]["outcome"], "not-observed");
    let claim = with(named(&survey, "msg_river-0001"), json!({"expectedRevision": 2}));
    assert_eq!(world.call(&second, "mailbox.claim", claim).code(), Code::NotVisible);
    world.check();
}

#[test]
fn consent_is_set_in_parts_and_cleared_with_null() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    let set = |consent: Value, revision: i64| json!({"task": reference(&bridge), "consent": consent, "expectedRevision": revision});
    let until = "2026-06-01T09:00:00.000Z";
    let quiet = world.call(&bridge, "tasks.setConsent", set(json!({"doNotDisturbUntil": until}), 0)).ok();
    assert_eq!(quiet["consent"], json!({"mute": false, "doNotDisturbUntil": until}));
    let steer = message(world.now, &survey, &bridge, "msg_steer-0001", "steer");
    assert_eq!(world.call(&survey, "messages.send", steer.clone()).code(), Code::ConsentDenied);
    world.send(&survey, &bridge, "msg_tell-0001", "suggest");
    let muted = world.call(&user("alice"), "tasks.setConsent", set(json!({"mute": true}), 1)).ok();
    assert_eq!(muted["consent"], json!({"mute": true, "doNotDisturbUntil": until}));
    let tell = message(world.now, &survey, &bridge, "msg_tell-0002", "suggest");
    assert_eq!(world.call(&survey, "messages.send", tell).code(), Code::ConsentDenied);
    let open = set(json!({"mute": false, "doNotDisturbUntil": null}), 2);
    let keyed = with(open, json!({"idempotencyKey": "idem_consent-1"}));
    let open = world.call(&bridge, "tasks.setConsent", keyed.clone()).ok();
    assert_eq!(open["consent"], json!({"mute": false}));
    assert_eq!(world.call(&bridge, "tasks.setConsent", keyed).status, Status::Replayed);
    world.call(&survey, "messages.send", steer).ok();
    assert_eq!(world.call(&survey, "tasks.setConsent", set(json!({"mute": true}), 3)).code(), Code::NotVisible);
    assert_eq!(world.call(&bridge, "tasks.setConsent", set(json!({}), 3)).code(), Code::ParamsInvalid);
}
