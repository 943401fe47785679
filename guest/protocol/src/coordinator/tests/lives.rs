//! Whole lives of messages.

use super::world::*;
use crate::coordinator::{EffectKind, Status};
use crate::generated::machines::{Decision, Delivery, Outcome};
use serde_json::json;

#[test]
fn a_message_is_sent_claimed_accepted_submitted_and_receipted() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    let listed = world.call(&bridge, "mailbox.listPending", json!({"receiver": reference(&bridge)})).ok();
    assert_eq!(listed["items"][0]["envelope"]["messageId"], "msg_river-0001");
    world.accept(&survey, &bridge, "msg_river-0001");
    let params = with(named(&survey, "msg_river-0001"), json!({"expectedRevision": 1}));
    let prepared = world.call(&bridge, "adapter.prepareSubmission", params).ok();
    let submission = prepared["submission"]["submissionId"].clone();
    let begun =
        world.call(&bridge, "adapter.beginSubmission", json!({"submissionId": submission, "expectedRevision": 1}));
    assert_eq!(begun.effects.len(), 1);
    assert_eq!(begun.effects[0].kind, EffectKind::Call);
    let receipt = json!({
        "submissionId": submission, "expectedRevision": 1,
        "receipt": {"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"},
        "idempotencyKey": "idem_receipt-1",
    });
    let recorded = world.call(&host(), "adapter.recordReceipt", receipt.clone()).ok();
    assert_eq!(recorded["disposition"]["delivery"], "adapter-submitted");
    assert_eq!(world.call(&host(), "adapter.recordReceipt", receipt).status, Status::Replayed);
    let life = world.life("msg_river-0001");
    assert_eq!(
        (life.delivery, life.decision, life.outcome),
        (Delivery::AdapterSubmitted, Decision::Accepted, Outcome::EffectObserved)
    );
    world.check();
    assert_eq!(
        world.events("msg_river-0001"),
        [
            "message-durably-received",
            "mailbox-claimed",
            "receiver-decided",
            "adapter-submission-prepared",
            "adapter-attempt-started",
            "adapter-receipt-recorded",
        ]
    );
}
