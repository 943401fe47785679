//! Content that is past its retention goes, in two phases, and nothing else does.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Delivery, Submission};
use crate::kernel::{EffectKind, Principal, Status};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Value, json};

const MESSAGE: &str = "msg_river-0001";
const SECRET: &str = "heron-at-the-weir";

fn cutoff(world: &World) -> Value {
    json!({"before": crate::time::format(world.now)})
}

/// A message that says the secret wherever somebody may write.
fn telling(world: &mut World, survey: &Principal, bridge: &Principal, id: &str) {
    let mut params = message(world.now, survey, bridge, id, "suggest");
    let envelope = &mut params["envelope"];
    for place in ["content", "reason"] {
        envelope[place] = SECRET.into();
    }
    envelope["claimStatus"] = "evidence-referenced".into();
    envelope["evidenceRefs"] = json!([SECRET]);
    envelope["causality"] = json!({"traceId": SECRET});
    envelope["sender"]["harness"] = SECRET.into();
    envelope["target"]["harness"] = SECRET.into();
    envelope["freshness"] = json!({"expectedRunId": SECRET});
    world.call(survey, "messages.send", params).ok();
}

/// Every row that holds the secret.
fn traces(world: &World) -> Vec<String> {
    let collections =
        ["task", "box", "grant", "message", "life", "budget", "profile", "sweep", "purge", "replay", "audit"];
    let rows = collections.iter().flat_map(|name| world.rows(name));
    rows.filter(|row| row.body.contains(SECRET)).map(|row| format!("{}: {}", row.id, row.body)).collect()
}

fn scrubbed(world: &mut World, purge: &Value) -> Value {
    let done = json!({"purgeId": purge["purgeId"], "result": "done"});
    world.call(&host(), "maintenance.recordScrub", done).ok()
}

#[test]
fn an_expired_message_is_emptied_and_then_called_purged() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    telling(&mut world, &survey, &bridge, MESSAGE);
    world.accept(&survey, &bridge, MESSAGE);
    let read = with(named(&survey, MESSAGE), json!({"expectedRevision": 1, "session": SECRET, "toolCallId": SECRET}));
    world.call(&bridge, "adapter.admitContext", read).ok();
    let digest = world.life(MESSAGE).digest;
    let early = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!((&early["messages"], &early["state"]), (&json!([]), &json!("purged")));
    world.now += 600_000;
    let key = with(cutoff(&world), json!({"idempotencyKey": "idem_purge-0001"}));
    let purge = world.call(&policy("board"), "maintenance.purgeContent", key.clone());
    let effect = &purge.effects[0];
    assert_eq!((effect.kind, effect.name.as_str()), (EffectKind::Repeatable, "store.scrub"));
    let purge = purge.ok();
    assert_eq!((&purge["state"], &purge["pendingReason"]), (&json!("pending"), &json!("not-scrubbed-yet")));
    assert_eq!(purge["messages"], json!([{"senderIncarnationId": survey.incarnation, "messageId": MESSAGE}]));
    assert_eq!(traces(&world), Vec::<String>::new());
    world.check();
    let busy = json!({"purgeId": purge["purgeId"], "result": "busy", "reason": "log-held"});
    assert_eq!(world.call(&host(), "maintenance.recordScrub", busy).ok()["pendingReason"], "log-held");
    let again = world.call(&policy("board"), "maintenance.purgeContent", key.clone());
    assert_eq!((again.status, &again.value["pendingReason"]), (Status::Replayed, &json!("log-held")));
    assert_eq!(scrubbed(&mut world, &purge)["state"], "purged");
    let again = world.call(&policy("board"), "maintenance.purgeContent", key);
    assert_eq!((again.status, &again.value["state"]), (Status::Replayed, &json!("purged")));
    let life = world.life(MESSAGE);
    assert_eq!((life.delivery, life.digest), (Delivery::Expired, digest));
    let events = world.events(MESSAGE);
    assert_eq!(events[events.len() - 3..], ["message-expired", "content-purge-pending", "content-purged"]);
    let nothing = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!((&nothing["purgeId"], &nothing["messages"]), (&Value::Null, &json!([])));
    world.check();
}

