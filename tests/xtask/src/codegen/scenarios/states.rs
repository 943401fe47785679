//! Scenarios of accepted state: what verifies an event, how it becomes state, what older and other state does, and who
//! waits for it.

use super::cast::{DAY, MINUTE, SECOND, WRITER, builder, task_input, task_ref, with, without};
use super::events::{event, id, of, of_at, wide};
use super::story::{Step, Story, absent, not, var};
use super::threads::thread;
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        resolvers(),
        checks(),
        verified(),
        contradicted(),
        lacking(),
        asked(),
        facts(),
        overtaken(),
        unwitnessed(),
        order(),
        succession(),
        others(),
        history(),
        waits(),
        blockers(),
        ends(),
        invalidated(),
        held(),
        keys(),
    ]
}

const SUBJECT: &str = "deployment.endpoint";

/// The digest of a resolver's configuration.
fn digest(number: u32) -> String {
    format!("sha256:{number:064}")
}

fn resolver(number: u32, producers: Value) -> Value {
    json!({"resolver": "health", "digest": digest(number), "producers": producers})
}

/// What is looked at before the endpoint is accepted.
fn check() -> Value {
    json!({
        "subject": SUBJECT, "resolver": "health", "address": "/status", "answer": "/endpoint", "payload": "/value",
        "visibleAfterMs": 10_000,
    })
}

/// The subject at the builder.
fn subject() -> Value {
    json!({"threadId": "builder", "trajectoryId": "project:migration", "subject": SUBJECT})
}

/// A state update that says a value.
fn update(number: u32, value: &str) -> Value {
    with(event(number, "STATE_UPDATE"), "/payload/value", value)
}

fn numbered(number: u32, value: &str, sequence: u32) -> Value {
    with(update(number, value), "/sequence", sequence)
}

fn superseding(number: u32, value: &str, earlier: u32) -> Value {
    with(update(number, value), "/supersedes_event_id", id(earlier))
}

impl Story {
    /// Linked threads; the builder takes events by itself and has the endpoint looked at.
    fn checked(name: &str) -> Self {
        let mut story = Self::linked(name);
        story.call("ops", "resolvers.declare", resolver(1, json!([]))).ok(json!({"replay": false}));
        let change = json!({"reception": "standing", "checks": [check()]});
        let params = json!({"threadId": "builder", "change": change, "expectedRevision": 0});
        story.call("bob", "threads.configure", params).ok(json!({"checks": [check()]}));
        story
    }

    /// Writer sends an update, which is examined; its message and fence are kept under its number.
    fn examined(&mut self, event: Value, fence: u32) -> &mut Step {
        let effects = json!([{"kind": "call", "name": "inquiry.ask", "body": {"fence": fence, "asked": 1}}]);
        let step = self.tell(event).keep("message", "/messageId");
        step.ok(json!({
            "verification": "examining", "uptake": "none", "disposition": {"decision": "pending"},
            "receipt": {"stage": "evidence", "status": "examining", "reason": absent()},
        }))
        .effects(effects)
    }

    /// The host says what it found for the event that was sent last.
    fn found(&mut self, fence: u32, value: Value) -> &mut Step {
        self.call("host", "inquiries.record", with(with(fact(fence), "/result", "found"), "/value", value))
    }

    /// An update that is found to be so.
    fn applied(&mut self, event: Value, value: &str) -> &mut Step {
        self.examined(event, 1);
        self.found(1, value.into()).ok(json!({"verification": "verified", "uptake": "applied"}))
    }
}

/// What names the inquiry about the event that was sent last.
fn inquiry(fence: u32) -> Value {
    json!({"messageId": var("message"), "senderIncarnationId": WRITER, "fence": fence})
}

fn fact(fence: u32) -> Value {
    with(with(inquiry(fence), "/resolverDigest", digest(1)), "/result", "absent")
}

