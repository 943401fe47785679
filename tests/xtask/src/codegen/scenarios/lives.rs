//! Scenarios of whole lives: what each party learns, in which order, and how everything ends.

use super::cast::{
    DAY, MINUTE, SECOND, WRITER, builder, envelope, message, message_at, message_id, receipt, received, task_ref, with,
    writer,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        whole_life(),
        suggestion_and_answer(),
        what_the_sender_learns(),
        audit_views(),
        waits(),
        expiry(),
        expiry_by_owners(),
        expiry_pages(),
        expiry_leaves_alone(),
        deferred_until_expiry(),
        steer_after_checkpoint(),
        queue_is_not_acceptance(),
        rotation_mid_life(),
        undelivered_is_told(),
    ]
}

fn types(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({"eventType": kind})).collect()
}

/// From sending to the observed effect; every step is one revision, and the audit tells them in order.
fn whole_life() -> Story {
    let mut story = Story::adapted("a message's whole life", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).at(SECOND).keep("token", "/claimToken").ok(json!({"fence": 1}));
    story.ack("builder-w1", number, 0, "accepted").at(2 * SECOND).ok(received(1, "accepted", "accepted"));
    let prepare = message_at(number, 1);
    story
        .call("builder-w1", "adapter.prepareSubmission", prepare)
        .keep("submission", "/submission/submissionId")
        .ok(json!({}));
    let begin = json!({"submissionId": var("submission"), "expectedRevision": 1});
    story
        .call("builder-w1", "adapter.beginSubmission", begin)
        .at(3 * SECOND)
        .ok(json!({}))
        .effects(json!([{"kind": "call"}]));
    story.receipt("host", 1, receipt("turn-1")).at(4 * SECOND).ok(json!({"submission": {"state": "receipt-recorded"}}));
    let end =
        json!({"revision": 2, "delivery": "adapter-submitted", "decision": "accepted", "outcome": "effect-observed"});
    for caller in ["writer", "builder", "alice", "bob", "guard", "ops"] {
        story.call(caller, "messages.getDisposition", message(number)).ok(end.clone());
    }
    let events = json!([
        {"eventType": "message-durably-received", "revision": 0, "occurredAt": time(0), "actor": {"kind": "task", "id": "writer"}},
        {"eventType": "mailbox-claimed", "revision": 0, "occurredAt": time(SECOND), "actor": {"kind": "task", "id": "builder"}},
        {"eventType": "receiver-decided", "revision": 1, "detail": {"decision": "accepted", "reasonCode": "accepted"}},
        {"eventType": "adapter-submission-prepared", "revision": 1},
        {"eventType": "adapter-attempt-started", "revision": 1, "occurredAt": time(3 * SECOND)},
        {"eventType": "adapter-receipt-recorded", "revision": 2, "actor": {"kind": "host", "id": "host"}},
    ]);
    story.call("builder", "audit.list", message(number)).ok(events);
    story
}

/// A suggestion, and its answer as a message of its own.
fn suggestion_and_answer() -> Story {
    let mut story = Story::granted("a suggestion and its answer", "peer");
    let back = with(super::cast::grant("peer", 1), "/source", builder());
    let back = with(with(back, "/target", writer()), "/relationshipId", "rel_back");
    story.grant(with(back, "/grantId", "grant_back-1"));
    let number = story.accepted("suggest", 0);
    let sender =
        json!({"taskId": "builder", "incarnationId": "inc_builder-0001", "harness": "codex", "actorType": "agent"});
    let answer = with(with(envelope(2, "notify", 0), "/sender", sender), "/target", writer());
    let answer = with(with(answer, "/relationshipId", "rel_back"), "/messageType", "result");
    let answer = with(answer, "/causality", json!({"parentMessageId": message_id(number), "hopCount": 1}));
    story.call("builder", "messages.send", json!({"envelope": answer})).ok(json!({"replay": false}));
    let item = json!({"items": [{"cursor": 1, "envelope": {"causality": {"parentMessageId": message_id(number)}}}]});
    story.call("writer", "mailbox.listPending", json!({"receiver": writer()})).ok(item);
    let named = json!({"senderIncarnationId": "inc_builder-0001", "messageId": message_id(2)});
    let decided = with(with(named.clone(), "/decision", "accepted"), "/expectedRevision", 0);
    story.call("writer", "messages.respond", decided).ok(received(1, "accepted", "accepted"));
    story.call("builder", "messages.getDisposition", named).ok(received(1, "accepted", "accepted"));
    story.seen(number, received(1, "accepted", "accepted"));
    story
}

