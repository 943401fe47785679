//! Whole lives of messages.

use super::world::*;
use crate::Code;
use crate::generated::machines::{Decision, Delivery, Outcome};
use crate::kernel::{EffectKind, Status};
use alloc::format;
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

#[test]
fn nobody_crowds_out_the_messages_of_others() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let reply_grant = grant(&bridge, &survey, "peer", 1);
    world.call(&user("alice"), "relationships.grant", reply_grant).ok();
    // Twelve strangers have tasks of the same names, and twelve more send under the same message id.
    for index in 0..12 {
        let owner = format!("mallory-{index:02}");
        let (own, other) = (task(&owner, "survey"), task(&owner, "bridge"));
        let sender = task(&owner, &format!("a{index:02}"));
        for task in [&own, &other, &sender] {
            world.call(&user(&owner), "tasks.register", registration(task)).ok();
        }
        for source in [&own, &sender] {
            world.call(&user(&owner), "relationships.grant", grant(source, &other, "peer", 1)).ok();
            world.send(source, &other, "msg_river-0001", "suggest");
        }
    }
    let zoe = task("zoe", "survey");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    assert_eq!(world.call(&zoe, "messages.getDisposition", named(&survey, "msg_river-0001")).code(), Code::NotVisible);
    let claim = with(named(&survey, "msg_river-0001"), json!({"expectedRevision": 0}));
    world.call(&bridge, "mailbox.claim", claim).ok();
    let mut reply = message(world.now, &bridge, &survey, "msg_reply-0001", "notify");
    reply["envelope"]["causality"] = json!({"parentMessageId": "msg_river-0001", "hopCount": 1});
    world.call(&bridge, "messages.send", reply).ok();
    let list = world.call(&bridge, "mailbox.listPending", json!({"receiver": reference(&bridge)})).ok();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    world.accept(&survey, &bridge, "msg_river-0001");
    world.begin(&survey, &bridge, "msg_river-0001");
    world.call(&user("alice"), "audit.list", named(&survey, "msg_river-0001")).ok();
    world.check();
}

#[test]
fn what_changed_since_the_preparation_is_noticed_at_begin() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    let prepared = |world: &mut World, id: &str, intent: &str| {
        world.send(&survey, &bridge, id, intent);
        world.accept(&survey, &bridge, id);
        let params = with(named(&survey, id), json!({"expectedRevision": 1}));
        let prepared = world.call(&bridge, "adapter.prepareSubmission", params).ok();
        json!({"submissionId": prepared["submission"]["submissionId"], "expectedRevision": 1})
    };
    let (steer, tell) =
        (prepared(&mut world, "msg_steer-0001", "steer"), prepared(&mut world, "msg_tell-0001", "suggest"));
    let update = json!({"task": reference(&bridge), "runtime": {"objectiveVersion": 2}, "expectedRevision": 0});
    world.call(&bridge, "tasks.updateRuntime", update).ok();
    // Accepted mail is not undecided: it stays, but the gate refuses it.
    assert_eq!(world.life("msg_steer-0001").decision, Decision::Accepted);
    assert_eq!(world.call(&bridge, "adapter.beginSubmission", steer).rule(), "PO-7");
    let attach = json!({"task": reference(&bridge), "adapterRef": {"kind": "codex"}, "expectedRevision": 1});
    world.call(&bridge, "tasks.attach", attach).ok();
    assert_eq!(world.call(&bridge, "adapter.beginSubmission", tell).code(), Code::AdapterRefChanged);
    world.begin(&survey, &bridge, "msg_tell-0001");
    world.check();
}