/// Rules IQ-1 and IQ-2: resolvers are the operator's.
fn resolvers() -> Story {
    let mut story = Story::apart("a resolver is declared by the operator");
    for caller in ["alice", "guard", "builder"] {
        story.call(caller, "resolvers.declare", resolver(1, json!([]))).refused("operator-required", "IQ-1");
    }
    let declared =
        |replay: bool, number: u32| json!({"resolver": "health", "digest": digest(number), "replay": replay});
    story.call("ops", "resolvers.declare", resolver(1, json!([]))).rules(&["IQ-1"]).ok(declared(false, 1));
    story.call("ops", "resolvers.declare", resolver(1, json!([]))).rules(&["IQ-2"]).ok(declared(true, 1));
    story.call("ops", "resolvers.declare", resolver(1, json!(["*"]))).refused("idempotency-conflict", "IQ-2");
    story.call("ops", "resolvers.declare", resolver(2, json!(["*"]))).rules(&["IQ-2"]).ok(declared(false, 2));
    story.call("host", "resolvers.declare", resolver(3, json!([]))).rules(&["IQ-1"]).ok(declared(false, 3));
    story
}

/// Rules TH-8 and TH-9: checks are configured by the owner, over resolvers that there are.
fn checks() -> Story {
    let mut story = Story::apart("the checks of a thread are its owner's");
    let params = |checks: Value| json!({"threadId": "builder", "change": {"checks": checks}, "expectedRevision": 0});
    story.call("bob", "threads.configure", params(json!([check()]))).refused("resolver-undeclared", "TH-8");
    story.call("ops", "resolvers.declare", resolver(1, json!([]))).ok(json!({}));
    let twice = json!([check(), with(check(), "/address", "/other")]);
    story.call("bob", "threads.configure", params(twice)).refused("params-invalid", "TH-9");
    story.call("builder", "threads.configure", params(json!([check()]))).refused("control-plane-required", "OP-3");
    let other = with(check(), "/subject", "other");
    let both = json!([check(), other]);
    story.call("bob", "threads.configure", params(both.clone())).rules(&["TH-8", "TH-9"]).ok(json!({"checks": both}));
    story.call("builder", "threads.read", json!({"threadId": "builder"})).ok(json!({"checks": [check(), {}]}));
    story
}

/// An event whose payload the receiver's own check shows becomes state, and whoever waits is released.
fn verified() -> Story {
    let mut story = Story::checked("what the receiver's check shows becomes state");
    let none = json!({"version": 0, "status": "none", "blockers": [], "payload": absent()});
    story.call("builder", "state.get", subject()).ok(none);
    story.examined(update(1, "https://new.example"), 1);
    story.call("builder", "state.wait", subject()).ok(json!({"end": "timed-out", "state": {"version": 0}}));
    story
        .call(
            "builder",
            "mailbox.claim",
            json!({"messageId": var("message"), "senderIncarnationId": WRITER, "expectedRevision": 1}),
        )
        .refused("event-operation-required", "EV-6");
    story.call("builder", "events.receive", of_at(1, 1)).refused("state-conflict", "EV-7");
    let due = json!({"items": []});
    story.call("host", "inquiries.listDue", json!({})).ok(due);
    let accepted = json!({
        "verification": "verified", "uptake": "applied", "checked": "independent", "disposition": {"decision": "accepted"},
        "receipt": {"stage": "decide", "status": "accepted", "reason": absent(), "accepted_state_version": 1},
    });
    story
        .found(1, "https://new.example".into())
        .rules(&["IQ-3", "IQ-4", "ST-1", "ST-2", "ST-3", "LC-25", "LC-26"])
        .ok(accepted);
    let state = json!({
        "version": 1, "status": "current", "eventId": id(1), "sourceThread": "writer", "sourceOwner": "user:alice",
        "payload": {"value": "https://new.example"}, "acceptedAt": time(0), "blockers": [],
    });
    for caller in ["builder", "bob", "guard", "ops"] {
        story.call(caller, "state.get", subject()).ok(state.clone());
    }
    for caller in ["writer", "alice", "carol", "stranger", "host"] {
        for method in ["state.get", "state.history", "state.wait"] {
            story.call(caller, method, subject()).error("not-visible");
        }
    }
    // The source is told that it was accepted, and no version.
    let told = json!({"uptake": "applied", "checked": absent(), "receipt": {"status": "accepted", "accepted_state_version": absent()}});
    story.call("writer", "events.get", of(1)).ok(told);
    // Who comes late is answered at once (field report P234).
    story
        .call("builder", "state.wait", with(subject(), "/timeoutMs", 1000))
        .ok(json!({"end": "released", "state": state}));
    story
}