/// The sender learns what happened and nothing by which the receiver's side could be acted on (weaknesses A8).
fn what_the_sender_learns() -> Story {
    let mut story = Story::adapted("the sender learns what happened and no secret", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    story.ack("builder", number, 0, "accepted").ok(json!({}));
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({}));
    story.begin(1).ok(json!({}));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({}));
    let shown = |claim: Value, key: Value| {
        json!([
            {"eventType": "message-durably-received", "detail": {"envelopeDigest": not(json!(""))}},
            {"eventType": "mailbox-claimed", "detail": {"claimTokenDigest": claim}},
            {"eventType": "receiver-decided", "detail": {"decision": "accepted"}},
            {"eventType": "adapter-submission-prepared", "detail": {"adapterIdempotencyKeyDigest": key, "adapterRefDigest": key}},
            {"eventType": "adapter-attempt-started", "detail": {"adapterIdempotencyKeyDigest": key, "submissionId": var("submission")}},
            {"eventType": "adapter-receipt-recorded", "detail": {"source": "observed", "adapterOperationIdDigest": key}},
        ])
    };
    for caller in ["writer", "alice"] {
        story.call(caller, "audit.list", message(number)).ok(shown(absent(), absent()));
    }
    let some = not(json!(""));
    for caller in ["builder", "bob", "guard", "ops"] {
        story.call(caller, "audit.list", message(number)).ok(shown(some.clone(), some.clone()));
    }
    story
}

