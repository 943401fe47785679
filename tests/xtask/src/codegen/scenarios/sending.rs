//! Scenarios of `messages.send` and of the frame around every operation: who may call, who wrote it, when, after what.

use super::cast::{
    DAY, MINUTE, SECOND, WRITER, builder, envelope, message, message_at, message_id, received, task_input, with,
    without,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        callers(),
        methods(),
        taken(),
        authors(),
        owners(),
        identity(),
        times(),
        lifetimes(),
        causality(),
        parents(),
        malformed(),
        precedence(),
    ]
}

/// Rule OP-1: nobody gets as far as the params without a credential.
fn callers() -> Story {
    let mut story = Story::granted("without a credential nothing is looked at", "peer");
    let number = story.sent("suggest", 0);
    let one = "authentication-required";
    let get = message(number);
    story.call("writer", "messages.getDisposition", get.clone()).anonymous().named("known").rules(&["OP-1"]).error(one);
    let unknown = message(99);
    story.call("writer", "messages.getDisposition", unknown).anonymous().rules(&["OP-1"]).error(one).same_as("known");
    let faulty = json!({"nonsense": true});
    story.call("writer", "messages.send", faulty).anonymous().rules(&["OP-1"]).error(one).same_as("known");
    story.call("writer", "no.such", json!({})).anonymous().rules(&["OP-1"]).error(one).same_as("known");
    story.call("writer", "adapter.listUnresolved", json!({})).anonymous().rules(&["OP-1"]).error(one).same_as("known");
    story.call("writer", "messages.getDisposition", get).rules(&["OP-1"]).ok(received(0, "pending", ""));
    story
}

/// Rule OP-2: names are exact, and what is the host's own is not there for anybody else.
fn methods() -> Story {
    let mut story = Story::granted("methods that are not there", "peer");
    for method in ["tasks.list", "messages.Send", "messages.send ", "", "adapter.listunresolved", "session.hello"] {
        story.call("alice", method, json!({})).rules(&["OP-2"]).error("method-not-found");
    }
    for caller in ["writer", "alice", "guard", "ops"] {
        story.call(caller, "adapter.listUnresolved", json!({})).rules(&["OP-2"]).error("method-not-found");
        let params = json!({
            "submissionId": "sub_unknown1", "result": "absent-final", "evidenceRefs": ["query:1"],
        });
        story.call(caller, "adapter.recordQuery", params).rules(&["OP-2"]).error("method-not-found");
    }
    story.call("host", "adapter.listUnresolved", json!({})).rules(&["OP-2"]).ok(json!({}));
    story
}

/// What an accepted send answers, and that the text is kept as it came.
fn taken() -> Story {
    let mut story = Story::granted("a message is taken as it came", "peer");
    let digest = json!({"replay": false, "envelopeDigest": not(json!("")), "disposition": received(0, "pending", "")});
    for (number, intent) in [(1, "notify"), (2, "suggest")] {
        let taken = with(digest.clone(), "/operationReplay", absent());
        story.send(envelope(number, intent, 0)).rules(&["MS-1", "MS-2", "MS-4", "OP-3"]).ok(taken);
    }
    let odd = with(envelope(3, "notify", 0), "/content", "\u{1F642} e\u{301} \u{e9} \"\\\u{2028}\t</content>");
    story.send(odd.clone()).ok(digest);
    let items = json!({"items": [
        {"cursor": 1, "envelope": envelope(1, "notify", 0), "claim": null, "notBefore": absent()},
        {"cursor": 2, "envelope": envelope(2, "suggest", 0)},
        {"cursor": 3, "envelope": odd, "disposition": received(0, "pending", "")},
    ], "nextCursor": 3});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(items);
    story
}