/// An answer that says otherwise contradicts, once it can be trusted to be up to date.
fn contradicted() -> Story {
    let mut story = Story::checked("an answer that says otherwise contradicts");
    story.examined(update(1, "https://new.example"), 1);
    let early = json!({"verification": "insufficient", "receipt": {"status": "deferred", "reason": "evidence-insufficient"}, "checked": "unresolved"});
    story.found(1, "https://old.example".into()).at(10 * SECOND - 1).ok(early);
    story
        .call("builder", "events.reconsider", of_at(1, 2))
        .ok(json!({"verification": "examining", "disposition": {"decision": "deferred"}}));
    let contrary = json!({
        "verification": "contradicted", "uptake": "none", "checked": "contradicted", "disposition": {"decision": "rejected"},
        "receipt": {"stage": "evidence", "status": "rejected", "reason": "contradicted"},
    });
    story.found(3, "https://old.example".into()).at(10 * SECOND).ok(contrary);
    story.call("builder", "state.wait", subject()).ok(json!({"end": "timed-out"}));
    for value in [
        json!("https://NEW.example"),
        json!(null),
        json!({"value": "https://new.example"}),
        json!(["https://new.example"]),
    ] {
        let number = story.messages + 2;
        story.messages += 1;
        story.examined(update(number, "https://new.example"), 1);
        let early = json!({"verification": "insufficient", "uptake": "none"});
        story.found(1, value).ok(early);
    }
    story
}

/// What cannot be found does not help.
fn lacking() -> Story {
    let mut story = Story::checked("what is not found verifies nothing");
    for (number, result) in (1..).zip(["absent", "too-large", "refused"]) {
        story.examined(update(number, "https://new.example"), 1);
        let params = with(fact(1), "/result", result);
        let deferred = json!({"verification": "insufficient", "uptake": "none", "receipt": {"status": "deferred", "reason": "evidence-insufficient"}});
        story.call("host", "inquiries.record", params).ok(deferred);
    }
    story.examined(update(4, "https://new.example"), 1);
    let unreachable = with(fact(1), "/result", "unreachable");
    story.call("host", "inquiries.record", unreachable).ok(json!({"verification": "examining"}));
    story.found(1, "https://new.example".into()).ok(json!({"uptake": "applied"}));
    story
}

/// An inquiry is asked a few times, each time later, and then given up.
fn asked() -> Story {
    let mut story = Story::checked("an inquiry is given up in the end");
    story.examined(with(update(1, "https://new.example"), "/expires_at", time(7 * DAY)), 1);
    let (mut at, mut wait) = (0, 5 * SECOND);
    for asked in 2..=6 {
        story.call("host", "inquiries.listDue", json!({})).at(at + wait - 1).ok(json!({"items": []}));
        let due = json!({"items": [{"fence": 1, "resolver": "health", "resolverDigest": digest(1), "address": "/status", "answer": "/endpoint", "asked": asked - 1, "owner": "user:alice"}]});
        at += wait;
        story.call("host", "inquiries.listDue", json!({})).at(at).ok(due);
        story.call("host", "inquiries.begin", inquiry(1)).ok(json!({"verification": "examining"}));
        wait = 5 * SECOND * (1 << (asked - 1));
    }
    let given_up =
        json!({"verification": "insufficient", "receipt": {"status": "deferred", "reason": "resolver-unreachable"}});
    story.call("host", "inquiries.begin", inquiry(1)).at(at + wait).ok(given_up);
    story.call("host", "inquiries.begin", inquiry(1)).refused("state-conflict", "IQ-3");
    story.call("host", "inquiries.listDue", json!({})).ok(json!({"items": []}));
    story.call("writer", "events.get", of(1)).ok(json!({"receipt": {"status": "deferred", "reason": "deferred"}}));
    story
}

