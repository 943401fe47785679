//! Scenarios of `inspector.snapshot`: what each viewer sees of a message, when content is hidden and why.

use super::cast::{
    BUILDER, DAY, MINUTE, SECOND, SETTLED, WRITER, builder, envelope, message, receipt, received, task_input, with,
    writer,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![viewers(), whole(), replies(), authorship(), labels(), reasons(), stale(), pages(), retired()]
}

fn look<'s>(story: &'s mut Story, caller: &str) -> &'s mut super::story::Step {
    story.call(caller, "inspector.snapshot", message(1))
}

fn visible() -> Value {
    json!({
        "content": {"state": "visible", "value": "Content 1: use the shared cache.", "reason": "It saves an hour."},
        "evidence": {"state": "visible", "refs": ["log:1", "log:2"]},
    })
}

fn redacted(why: &str) -> Value {
    json!({
        "content": {"state": "redacted", "reason": why, "value": absent()},
        "evidence": {"state": "redacted", "reason": why, "count": 2, "refs": absent()},
    })
}

/// A message with evidence.
fn sent(name: &str, kind: &str) -> Story {
    let mut story = Story::adapted(name, kind);
    let envelope = with(envelope(1, "suggest", 0), "/evidenceRefs", json!(["log:1", "log:2"]));
    story.send(envelope).ok(json!({"replay": false}));
    story
}

