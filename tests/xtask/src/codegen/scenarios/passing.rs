//! Scenarios of messages that are passed on, and of messages that are sent together.

use super::super::attestation::digest;
use super::cast::{
    BUILDER, MINUTE, SECOND, WRITER, builder, envelope, grant, message, message_at, message_id, received, task_input,
    task_ref, with, without, writer,
};
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const INVALID: &str = "forward-invalid";
const READER: &str = "inc_reader-0001";
const KEEPER: &str = "inc_keeper-0001";

pub(super) fn stories() -> Vec<Story> {
    vec![
        passed_on(),
        twice(),
        kept(),
        not_stronger(),
        not_theirs(),
        cycles(),
        hops(),
        together(),
        in_order(),
        budgets(),
        nothing_taken(),
        refusals(),
        again(),
    ]
}

/// Writer, builder, reader and keeper, each of whom may send to the next; builder also to writer.
fn chain(name: &str, kind: &str) -> Story {
    let mut story = Story::granted(name, kind);
    story.register("carol", task_input("reader", READER));
    story.register("carol", task_input("keeper", KEEPER));
    let party = |task: &str, incarnation: &str| json!({"kind": "task", "id": task, "incarnation": incarnation, "owner": "user:carol"});
    story.principal("reader", party("reader", READER));
    story.principal("keeper", party("keeper", KEEPER));
    let (reader, keeper) = (task_ref("reader", READER), task_ref("keeper", KEEPER));
    let next = [
        ("onward", builder(), reader.clone()),
        ("far", reader.clone(), keeper),
        ("back", builder(), writer()),
        ("home", reader, builder()),
    ];
    for (name, source, target) in next {
        let draft = with(with(grant(kind, 1), "/source", source), "/target", target);
        let draft = with(draft, "/grantId", format!("grant_{name}-0001"));
        story.grant(with(draft, "/relationshipId", format!("rel_{name}")));
    }
    story
}

/// An envelope by `task` that passes on the one with this number.
fn onward(original: &Value, number: u32, task: &Value, target: Value, relationship: &str) -> Value {
    let sender = with(with(task.clone(), "/harness", "codex"), "/actorType", "agent");
    let parent = json!({"parentMessageId": original["messageId"]});
    let new = with(with(original.clone(), "/messageId", message_id(number)), "/sender", sender);
    let new = with(with(new, "/target", target), "/relationshipId", relationship);
    with(with(new, "/causality", parent), "/reason", "It concerns you as well.")
}

fn forward<'s>(story: &'s mut Story, caller: &str, envelope: Value, sender: &str, original: u32) -> &'s mut Step {
    let original = json!({"senderIncarnationId": sender, "messageId": message_id(original)});
    story.call(caller, "messages.forward", json!({"envelope": envelope, "original": original}))
}

fn reader() -> Value {
    task_ref("reader", READER)
}

/// What is passed on keeps its origin, and every hop is added (delivery rule 10).
fn passed_on() -> Story {
    let mut story = chain("a message is passed on twice", "peer");
    let first = envelope(1, "suggest", 0);
    story.accepted("suggest", 0);
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    let taken = json!({"replay": false, "envelopeDigest": digest(&second), "disposition": received(0, "pending", "")});
    forward(&mut story, "builder", second.clone(), WRITER, 1)
        .at(SECOND)
        .rules(&["FW-1", "FW-2", "FW-3", "FW-4", "FW-5", "FW-6"])
        .ok(taken);
    let origin = json!({
        "actorType": "agent", "source": writer(), "messageId": message_id(1), "envelopeDigest": digest(&first),
        "intent": "suggest",
    });
    let hop = |task: Value, number: u32, at: i64| json!({"source": task, "messageId": message_id(number), "forwardedAt": time(at)});
    let once = json!({"origin": origin, "hops": [hop(builder(), 2, SECOND)]});
    let listed = json!({"items": [{"envelope": second, "forwarding": once}]});
    story.call("reader", "mailbox.listPending", json!({"receiver": reader()})).ok(listed);
    let named = json!({"senderIncarnationId": BUILDER, "messageId": message_id(2)});
    let decided = with(with(named.clone(), "/expectedRevision", 0), "/decision", "accepted");
    story.call("reader", "messages.respond", decided).ok(json!({"revision": 1}));
    let third = onward(&second, 3, &reader(), task_ref("keeper", KEEPER), "rel_far");
    forward(&mut story, "reader", third, BUILDER, 2).at(2 * SECOND).rules(&["FW-6"]).ok(json!({"replay": false}));
    let twice = json!({"origin": origin, "hops": [hop(builder(), 2, SECOND), hop(reader(), 3, 2 * SECOND)]});
    let named = json!({"senderIncarnationId": READER, "messageId": message_id(3)});
    for caller in ["keeper", "reader", "carol"] {
        story.call(caller, "inspector.snapshot", named.clone()).ok(json!({"provenance": {"forwarding": twice}}));
    }
    // Who wrote it first has no part in the new message, and nobody decides for it.
    story.call("writer", "inspector.snapshot", named).error("not-visible");
    story.seen(1, received(1, "accepted", "accepted"));
    story.call("writer", "inspector.snapshot", message(1)).ok(json!({"provenance": {"forwarding": absent()}}));
    story
}