/// Rules IQ-3 and IQ-4: a fact answers what was asked, by whom it was asked.
fn facts() -> Story {
    let mut story = Story::checked("a fact answers the inquiry that stands");
    for caller in ["ops", "guard", "bob", "builder", "writer"] {
        story
            .call(caller, "inquiries.record", with(without(fact(1), "/messageId"), "/messageId", "msg_work-0001"))
            .error("method-not-found");
        story
            .call(caller, "inquiries.begin", with(without(inquiry(1), "/messageId"), "/messageId", "msg_work-0001"))
            .error("method-not-found");
        story.call(caller, "inquiries.listDue", json!({})).error("method-not-found");
    }
    story.examined(update(1, "https://new.example"), 1);
    story.found(2, "https://new.example".into()).refused("state-conflict", "IQ-3");
    let foreign = with(with(fact(1), "/resolverDigest", digest(9)), "/result", "found");
    story
        .call("host", "inquiries.record", with(foreign, "/value", "https://new.example"))
        .refused("state-conflict", "IQ-4");
    story.call("ops", "resolvers.declare", resolver(2, json!([]))).ok(json!({}));
    story.found(1, "https://new.example".into()).refused("state-conflict", "IQ-4");
    story.call("ops", "resolvers.declare", resolver(1, json!([]))).ok(json!({}));
    story.found(1, "https://new.example".into()).rules(&["IQ-3", "IQ-4"]).ok(json!({"uptake": "applied"}));
    // Late facts decide nothing.
    story.found(1, "https://old.example".into()).refused("state-conflict", "IQ-3");
    let unknown = with(without(fact(1), "/messageId"), "/messageId", "msg_nothing-here");
    story.call("host", "inquiries.record", unknown).error("not-visible");
    let unknown = with(without(inquiry(1), "/messageId"), "/messageId", "msg_nothing-here");
    story.call("host", "inquiries.begin", unknown).error("not-visible");
    story
}

/// What ends an event ends its examination: the stages are judged anew when the fact comes.
fn overtaken() -> Story {
    let mut story = Story::checked("a fact that comes too late decides nothing");
    story.examined(update(1, "https://new.example"), 1);
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-1"})).ok(json!({"endedEvents": 1}));
    story
        .call("writer", "events.get", of(1))
        .ok(json!({"verification": "insufficient", "receipt": {"status": "revoked"}}));
    story.found(1, "https://new.example".into()).refused("state-conflict", "IQ-3");
    story.allow(wide(2));
    story.examined(update(2, "https://new.example"), 1);
    let archive = json!({"threadId": "writer", "expectedRevision": 0});
    story.call("alice", "threads.archive", archive).ok(json!({}));
    let stale = json!({"verification": "insufficient", "uptake": "none", "receipt": {"stage": "authenticate", "status": "stale"}});
    story.found(1, "https://new.example".into()).rules(&["TH-6"]).ok(stale);
    story.call("builder", "state.get", subject()).ok(json!({"version": 0}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "timed-out"}));
    story
}

/// What the source or its owner can make is no witness, and nobody looks where no resolver is.
fn unwitnessed() -> Story {
    let mut story = Story::checked("a source is no witness for itself");
    let self_attested = json!({"verification": "insufficient", "checked": "self-attested", "receipt": {"status": "deferred", "reason": "evidence-insufficient"}});
    for (number, producer) in (2..).zip(["*", "task:writer", "user:alice"]) {
        story.call("ops", "resolvers.declare", resolver(number, json!([producer]))).ok(json!({}));
        let told = without(self_attested.clone(), "/checked");
        story.tell(update(number, "https://new.example")).ok(told).effects(json!([]));
        story.call("builder", "events.get", of(number)).ok(self_attested.clone());
    }
    story.call("ops", "resolvers.declare", resolver(9, json!(["task:other", "user:bob"]))).ok(json!({}));
    story.tell(update(9, "https://new.example")).ok(json!({"verification": "examining"}));
    let unchecked = with(update(10, "https://new.example"), "/subject", "other");
    let deferred = json!({"verification": "insufficient", "checked": absent(), "receipt": {"status": "deferred", "reason": "evidence-insufficient"}});
    story.tell(unchecked).ok(deferred).effects(json!([]));
    story
}

