//! Scenarios of the relationship policy and of consent: what a grant allows, and that it is asked again at every step.

use super::cast::{
    DAY, MINUTE, WRITER, bound, builder, envelope, grant, message, message_at, profile, received, task_input, task_ref,
    with, without, writer,
};
use super::story::{Step, Story};
use super::time;
use serde_json::{Value, json};

const DENIED: &str = "policy-denied";

pub(super) fn stories() -> Vec<Story> {
    vec![
        ends(),
        without_grant(),
        own_tasks(),
        revoked(),
        superseded(),
        expired(),
        supervision(),
        allowed(),
        fresh_at_send(),
        fresh_later(),
        asked_again(),
        hidden_and_shown(),
        exact_names(),
    ]
}

/// Scenarios of consent.
pub(super) fn consent() -> Vec<Story> {
    vec![mute(), quiet()]
}

/// Rule PO-1: both ends are registered and live.
fn ends() -> Story {
    let mut story = Story::granted("both ends are registered and live", "peer");
    let number = story.sent("suggest", 0);
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    story.send(envelope(2, "suggest", 0)).refused(DENIED, "PO-1");
    story.call("builder-next", "mailbox.claim", message_at(number, 0)).error("not-visible");
    story.seen(number, received(1, "stale", "stale-incarnation"));
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    story.send(envelope(3, "suggest", 0)).refused("task-retired", "OP-4");
    let next =
        json!({"taskId": "writer", "incarnationId": "inc_writer-0002", "harness": "codex", "actorType": "agent"});
    let next = with(envelope(3, "suggest", 0), "/sender", next);
    let next = with(next, "/target", task_ref("builder", "inc_builder-0002"));
    let ungranted = json!({"envelope": next});
    story.call("writer-next", "messages.send", ungranted.clone()).rules(&["PO-1", "PO-2"]).error(DENIED);
    let draft = with(grant("peer", 1), "/source", task_ref("writer", "inc_writer-0002"));
    let draft = with(draft, "/target", task_ref("builder", "inc_builder-0002"));
    story.grant(with(draft, "/grantId", "grant_next-1"));
    story.call("writer-next", "messages.send", ungranted).rules(&["PO-1", "PO-2"]).ok(json!({"replay": false}));
    story
}

/// `owner` rotates a task; the next incarnation is at revision 0.
pub(super) fn rotate(story: &mut Story, owner: &str, previous: Value, next: Value) {
    let params = json!({"previous": previous, "next": next, "expectedRevision": 0});
    story.call(owner, "tasks.rotateIncarnation", params).ok(json!({"current": {"revision": 0}}));
}

/// Rule PO-2: without a grant nothing is sent, and an unknown receiver looks like one without a grant.
fn without_grant() -> Story {
    let mut story = Story::tasks("without a grant nothing is sent");
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.send(envelope(1, "suggest", 0)).named("denied").rules(&["PO-2"]).error(DENIED);
    let unknown = with(envelope(1, "suggest", 0), "/target", task_ref("nobody", "inc_nobody-0001"));
    story.send(unknown).rules(&["PO-2"]).error(DENIED).same_as("denied");
    let own = with(envelope(1, "suggest", 0), "/target", task_ref("editor", "inc_editor-0001"));
    story.send(own).rules(&["PO-2"]).error(DENIED).same_as("denied");
    story.grant(grant("peer", 1));
    story
        .send(with(envelope(1, "suggest", 0), "/relationshipId", "rel_other"))
        .rules(&["PO-2"])
        .error(DENIED)
        .same_as("denied");
    let back = with(envelope(1, "suggest", 0), "/target", writer());
    let sender =
        json!({"taskId": "builder", "incarnationId": "inc_builder-0001", "harness": "codex", "actorType": "agent"});
    let back = json!({"envelope": with(back, "/sender", sender)});
    story.call("builder", "messages.send", back).rules(&["PO-2"]).error(DENIED).same_as("denied");
    story.send(envelope(1, "suggest", 0)).rules(&["PO-2"]).ok(json!({"replay": false}));
    story
}