/// The message id and the key mean what they mean everywhere.
fn twice() -> Story {
    let mut story = chain("passing on is idempotent", "peer");
    story.accepted("suggest", 0);
    let second = onward(&envelope(1, "suggest", 0), 2, &builder(), reader(), "rel_onward");
    let original = json!({"senderIncarnationId": WRITER, "messageId": message_id(1)});
    let params = json!({"envelope": second, "original": original, "idempotencyKey": "idem_forward-1"});
    story.call("builder", "messages.forward", params.clone()).ok(json!({"replay": false}));
    story.call("builder", "messages.forward", params.clone()).replayed(json!({"replay": true}));
    forward(&mut story, "builder", second.clone(), WRITER, 1).ok(json!({"replay": true}));
    let other = with(second, "/reason", "Another reason.");
    forward(&mut story, "builder", other.clone(), WRITER, 1).refused("idempotency-conflict", "MS-4");
    let other = with(params, "/envelope", other);
    story.call("builder", "messages.forward", other).refused("idempotency-conflict", "OP-6");
    story
}

/// Rules FW-1 and FW-3: it is the original that is passed on.
fn kept() -> Story {
    let mut story = chain("what is passed on is the original", "peer");
    let first = with(envelope(1, "suggest", 0), "/evidenceRefs", json!(["log:1"]));
    story.send(first.clone()).ok(json!({"replay": false}));
    story.respond(1, 0, "accepted").ok(json!({"revision": 1}));
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    for (path, value) in [
        ("/content", json!("Content 1: never use the shared cache.")),
        ("/evidenceRefs", json!(["log:1", "log:2"])),
        ("/messageType", json!("result")),
        ("/claimStatus", json!("evidence-referenced")),
    ] {
        forward(&mut story, "builder", with(second.clone(), path, value), WRITER, 1)
            .error_at(INVALID, &format!("/envelope{path}"))
            .rules(&["FW-3"]);
    }
    forward(&mut story, "builder", without(second.clone(), "/evidenceRefs"), WRITER, 1).refused(INVALID, "FW-3");
    let parent = "/envelope/causality/parentMessageId";
    let orphan = without(second.clone(), "/causality");
    forward(&mut story, "builder", orphan, WRITER, 1).error_at(INVALID, parent).rules(&["FW-1"]);
    let other = with(second.clone(), "/causality/parentMessageId", message_id(7));
    forward(&mut story, "builder", other, WRITER, 1).error_at(INVALID, parent).rules(&["FW-1"]);
    forward(&mut story, "builder", second, WRITER, 1).rules(&["FW-1", "FW-3"]).ok(json!({"replay": false}));
    story
}

/// Rules FW-4 and FW-5: nothing about it gets stronger or longer; a grant for more does not help.
fn not_stronger() -> Story {
    let mut story = chain("nothing gets stronger on the way", "supervisor");
    let first = envelope(1, "suggest", 0);
    story.accepted("suggest", 0);
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    let steer = with(with(second.clone(), "/intent", "steer"), "/delivery/requestedMode", "active-steer");
    let steer = with(steer, "/freshness", json!({"expectedRunId": "run-1"}));
    let steer = with(steer, "/expiresAt", time(10 * MINUTE));
    forward(&mut story, "builder", steer, WRITER, 1).error_at(INVALID, "/envelope/intent").rules(&["FW-4"]);
    let wake = with(second.clone(), "/delivery/requestedMode", "wake-idle");
    let place = "/envelope/delivery/requestedMode";
    forward(&mut story, "builder", wake, WRITER, 1).error_at(INVALID, place).rules(&["FW-4"]);
    let longer = with(second.clone(), "/expiresAt", time(60 * MINUTE + 1));
    forward(&mut story, "builder", longer, WRITER, 1).error_at(INVALID, "/envelope/expiresAt").rules(&["FW-5"]);
    let weaker = with(with(second, "/intent", "notify"), "/delivery/requestedMode", "side-channel");
    let weaker = with(weaker, "/expiresAt", time(60 * MINUTE - 1));
    forward(&mut story, "builder", weaker, WRITER, 1).rules(&["FW-4", "FW-5"]).ok(json!({"replay": false}));
    story
}

