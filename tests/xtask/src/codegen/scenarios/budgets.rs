//! Scenarios of budgets: rates, interruptions, hops; and of what is too much for one commit.

use super::cast::{
    BUILDER, MINUTE, SECOND, WRITER, bound, builder, envelope, grant, message_id, received, task_input, task_ref, with,
};
use super::story::Story;
use serde_json::{Value, json};

const OVER: &str = "backpressure";

pub(super) fn stories() -> Vec<Story> {
    vec![interruptions(), urgent_rate(), hops(), names_do_not_count(), refused_costs_nothing()]
}

/// Scenarios of relabelling in pages.
pub(super) fn pages() -> Vec<Story> {
    vec![many_revoked(), many_stale()]
}

/// The incarnation of the n-th of several receivers.
fn receiver(n: u32) -> Value {
    task_ref(&format!("reader-{n}"), &format!("inc_reader-{n:04}"))
}

/// Supervised receivers beside builder, each with a grant of its own.
fn receivers(story: &mut Story, count: u32) {
    for n in 1..=count {
        let target = receiver(n);
        story.register("bob", task_input(&format!("reader-{n}"), target["incarnationId"].as_str().expect("a text")));
        let draft = with(with(grant("supervisor", 1), "/target", target), "/grantId", format!("grant_reader-{n}"));
        story.grant(with(draft, "/relationshipId", format!("rel_reader-{n}")));
    }
}

/// A steer to the n-th of them.
fn steer_to(number: u32, n: u32, offset: i64) -> Value {
    let envelope = with(envelope(number, "steer", offset), "/target", receiver(n));
    with(envelope, "/relationshipId", format!("rel_reader-{n}"))
}

/// Rule BU-5: a receiver is interrupted thirty times a minute, whoever does it.
fn interruptions() -> Story {
    let mut story = Story::granted("a receiver is interrupted so often and no more", "supervisor");
    let by = |number: u32| {
        let authored = with(envelope(number, "interrupt", 0), "/sender/actorType", "user");
        json!({"envelope": with(authored, "/sender/actorId", "alice")})
    };
    for number in 1..=29 {
        story.send(envelope(number, "steer", 0)).ok(json!({"replay": false}));
    }
    story.call("alice", "messages.send", by(30)).rules(&["BU-5"]).ok(json!({"replay": false}));
    story.send(envelope(31, "steer", 0)).refused(OVER, "BU-5");
    story.call("alice", "messages.send", by(31)).refused(OVER, "BU-5");
    story.send(envelope(31, "suggest", 0)).rules(&["BU-5"]).ok(json!({"replay": false}));
    story.send(envelope(32, "interrupt", 0)).at(MINUTE - 1).refused(OVER, "BU-5");
    story.send(envelope(32, "interrupt", 0)).at(MINUTE).rules(&["BU-3", "BU-5"]).ok(json!({"replay": false}));
    story
}

/// Rule BU-3: a principal steers and interrupts sixty times a minute, whomever it reaches.
fn urgent_rate() -> Story {
    let mut story = Story::granted("a principal steers so often and no more", "supervisor");
    receivers(&mut story, 3);
    for number in 1..=59 {
        story.send(steer_to(number, 1 + number % 3, 0)).ok(json!({"replay": false}));
    }
    story.send(steer_to(60, 1, 0)).rules(&["BU-3"]).ok(json!({"replay": false}));
    for n in 1..=3 {
        story.send(steer_to(61, n, 0)).refused(OVER, "BU-3");
    }
    story.send(envelope(61, "interrupt", 0)).refused(OVER, "BU-3");
    story.send(envelope(62, "suggest", 0)).rules(&["BU-2", "BU-3", "BU-4", "BU-7"]).ok(json!({"replay": false}));
    story.send(steer_to(61, 1, 0)).at(MINUTE - 1).refused(OVER, "BU-3");
    story.send(steer_to(61, 1, 0)).at(MINUTE).rules(&["BU-3"]).ok(json!({"replay": false}));
    story
}

/// Rule BU-6: a causal chain has an end.
fn hops() -> Story {
    let mut story = Story::granted("a causal chain has an end", "peer");
    let caused = |number: u32, parent: u32| {
        let causality = json!({"parentMessageId": message_id(parent)});
        with(envelope(number, "notify", 0), "/causality", causality)
    };
    story.send(envelope(1, "notify", 0)).ok(json!({"replay": false}));
    for number in 2..=32 {
        story.send(caused(number, number - 1)).ok(json!({"replay": false}));
    }
    story.send(caused(33, 32)).rules(&["BU-6", "MS-8"]).ok(json!({"replay": false}));
    story.send(caused(34, 33)).refused(OVER, "BU-6");
    let claimed = with(caused(34, 33), "/causality/hopCount", 1);
    story.send(claimed).refused("params-invalid", "MS-8");
    story.send(caused(34, 32)).rules(&["BU-6"]).ok(json!({"replay": false}));
    story
}

