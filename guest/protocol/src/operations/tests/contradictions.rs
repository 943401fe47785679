//! Receipts that turn up after it was established that nothing was submitted, and other second thoughts.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Decision, Delivery, Submission};
use crate::kernel::Principal;
use alloc::{format, string::String, vec::Vec};
use serde_json::{Value, json};

const MESSAGE: &str = "msg_river-0001";

fn absent(submission: &str) -> Value {
    json!({"submissionId": submission, "result": "absent-final", "evidenceRefs": ["log:1"]})
}

fn found(submission: &str) -> Value {
    let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    json!({"submissionId": submission, "result": "found", "receipt": receipt, "evidenceRefs": ["log:1"]})
}

fn ruling(submission: &str, resolution: &str, revision: i64) -> Value {
    let mut how = json!({"resolution": resolution, "evidenceRefs": ["case:1"]});
    if resolution == "confirmed-submitted" {
        how["receipt"] = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    }
    json!({"submissionId": submission, "expectedRevision": revision, "reconciliation": how})
}

/// A first attempt that is confirmed absent, and a second one that is begun.
fn twice_begun() -> (World, Principal, Principal, String, String) {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    world.accept(&survey, &bridge, MESSAGE);
    let first = world.begin(&survey, &bridge, MESSAGE);
    world.now += 60_000;
    world.call(&host(), "adapter.recordQuery", absent(&first)).ok();
    let second = world.begin(&survey, &bridge, MESSAGE);
    assert_ne!(first, second);
    (world, survey, bridge, first, second)
}

#[test]
fn a_late_receipt_blocks_a_third_attempt_once_the_second_turns_out_not_to_have_happened() {
    let (mut world, survey, bridge, first, second) = twice_begun();
    assert_eq!(world.call(&host(), "adapter.recordQuery", found(&first)).ok()["contradiction"], true);
    assert_eq!(world.life(MESSAGE).attempt.unwrap().id, second);
    world.now += 60_000;
    world.call(&host(), "adapter.recordQuery", absent(&second)).ok();
    let life = world.life(MESSAGE);
    let attempt = life.attempt.unwrap();
    assert_eq!((attempt.id, attempt.state), (first.clone(), Submission::ManualReconciliation));
    assert_eq!(life.past.iter().map(|attempt| attempt.id.clone()).collect::<Vec<_>>(), [second]);
    let prepare = with(named(&survey, MESSAGE), json!({"expectedRevision": 1}));
    let prepared = world.call(&bridge, "adapter.prepareSubmission", prepare).ok();
    assert_eq!(prepared["submission"]["state"], "manual-reconciliation");
    let mut ruled = world.clone();
    let answer = ruled.call(&operator(), "adapter.reconcileSubmission", ruling(&first, "confirmed-submitted", 1)).ok();
    assert_eq!(answer["disposition"]["delivery"], "adapter-submitted");
    // The other ruling: it did not happen after all, and a third attempt may follow.
    world.call(&operator(), "adapter.reconcileSubmission", ruling(&first, "confirmed-not-submitted", 1)).ok();
    let third = world.begin(&survey, &bridge, MESSAGE);
    assert_eq!(world.life(MESSAGE).past.len(), 2);
    assert_ne!(third, first);
    world.check();
}

#[test]
fn a_late_receipt_brings_back_the_first_attempt_where_the_second_is_over() {
    let (mut world, _, _, first, second) = twice_begun();
    world.now += 60_000;
    world.call(&host(), "adapter.recordQuery", absent(&second)).ok();
    world.call(&host(), "adapter.recordQuery", found(&first)).ok();
    let life = world.life(MESSAGE);
    assert_eq!(life.attempt.unwrap().state, Submission::ManualReconciliation);
    assert_eq!(life.past.len(), 1);
    world.check();
}

#[test]
fn a_late_receipt_changes_nothing_where_the_second_attempt_was_submitted() {
    let (mut world, _, _, first, second) = twice_begun();
    world.call(&host(), "adapter.recordQuery", found(&second)).ok();
    assert_eq!(world.call(&host(), "adapter.recordQuery", found(&first)).ok()["contradiction"], true);
    let life = world.life(MESSAGE);
    assert_eq!(life.attempt.unwrap().state, Submission::ReceiptRecorded);
    assert!(life.past[0].late_receipt.is_some());
    world.check();
}

#[test]
fn an_expired_message_with_a_contradiction_ends_by_the_operator() {
    let (mut world, _, _, first, second) = twice_begun();
    world.now += 700_000;
    world.call(&host(), "adapter.recordQuery", absent(&second)).ok();
    world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    world.call(&host(), "adapter.recordQuery", found(&second)).ok();
    let life = world.life(MESSAGE);
    assert_eq!((life.delivery, life.attempt.unwrap().state), (Delivery::Expired, Submission::ManualReconciliation));
    let revision = life.revision;
    let submitted = ruling(&second, "confirmed-submitted", revision);
    assert_eq!(world.call(&operator(), "adapter.reconcileSubmission", submitted).code(), Code::TransitionIllegal);
    world.call(&operator(), "adapter.reconcileSubmission", ruling(&second, "confirmed-not-submitted", revision)).ok();
    world.call(&host(), "adapter.recordQuery", found(&first)).ok();
    world.call(&operator(), "adapter.reconcileSubmission", ruling(&first, "confirmed-not-submitted", revision)).ok();
    assert!(!world.life(MESSAGE).unresolved());
    world.check();
}

#[test]
fn a_replayed_preparation_shows_content_only_to_who_may_see_it_today() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    world.accept(&survey, &bridge, MESSAGE);
    let prepare = with(named(&survey, MESSAGE), json!({"expectedRevision": 1, "idempotencyKey": "idem_prepare-1"}));
    let prepared = world.call(&bridge, "adapter.prepareSubmission", prepare.clone()).ok();
    assert!(prepared["envelope"].is_object());
    assert!(world.call(&bridge, "adapter.prepareSubmission", prepare.clone()).ok()["envelope"].is_object());
    let revoke = json!({"grantId": "grant_survey-bridge-1", "expectedGrantVersion": 1});
    world.call(&user("alice"), "relationships.revoke", revoke).ok();
    let again = world.call(&bridge, "adapter.prepareSubmission", prepare);
    assert!(!format!("{}", again.value).contains("pier"));
    assert_eq!(again.code(), Code::PolicyDenied);
    assert_eq!(world.life(MESSAGE).decision, Decision::Accepted);
}

#[test]
fn unknown_attempts_are_listed_in_pages() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for index in 0..7 {
        let id = format!("msg_river-{index:04}");
        world.send(&survey, &bridge, &id, "suggest");
        world.accept(&survey, &bridge, &id);
        world.begin(&survey, &bridge, &id);
    }
    let mut seen = Vec::new();
    let mut params = json!({"limit": 3});
    loop {
        let page = world.call(&host(), "adapter.listUnresolved", params).ok();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["messageId"].clone()));
        if page["nextCursor"].is_null() {
            break;
        }
        params = json!({"limit": 3, "cursor": page["nextCursor"]});
    }
    seen.sort_by_key(|id| format!("{id}"));
    seen.dedup();
    assert_eq!(seen.len(), 7);
    assert_eq!(world.call(&operator(), "adapter.listUnresolved", json!({})).code(), Code::MethodNotFound);
}