/// Rule FW-2: only who received and accepted it passes it on, while it may see it, and under a grant of its own.
fn not_theirs() -> Story {
    let mut story = chain("only who accepted a message passes it on", "peer");
    let first = envelope(1, "suggest", 0);
    story.send(first.clone()).ok(json!({"replay": false}));
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    let nobody = with(second.clone(), "/causality/parentMessageId", message_id(9));
    forward(&mut story, "builder", nobody, WRITER, 9).error("not-visible").named("missing");
    let foreign = onward(&first, 4, &reader(), task_ref("keeper", KEEPER), "rel_far");
    forward(&mut story, "reader", foreign, WRITER, 1).error("not-visible").same_as("missing");
    let own = onward(&first, 5, &writer(), builder(), "rel_work");
    forward(&mut story, "writer", own, WRITER, 1).error("not-visible").same_as("missing");
    forward(&mut story, "builder", second.clone(), WRITER, 1).refused("state-conflict", "FW-2");
    story.respond(1, 0, "accepted").ok(json!({"revision": 1}));
    let ungranted = with(second.clone(), "/relationshipId", "rel_none");
    forward(&mut story, "builder", ungranted, WRITER, 1).error("policy-denied").rules(&["PO-2"]);
    let steered = with(with(second.clone(), "/intent", "steer"), "/delivery/requestedMode", "active-steer");
    let steered = with(with(steered, "/freshness", json!({"expectedRunId": "run-1"})), "/expiresAt", time(MINUTE));
    forward(&mut story, "builder", steered, WRITER, 1).refused("policy-denied", "PO-9");
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    forward(&mut story, "builder", second, WRITER, 1).refused("policy-denied", "PO-3");
    story
}

/// Rule FW-6: it does not come back, and goes round nowhere.
fn cycles() -> Story {
    let mut story = chain("what is passed on does not come back", "peer");
    let first = envelope(1, "suggest", 0);
    story.accepted("suggest", 0);
    let back = onward(&first, 2, &builder(), writer(), "rel_back");
    forward(&mut story, "builder", back, WRITER, 1).refused(INVALID, "FW-6");
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    forward(&mut story, "builder", second.clone(), WRITER, 1).rules(&["FW-6"]).ok(json!({"replay": false}));
    let accept = json!({
        "senderIncarnationId": BUILDER, "messageId": message_id(2), "expectedRevision": 0, "decision": "accepted",
    });
    story.call("reader", "messages.respond", accept).ok(json!({"revision": 1}));
    let home = onward(&second, 3, &reader(), builder(), "rel_home");
    forward(&mut story, "reader", home, BUILDER, 2).refused(INVALID, "FW-6");
    story
}

/// Rule BU-6: a chain of answers and hops has one end; what was claimed of it must agree.
fn hops() -> Story {
    let mut story = chain("hops count like answers", "peer");
    let mut last = envelope(1, "notify", 0);
    story.send(last.clone()).ok(json!({"replay": false}));
    for number in 2..=33_u32 {
        let parent = json!({"parentMessageId": message_id(number - 1)});
        last = with(envelope(number, "notify", 0), "/causality", parent);
        story.send(last.clone()).ok(json!({"replay": false}));
    }
    story.respond(33, 0, "accepted").ok(json!({"revision": 1}));
    let beyond = onward(&last, 34, &builder(), reader(), "rel_onward");
    let claimed = with(beyond.clone(), "/causality/hopCount", 1);
    forward(&mut story, "builder", claimed, WRITER, 33).refused("params-invalid", "MS-8");
    forward(&mut story, "builder", beyond, WRITER, 33).refused("backpressure", "BU-6");
    story
}

fn batch<'s>(story: &'s mut Story, caller: &str, envelopes: &[Value]) -> &'s mut Step {
    story.call(caller, "messages.sendBatch", json!({ "envelopes": envelopes }))
}

fn taken() -> Value {
    json!({"replay": false, "disposition": received(0, "pending", ""), "error": absent()})
}

fn refusal(code: &str) -> Value {
    json!({"error": {"data": {"code": code}}, "disposition": absent()})
}

