//! Scenarios of what the audit streams tell: every kind of event with its id, its revision, its subject and its details.

use super::super::attestation::digest;
use super::cast::{
    MINUTE, SECOND, SETTLED, WRITER, adapter_ref, builder, envelope, grant, message, message_at, message_id, receipt,
    task_input, task_ref, with, writer,
};
use super::facts::{BUILDER_ROW, WRITER_ROW, event_id};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

/// The row of the incarnation that follows the writer's first one.
const NEXT_ROW: &str = "default/inc_writer-0002/writer/user:alice";

pub(super) fn stories() -> Vec<Story> {
    vec![of_a_task(), of_a_rotation(), of_grants(), of_a_message(), of_an_attempt(), of_labels()]
}

/// Something is there.
fn some() -> Value {
    not(json!(""))
}

/// What a task is told by `tasks.wait`, from its first event on.
fn heard(story: &mut Story, caller: &str, task: Value, events: Vec<Value>) {
    let (count, params) = (events.len(), json!({"task": task, "timeoutMs": 0}));
    story.call(caller, "tasks.wait", params).ok(json!({"events": events, "nextCursor": count, "head": count}));
}

/// The changes of a task, each at its revision.
fn of_a_task() -> Story {
    let mut story = Story::new("the events of a task's own changes");
    let input = task_input("writer", WRITER);
    story.register("alice", input.clone());
    let attach = json!({"task": writer(), "adapterRef": adapter_ref(), "expectedRevision": 0});
    story.call("alice", "tasks.attach", attach).at(SECOND).ok(json!({"revision": 1}));
    let quiet = json!({"mute": true, "doNotDisturbUntil": time(MINUTE)});
    let consent = json!({"task": writer(), "consent": quiet, "expectedRevision": 1});
    story.call("writer", "tasks.setConsent", consent).at(2 * SECOND).ok(json!({"revision": 2}));
    let runtime = json!({"runId": "run-2", "objectiveVersion": 5});
    let update = json!({"task": writer(), "runtime": runtime, "expectedRevision": 2});
    story.call("guard", "tasks.updateRuntime", update).at(3 * SECOND).ok(json!({"revision": 3}));
    let event = |number: u32, kind: &str, detail: Value, actor: Value| {
        json!({
            "cursor": number, "eventId": event_id(&[(WRITER_ROW, number)]), "eventType": kind, "revision": number - 1,
            "occurredAt": time(i64::from(number - 1) * SECOND), "detail": detail, "actor": actor,
            "messageId": absent(), "relationshipId": absent(), "senderIncarnationId": absent(),
        })
    };
    let (alice, guard) = (json!({"kind": "user", "id": "alice"}), json!({"kind": "policy", "id": "guard"}));
    let consented = json!({"doNotDisturbUntil": time(MINUTE), "mute": "true"});
    let events = vec![
        event(1, "task-registered", json!({"registrationDigest": some(), "state": some()}), alice.clone()),
        event(2, "task-attached", json!({"adapterRefDigest": digest(&adapter_ref())}), alice),
        event(3, "task-consent-set", consented, json!({"kind": "task", "id": "writer"})),
        event(4, "task-runtime-updated", json!({"runtimeDigest": digest(&runtime)}), guard),
    ];
    for caller in ["writer", "alice", "guard", "ops"] {
        heard(&mut story, caller, writer(), events.clone());
    }
    story
}