/// What its sender wrote freely goes; who sent what to whom, and when, stays.
#[test]
fn an_emptied_envelope_still_says_who_wrote_to_whom() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    telling(&mut world, &survey, &bridge, MESSAGE);
    let stored = |world: &World| serde_json::from_str::<Value>(&world.rows("message")[0].body).unwrap();
    let whole = stored(&world)["envelope"].clone();
    world.now += 600_000;
    world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    let left = stored(&world);
    let mut expected = whole;
    for place in ["content", "reason"] {
        expected[place] = left["envelope"]["sender"]["harness"].clone();
    }
    expected["sender"]["harness"] = expected["content"].clone();
    expected["target"].as_object_mut().unwrap().remove("harness");
    expected["causality"].as_object_mut().unwrap().remove("traceId");
    for gone in ["evidenceRefs", "freshness"] {
        expected.as_object_mut().unwrap().remove(gone);
    }
    assert_eq!(left["envelope"], expected);
    assert_eq!(
        (&left["purged"], left["envelope"]["content"].as_str()),
        (&json!(true), Some("Removed by retention policy."))
    );
}

#[test]
fn the_original_envelope_is_still_a_replay_and_leaks_nothing() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let params = message(world.now, &survey, &bridge, MESSAGE, "suggest");
    world.call(&survey, "messages.send", params.clone()).ok();
    world.now += 600_000;
    let purge = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    scrubbed(&mut world, &purge);
    let again = world.call(&survey, "messages.send", params.clone()).ok();
    assert_eq!(again["replay"], true);
    assert!(!again.to_string().contains("pier"));
    let mut other = params;
    other["envelope"]["content"] = "Removed by retention policy.".into();
    assert_eq!(world.call(&survey, "messages.send", other).code(), Code::IdempotencyConflict);
}

#[test]
fn what_nobody_knows_the_end_of_is_left_alone_with_the_adapter_that_it_needs() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    telling(&mut world, &survey, &bridge, MESSAGE);
    world.accept(&survey, &bridge, MESSAGE);
    let submission = world.begin(&survey, &bridge, MESSAGE);
    let mut rotate = json!({"previous": reference(&bridge), "expectedRevision": 0});
    rotate["next"] = registration(&incarnation("alice", "bridge", 2))["task"].clone();
    world.call(&user("alice"), "tasks.rotateIncarnation", rotate).ok();
    world.now += 700_000;
    let held = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!((&held["messages"], &held["adapterRefs"]), (&json!([]), &json!([])));
    assert_eq!(world.life(MESSAGE).attempt.unwrap().state, Submission::OutcomeUnknown);
    let receipt = json!({"adapterOperationId": SECRET, "acceptedAt": "2026-06-01T08:00:01Z", "evidenceRefs": [SECRET]});
    let recorded = json!({"submissionId": submission, "expectedRevision": 1, "receipt": receipt});
    world.call(&user("alice"), "adapter.recordReceipt", recorded.clone()).ok();
    let purge = world.call(&operator(), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!(purge["messages"][0]["messageId"], MESSAGE);
    assert_eq!(purge["adapterRefs"], json!([{"taskId": "bridge", "incarnationId": "inc_bridge-0001"}]));
    let audit = world.rows("audit").into_iter().map(|row| serde_json::from_str::<Value>(&row.body).unwrap());
    let told: Vec<Value> = audit.filter(|event| event["eventType"] == "adapter-ref-purged").collect();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    let about = json!({"purgeId": purge["purgeId"], "retentionCutoff": crate::time::format(world.now)});
    assert_eq!((&told["revision"], &told["detail"]), (&json!(2), &about));
    assert_eq!(traces(&world), Vec::<String>::new());
    scrubbed(&mut world, &purge);
    // The same receipt is still the same, and another one still another.
    let same = with(recorded.clone(), json!({"idempotencyKey": "idem_same-0001", "expectedRevision": 2}));
    let answer = world.call(&user("alice"), "adapter.recordReceipt", same).ok();
    assert_eq!(answer["replay"], true);
    assert!(!answer.to_string().contains(SECRET));
    let mut other = with(recorded, json!({"idempotencyKey": "idem_other-001"}));
    other["receipt"]["adapterOperationId"] = "another".into();
    assert_eq!(world.call(&user("alice"), "adapter.recordReceipt", other).code(), Code::ReceiptConflict);
    world.check();
}