/// A batch is taken as its messages would be one by one, in one commit and in order.
fn together() -> Story {
    let mut story = Story::granted("messages are sent together", "peer");
    let sent: Vec<Value> = (1..=3).map(|number| envelope(number, "suggest", 0)).collect();
    batch(&mut story, "writer", &sent).ok(json!({"results": [taken(), taken(), taken()]}));
    let items = [1, 2, 3].map(|number| json!({"cursor": number, "envelope": envelope(number, "suggest", 0)}));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": items}));
    let told =
        [1, 2, 3].map(|number| json!({"eventType": "message-durably-received", "messageId": message_id(number)}));
    let events = json!({"events": told, "nextCursor": 5});
    story.call("builder", "tasks.wait", json!({"task": builder(), "afterCursor": 2})).ok(events);
    let one = json!({"envelopes": [], "idempotencyKey": "idem_batch-1"});
    story.call("writer", "messages.sendBatch", one).error_at("params-invalid", "/envelopes");
    let many: Vec<Value> = (1..=65).map(|number| envelope(number, "suggest", 0)).collect();
    batch(&mut story, "writer", &many).error_at("params-invalid", "/envelopes");
    let odd = [envelope(4, "suggest", 0), with(envelope(5, "suggest", 0), "/priority", 1)];
    batch(&mut story, "writer", &odd).error_at("params-invalid", "/envelopes/1/priority");
    story.claim("builder", 2, 0).ok(json!({"fence": 1}));
    story
}

/// Each message has its own end, and sees what those before it did.
fn in_order() -> Story {
    let mut story = Story::granted("every message of a batch has its own end", "peer");
    let first = envelope(1, "suggest", 0);
    let child = with(envelope(3, "suggest", 0), "/causality", json!({"parentMessageId": message_id(1)}));
    let mixed = [
        first.clone(),
        with(envelope(2, "suggest", -10 * MINUTE), "/expiresAt", time(-MINUTE)),
        child,
        first.clone(),
        with(first, "/content", "Something else."),
        envelope(4, "steer", 0),
        with(envelope(5, "suggest", 0), "/sender/actorType", "user"),
        with(envelope(6, "suggest", 0), "/target", task_ref("nobody", "inc_nobody-0001")),
        with(envelope(7, "suggest", 0), "/causality", json!({"parentMessageId": message_id(99)})),
        with(envelope(8, "notify", 0), "/delivery/requestedMode", "checkpoint-offer"),
        envelope(9, "notify", 0),
    ];
    let results = json!({"results": [
        taken(), refusal("message-expired"), taken(), {"replay": true}, refusal("idempotency-conflict"),
        refusal("policy-denied"), refusal("envelope-invalid"), refusal("policy-denied"), refusal("not-visible"),
        refusal("envelope-invalid"), taken(),
    ]});
    batch(&mut story, "writer", &mixed).rules(&["MS-3", "MS-4", "MS-8", "PO-2"]).ok(results);
    for (number, cursor) in [(1, 1), (3, 2), (9, 3)] {
        let item = json!({"items": [{"cursor": cursor, "envelope": {"messageId": message_id(number)}}]});
        let page = json!({"receiver": builder(), "afterCursor": cursor - 1, "limit": 1});
        story.call("builder", "mailbox.listPending", page).ok(item);
    }
    story.call("builder", "messages.getDisposition", message(4)).error("not-visible");
    story
}

/// Rules BU-3 and BU-5: budgets are applied message by message.
fn budgets() -> Story {
    let mut story = Story::granted("a batch has no budget of its own", "supervisor");
    let many: Vec<Value> = (1..=40).map(|number| envelope(number, "steer", 0)).collect();
    let mut results = vec![taken(); 30];
    results.resize(40, refusal("backpressure"));
    batch(&mut story, "writer", &many).rules(&["BU-5"]).ok(json!({"results": results}));
    story.send(envelope(41, "steer", 0)).refused("backpressure", "BU-5");
    let more = [envelope(42, "steer", 0), envelope(43, "notify", 0)];
    batch(&mut story, "writer", &more).ok(json!({"results": [refusal("backpressure"), taken()]}));
    batch(&mut story, "writer", &[envelope(44, "steer", 0)]).refused("backpressure", "BU-5");
    story
}

/// A batch of which nothing can be taken is refused like its first message, and stores nothing.
fn nothing_taken() -> Story {
    let mut story = Story::granted("a batch of which nothing is taken", "peer");
    let none = json!({
        "envelopes": [envelope(1, "steer", 0), envelope(2, "suggest", -10 * 60 * MINUTE)], "idempotencyKey": "idem_batch-1",
    });
    story.call("writer", "messages.sendBatch", none).refused("policy-denied", "PO-9");
    for caller in ["builder", "alice", "host"] {
        let own = [envelope(1, "suggest", 0)];
        let code = if caller == "builder" { "principal-mismatch" } else { "sender-actor-denied" };
        batch(&mut story, caller, &own).error(code);
    }
    let user = with(with(envelope(1, "suggest", 0), "/sender/actorType", "user"), "/sender/actorId", "carol");
    batch(&mut story, "carol", &[user]).error("not-visible");
    // The key was not used.
    let one = json!({"envelopes": [envelope(3, "suggest", 0)], "idempotencyKey": "idem_batch-1"});
    story.call("writer", "messages.sendBatch", one).ok(json!({"results": [taken()]}));
    story
}