/// Budgets are those of the authenticated principal: other harness names, actors' words and labels change nothing.
fn names_do_not_count() -> Story {
    let mut story = Story::granted("budgets are those of the authenticated principal", "supervisor");
    receivers(&mut story, 2);
    for number in 1..=60 {
        let named = with(steer_to(number, 1 + number % 2, 0), "/sender/harness", format!("harness-{number}"));
        story
            .send(with(named, "/causality", json!({"traceId": format!("trace-{number}")})))
            .ok(json!({"replay": false}));
    }
    let rotated = json!({
        "kind": "task", "id": "writer", "incarnation": WRITER, "owner": "user:alice", "authentication": "authn_rotated",
    });
    story.principal("writer-rotated", rotated);
    let one_more = json!({"envelope": with(steer_to(61, 1, 0), "/sender/harness", "another")});
    story.call("writer-rotated", "messages.send", one_more).refused(OVER, "BU-3");
    story
}

/// What is refused is not counted, and neither is a replay.
fn refused_costs_nothing() -> Story {
    let mut story = Story::granted("what is refused is not counted", "supervisor");
    for _ in 0..31 {
        story
            .send(with(envelope(1, "steer", 0), "/freshness", json!({"expectedRunId": "run-9"})))
            .refused("policy-denied", "PO-6");
    }
    let sent = envelope(1, "steer", 0);
    story.send(sent.clone()).ok(json!({"replay": false}));
    for _ in 0..31 {
        story.send(sent.clone()).ok(json!({"replay": true}));
    }
    story.send(envelope(2, "steer", 0)).rules(&["BU-3", "BU-5"]).ok(json!({"replay": false}));
    story
}

/// Fifty-two urgent messages, as fast as the receiver may be interrupted. They are steers that expect objective 4.
fn fifty_two(story: &mut Story) {
    for number in 1..=52_u32 {
        let at = i64::from(number / 27) * MINUTE;
        story.send(envelope(number, "steer", at)).at(at).ok(json!({"replay": false}));
    }
}

/// A revocation of more than one commit holds is told as such, acts on all at once, and goes on until all are told.
fn many_revoked() -> Story {
    let mut story = Story::granted("a revocation of many messages", "supervisor");
    fifty_two(&mut story);
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1, "idempotencyKey": "idem_revoke-1"});
    let done = json!({"invalidatedMessages": 50, "remaining": true, "replay": false, "grantVersion": 1});
    story.call("guard", "relationships.revoke", revoke.clone()).at(2 * MINUTE).ok(done);
    for number in [1, 27, 50, 51, 52] {
        story.seen(number, received(1, "revoked", "revoked"));
    }
    let again = json!({"invalidatedMessages": 0, "remaining": false, "replay": true});
    story.call("guard", "relationships.revoke", revoke).at(2 * MINUTE + SECOND).replayed(again);
    story
        .call("builder", "mailbox.listPending", json!({"receiver": builder()}))
        .ok(json!({"items": [], "nextCursor": 0}));
    story
}

/// The same where a task moves on, and where it is rotated.
fn many_stale() -> Story {
    let mut story = Story::new("a task moves on from many messages");
    story.register("alice", task_input("writer", WRITER));
    story.register("bob", bound("builder", BUILDER));
    story.grant(grant("supervisor", 1));
    fifty_two(&mut story);
    for number in 53..=56 {
        story.send(envelope(number, "suggest", MINUTE)).ok(json!({"replay": false}));
    }
    let update = json!({"task": builder(), "runtime": {"objectiveVersion": 5}, "expectedRevision": 0});
    story.call("builder", "tasks.updateRuntime", update).at(2 * MINUTE).ok(json!({"revision": 1}));
    for number in [1, 50, 51, 52] {
        story.seen(number, received(1, "stale", "stale-objective"));
    }
    story.seen(53, received(0, "pending", ""));
    let next = bound("builder", "inc_builder-0002");
    let rotate = json!({"previous": builder(), "next": next, "expectedRevision": 1});
    story.call("bob", "tasks.rotateIncarnation", rotate).ok(json!({"current": {"revision": 0}}));
    for number in 53..=56 {
        story.seen(number, received(1, "stale", "stale-incarnation"));
    }
    story
}