/// Rule ST-1: what a source numbers lower than what was accepted of it is stale, also when it comes late.
fn order() -> Story {
    let mut story = Story::checked("older state takes no place");
    story.applied(numbered(1, "five", 5), "five").rules(&["ST-1"]);
    let stale = json!({
        "verification": "verified", "uptake": "stale", "disposition": {"decision": "rejected"},
        "receipt": {"stage": "state", "status": "stale", "reason": "stale"},
    });
    for (number, sequence) in [(2, 4), (3, 5), (4, 1)] {
        story.examined(numbered(number, "older", sequence), 1);
        story.found(1, "older".into()).records("ST-1").ok(stale.clone());
    }
    story.examined(superseding(5, "unnumbered", 1), 1);
    story.found(1, "unnumbered".into()).records("ST-1").ok(stale.clone());
    story.call("builder", "state.get", subject()).ok(json!({"version": 1, "payload": {"value": "five"}}));
    story.applied(numbered(6, "six", 6), "six").rules(&["ST-1", "ST-2"]);
    story.call("builder", "state.get", subject()).ok(json!({"version": 2, "payload": {"value": "six"}}));
    story
        .call("writer", "events.get", of(2))
        .ok(json!({"receipt": {"status": "stale", "reason": "stale", "accepted_state_version": absent()}}));
    // What is named must match, whatever the numbers say.
    story.examined(with(numbered(7, "seven", 7), "/supersedes_event_id", id(1)), 1);
    let conflict = json!({"verification": "verified", "uptake": "conflicting", "receipt": {"stage": "state", "status": "conflicting"}});
    story.found(1, "seven".into()).records("ST-2").ok(conflict);
    story.applied(with(numbered(8, "eight", 8), "/supersedes_event_id", id(6)), "eight").rules(&["ST-2"]);
    story
}

/// Rule ST-2: without numbers an event names what it takes the place of.
fn succession() -> Story {
    let mut story = Story::checked("an event names the state that it takes the place of");
    let conflict = json!({"uptake": "conflicting", "disposition": {"decision": "rejected"}, "receipt": {"stage": "state", "status": "conflicting", "reason": "conflicting"}});
    story.examined(superseding(1, "one", 9), 1);
    story.found(1, "one".into()).records("ST-2").ok(conflict.clone());
    story.applied(update(2, "two"), "two").rules(&["ST-2"]);
    story.examined(update(3, "three"), 1);
    story.found(1, "three".into()).records("ST-2").ok(conflict.clone());
    story.examined(numbered(4, "four", 1), 1);
    story.found(1, "four".into()).records("ST-2").ok(conflict);
    story.applied(superseding(5, "five", 2), "five").rules(&["ST-2"]);
    let state = json!({"version": 2, "eventId": id(5), "payload": {"value": "five"}});
    story.call("builder", "state.get", subject()).ok(state);
    // The same event again changes nothing.
    story.tell(superseding(5, "five", 2)).ok(json!({"uptake": "applied"})).effects(json!([]));
    story.call("builder", "state.get", subject()).ok(json!({"version": 2}));
    story
}

/// The editor sends an event, and the host finds it to be so.
fn told(story: &mut Story, event: Value, expected: Value) -> &mut Step {
    let source = json!({"thread_id": "editor", "agent_id": "agent-editor", "role": "author"});
    let params = json!({"event": with(with(event, "/source", source), "/continuation_id", "editor-01")});
    let step = story.call("editor", "events.send", params).keep("message", "/messageId");
    step.ok(json!({"verification": "examining"}));
    let found = with(with(fact(1), "/senderIncarnationId", "inc_editor-0001"), "/result", "found");
    let step = story.call("host", "inquiries.record", with(found, "/value", "two"));
    step.rules(&["ST-2", "ST-3"]).ok(expected)
}