/// Both ends and their owners see the content, policies and the operator that it is there, nobody else anything.
fn viewers() -> Story {
    let mut story = sent("who sees what of a message", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    for caller in ["writer", "builder", "alice", "bob"] {
        look(&mut story, caller).ok(visible());
    }
    for caller in ["guard", "ops"] {
        look(&mut story, caller).ok(redacted("metadata-only-policy-view"));
    }
    let missing = json!({"senderIncarnationId": WRITER, "messageId": "msg_nobody-0001"});
    story.call("writer", "inspector.snapshot", missing).error("not-visible").named("missing");
    for caller in ["carol", "stranger", "writer-next", "host"] {
        look(&mut story, caller).error("not-visible").same_as("missing");
    }
    let other = json!({"senderIncarnationId": BUILDER, "messageId": "msg_work-0001"});
    story.call("builder", "inspector.snapshot", other).error("not-visible").same_as("missing");
    story
}

/// Three states, where it came from, how far the attempt is; secrets as digests, events without details.
fn whole() -> Story {
    let mut story = sent("a snapshot of a message", "peer");
    story.respond(1, 0, "accepted").at(SECOND).ok(received(1, "accepted", "accepted"));
    story
        .prepare(1, 1)
        .keep("submission", "/submission/submissionId")
        .keep("key", "/submission/adapterIdempotencyKey")
        .ok(json!({"replay": false}));
    story.begin(1).ok(json!({"replay": false}));
    let end = |task: Value| with(with(task, "/harness", "codex"), "/claimedHarness", absent());
    let event = |cursor: u32, kind: &str, revision: u32| json!({"cursor": cursor, "eventType": kind, "revision": revision, "detail": absent(), "eventId": absent()});
    let seen = json!({
        "specVersion": "0.0-draft", "messageId": "msg_work-0001",
        "provenance": {
            "authorship": "peer-authored", "actor": {"actorType": "agent", "actorId": absent()}, "source": end(writer()),
            "target": end(builder()), "relationshipId": "rel_work", "intent": "suggest", "claimStatus": "unverified",
            "requestedMode": "checkpoint-offer", "messageType": "suggestion", "forwarding": absent(),
        },
        "lifecycle": {"createdAt": time(0), "expiresAt": time(60 * MINUTE), "expired": false},
        "disposition": received(1, "accepted", "accepted"),
        "adapterSubmission": {
            "submissionId": var("submission"), "state": "outcome-unknown", "updatedAt": time(SECOND),
            "adapterIdempotencyKeyDigest": not(var("key")), "adapterIdempotencyKey": absent(), "receipt": absent(),
        },
        "outcomeEvidence": absent(), "interruption": absent(),
        "events": [
            event(1, "message-durably-received", 0), event(2, "receiver-decided", 1),
            event(3, "adapter-submission-prepared", 1), event(4, "adapter-attempt-started", 1),
        ],
        "nextCursor": 4,
    });
    for caller in ["writer", "builder", "alice", "bob", "guard", "ops"] {
        look(&mut story, caller).ok(seen.clone());
    }
    story.receipt("host", 1, receipt("turn-1")).ok(json!({}));
    let submitted = json!({
        "disposition": {"delivery": "adapter-submitted", "decision": "accepted", "outcome": "effect-observed"},
        "adapterSubmission": {"state": "receipt-recorded"},
    });
    look(&mut story, "writer").ok(submitted);
    story
}

/// What a message answers is shown to everybody who sees it, in a snapshot and in the events; its trace and what it expects
/// of the receiver with the content alone.
fn replies() -> Story {
    let mut story = Story::granted("a reply says what it answers", "supervisor");
    story.send(envelope(1, "suggest", 0)).ok(json!({"replay": false}));
    for (number, parent) in [(2, 1), (3, 1), (4, 2)] {
        let causality = json!({"parentMessageId": format!("msg_work-000{parent}"), "traceId": "trace of the day"});
        let caused = with(envelope(number, "suggest", 0), "/causality", causality);
        let caused = with(caused, "/freshness", json!({"expectedObjectiveVersion": 3}));
        story.send(caused).ok(json!({"replay": false}));
        let parent = format!("msg_work-000{parent}");
        let open = json!({"provenance": {
            "causality": {"parentMessageId": parent, "traceId": "trace of the day"},
            "freshness": {"expectedObjectiveVersion": 3},
        }});
        for caller in ["writer", "builder", "alice", "bob"] {
            story.call(caller, "inspector.snapshot", message(number)).ok(open.clone());
        }
        let closed = json!({"provenance": {
            "causality": {"parentMessageId": parent, "traceId": absent()}, "freshness": absent(),
        }});
        for caller in ["guard", "ops"] {
            story.call(caller, "inspector.snapshot", message(number)).ok(closed.clone());
        }
        let told = json!([{"eventType": "message-durably-received", "detail": {"parentMessageId": parent}}]);
        story.call("builder", "audit.list", message(number)).ok(told);
    }
    let told = json!([{"eventType": "message-durably-received", "detail": {"parentMessageId": absent()}}]);
    story.call("builder", "audit.list", message(1)).ok(told);
    let seen = json!({"provenance": {"causality": absent(), "freshness": absent()}});
    story.call("builder", "inspector.snapshot", message(1)).ok(seen);
    story
}

/// Whose words they are: a peer's, a user's, a policy's.
fn authorship() -> Story {
    let mut story = Story::granted("whose words a message has", "peer");
    for (number, kind, who) in [(1, "user", "alice"), (2, "policy", "guard")] {
        let authored = with(envelope(number, "suggest", 0), "/sender/actorType", kind);
        let params = json!({"envelope": with(authored, "/sender/actorId", who)});
        story.call(who, "messages.send", params).ok(json!({"replay": false}));
        let seen = json!({"provenance": {
            "authorship": format!("{kind}-authored"), "actor": {"actorType": kind, "actorId": who},
        }, "adapterSubmission": null});
        story.call("builder", "inspector.snapshot", message(number)).ok(seen);
    }
    story
}

/// Labels are those of the registry; another one in the envelope is shown as claimed (weakness A9).
fn labels() -> Story {
    let mut story = Story::granted("labels come from the registry", "peer");
    let forged = with(envelope(1, "suggest", 0), "/sender/harness", "trusted-supervisor");
    let forged = with(forged, "/target/harness", "gemini");
    story.send(forged).ok(json!({"replay": false}));
    let seen = json!({"provenance": {
        "source": {"harness": "codex", "claimedHarness": "trusted-supervisor"},
        "target": {"harness": "codex", "claimedHarness": "gemini"},
    }});
    look(&mut story, "builder").ok(seen);
    story
}

/// Of several reasons to hide the content the first is told: expired, a policy's view, no authority any more.
fn reasons() -> Story {
    let mut story = sent("why content is hidden", "peer");
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    let over = redacted("authorization-no-longer-current");
    for caller in ["writer", "builder", "alice", "bob"] {
        look(&mut story, caller).ok(over.clone());
    }
    look(&mut story, "builder").ok(json!({"disposition": received(0, "pending", "")}));
    look(&mut story, "guard").ok(redacted("metadata-only-policy-view"));
    for caller in ["writer", "builder", "bob", "guard"] {
        look(&mut story, caller).at(60 * MINUTE).ok(redacted("expired"));
    }
    look(&mut story, "bob").at(DAY).ok(json!({"lifecycle": {"expired": true}}));
    story
}

/// A steer that speaks of what is over may be acted on no more; what it said is not shown either.
fn stale() -> Story {
    let mut story = Story::granted("a stale steer", "supervisor");
    story.send(envelope(1, "steer", 0)).ok(json!({"replay": false}));
    let update = json!({"task": builder(), "runtime": {"objectiveVersion": 5}, "expectedRevision": 0});
    story.call("builder", "tasks.updateRuntime", update).ok(json!({"revision": 1}));
    let over = json!({
        "content": {"state": "redacted", "reason": "authorization-no-longer-current"},
        "disposition": received(1, "stale", "stale-objective"),
    });
    look(&mut story, "writer").ok(over);
    story
}

/// Events come in pages.
fn pages() -> Story {
    let mut story = sent("events come in pages", "peer");
    story.claim("builder", 1, 0).keep("token", "/claimToken").ok(json!({"fence": 1}));
    story.ack("builder", 1, 0, "accepted").ok(json!({"revision": 1}));
    let page = |after: u32, limit: u32| with(with(message(1), "/afterCursor", after), "/limit", limit);
    let two = json!({"events": [{"cursor": 1}, {"cursor": 2}], "nextCursor": 2});
    story.call("writer", "inspector.snapshot", page(0, 2)).ok(two);
    let rest = json!({"events": [{"cursor": 3, "eventType": "receiver-decided"}], "nextCursor": 3});
    story.call("writer", "inspector.snapshot", page(2, 2)).ok(rest);
    story.call("writer", "inspector.snapshot", page(3, 2)).ok(json!({"events": [], "nextCursor": 3}));
    story.call("writer", "inspector.snapshot", page(0, 101)).error_at("params-invalid", "/limit");
    story
}

/// A retired incarnation looks no more; its successor sees that there was something, and not what.
fn retired() -> Story {
    let mut story = sent("a snapshot after a rotation", "peer");
    story.respond(1, 0, "accepted").ok(json!({"revision": 1}));
    let next = json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).at(SETTLED).ok(json!({}));
    look(&mut story, "builder").refused("task-retired", "OP-4");
    for caller in ["builder-next", "writer", "bob"] {
        look(&mut story, caller).rules(&["OP-4"]).ok(redacted("authorization-no-longer-current"));
    }
    story
}