/// Rules MS-1 and MS-2: nobody writes in another's name.
fn authors() -> Story {
    let mut story = Story::granted("nobody writes in another's name", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let sender = |actor: &str, id: Option<&str>| {
        let mut envelope = with(envelope(1, "suggest", 0), "/sender/actorType", actor);
        if let Some(id) = id {
            envelope["sender"]["actorId"] = id.into();
        }
        json!({"envelope": envelope})
    };
    let mut refuse = |caller: &str, params: &Value, code: &str, rule: &str| {
        story.call(caller, "messages.send", params.clone()).refused(code, rule);
    };
    let (denied, mismatch) = ("sender-actor-denied", "principal-mismatch");
    let agent = sender("agent", None);
    for actor in ["user", "policy"] {
        refuse("writer", &sender(actor, Some("alice")), denied, "MS-1");
    }
    refuse("writer", &sender("service", None), denied, "MS-1");
    for caller in ["alice", "guard", "ops", "host"] {
        refuse(caller, &agent, denied, "MS-1");
        refuse(caller, &sender("service", None), denied, "MS-1");
    }
    refuse("ops", &sender("user", Some("ops")), denied, "MS-1");
    refuse("host", &sender("policy", Some("host")), denied, "MS-1");
    for caller in ["stranger", "builder", "writer-next"] {
        refuse(caller, &agent, mismatch, "MS-2");
    }
    let renamed = json!({"envelope": with(envelope(1, "suggest", 0), "/sender/taskId", "writer-2")});
    refuse("writer", &renamed, mismatch, "MS-2");
    refuse("alice", &sender("user", Some("bob")), mismatch, "MS-2");
    refuse("alice", &sender("policy", Some("alice")), mismatch, "MS-2");
    refuse("guard", &sender("user", Some("guard")), mismatch, "MS-2");
    refuse("guard", &sender("policy", Some("other")), mismatch, "MS-2");
    story.call("writer", "messages.send", agent).rules(&["MS-1", "MS-2"]).ok(json!({"replay": false}));
    story
}

/// An owner writes from its own task; others, a policy among them, need the task to be theirs.
fn owners() -> Story {
    let mut story = Story::granted("an owner writes from its own task", "peer");
    let by = |number: u32, kind: &str, id: &str| {
        let authored = with(envelope(number, "suggest", 0), "/sender/actorType", kind);
        json!({"envelope": with(authored, "/sender/actorId", id)})
    };
    story.call("alice", "messages.send", by(1, "user", "alice")).rules(&["MS-1", "MS-2"]).ok(json!({"replay": false}));
    story.call("bob", "messages.send", by(2, "user", "bob")).error("not-visible").named("unseen");
    story.call("carol", "messages.send", by(3, "user", "carol")).error("not-visible").same_as("unseen");
    let unknown = json!({"envelope": with(by(4, "user", "alice")["envelope"].clone(), "/sender/taskId", "nobody")});
    story.call("alice", "messages.send", unknown).error("not-visible").same_as("unseen");
    story
        .call("guard", "messages.send", by(5, "policy", "guard"))
        .rules(&["MS-1", "MS-2"])
        .ok(json!({"replay": false}));
    story.call("alice", "messages.getDisposition", message(1)).ok(received(0, "pending", ""));
    story.call("bob", "messages.getDisposition", message(1)).ok(received(0, "pending", ""));
    story.call("carol", "messages.getDisposition", message(1)).error("not-visible").same_as("unseen");
    story
}

/// Rule MS-4: a message id stands for one text.
fn identity() -> Story {
    let mut story = Story::granted("a message id stands for one text", "peer");
    let sent = envelope(1, "suggest", 0);
    let reordered = sent.clone();
    story.send(sent.clone()).keep("digest", "/envelopeDigest").rules(&["MS-4"]).ok(json!({"replay": false}));
    let again = json!({"replay": true, "envelopeDigest": var("digest"), "disposition": received(0, "pending", "")});
    story.send(reordered).rules(&["MS-4"]).ok(again.clone());
    let conflict = "idempotency-conflict";
    for (pointer, value) in [
        ("/content", json!("Content 1: use the shared cache")),
        ("/evidenceRefs", json!([])),
        ("/expiresAt", json!("2026-05-04T09:00:00Z")),
        ("/target/harness", json!("gemini")),
        ("/relationshipId", json!("rel_other")),
    ] {
        story.send(with(sent.clone(), pointer, value)).refused(conflict, "MS-4");
    }
    story
        .send(with(sent.clone(), "/target", super::cast::task_ref("nobody", "inc_nobody-0001")))
        .refused(conflict, "MS-4");
    story.respond(1, 0, "accepted").ok(received(1, "accepted", "accepted"));
    let later = json!({"replay": true, "disposition": received(1, "accepted", "accepted")});
    story.send(sent.clone()).rules(&["MS-4"]).ok(later.clone());
    // The life of a message does not end the life of its identity, and a replay is no new message.
    story.send(sent.clone()).at(2 * DAY).rules(&["MS-3", "MS-4"]).ok(later);
    story.send(with(sent, "/reason", "It saves two hours.")).refused(conflict, "MS-4");
    story
}

/// Rules MS-3 and MS-5: the clock of the host decides, to the millisecond.
fn times() -> Story {
    let mut story = Story::granted("the host's clock decides", "peer");
    let mut number = 0;
    let mut timed = |created: i64, expires: i64| {
        number += 1;
        with(with(envelope(number, "suggest", 0), "/createdAt", time(created)), "/expiresAt", time(expires))
    };
    let at = MINUTE;
    story.send(timed(0, at + 1)).at(at).rules(&["MS-3"]).ok(json!({"replay": false}));
    story.send(timed(0, at)).refused("message-expired", "MS-3");
    story.send(timed(0, at - 1)).refused("message-expired", "MS-3");
    story.send(timed(-DAY, -1)).refused("message-expired", "MS-3");
    let elsewhere = with(timed(0, at), "/expiresAt", "2026-05-04T20:01:00+12:00");
    story.send(elsewhere).refused("message-expired", "MS-3");
    let elsewhere = with(timed(0, at), "/expiresAt", "2026-05-04T20:01:00.001+12:00");
    story.send(elsewhere).rules(&["MS-3"]).ok(json!({"replay": false}));
    story.send(timed(at + 5 * SECOND, at + DAY)).rules(&["MS-5"]).ok(json!({"replay": false}));
    story.send(timed(at + 5 * SECOND + 1, at + DAY)).refused("lifetime-exceeded", "MS-5");
    story.send(timed(at + DAY, at + 2 * DAY)).refused("lifetime-exceeded", "MS-5");
    story
}

/// Rule MS-6: how long a message may live, by its intent. The past does not count, a head start does.
fn lifetimes() -> Story {
    let mut story = Story::granted("how long a message may live", "supervisor");
    let mut number = 0;
    let mut lives = |intent: &str, created: i64, expires: i64| {
        number += 1;
        with(with(envelope(number, intent, 0), "/createdAt", time(created)), "/expiresAt", time(expires))
    };
    let over = "lifetime-exceeded";
    for (intent, most) in
        [("notify", 30 * DAY), ("suggest", 30 * DAY), ("steer", 15 * MINUTE), ("interrupt", 15 * MINUTE)]
    {
        story.send(lives(intent, 0, most)).rules(&["MS-6"]).ok(json!({"replay": false}));
        story.send(lives(intent, 0, most + 1)).refused(over, "MS-6");
        story.send(lives(intent, 2 * SECOND, most + 1)).refused(over, "MS-6");
        story.send(lives(intent, -MINUTE, most)).refused(over, "MS-6");
        story.send(lives(intent, -MINUTE, most - MINUTE)).rules(&["MS-6"]).ok(json!({"replay": false}));
    }
    story
}

/// Rule MS-8: the hop count is worked out, and a claimed one must agree.
fn causality() -> Story {
    let mut story = Story::granted("the hop count is that of the parent plus one", "peer");
    let mut back = super::cast::grant("peer", 1);
    back = with(with(back, "/source", builder()), "/target", super::cast::writer());
    story.grant(with(with(back, "/grantId", "grant_back-1"), "/relationshipId", "rel_back"));
    let caused = |number: u32, causality: Value| with(envelope(number, "suggest", 0), "/causality", causality);
    let sends = |story: &mut Story, number: u32, causality: Value, fits: bool| {
        let step = story.send(caused(number, causality));
        match fits {
            true => step.rules(&["MS-8"]).ok(json!({"replay": false})),
            false => step.refused("params-invalid", "MS-8"),
        };
    };
    sends(&mut story, 1, json!({"hopCount": 1}), false);
    sends(&mut story, 1, json!({"hopCount": 0}), true);
    sends(&mut story, 2, json!({"traceId": "trace-1"}), true);
    let parent = |count: Value| json!({"parentMessageId": message_id(1), "hopCount": count});
    sends(&mut story, 3, parent(json!(0)), false);
    sends(&mut story, 3, parent(json!(2)), false);
    sends(&mut story, 3, parent(json!(32)), false);
    sends(&mut story, 3, parent(json!(1)), true);
    sends(&mut story, 4, json!({"parentMessageId": message_id(3)}), true);
    sends(&mut story, 5, json!({"parentMessageId": message_id(4), "hopCount": 2}), false);
    sends(&mut story, 5, json!({"parentMessageId": message_id(4), "hopCount": 3}), true);
    // The answer to a received message counts from there.
    let answer =
        with(with(caused(6, parent(json!(1))), "/relationshipId", "rel_back"), "/target", super::cast::writer());
    let sender =
        json!({"taskId": "builder", "incarnationId": "inc_builder-0001", "harness": "codex", "actorType": "agent"});
    let answer = with(answer, "/sender", sender);
    story.call("builder", "messages.send", json!({"envelope": answer})).rules(&["MS-8"]).ok(json!({"replay": false}));
    story
}

/// A parent that the sender neither sent nor received is not there.
fn parents() -> Story {
    let mut story = Story::granted("a parent that the sender cannot see", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let known = story.sent("suggest", 0);
    let child = |number: u32, parent: &str| {
        with(envelope(number, "suggest", 0), "/causality", json!({"parentMessageId": parent}))
    };
    let party = super::cast::task_ref("stranger", "inc_stranger-0001");
    let draft = with(super::cast::grant("peer", 1), "/source", party);
    story.grant(with(with(draft, "/grantId", "grant_stranger-1"), "/relationshipId", "rel_stranger"));
    let foreign = |number: u32, parent: &str| {
        let sender = json!({
            "taskId": "stranger", "incarnationId": "inc_stranger-0001", "harness": "codex", "actorType": "agent",
        });
        let envelope = with(with(child(number, parent), "/sender", sender), "/relationshipId", "rel_stranger");
        json!({"envelope": envelope})
    };
    story.call("stranger", "messages.send", foreign(2, "msg_nobody-0001")).error("not-visible").named("missing");
    story.call("stranger", "messages.send", foreign(2, &message_id(known))).error("not-visible").same_as("missing");
    story.send(child(3, "msg_nobody-0001")).error("not-visible").same_as("missing");
    story.send(child(3, &message_id(3))).error_at("envelope-invalid", "/envelope/causality/parentMessageId");
    story.send(child(3, &message_id(known))).ok(json!({"replay": false}));
    story
}

/// What is not of the right form changes nothing: the same id can be used afterwards.
fn malformed() -> Story {
    let mut story = Story::granted("what is not of the right form changes nothing", "peer");
    let good = envelope(1, "suggest", 0);
    let at = |pointer: &str| format!("/envelope{pointer}");
    story.send(without(good.clone(), "/reason")).error_at("params-invalid", &at("/reason"));
    story.send(with(good.clone(), "/priority", 1)).error_at("params-invalid", &at("/priority"));
    story.send(with(good.clone(), "/intent", "command")).error_at("params-invalid", &at("/intent"));
    story.send(with(good.clone(), "/expiresAt", time(0))).error_at("envelope-invalid", &at("/expiresAt"));
    story.send(with(good.clone(), "/expiresAt", "2026-05-04 09:00:00Z")).error_at("params-invalid", &at("/expiresAt"));
    story
        .send(with(good.clone(), "/expiresAt", "2026-05-04T09:00:00+08"))
        .error_at("params-invalid", &at("/expiresAt"));
    story
        .send(with(good.clone(), "/sender/taskId", "writer\u{200b}"))
        .error_at("params-invalid", &at("/sender/taskId"));
    let key = json!({"envelope": good, "idempotencyKey": ""});
    story.call("writer", "messages.send", key).error_at("params-invalid", "/idempotencyKey");
    let principal = json!({"envelope": good, "principal": {"kind": "user", "principalId": "alice"}});
    story.call("writer", "messages.send", principal).error_at("params-invalid", "/principal");
    story.send(good).ok(json!({"replay": false, "disposition": {"revision": 0}}));
    story
}

/// Of several faults the first is told: the params, the author, the identity, the times, the policy.
fn precedence() -> Story {
    let mut story = Story::tasks("of several faults the first is told");
    let late = with(envelope(1, "suggest", -DAY), "/sender/actorType", "user");
    let late = with(late, "/sender/actorId", "bob");
    story.send(with(late.clone(), "/extra", 1)).error("params-invalid");
    story.send(late.clone()).refused("sender-actor-denied", "MS-1");
    story.call("bob", "messages.send", json!({"envelope": late})).error("not-visible");
    story.send(envelope(1, "suggest", -DAY)).refused("message-expired", "MS-3");
    story.send(envelope(1, "suggest", DAY)).refused("lifetime-exceeded", "MS-5");
    story.send(envelope(1, "suggest", 0)).error("policy-denied");
    story.call("builder", "mailbox.claim", message_at(1, 0)).error("not-visible");
    story
        .call("writer", "messages.getDisposition", json!({"senderIncarnationId": WRITER, "messageId": message_id(1)}))
        .error("not-visible");
    story
}