/// Whatever refuses a message refuses it passed on, and refuses a batch that holds nothing else.
fn refusals() -> Story {
    let mut story = chain("passed on or together, a message is refused like any other", "peer");
    let first = envelope(1, "suggest", 0);
    story.accepted("suggest", 0);
    let second = onward(&first, 2, &builder(), reader(), "rel_onward");
    let own = envelope(3, "suggest", 0);
    let mut refuse = |caller: &str, path: &str, value: Value, code: &str| {
        forward(&mut story, caller, with(second.clone(), path, value.clone()), WRITER, 1).error(code);
        let by = if caller == "builder" { "writer" } else { "builder" };
        batch(&mut story, by, &[with(own.clone(), path, value)]).error(code);
    };
    refuse("builder", "/sender/actorType", json!("service"), "sender-actor-denied");
    refuse("writer", "/content", json!("x"), "principal-mismatch");
    refuse("builder", "/expiresAt", json!(time(0)), "envelope-invalid");
    refuse("builder", "/createdAt", json!(time(MINUTE)), "lifetime-exceeded");
    for (sender, receiver, owner) in [("reader", reader(), "carol"), ("builder", builder(), "bob")] {
        let mute = json!({"task": receiver, "consent": {"mute": true}, "expectedRevision": 0});
        story.call(owner, "tasks.setConsent", mute).ok(json!({"revision": 1}));
        match sender {
            "reader" => forward(&mut story, "builder", second.clone(), WRITER, 1),
            _ => batch(&mut story, "writer", std::slice::from_ref(&own)),
        }
        .refused("consent-denied", "CN-1");
    }
    forward(&mut story, "builder", second.clone(), WRITER, 1).at(60 * MINUTE).refused("message-expired", "MS-3");
    batch(&mut story, "writer", std::slice::from_ref(&own)).refused("message-expired", "MS-3");
    for (task, next, owner, revision) in
        [(builder(), "inc_builder-0002", "bob", 1), (writer(), "inc_writer-0002", "alice", 0)]
    {
        let name = task["taskId"].as_str().expect("a text").to_owned();
        let rotate = json!({"previous": task, "next": task_input(&name, next), "expectedRevision": revision});
        story.call(owner, "tasks.rotateIncarnation", rotate).ok(json!({}));
    }
    forward(&mut story, "builder", second, WRITER, 1).refused("task-retired", "OP-4");
    batch(&mut story, "writer", &[own]).refused("task-retired", "OP-4");
    story
}

/// The key stands for the whole: the same again answers what is there now, and why the rest was refused then.
fn again() -> Story {
    let mut story = Story::granted("a batch that is sent again", "peer");
    let envelopes = json!([envelope(1, "suggest", 0), envelope(2, "steer", 0), envelope(3, "suggest", 0)]);
    let params = json!({"envelopes": envelopes, "idempotencyKey": "idem_batch-1"});
    let results = json!({"results": [taken(), refusal("policy-denied"), taken()]});
    story.call("writer", "messages.sendBatch", params.clone()).ok(results);
    story.respond(3, 0, "accepted").ok(json!({"revision": 1}));
    story.grant(grant("supervisor", 2));
    let now = json!({"results": [
        {"replay": true, "disposition": received(0, "pending", "")}, refusal("policy-denied"),
        {"replay": true, "disposition": received(1, "accepted", "accepted")},
    ]});
    let again = params.clone();
    story.call("writer", "messages.sendBatch", again.clone()).rules(&["OP-6"]).replayed(now.clone());
    let swapped = json!([envelope(3, "suggest", 0), envelope(2, "steer", 0), envelope(1, "suggest", 0)]);
    story
        .call("writer", "messages.sendBatch", with(params, "/envelopes", swapped))
        .refused("idempotency-conflict", "OP-6");
    story.call("writer", "messages.getDisposition", message_at_none(2)).error("not-visible");
    // What was sent since then was not sent by the batch.
    story.send(envelope(2, "steer", 0)).ok(json!({"replay": false}));
    story.call("writer", "messages.sendBatch", again).replayed(now);
    story
}

fn message_at_none(number: u32) -> Value {
    without(message_at(number, 0), "/expectedRevision")
}