/// Rule ST-3: another source replaces state only where its capability lists the subject (field report P230).
fn others() -> Story {
    let mut story = Story::checked("another source does not take the place of state");
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.thread("alice", with(thread("editor", "inc_editor-0001"), "/continuationId", "editor-01"));
    story.principal(
        "editor",
        json!({"kind": "task", "id": "editor", "incarnation": "inc_editor-0001", "owner": "user:alice"}),
    );
    let route = |number: u32| with(wide(number), "/source_thread", "editor");
    story.allow(route(2));
    story.applied(numbered(1, "one", 1), "one");
    let conflict = json!({"uptake": "conflicting", "receipt": {"status": "conflicting"}});
    told(&mut story, numbered(1, "two", 9), conflict.clone());
    told(&mut story, superseding(2, "two", 1), conflict.clone()).records("ST-3");
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-2"})).ok(json!({}));
    story.allow(with(route(3), "/allowed_subjects", json!([SUBJECT])));
    told(&mut story, numbered(3, "two", 9), conflict);
    told(&mut story, superseding(4, "two", 1), json!({"uptake": "applied"}));
    story.call("builder", "state.get", subject()).ok(json!({"version": 2, "sourceThread": "editor"}));
    // Floors are each source's own.
    story.examined(numbered(5, "five", 2), 1);
    story.found(1, "five".into()).rules(&["ST-2", "ST-3"]).ok(json!({"uptake": "conflicting"}));
    story
}

fn history() -> Story {
    let mut story = Story::checked("accepted state has a history");
    for number in 1..=3 {
        story.applied(numbered(number, "value", number), "value");
    }
    let item = |number: u32| json!({"uptake": "applied", "receipt": {"event_id": id(number), "accepted_state_version": number}});
    let all = json!({"items": [item(1), item(2), item(3)], "next": absent()});
    for caller in ["builder", "bob", "guard", "ops"] {
        story.call(caller, "state.history", subject()).ok(all.clone());
    }
    let first = with(subject(), "/limit", 2);
    story
        .call("builder", "state.history", first.clone())
        .keep("place", "/next")
        .ok(json!({"items": [item(1), item(2)]}));
    story
        .call("builder", "state.history", with(first, "/after", var("place")))
        .ok(json!({"items": [item(3)], "next": absent()}));
    let other = with(subject(), "/subject", "other");
    story.call("builder", "state.history", other).ok(json!({"items": []}));
    story
}

/// What releases a waiter is what it asks for (field report P236).
fn waits() -> Story {
    let mut story = Story::checked("a waiter is released by what it asks for");
    let until = |value: &str| with(subject(), "/until", json!({"pointer": "/value", "equals": value}));
    story.tell(with(update(1, "done"), "/subject", "other")).ok(json!({"receipt": {"status": "deferred"}}));
    story.call("builder", "state.wait", with(subject(), "/subject", "other")).ok(json!({"end": "timed-out"}));
    story.examined(with(update(2, "done"), "/event_type", "COMPLETION"), 1);
    story.found(1, "failed".into()).at(MINUTE).ok(json!({"verification": "contradicted"}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "timed-out"}));
    story.applied(with(update(3, "failed"), "/event_type", "COMPLETION"), "failed");
    story.call("builder", "state.wait", until("done")).ok(json!({"end": "timed-out", "state": {"version": 1}}));
    story.call("builder", "state.wait", until("failed")).ok(json!({"end": "released"}));
    story.call("builder", "state.wait", with(subject(), "/afterVersion", 1)).ok(json!({"end": "timed-out"}));
    story.applied(superseding(4, "done", 3), "done");
    story.call("builder", "state.wait", until("done")).ok(json!({"end": "released", "state": {"version": 2}}));
    story.call("builder", "state.wait", with(subject(), "/afterVersion", 1)).ok(json!({"end": "released"}));
    let deep = with(subject(), "/until", json!({"pointer": "/value/0", "equals": "done"}));
    story.call("builder", "state.wait", deep).ok(json!({"end": "timed-out"}));
    let whole = with(subject(), "/until", json!({"pointer": "", "equals": {"value": "done"}}));
    story.call("builder", "state.wait", whole).ok(json!({"end": "released"}));
    story
}

