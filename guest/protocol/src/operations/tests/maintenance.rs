//! Expiry sweeps.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Claim, Decision, Delivery};
use crate::kernel::Status;
use alloc::format;
use serde_json::json;

#[test]
fn a_sweep_expires_what_is_due_and_no_more() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let alice = user("alice");
    for index in 0..5 {
        world.send(&survey, &bridge, &format!("msg_river-{index:04}"), "suggest");
        world.now += 1000;
    }
    world.accept(&survey, &bridge, "msg_river-0001");
    let claim = with(named(&survey, "msg_river-0002"), json!({"expectedRevision": 0}));
    world.call(&bridge, "mailbox.claim", claim).ok();
    world.now = START + 600_000 + 2999;
    assert_eq!(world.call(&bridge, "maintenance.expireDue", json!({})).code(), Code::ControlPlaneRequired);
    let bob = world.call(&user("bob"), "maintenance.expireDue", json!({})).ok();
    assert_eq!((&bob["expired"], &bob["hasMore"]), (&json!([]), &json!(false)));
    let first = world.call(&alice, "maintenance.expireDue", json!({"limit": 2})).ok();
    let expired = |index: i64, revision: i64| json!({"senderIncarnationId": "inc_survey-0001", "messageId": format!("msg_river-{index:04}"), "revision": revision});
    assert_eq!(first["expired"], json!([expired(0, 1), expired(1, 2)]));
    assert_eq!(first["hasMore"], true);
    let keyed = json!({"limit": 1000, "idempotencyKey": "idem_sweep-1"});
    let second = world.call(&policy("board"), "maintenance.expireDue", keyed.clone()).ok();
    assert_eq!(second["expired"], json!([expired(2, 1)]));
    assert_eq!(second["hasMore"], false);
    world.now += 500;
    let again = world.call(&policy("board"), "maintenance.expireDue", keyed);
    assert_eq!((again.status, again.value), (Status::Replayed, second));

    let states = |id: &str| {
        let life = world.life(id);
        (life.delivery, life.decision, life.claim.map(|claim| claim.state))
    };
    assert_eq!(states("msg_river-0000"), (Delivery::Expired, Decision::Expired, None));
    assert_eq!(states("msg_river-0001"), (Delivery::Expired, Decision::Accepted, Some(Claim::Acknowledged)));
    assert_eq!(states("msg_river-0002"), (Delivery::Expired, Decision::Expired, Some(Claim::Free)));
    assert_eq!(states("msg_river-0003"), (Delivery::DurablyReceived, Decision::Pending, None));
    assert_eq!(world.events("msg_river-0000"), ["message-durably-received", "message-expired"]);
    world.check();
}

#[test]
fn a_sweep_reads_what_it_expires_and_not_the_mailbox() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for index in 0..300 {
        world.send(&survey, &bridge, &format!("msg_river-{index:04}"), "suggest");
        world.now += 1000;
    }
    world.now = START + 601_500;
    let swept = world.call(&user("alice"), "maintenance.expireDue", json!({}));
    assert!(swept.rows_read <= 6, "{} rows", swept.rows_read);
    assert_eq!(swept.ok()["expired"].as_array().unwrap().len(), 2);
    let nothing = world.call(&user("alice"), "maintenance.expireDue", json!({"idempotencyKey": "idem_sweep-1"})).ok();
    world.now += 1;
    let again = world.call(&user("alice"), "maintenance.expireDue", json!({"idempotencyKey": "idem_sweep-1"}));
    assert_eq!((again.status, again.value), (Status::Replayed, nothing));
    world.check();
}

#[test]
fn unknown_attempts_are_not_swept_until_they_are_resolved() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.accept(&survey, &bridge, "msg_river-0001");
    let submission = world.begin(&survey, &bridge, "msg_river-0001");
    world.now += 700_000;
    let swept = world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    assert_eq!(swept["expired"], json!([]));
    let resolution = json!({"submissionId": submission, "expectedRevision": 1,
        "reconciliation": {"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]}});
    world.call(&operator(), "adapter.reconcileSubmission", resolution).ok();
    let swept = world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    assert_eq!(swept["expired"].as_array().unwrap().len(), 1);
    world.check();
}

#[test]
fn a_user_sweeps_only_between_its_own_tasks() {
    let mut world = World::new();
    let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
    world.call(&user("alice"), "tasks.register", registration(&survey)).ok();
    world.call(&user("bob"), "tasks.register", registration(&bridge)).ok();
    world.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, "peer", 1)).ok();
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.now += 600_000;
    for owner in ["alice", "bob"] {
        assert_eq!(world.call(&user(owner), "maintenance.expireDue", json!({})).ok()["expired"], json!([]));
    }
    let swept = world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    assert_eq!(swept["expired"].as_array().unwrap().len(), 1);
    world.check();
}
