//! What is recorded of messages beside decisions and attempts, and what that costs.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Delivery, Outcome};
use crate::kernel::Principal;
use alloc::{format, string::ToString, vec::Vec};
use serde_json::{Value, json};

fn params(source: &Principal, id: &str, revision: i64, more: Value) -> Value {
    with(with(named(source, id), json!({ "expectedRevision": revision })), more)
}

/// A submitted message of an interrupt, at revision 2.
fn interrupt(world: &mut World, source: &Principal, target: &Principal, id: &str) {
    world.send(source, target, id, "interrupt");
    world.accept(source, target, id);
    let submission = world.begin(source, target, id);
    let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    let params = json!({"submissionId": submission, "expectedRevision": 1, "receipt": receipt});
    world.call(&host(), "adapter.recordReceipt", params).ok();
}

fn result(target: &Principal, id: &str, states: &[&str]) -> Value {
    let at = "2026-06-01T08:00:00Z";
    let one = |name: &str, state: &str| match state {
        "cancelled" => json!({"targetId": name, "state": state, "observedAt": at, "reasonCode": "accepted"}),
        _ => json!({"targetId": name, "state": state, "observedAt": at, "detail": "The northern pier is closed."}),
    };
    let tools: Vec<Value> = states.iter().enumerate().map(|(at, state)| one(&format!("tool-{at}"), state)).collect();
    json!({"result": {
        "specVersion": "0.0-draft", "interruptionId": "int_river-0001", "messageId": id, "receiver": reference(target),
        "requestedAt": at, "updatedAt": at,
        "results": {
            "modelTurn": one("turn-1", "not-running"), "toolCalls": {"enumeration": "complete", "targets": tools},
            "subprocesses": {"enumeration": "unavailable", "targets": []},
        },
    }})
}

#[test]
fn a_message_is_persisted_where_a_coordinator_took_it_first() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    // As a host would store it that takes messages before it writes them down.
    world.edit("life", |life| life["delivery"] = "control-plane-accepted".into());
    let persist = params(&survey, "msg_river-0001", 0, json!({"delivery": "durably-received"}));
    assert_eq!(world.call(&bridge, "messages.recordDelivery", persist.clone()).rule(), "DF-1");
    let notify = params(&survey, "msg_river-0001", 0, json!({"delivery": "receiver-notified"}));
    assert_eq!(world.call(&host(), "messages.recordDelivery", notify).code(), Code::TransitionIllegal);
    world.call(&host(), "messages.recordDelivery", persist).ok();
    assert_eq!(world.life("msg_river-0001").delivery, Delivery::DurablyReceived);
    world.check();
}

#[test]
fn a_receipt_does_not_close_an_interrupt() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    for (id, states, outcome) in [
        ("msg_river-0001", ["cancelled", "not-running"], Outcome::EffectObserved),
        ("msg_river-0002", ["not-running", "not-cancellable"], Outcome::Failed),
        ("msg_river-0003", ["cancelled", "requested"], Outcome::NotObserved),
    ] {
        interrupt(&mut world, &survey, &bridge, id);
        assert_eq!(world.life(id).outcome, Outcome::NotObserved);
        let told = params(&survey, id, 2, result(&bridge, id, &states));
        world.call(&host(), "messages.recordInterruptionResult", told).ok();
        let life = world.life(id);
        assert_eq!(life.outcome, outcome);
        assert_eq!(life.interruption.is_some_and(|known| known.open), outcome == Outcome::NotObserved);
    }
    world.check();
}

#[test]
fn words_of_a_result_stay_on_the_receiving_side_and_out_of_the_audit() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    interrupt(&mut world, &survey, &bridge, "msg_river-0001");
    let told = params(&survey, "msg_river-0001", 2, result(&bridge, "msg_river-0001", &[]));
    world.call(&bridge, "messages.recordInterruptionResult", told).ok();
    let look = |world: &mut World, who: &Principal| {
        world.call(who, "inspector.snapshot", named(&survey, "msg_river-0001")).ok().to_string()
    };
    assert!(look(&mut world, &bridge).contains("The northern pier is closed."));
    let mut cases = [survey.clone(), policy("board"), operator()].into_iter();
    assert!(cases.all(|who| !look(&mut world, &who).contains("northern pier is closed")));
    assert!(world.rows("audit").iter().all(|row| !row.body.contains("pier")));
    assert!(world.rows("life").iter().all(|row| !row.body.contains("pier")));
}