/// A blocker ends a wait, and is lifted by its source, by newer state, or by an invalidation.
fn blockers() -> Story {
    let mut story = Story::checked("a blocker ends a wait");
    story.tell(event(1, "BLOCKER")).ok(json!({"uptake": "none", "receipt": {"status": "accepted"}}));
    let blocked =
        json!({"end": "blocked", "state": {"version": 0, "blockers": [{"eventId": id(1), "sourceThread": "writer"}]}});
    story.call("builder", "state.wait", subject()).ok(blocked);
    story
        .tell(with(event(2, "OBSERVATION"), "/supersedes_event_id", id(1)))
        .ok(json!({"receipt": {"status": "accepted"}}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "timed-out", "state": {"blockers": []}}));
    story.tell(event(3, "BLOCKER")).ok(json!({}));
    story.applied(update(4, "value"), "value");
    story.call("builder", "state.wait", subject()).ok(json!({"end": "released", "state": {"blockers": []}}));
    story.tell(event(5, "BLOCKER")).ok(json!({}));
    story.tell(event(6, "BLOCKER")).ok(json!({}));
    let one = json!({"end": "blocked", "state": {"status": "current", "blockers": [{"eventId": id(6)}]}});
    story.call("builder", "state.wait", subject()).ok(one);
    let invalidate = with(subject(), "/expectedVersion", 1);
    story
        .call("bob", "state.invalidate", invalidate)
        .ok(json!({"version": 2, "status": "invalidated", "blockers": []}));
    story.tell(event(7, "BLOCKER")).ok(json!({}));
    story
        .call("bob", "state.invalidate", with(subject(), "/expectedVersion", 2))
        .rules(&["ST-5"])
        .ok(json!({"version": 3}));
    story
}

/// Waits end with what can no longer come (field report P235).
fn ends() -> Story {
    let mut story = Story::checked("a wait ends with what can no longer come");
    let from = |thread: &str| with(subject(), "/source", json!({"threadId": thread, "owner": "user:alice"}));
    story.call("builder", "state.wait", from("writer")).ok(json!({"end": "timed-out"}));
    story.call("builder", "state.wait", from("nobody")).ok(json!({"end": "capability-revoked"}));
    story.call("alice", "threads.archive", json!({"threadId": "writer", "expectedRevision": 0})).ok(json!({}));
    story.call("builder", "state.wait", from("writer")).ok(json!({"end": "source-not-active"}));
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-1"})).ok(json!({}));
    story.call("builder", "state.wait", from("writer")).ok(json!({"end": "capability-revoked"}));
    story.call("bob", "threads.archive", json!({"threadId": "builder", "expectedRevision": 1})).ok(json!({}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "thread-not-active"}));
    super::policy::rotate(&mut story, "bob", builder(), task_input("builder", "inc_builder-0002"));
    for method in ["state.get", "state.history", "state.wait"] {
        story.call("builder", method, subject()).refused("task-retired", "OP-4");
    }
    story.call("builder-next", "tasks.get", json!({"task": task_ref("builder", "inc_builder-0002")})).ok(json!({}));
    story
}