/// The owner of both ends may steer its tasks without a grant, as itself (settled 13, weaknesses B14).
fn own_tasks() -> Story {
    let mut story = Story::new("the owner of both ends needs no grant");
    story.register("alice", task_input("writer", WRITER));
    story.register("alice", bound("builder", "inc_builder-0001"));
    story.register("bob", task_input("editor", "inc_editor-0001"));
    let by = |number: u32, intent: &str, kind: &str, id: &str| {
        let authored = with(envelope(number, intent, 0), "/sender/actorType", kind);
        json!({"envelope": with(authored, "/sender/actorId", id)})
    };
    for (number, intent) in [(1, "suggest"), (2, "steer"), (3, "interrupt")] {
        let sent = by(number, intent, "user", "alice");
        story
            .call("alice", "messages.send", sent)
            .rules(&["PO-2", "PO-9", "PO-10", "PO-11"])
            .ok(json!({"replay": false}));
    }
    let told = json!([{"eventType": "message-durably-received", "detail": {"authority": "owner", "grantId": ""}, "actor": {"kind": "user", "id": "alice"}}]);
    story.call("alice", "audit.list", message(2)).ok(told);
    story.send(envelope(4, "suggest", 0)).named("denied").rules(&["PO-2"]).error(DENIED);
    let policy = by(4, "suggest", "policy", "guard");
    story.call("guard", "messages.send", policy).rules(&["PO-2"]).error(DENIED).same_as("denied");
    let elsewhere = with(by(4, "suggest", "user", "alice"), "/envelope/target", task_ref("editor", "inc_editor-0001"));
    story.call("alice", "messages.send", elsewhere).rules(&["PO-1"]).error(DENIED).same_as("denied");
    let stale = with(by(4, "steer", "user", "alice"), "/envelope/freshness", json!({"expectedRunId": "run-0"}));
    story.call("alice", "messages.send", stale).rules(&["PO-6"]).error(DENIED);
    // Bob's tasks have Alice's names, and are others.
    story.register("bob", task_input("writer", WRITER));
    story.register("bob", bound("builder", "inc_builder-0001"));
    let other = json!({"kind": "task", "id": "builder", "incarnation": "inc_builder-0001", "owner": "user:alice"});
    story.principal("alices-builder", other);
    story.call("alices-builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"nextCursor": 3}));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    story.call("builder", "mailbox.claim", message_at(1, 0)).error("not-visible");
    story.call("alices-builder", "mailbox.claim", message_at(1, 0)).ok(json!({"fence": 1}));
    story
}

fn revoke(story: &mut Story, version: u32) -> &mut Step {
    let params = json!({"grantId": format!("grant_work-{version}"), "expectedGrantVersion": version});
    story.call("guard", "relationships.revoke", params)
}

/// Rule PO-3: a revoked grant allows nothing, at once, and the older versions do not come back.
fn revoked() -> Story {
    let mut story = Story::adapted("a revoked grant allows nothing", "peer");
    let (pending, accepted) = (story.sent("suggest", 0), story.accepted("suggest", 0));
    story.grant(grant("peer", 2));
    let newer = story.sent("suggest", 0);
    revoke(&mut story, 2).ok(json!({"grantId": "grant_work-2"}));
    story.send(envelope(9, "suggest", 0)).refused(DENIED, "PO-3");
    story.claim("builder", newer, 0).refused(DENIED, "PO-3");
    story.respond(newer, 0, "accepted").refused(DENIED, "PO-3");
    story.respond(newer, 0, "deferred").refused(DENIED, "PO-3");
    story.claim("builder", pending, 0).refused(DENIED, "PO-4");
    story.prepare(accepted, 1).refused(DENIED, "PO-4");
    let empty = json!({"items": [], "nextCursor": 3});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    // A refusal needs no authority.
    story.respond(newer, 0, "rejected").rules(&["PO-3"]).ok(received(1, "rejected", "receiver-rejected"));
    story.grant(grant("peer", 3));
    story.send(envelope(9, "suggest", 0)).rules(&["PO-3", "PO-4"]).ok(json!({"replay": false}));
    story
}

/// Rule PO-4: a message stands under the very version that it was sent under.
fn superseded() -> Story {
    let mut story = Story::adapted("a message stands under the version that it was sent under", "peer");
    let (pending, accepted, prepared) =
        (story.sent("suggest", 0), story.accepted("suggest", 0), story.accepted("suggest", 0));
    story
        .prepare(prepared, 1)
        .keep("submission", "/submission/submissionId")
        .rules(&["PO-4"])
        .ok(json!({"replay": false}));
    story.grant(grant("peer", 2));
    story.claim("builder", pending, 0).refused(DENIED, "PO-4");
    story.respond(pending, 0, "accepted").refused(DENIED, "PO-4");
    story.prepare(accepted, 1).refused(DENIED, "PO-4");
    story.begin(1).refused(DENIED, "PO-4");
    let number = story.sent("suggest", 0);
    let item = json!({"items": [{"cursor": 4}], "nextCursor": 4});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(item);
    story.claim("builder", number, 0).rules(&["PO-4"]).ok(json!({"replay": false}));
    story
}

/// Rule PO-5: a grant ends to the millisecond; one without an end does not.
fn expired() -> Story {
    let mut story = Story::tasks("a grant ends");
    story.grant(with(grant("peer", 1), "/expiresAt", time(MINUTE)));
    story.declare(profile());
    let (claimed, number) = (story.sent("suggest", 0), story.accepted("suggest", 0));
    story
        .prepare(number, 1)
        .at(MINUTE - 1)
        .keep("submission", "/submission/submissionId")
        .rules(&["PO-5"])
        .ok(json!({}));
    story.send(envelope(3, "suggest", 0)).rules(&["PO-5"]).ok(json!({"replay": false}));
    story.send(envelope(4, "suggest", 0)).at(MINUTE).refused(DENIED, "PO-5");
    story.claim("builder", claimed, 0).refused(DENIED, "PO-5");
    story.begin(1).refused(DENIED, "PO-5");
    story.prepare(number, 1).refused(DENIED, "PO-5");
    story.grant(without(grant("peer", 2), "/expiresAt"));
    let late = with(envelope(4, "suggest", 0), "/expiresAt", time(30 * DAY));
    story.send(late).rules(&["PO-5"]).ok(json!({"replay": false}));
    story.claim("builder", 4, 0).at(30 * DAY - 1).rules(&["PO-5"]).ok(json!({"replay": false}));
    story
}

/// Rule PO-9: whoever is not set over the receiver neither steers nor interrupts it.
fn supervision() -> Story {
    let mut story = Story::tasks("only supervisors and parents steer");
    for (version, kind) in ["child", "peer", "dependency", "observer", "supervisor", "parent"].iter().enumerate() {
        let version = u32::try_from(version).expect("few") + 1;
        let mut draft = grant(kind, version);
        if *kind == "observer" {
            draft["allowedIntents"] = json!(["notify"]);
            draft["allowedDeliveryModes"] = json!(["store-only"]);
        }
        story.grant(draft);
        for (number, intent) in [(2 * version, "steer"), (2 * version + 1, "interrupt")] {
            let step = story.send(envelope(number, intent, 0));
            match *kind {
                "supervisor" | "parent" => step.rules(&["PO-9"]).ok(json!({"replay": false})),
                _ => step.refused(DENIED, "PO-9"),
            };
        }
        story.send(envelope(20 + version, "notify", 0)).rules(&["PO-9"]).ok(json!({"replay": false}));
    }
    story
}

/// Rules PO-10 and PO-11: the grant lists the intents and the delivery modes.
fn allowed() -> Story {
    let mut story = Story::tasks("the grant lists what may be sent and how");
    let limited = |version: u32, intents: Value, modes: Value| {
        let draft = with(grant("supervisor", version), "/allowedIntents", intents);
        with(draft, "/allowedDeliveryModes", modes)
    };
    story.grant(limited(1, json!(["suggest"]), json!(["checkpoint-offer"])));
    story.send(envelope(1, "notify", 0)).refused(DENIED, "PO-10");
    story.send(envelope(1, "steer", 0)).refused(DENIED, "PO-10");
    story.send(envelope(1, "interrupt", 0)).refused(DENIED, "PO-10");
    for mode in ["store-only", "side-channel", "wake-idle"] {
        let quiet = with(envelope(1, "suggest", 0), "/delivery/requestedMode", mode);
        story.send(quiet).refused(DENIED, "PO-11");
    }
    story.send(envelope(1, "suggest", 0)).rules(&["PO-10", "PO-11"]).ok(json!({"replay": false}));
    story.grant(limited(2, json!(["notify", "steer"]), json!(["side-channel", "active-steer"])));
    story.send(envelope(2, "suggest", 0)).refused(DENIED, "PO-10");
    story.send(envelope(2, "notify", 0)).refused(DENIED, "PO-11");
    story.send(envelope(2, "steer", 0)).rules(&["PO-10", "PO-11"]).ok(json!({"replay": false}));
    story
}

/// Rules PO-6 to PO-8: an urgent message speaks of the run, the objective and the checkpoint that are current.
fn fresh_at_send() -> Story {
    let mut story = Story::granted("an urgent message speaks of what is current", "supervisor");
    let mut number = 0;
    let mut expects = |intent: &str, freshness: Value| {
        number += 1;
        with(envelope(number, intent, 0), "/freshness", freshness)
    };
    for (freshness, rule) in [
        (json!({"expectedRunId": "run-2"}), "PO-6"),
        (json!({"expectedRunId": "Run-1", "expectedObjectiveVersion": 9}), "PO-6"),
        (json!({"expectedObjectiveVersion": 3}), "PO-7"),
        (json!({"expectedObjectiveVersion": 5, "expectedCheckpoint": "elsewhere"}), "PO-7"),
        (json!({"expectedRunId": "run-1", "expectedCheckpoint": "start"}), "PO-8"),
        (json!({"expectedObjectiveVersion": 4, "expectedCheckpoint": "half-way "}), "PO-8"),
    ] {
        let step = story.send(expects("steer", freshness.clone()));
        match freshness["expectedCheckpoint"] == "half-way " {
            true => step.error_at("params-invalid", "/envelope/freshness/expectedCheckpoint"),
            false => step.refused(DENIED, rule),
        };
    }
    for (freshness, rule) in [
        (json!({"expectedRunId": "run-1"}), "PO-6"),
        (json!({"expectedObjectiveVersion": 4}), "PO-7"),
        (json!({"expectedObjectiveVersion": 4.0, "expectedCheckpoint": "half-way"}), "PO-8"),
    ] {
        for intent in ["steer", "interrupt"] {
            story.send(expects(intent, freshness.clone())).rules(&[rule]).ok(json!({"replay": false}));
        }
    }
    // Advice may carry freshness; nothing compares it.
    let advice = with(envelope(30, "suggest", 0), "/freshness", json!({"expectedRunId": "run-9"}));
    story.send(advice).rules(&["PO-6"]).ok(json!({"replay": false}));
    story
}

/// The same at every later gate: a steer that has gone stale is taken no further, and is called stale.
fn fresh_later() -> Story {
    let mut story = Story::adapted("a steer that has gone stale goes no further", "supervisor");
    let pending = story.sent("steer", 0);
    let prepared = story.accepted("steer", 0);
    story
        .prepare(prepared, 1)
        .keep("submission", "/submission/submissionId")
        .rules(&["PO-7"])
        .ok(json!({"replay": false}));
    let update =
        |revision: u32, runtime: Value| json!({"task": builder(), "runtime": runtime, "expectedRevision": revision});
    story.call("builder", "tasks.updateRuntime", update(0, json!({"objectiveVersion": 5}))).ok(json!({"revision": 1}));
    // The sender is told at once; what is accepted is left to the receiver, and goes no further.
    story.seen(pending, received(1, "stale", "stale-objective"));
    story.claim("builder", pending, 1).refused(DENIED, "PO-7");
    story.respond(pending, 1, "accepted").refused(DENIED, "PO-7");
    story.respond(pending, 1, "stale").rules(&["LC-12"]).error("transition-illegal");
    story.begin(1).refused(DENIED, "PO-7");
    story.prepare(prepared, 1).refused(DENIED, "PO-7");
    let empty = json!({"items": [], "nextCursor": 0});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    let run = with(with(message_at(prepared, 1), "/decision", "revoked"), "/reasonCode", "revoked");
    story.call("builder", "messages.respond", run).ok(received(2, "revoked", "revoked"));
    story
}

/// A revocation stops a message at whatever gate it stands.
fn asked_again() -> Story {
    let mut story = Story::adapted("revoked before the claim, the decision, the preparation and the beginning", "peer");
    let unclaimed = story.sent("suggest", 0);
    let claimed = story.sent("suggest", 0);
    story.claim("builder", claimed, 0).keep("token", "/claimToken").ok(json!({}));
    let accepted = story.accepted("suggest", 0);
    let prepared = story.accepted("suggest", 0);
    story.prepare(prepared, 1).keep("submission", "/submission/submissionId").ok(json!({}));
    revoke(&mut story, 1).rules(&["GA-6"]).ok(json!({"replay": false}));
    story.claim("builder", unclaimed, 0).refused(DENIED, "PO-3");
    story.ack("builder", claimed, 0, "accepted").refused(DENIED, "PO-3");
    story.ack("builder", claimed, 0, "deferred").refused(DENIED, "PO-3");
    let both = with(message_at(claimed, 0), "/claimToken", super::story::var("token"));
    story.call("builder", "adapter.acceptAndBegin", both).refused(DENIED, "PO-3");
    story.prepare(accepted, 1).refused(DENIED, "PO-3");
    story.begin(1).refused(DENIED, "PO-3");
    story.prepare(prepared, 1).refused(DENIED, "PO-3");
    story.claim("builder", claimed, 0).refused(DENIED, "PO-3");
    story.ack("builder", claimed, 0, "rejected").rules(&["PO-3"]).ok(received(1, "rejected", "receiver-rejected"));
    story
}

/// Whoever has no grant for the pair does not learn why; whoever has one does (settled 15).
fn hidden_and_shown() -> Story {
    let mut story = Story::tasks("reasons are for holders of a grant");
    story.send(envelope(1, "suggest", 0)).named("denied").rules(&["PO-2"]).error(DENIED);
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    story.send(envelope(1, "suggest", 0)).rules(&["PO-1"]).error(DENIED).same_as("denied");
    story
        .send(with(envelope(1, "suggest", 0), "/target/harness", "gemini"))
        .rules(&["PO-1"])
        .error(DENIED)
        .same_as("denied");
    story
}

/// Nothing that only resembles a receiver is one (field reports P002, P003, P133).
fn exact_names() -> Story {
    let mut story = Story::granted("nothing that only resembles a receiver is one", "peer");
    story
        .send(with(envelope(1, "suggest", 0), "/target", task_ref("nobody", "inc_nobody-0001")))
        .named("denied")
        .rules(&["PO-2"])
        .error(DENIED);
    for (task, incarnation) in [
        ("Builder", "inc_builder-0001"),
        ("builde", "inc_builder-0001"),
        ("builder", "inc_builder-001"),
        ("builder", "inc_builder-00011"),
        ("builder", "inc_Builder-0001"),
        ("builder/inc_builder-0001", "inc_builder-0001"),
        ("buil\u{434}er", "inc_builder-0001"),
        ("builder%2F", "inc_builder-0001"),
    ] {
        let near = with(envelope(1, "suggest", 0), "/target", task_ref(task, incarnation));
        story.send(near).rules(&["PO-2"]).error(DENIED).same_as("denied");
    }
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    story.call("writer", "messages.getDisposition", message(1)).error("not-visible");
    story.send(envelope(1, "suggest", 0)).rules(&["PO-2"]).ok(json!({"replay": false}));
    story
}

fn consents(story: &mut Story, revision: u32, consent: Value) {
    let params = json!({"task": builder(), "consent": consent, "expectedRevision": revision});
    story.call("builder", "tasks.setConsent", params).ok(json!({"revision": revision + 1}));
}

/// Rule CN-1: a muted task takes nothing; what it has it keeps.
fn mute() -> Story {
    let mut story = Story::granted("a muted task takes nothing", "supervisor");
    let before = story.sent("suggest", 0);
    consents(&mut story, 0, json!({"mute": true}));
    for (number, intent) in [(2, "notify"), (3, "suggest"), (4, "steer"), (5, "interrupt")] {
        story.send(envelope(number, intent, 0)).refused("consent-denied", "CN-1");
    }
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": [{"cursor": 1}]}));
    story.claim("builder", before, 0).rules(&["CN-1"]).ok(json!({"fence": 1}));
    consents(&mut story, 1, json!({"mute": false}));
    story.send(envelope(2, "notify", 0)).rules(&["CN-1"]).ok(json!({"replay": false}));
    story
}

/// Rule CN-2: a task that is not to be disturbed takes what can wait, until the time comes.
fn quiet() -> Story {
    let mut story = Story::granted("a task that is not to be disturbed", "supervisor");
    consents(&mut story, 0, json!({"doNotDisturbUntil": time(MINUTE)}));
    let wake = |number: u32| with(envelope(number, "suggest", 0), "/delivery/requestedMode", "wake-idle");
    story.send(envelope(1, "steer", 0)).refused("consent-denied", "CN-2");
    story.send(envelope(1, "interrupt", 0)).refused("consent-denied", "CN-2");
    story.send(wake(1)).at(MINUTE - 1).refused("consent-denied", "CN-2");
    story.send(envelope(1, "suggest", 0)).rules(&["CN-2"]).ok(json!({"replay": false}));
    story.send(envelope(2, "notify", 0)).rules(&["CN-2"]).ok(json!({"replay": false}));
    story.send(wake(3)).at(MINUTE).rules(&["CN-2"]).ok(json!({"replay": false}));
    story.send(envelope(4, "steer", 0)).rules(&["CN-2"]).ok(json!({"replay": false}));
    story
}