#[test]
fn a_snapshot_reads_what_it_shows_and_no_more() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    interrupt(&mut world, &survey, &bridge, "msg_river-0001");
    let told = params(&survey, "msg_river-0001", 2, result(&bridge, "msg_river-0001", &["cancelled"]));
    world.call(&host(), "messages.recordInterruptionResult", told).ok();
    let look = |world: &mut World| {
        let page = with(named(&survey, "msg_river-0001"), json!({"limit": 3}));
        let seen = world.call(&bridge, "inspector.snapshot", page);
        let rows = seen.rows_read;
        assert_eq!(seen.ok()["events"].as_array().unwrap().len(), 3);
        rows
    };
    let few = look(&mut world);
    for index in 2..200 {
        world.now += 3_000;
        world.send(&survey, &bridge, &format!("msg_river-{index:04}"), "suggest");
    }
    assert_eq!(look(&mut world), few, "other messages are read");
    assert!(few <= 16, "{few} rows");
}

#[test]
fn denials_stand_in_the_stream_of_who_was_denied() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let before = world.mailbox(&party(&bridge)).sequence;
    let denied = |code: &str| {
        json!({
            "kind": "task", "id": survey.id, "incarnation": survey.incarnation, "owner": survey.owner, "code": code,
            "minute": START / 60_000, "count": 5000,
        })
    };
    let user = json!({"kind": "user", "id": "alice", "code": "not-visible", "minute": START / 60_000, "count": 1});
    let denials = json!({"denials": [denied("policy-denied"), denied("backpressure"), denied("task-retired"), user]});
    assert_eq!(world.call(&host(), "audit.recordDenials", denials.clone()).ok(), json!({"recorded": 3}));
    assert_eq!(world.call(&operator(), "audit.recordDenials", denials).code(), Code::MethodNotFound);
    assert_eq!(world.mailbox(&party(&bridge)).sequence, before, "somebody else's stream moved");
    let seen = world.call(&survey, "tasks.wait", json!({"task": reference(&survey), "afterCursor": 2})).ok();
    let details: Vec<_> = seen["events"].as_array().unwrap().iter().map(|event| event["detail"].clone()).collect();
    assert_eq!(details[0]["code"], "policy-denied");
    assert_eq!(details[0]["count"], "5000");
    assert_eq!(details.len(), 2, "one record for each code, whatever the number");
    world.check();
}

/// Anchors are checked when they are declared: what does not hold in a stored list is damage, and no fault of the caller.
#[test]
fn stored_anchors_that_are_none_are_damage() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.accept(&survey, &bridge, "msg_river-0001");
    let submission = world.begin(&survey, &bridge, "msg_river-0001");
    let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    let recorded = json!({"submissionId": submission, "expectedRevision": 1, "receipt": receipt});
    world.call(&host(), "adapter.recordReceipt", recorded).ok();
    world.call(&operator(), "anchors.declare", json!({"anchors": []})).ok();
    let attestation: Value =
        serde_json::from_str(include_str!("../../../../../spec/schema/examples/verification-attestation/trusted.json"))
            .unwrap();
    let verified = json!({
        "outcome": "externally-verified", "evidenceRefs": ["log:1"], "verificationAttestations": [attestation],
    });
    let params = params(&survey, "msg_river-0001", 2, verified);
    let request = world.request(&bridge, "messages.recordOutcome", params.clone());
    assert_eq!(world.call(&bridge, "messages.recordOutcome", params).code(), Code::VerificationTrustDenied);
    world.edit("anchors", |row| row["anchors"] = json!([{}]));
    assert_eq!(world.attempt(&request).unwrap_err().code, Code::RecordDamaged);
}