#[test]
fn failures_reconciliations_and_late_receipts_go_too_and_what_comes_later_goes_later() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    telling(&mut world, &survey, &bridge, MESSAGE);
    telling(&mut world, &survey, &bridge, "msg_river-0002");
    let fail = with(named(&survey, "msg_river-0002"), json!({"expectedRevision": 0, "failureReason": SECRET}));
    world.call(&bridge, "messages.failDelivery", fail).ok();
    world.accept(&survey, &bridge, MESSAGE);
    let submission = world.begin(&survey, &bridge, MESSAGE);
    world.now += 700_000;
    let ruling = |resolution: &str, revision: i64| {
        let how = json!({"resolution": resolution, "evidenceRefs": [SECRET]});
        json!({"submissionId": submission, "expectedRevision": revision, "reconciliation": how})
    };
    world.call(&operator(), "adapter.reconcileSubmission", ruling("confirmed-not-submitted", 1)).ok();
    let purge = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!(purge["messages"].as_array().unwrap().len(), 2);
    assert_eq!(traces(&world), Vec::<String>::new());
    scrubbed(&mut world, &purge);
    let receipt = json!({"adapterOperationId": SECRET, "acceptedAt": "2026-06-01T08:00:01Z"});
    let late = json!({"submissionId": submission, "expectedRevision": 2, "receipt": receipt});
    assert_eq!(world.call(&host(), "adapter.recordReceipt", late.clone()).ok()["contradiction"], true);
    let held = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!(held["messages"], json!([]));
    world.call(&operator(), "adapter.reconcileSubmission", ruling("confirmed-not-submitted", 2)).ok();
    assert_ne!(traces(&world), Vec::<String>::new());
    let purge = world.call(&policy("board"), "maintenance.purgeContent", cutoff(&world)).ok();
    assert_eq!(purge["messages"].as_array().unwrap().len(), 1);
    assert_eq!(traces(&world), Vec::<String>::new());
    scrubbed(&mut world, &purge);
    world.check();
}

#[test]
fn a_purge_takes_a_page_and_says_whether_there_is_more() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for index in 0..7 {
        telling(&mut world, &survey, &bridge, &format!("msg_river-{index:04}"));
    }
    world.now += 600_000;
    let mut taken = Vec::new();
    for round in 0..3 {
        let params = with(cutoff(&world), json!({"limit": 3}));
        let purge = world.call(&policy("board"), "maintenance.purgeContent", params).ok();
        assert_eq!(purge["hasMore"], round < 2);
        taken.extend(purge["messages"].as_array().unwrap().iter().map(|item| item["messageId"].to_string()));
        scrubbed(&mut world, &purge);
    }
    taken.dedup();
    assert_eq!(taken.len(), 7);
    assert_eq!(traces(&world), Vec::<String>::new());
    world.check();
}

#[test]
fn only_a_policy_and_the_operator_purge_and_only_what_is_past() {
    let mut world = World::new();
    let (survey, _) = world.pair("peer");
    for who in [user("alice"), survey, host()] {
        assert_eq!(world.call(&who, "maintenance.purgeContent", cutoff(&world)).code(), Code::PolicyRequired);
    }
    let future = json!({"before": crate::time::format(world.now + 1)});
    assert_eq!(world.call(&policy("board"), "maintenance.purgeContent", future).code(), Code::RetentionCutoffInvalid);
    let none = with(cutoff(&world), json!({"limit": 0}));
    assert_eq!(world.call(&policy("board"), "maintenance.purgeContent", none).code(), Code::ParamsInvalid);
    let unknown = json!({"purgeId": format!("purge_{:032}", 0), "result": "done"});
    assert_eq!(world.call(&host(), "maintenance.recordScrub", unknown.clone()).code(), Code::NotVisible);
    assert_eq!(world.call(&operator(), "maintenance.recordScrub", unknown).code(), Code::MethodNotFound);
}