/// The audit of a message in pages, for those whom it concerns.
fn audit_views() -> Story {
    let mut story = Story::granted("the audit of a message in pages", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    story.ack("builder", number, 0, "deferred").ok(json!({}));
    story.respond(number, 1, "accepted").ok(json!({}));
    let page = |after: Value, limit: u32| with(with(message(number), "/afterCursor", after), "/limit", limit);
    let first = types(&["message-durably-received", "mailbox-claimed"]);
    story.call("builder", "audit.list", page(json!(0), 2)).keep("cursor", "/1/cursor").ok(first);
    story.call("builder", "audit.list", page(var("cursor"), 2)).ok(types(&["receiver-decided", "receiver-decided"]));
    story.call("builder", "audit.list", page(json!(0), 101)).error_at("params-invalid", "/limit");
    story.call("carol", "audit.list", message(number)).error("not-visible").named("unseen");
    for caller in ["stranger", "host"] {
        story.call(caller, "audit.list", message(number)).error("not-visible").same_as("unseen");
    }
    story.call("writer", "audit.list", message(9)).error("not-visible").same_as("unseen");
    story
}

/// `tasks.wait` without patience: the events of a task's own stream after a cursor.
fn waits() -> Story {
    let mut story = Story::granted("the events of a task after a cursor", "peer");
    let wait = |task: Value, after: u32| json!({"task": task, "afterCursor": after, "timeoutMs": 0});
    let started = json!({"events": types(&["task-registered", "relationship-granted"]), "nextCursor": 2, "head": 2, "timedOut": false});
    story.call("writer", "tasks.wait", wait(writer(), 0)).ok(started);
    story
        .call("writer", "tasks.wait", wait(writer(), 2))
        .ok(json!({"events": [], "nextCursor": 2, "head": 2, "timedOut": true}));
    let number = story.sent("suggest", 0);
    story.respond(number, 0, "rejected").ok(json!({}));
    let event = |kind: &str, cursor: u32| json!({"eventType": kind, "cursor": cursor, "messageId": message_id(number), "senderIncarnationId": WRITER});
    let seen = json!({"events": [event("message-durably-received", 3), event("receiver-decided", 4)], "nextCursor": 4});
    story.call("writer", "tasks.wait", wait(writer(), 2)).ok(seen.clone());
    story.call("builder", "tasks.wait", wait(builder(), 2)).ok(seen.clone());
    story.call("alice", "tasks.wait", wait(writer(), 2)).ok(seen);
    let paged = with(wait(writer(), 2), "/limit", 1);
    story
        .call("writer", "tasks.wait", paged)
        .ok(json!({"events": [event("message-durably-received", 3)], "nextCursor": 3}));
    for (caller, task) in [
        ("writer", builder()),
        ("carol", writer()),
        ("stranger", builder()),
        ("writer", task_ref("writer", "inc_writer-0009")),
    ] {
        story.call(caller, "tasks.wait", wait(task, 0)).error("not-visible");
    }
    story
}

/// What is past its time is expired by the sweep, once, and stays expired.
fn expiry() -> Story {
    let mut story = Story::adapted("what is past its time is swept", "peer");
    let (pending, deferred) = (story.sent("suggest", 0), story.sent("notify", 0));
    story.respond(deferred, 0, "deferred").ok(json!({}));
    let (accepted, rejected) = (story.accepted("suggest", 0), story.sent("suggest", 0));
    story.respond(rejected, 0, "rejected").ok(json!({}));
    let prepared = story.accepted("suggest", 0);
    story.prepare(prepared, 1).keep("submission", "/submission/submissionId").ok(json!({}));
    story
        .call("guard", "maintenance.expireDue", json!({}))
        .at(60 * MINUTE - 1)
        .ok(json!({"expired": [], "hasMore": false}));
    let sweep = json!({"idempotencyKey": "idem_sweep-1"});
    let item = |number: u32, revision: u32| json!({"senderIncarnationId": WRITER, "messageId": message_id(number), "revision": revision});
    let swept = json!({"expiredAt": time(60 * MINUTE), "hasMore": false, "expired": [
        item(pending, 1), item(deferred, 2), item(accepted, 2), item(rejected, 2), item(prepared, 2),
    ]});
    story.call("guard", "maintenance.expireDue", sweep.clone()).at(60 * MINUTE).ok(swept.clone());
    story.call("guard", "maintenance.expireDue", sweep).at(DAY).replayed(swept);
    story.call("guard", "maintenance.expireDue", json!({})).ok(json!({"expired": [], "hasMore": false}));
    let expired = |revision: u32, decision: &str, reason: &str| json!({"revision": revision, "delivery": "expired", "decision": decision, "decisionReasonCode": reason});
    story.seen(pending, expired(1, "expired", "expired"));
    story.seen(deferred, expired(2, "expired", "expired"));
    story.seen(accepted, expired(2, "accepted", "accepted"));
    story.seen(rejected, expired(2, "rejected", "receiver-rejected"));
    story.begin(2).refused("message-expired", "MS-3").effects(json!([]));
    story.prepare(accepted, 2).refused("message-expired", "MS-3");
    story.respond(pending, 1, "expired").refused("state-conflict", "MS-11");
    let fail = with(message_at(accepted, 2), "/failureReason", "Too late.");
    story.call("builder", "messages.failDelivery", fail).rules(&["LC-11"]).error("transition-illegal");
    story.call("writer", "audit.list", message(pending)).ok(types(&["message-durably-received", "message-expired"]));
    story
}

/// An owner sweeps between its own tasks, a policy everywhere.
fn expiry_by_owners() -> Story {
    let mut story = Story::granted("an owner sweeps between its own tasks", "peer");
    story.register("alice", super::cast::task_input("editor", "inc_editor-0001"));
    let own = with(super::cast::grant("peer", 1), "/target", task_ref("editor", "inc_editor-0001"));
    story.grant(with(with(own, "/grantId", "grant_own-1"), "/relationshipId", "rel_own"));
    let across = story.sent("suggest", 0);
    let within = with(envelope(2, "suggest", 0), "/target", task_ref("editor", "inc_editor-0001"));
    story.send(with(within, "/relationshipId", "rel_own")).ok(json!({"replay": false}));
    for caller in ["bob", "carol"] {
        story.call(caller, "maintenance.expireDue", json!({})).at(DAY).ok(json!({"expired": []}));
    }
    story.call("alice", "maintenance.expireDue", json!({})).ok(json!({"expired": [{"messageId": message_id(2)}]}));
    story.seen(across, received(0, "pending", ""));
    story.call("guard", "maintenance.expireDue", json!({})).ok(json!({"expired": [{"messageId": message_id(across)}]}));
    for caller in ["writer", "ops", "host"] {
        story.call(caller, "maintenance.expireDue", json!({})).refused("control-plane-required", "OP-3");
    }
    story
}

/// Sweeps are bounded and say that there is more; the oldest go first.
fn expiry_pages() -> Story {
    let mut story = Story::granted("sweeps are bounded, the oldest first", "peer");
    for number in 1..=5_u32 {
        let expires = time(i64::from(6 - number) * MINUTE);
        story.send(with(envelope(number, "notify", 0), "/expiresAt", expires)).ok(json!({"replay": false}));
    }
    let sweep = |limit: u32| json!({"limit": limit});
    let items = |numbers: &[u32], more: bool| {
        let items: Vec<Value> = numbers.iter().map(|number| json!({"messageId": message_id(*number)})).collect();
        json!({"expired": items, "hasMore": more})
    };
    let operation = "maintenance.expireDue";
    story.call("guard", operation, sweep(0)).error_at("params-invalid", "/limit");
    story.call("guard", operation, sweep(1001)).error_at("params-invalid", "/limit");
    story.call("guard", operation, sweep(2)).at(4 * MINUTE).ok(items(&[5, 4], true));
    story.call("guard", operation, sweep(2)).ok(items(&[3, 2], false));
    story.call("guard", operation, sweep(2)).ok(items(&[], false));
    story.call("guard", operation, sweep(1)).at(5 * MINUTE).ok(items(&[1], false));
    story
}

/// What was submitted or has failed does not expire.
fn expiry_leaves_alone() -> Story {
    let mut story = Story::adapted("what was submitted or has failed does not expire", "peer");
    let submitted = story.begun("suggest", 0);
    story.receipt("host", 1, receipt("turn-1")).ok(json!({}));
    let failed = story.sent("suggest", 0);
    let fail = with(message_at(failed, 0), "/failureReason", "No room.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({}));
    story.call("guard", "maintenance.expireDue", json!({})).at(DAY).ok(json!({"expired": []}));
    story.seen(submitted, json!({"revision": 2, "delivery": "adapter-submitted"}));
    story.seen(failed, json!({"revision": 1, "delivery": "failed", "deliveryFailureReason": "No room."}));
    story
}

/// A deferral does not outlive the message.
fn deferred_until_expiry() -> Story {
    let mut story = Story::granted("a deferral does not outlive the message", "peer");
    let number = story.sent("suggest", 0);
    let later = with(with(message_at(number, 0), "/decision", "deferred"), "/notBefore", time(DAY));
    story.call("builder", "messages.respond", later).ok(received(1, "deferred", "receiver-deferred"));
    story.claim("builder", number, 1).at(DAY).refused("message-expired", "MS-3");
    story
        .call("builder", "mailbox.listPending", json!({"receiver": builder()}))
        .ok(json!({"items": [], "nextCursor": 1}));
    story.call("guard", "maintenance.expireDue", json!({})).ok(json!({"expired": [{"revision": 2}]}));
    story
        .call("builder", "mailbox.listPending", json!({"receiver": builder()}))
        .ok(json!({"items": [], "nextCursor": 0}));
    story
}

/// A steer arrives, the receiver moves on, the steer is told stale; the next one, which knows, goes through.
fn steer_after_checkpoint() -> Story {
    let mut story = Story::adapted("a steer that came too late, and one that knows", "supervisor");
    let stale = story.sent("steer", 0);
    let update =
        json!({"task": builder(), "runtime": {"objectiveVersion": 5, "checkpoint": "end"}, "expectedRevision": 0});
    story.call("builder", "tasks.updateRuntime", update).ok(json!({"revision": 1}));
    story.seen(stale, received(1, "stale", "stale-objective"));
    story.call("writer", "audit.list", message(stale)).ok(json!([
        {"eventType": "message-durably-received"},
        {"eventType": "message-stale", "detail": {"reasonCode": "stale-objective"}, "revision": 1},
    ]));
    story.send(envelope(2, "steer", 0)).refused("policy-denied", "PO-7");
    let knows = with(
        envelope(2, "steer", 0),
        "/freshness",
        json!({"expectedObjectiveVersion": 5, "expectedCheckpoint": "end"}),
    );
    story.send(knows).ok(json!({"replay": false}));
    story.claim("builder", 2, 0).keep("token", "/claimToken").ok(json!({}));
    let params = with(message_at(2, 0), "/claimToken", var("token"));
    story.call("builder", "adapter.acceptAndBegin", params).ok(json!({"submission": {"state": "outcome-unknown"}}));
    story.seen(2, received(1, "accepted", "accepted"));
    story
}

/// That a message is queued, claimed or listed is never told as acceptance (settled 34, field reports P006, P009).
fn queue_is_not_acceptance() -> Story {
    let mut story = Story::granted("queued is not accepted", "peer");
    let number = story.sent("suggest", 0);
    let open = received(0, "pending", "");
    story.seen(number, open.clone());
    story
        .call("builder", "mailbox.listPending", json!({"receiver": builder()}))
        .ok(json!({"items": [{"disposition": open}]}));
    story.seen(number, open.clone());
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    story.seen(number, open.clone());
    story.send(envelope(number, "suggest", 0)).ok(json!({"replay": true, "disposition": open}));
    story.ack("builder", number, 0, "accepted").ok(json!({}));
    let taken =
        json!({"revision": 1, "decision": "accepted", "delivery": "durably-received", "outcome": "not-observed"});
    story.seen(number, taken);
    story
}

/// Rotation in the middle of a life: mail for the old incarnation is told stale, the next one starts clean.
fn rotation_mid_life() -> Story {
    let mut story = Story::adapted("rotation in the middle of a life", "peer");
    let (pending, claimed, accepted) =
        (story.sent("suggest", 0), story.sent("suggest", 0), story.accepted("suggest", 0));
    story.claim("builder", claimed, 0).keep("token", "/claimToken").ok(json!({}));
    let next = super::cast::bound("builder", "inc_builder-0002");
    let rotate = json!({"previous": builder(), "next": next, "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", rotate).ok(json!({"current": {"revision": 0}}));
    story.seen(pending, received(1, "stale", "stale-incarnation"));
    story.seen(claimed, received(1, "stale", "stale-incarnation"));
    story.seen(accepted, received(1, "accepted", "accepted"));
    story.ack("builder", claimed, 0, "accepted").refused("task-retired", "OP-4");
    let list = json!({"receiver": task_ref("builder", "inc_builder-0002")});
    story.call("builder-next", "mailbox.listPending", list).ok(json!({"items": [], "nextCursor": 0}));
    story.call("guard", "maintenance.expireDue", json!({})).at(DAY).ok(json!({"hasMore": false}));
    story.seen(accepted, json!({"revision": 2, "delivery": "expired", "decision": "accepted"}));
    story
}

/// A receiver that cannot be reached is told of at once, and a failure is told to the sender (field reports P010, P012).
fn undelivered_is_told() -> Story {
    let mut story = Story::granted("a failure is told to the sender", "peer");
    let number = story.accepted("suggest", 0);
    story.prepare(number, 1).refused("adapter-not-bound", "AD-1");
    let fail = with(message_at(number, 1), "/failureReason", "No adapter is declared for this task.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"revision": 2}));
    let told = json!({
        "delivery": "failed", "decision": "accepted", "outcome": "not-observed",
        "deliveryFailureReason": "No adapter is declared for this task.",
    });
    story.seen(number, told);
    story.call("writer", "audit.list", message(number)).ok(types(&[
        "message-durably-received",
        "receiver-decided",
        "delivery-failed",
    ]));
    story
}