/// A rotation is one event in two streams, at the revision of what was retired.
fn of_a_rotation() -> Story {
    let mut story = Story::granted("the event of a rotation", "peer");
    let number = story.sent("suggest", 0);
    let attach = json!({"task": writer(), "adapterRef": adapter_ref(), "expectedRevision": 0});
    story.call("alice", "tasks.attach", attach).ok(json!({"revision": 1}));
    let next = task_input("writer", "inc_writer-0002");
    let params = json!({"previous": writer(), "next": next, "expectedRevision": 1});
    story.call("alice", "tasks.rotateIncarnation", params).ok(json!({"previous": {"revision": 2}}));
    let rotated = json!({
        "cursor": 1, "eventId": event_id(&[(WRITER_ROW, 5), (NEXT_ROW, 1)]), "eventType": "task-rotated", "revision": 2,
        "detail": {
            "nextIncarnationId": "inc_writer-0002", "previousIncarnationId": WRITER, "registrationDigest": some(),
        },
    });
    heard(&mut story, "writer-next", task_ref("writer", "inc_writer-0002"), vec![rotated]);
    // Whoever was retired is told nothing more, not even of what it sent itself.
    for look in ["messages.getDisposition", "audit.list", "inspector.snapshot"] {
        story.call("writer", look, message(number)).refused("task-retired", "OP-4");
        story.call("writer-next", look, message(number)).error("not-visible");
    }
    story
}

/// Grants, by their version, in the streams of both ends.
fn of_grants() -> Story {
    let mut story = Story::tasks("the events of grants");
    story.grant(grant("peer", 1));
    let decision = json!({"decisionId": "decision_work-2", "requiresConsent": true});
    let ask = json!({"grant": grant("peer", 2), "decision": decision});
    story.call("guard", "relationships.grant", ask).ok(json!({}));
    let consent = json!({"grantId": "grant_work-2", "expectedGrantVersion": 2, "consent": true});
    story.call("builder", "relationships.consent", consent).ok(json!({"consent": true}));
    let revoke = json!({"grantId": "grant_work-2", "expectedGrantVersion": 2});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    let event = |number: u32, kind: &str, version: u32, detail: Value| {
        json!({
            "cursor": number, "eventId": event_id(&[(WRITER_ROW, number), (BUILDER_ROW, number)]), "eventType": kind,
            "revision": version, "relationshipId": "rel_work", "messageId": absent(), "detail": detail,
        })
    };
    let of = |version: u32| json!({"grantId": format!("grant_work-{version}")});
    let events = vec![
        json!({"eventType": "task-registered"}),
        event(2, "relationship-granted", 1, of(1)),
        event(3, "relationship-granted", 2, of(2)),
        event(4, "relationship-consent-set", 2, json!({"consent": "true", "grantId": "grant_work-2"})),
        event(5, "relationship-revoked", 2, of(2)),
    ];
    heard(&mut story, "writer", writer(), events.clone());
    heard(&mut story, "builder", builder(), events);
    story
}

/// What happens to a message before anything is submitted, as its receiver sees it.
fn of_a_message() -> Story {
    let mut story = Story::granted("the events of a message that is claimed, put off and dropped", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).ok(json!({"fence": 1}));
    story.claim("builder-w2", number, 0).at(MINUTE).keep("token", "/claimToken").ok(json!({"fence": 2}));
    story.ack("builder-w2", number, 0, "deferred").ok(json!({"revision": 1}));
    let failed = with(message_at(number, 1), "/failureReason", "No room.");
    story.call("builder", "messages.failDelivery", failed).ok(json!({"revision": 2}));
    let event = |number: u32, kind: &str, revision: u32, detail: Value| {
        let places = [(WRITER_ROW, number + 2), (BUILDER_ROW, number + 2)];
        json!({"cursor": number, "eventId": event_id(&places), "eventType": kind, "revision": revision, "detail": detail})
    };
    let claimed = |event: &str| json!({"claimTokenDigest": some(), "event": event});
    let events = json!([
        event(1, "message-durably-received", 0, json!({"envelopeDigest": digest(&envelope(number, "suggest", 0))})),
        event(2, "mailbox-claimed", 0, claimed("claim")),
        event(3, "mailbox-claimed", 0, claimed("take-over")),
        event(4, "receiver-decided", 1, json!({"decision": "deferred", "reasonCode": "receiver-deferred"})),
        event(5, "delivery-failed", 2, json!({})),
    ]);
    story.call("builder", "audit.list", message(number)).ok(events);
    let subject = json!({
        "cursor": 3, "messageId": message_id(number), "senderIncarnationId": WRITER, "relationshipId": absent(),
    });
    let page = json!({"task": builder(), "timeoutMs": 0, "afterCursor": 2, "limit": 1});
    story.call("builder", "tasks.wait", page).ok(json!({"events": [subject]}));
    story
}