/// Rules ST-4 and ST-5: the owner withdraws state, and what is older does not come back.
fn invalidated() -> Story {
    let mut story = Story::checked("state is withdrawn by the owner");
    story.applied(numbered(1, "one", 5), "one");
    let at = |version: u32| with(subject(), "/expectedVersion", version);
    for caller in ["builder", "ops", "host"] {
        story.call(caller, "state.invalidate", at(1)).refused("control-plane-required", "OP-3");
    }
    for caller in ["alice", "carol"] {
        story.call(caller, "state.invalidate", at(1)).error("not-visible");
    }
    story.call("bob", "state.invalidate", at(2)).refused("revision-conflict", "ST-4");
    let gone = json!({"version": 2, "status": "invalidated", "payload": absent(), "eventId": absent()});
    story.call("bob", "state.invalidate", at(1)).rules(&["ST-4", "ST-5", "LC-24"]).ok(gone);
    story.call("writer", "events.get", of(1)).ok(json!({"uptake": "invalidated"}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "invalidated"}));
    story.call("bob", "state.invalidate", at(2)).refused("state-conflict", "ST-5");
    story.examined(numbered(2, "older", 4), 1);
    story.found(1, "older".into()).rules(&["ST-1"]).ok(json!({"uptake": "stale"}));
    story.applied(numbered(3, "three", 6), "three");
    story.call("builder", "state.get", subject()).ok(json!({"version": 3, "status": "current"}));
    let other = with(at(0), "/subject", "other");
    story.call("guard", "state.invalidate", other).refused("state-conflict", "ST-5");
    story.call("guard", "state.invalidate", at(3)).rules(&["ST-4"]).ok(json!({"version": 4}));
    story
}

/// A receiver that decides itself has the stages judged when it does, and the fact decides as it would have.
fn held() -> Story {
    let mut story = Story::linked("an event that its task receives is examined as well");
    story.call("ops", "resolvers.declare", resolver(1, json!([]))).ok(json!({}));
    let params = json!({"threadId": "builder", "change": {"checks": [check()]}, "expectedRevision": 0});
    story.call("bob", "threads.configure", params).ok(json!({}));
    story
        .tell(update(1, "one"))
        .keep("message", "/messageId")
        .ok(json!({"verification": "unexamined"}))
        .effects(json!([]));
    let claim = json!({"messageId": var("message"), "senderIncarnationId": WRITER, "expectedRevision": 0});
    story.call("builder-w1", "mailbox.claim", claim).ok(json!({}));
    let asks =
        json!([{"name": "inquiry.ask", "body": {"messageId": var("message"), "address": "/status", "fence": 1}}]);
    story
        .call("builder-w1", "events.receive", of_at(1, 0))
        .ok(json!({"verification": "examining"}))
        .effects(not_compared(asks));
    story.found(1, "one".into()).ok(json!({"uptake": "applied", "disposition": {"decision": "accepted"}}));
    story.call("builder", "state.wait", subject()).ok(json!({"end": "released"}));
    story
}

/// Effects whose bodies hold what an earlier step kept are compared by their names alone.
fn not_compared(effects: Value) -> Value {
    let names = effects.as_array().into_iter().flatten().map(|effect| json!({"name": effect["name"]}));
    Value::Array(names.collect())
}

fn keys() -> Story {
    let mut story = Story::linked("keys of state and inquiries");
    super::keys::thrice(&mut story, "ops", "resolvers.declare", &resolver(1, json!([])), ("/producers", json!(["*"])));
    let change = json!({"reception": "standing", "checks": [check()]});
    let params = json!({"threadId": "builder", "change": change, "expectedRevision": 0});
    story.call("bob", "threads.configure", params).ok(json!({}));
    story.examined(update(1, "one"), 1);
    let begin = with(inquiry(1), "/owner", "user:alice");
    super::keys::thrice(&mut story, "host", "inquiries.begin", &begin, ("/fence", 2.into()));
    let record = with(with(fact(1), "/result", "found"), "/value", "one");
    super::keys::thrice(&mut story, "host", "inquiries.record", &record, ("/value", "two".into()));
    let invalidate = with(subject(), "/expectedVersion", 1);
    super::keys::thrice(&mut story, "bob", "state.invalidate", &invalidate, ("/expectedVersion", 2.into()));
    story.call("builder", "state.get", subject()).ok(json!({"version": not(json!(0))}));
    story
}