/// An attempt of which nobody knew for a while, and what was established of it. A sender learns less.
fn of_an_attempt() -> Story {
    let mut story = Story::adapted("the events of an attempt", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-now").at(SETTLED).ok(json!({}));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({}));
    let event =
        |kind: &str, revision: u32, detail: Value| json!({"eventType": kind, "revision": revision, "detail": detail});
    let events = |secret: Value| {
        let id = var("submission");
        json!([
            event("adapter-submission-prepared", 1, json!({"adapterRefDigest": secret, "submissionId": id})),
            event("adapter-attempt-started", 1, json!({"adapterIdempotencyKeyDigest": secret, "submissionId": id})),
            event("adapter-queried", 1, json!({"result": "absent-now", "submissionId": id})),
            event("adapter-receipt-recorded", 2, json!({"adapterOperationIdDigest": secret, "submissionId": id})),
        ])
    };
    let page = with(message(number), "/afterCursor", 2);
    story.call("bob", "audit.list", page.clone()).ok(events(some()));
    story.call("alice", "audit.list", page).ok(events(absent()));
    let failed = story.accepted("suggest", SETTLED);
    let params = with(with(message_at(failed, 1), "/outcome", "failed"), "/evidenceRefs", json!(["log:1"]));
    story.call("builder", "messages.recordOutcome", params).ok(json!({"revision": 2}));
    let evidence = digest(&json!(["log:1"]));
    let told = json!({"outcome": "failed", "outcomeEvidenceDigest": evidence, "source": "asserted"});
    let page = with(message(failed), "/afterCursor", 2);
    story.call("writer", "audit.list", page).ok(json!([event("outcome-observed", 2, told)]));
    // The same in the stream of a task: its own side, and whoever has the office, see the whole.
    let key = |told: Value| json!({"events": [{"eventType": "adapter-attempt-started", "detail": {"adapterIdempotencyKeyDigest": told}}]});
    for (caller, task, after, told) in [
        ("builder", builder(), 5, some()),
        ("writer", writer(), 5, absent()),
        ("alice", writer(), 5, absent()),
        ("guard", writer(), 5, some()),
        ("ops", writer(), 5, some()),
    ] {
        let page = json!({"task": task, "timeoutMs": 0, "afterCursor": after, "limit": 1});
        story.call(caller, "tasks.wait", page).ok(key(told));
    }
    story
}

/// What messages become without anybody deciding on them.
fn of_labels() -> Story {
    let mut story = Story::granted("the events of messages that are over", "supervisor");
    let advice = with(envelope(9, "suggest", 0), "/freshness", json!({"expectedRunId": "run-1"}));
    story.send(advice).ok(json!({"replay": false}));
    let (stale, revoked) = (story.sent("steer", 0), story.accepted("steer", 0));
    let update = json!({"task": builder(), "runtime": {"runId": "run-2"}, "expectedRevision": 0});
    story.call("builder", "tasks.updateRuntime", update).ok(json!({"revision": 1}));
    // Advice is never stale, whatever it speaks of.
    story.call("writer", "audit.list", message(9)).ok(json!([{"eventType": "message-durably-received"}]));
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    let last = |number: u32, after: u32, kind: &str, revision: u32, detail: Value| {
        let event = json!({"eventType": kind, "revision": revision, "detail": detail});
        (with(message(number), "/afterCursor", after), json!([event]))
    };
    let (page, events) = last(stale, 1, "message-stale", 1, json!({"reasonCode": "stale-run"}));
    story.call("writer", "audit.list", page).ok(events);
    let (page, events) = last(revoked, 2, "authorization-revoked", 2, json!({"previousDecision": "accepted"}));
    story.call("writer", "audit.list", page).ok(events);
    story
}
