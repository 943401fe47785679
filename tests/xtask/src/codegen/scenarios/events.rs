//! Scenarios of cross-thread events: what is sent, what is refused at which stage, and what becomes of it.

use super::cast::{BUILDER, DAY, MINUTE, WRITER, builder, task_input, with, writer};
use super::policy::rotate;
use super::story::{Step, Story, absent, not, var};
use super::threads::{capability, thread};
use super::time;
use serde_json::{Value, json};

pub(super) const SEND: &str = "events.send";
pub(super) const RECEIVE: &str = "events.receive";

pub(super) fn stories() -> Vec<Story> {
    vec![
        sent(),
        authenticated(),
        registered(),
        allowed(),
        withdrawn(),
        authority(),
        overrides(),
        identity(),
        owners(),
        times(),
        consents(),
        budget(),
    ]
}

/// The id of an event.
pub(super) fn id(number: u32) -> String {
    format!("evt-2026-{number:03}")
}

/// An event from writer to builder.
pub(super) fn event(number: u32, kind: &str) -> Value {
    let request = matches!(kind, "ACTION_REQUEST" | "HANDOFF");
    json!({
        "schema_version": "cross-thread-event/v0.1", "event_id": id(number), "trajectory_id": "project:migration",
        "continuation_id": "writer-04", "source": {"thread_id": "writer", "agent_id": "agent-writer", "role": "author"},
        "target": {"thread_id": "builder"}, "event_type": kind, "subject": "deployment.endpoint",
        "payload": {"value": "https://new-endpoint.example"}, "evidence_refs": [], "verification_status": "UNVERIFIED",
        "authority": {"may_inform": true, "may_request_action": request, "may_authorize_execution": false},
    })
}

/// A capability from writer to builder for every type, to inform and to request.
pub(super) fn wide(number: u32) -> Value {
    let types = [
        "QUESTION",
        "OBSERVATION",
        "PROPOSAL",
        "RESULT",
        "STATE_UPDATE",
        "ACTION_REQUEST",
        "HANDOFF",
        "BLOCKER",
        "COMPLETION",
    ];
    let most = json!({"may_inform": true, "may_request_action": true, "may_authorize_execution": false});
    with(with(capability(number), "/allowed_event_types", json!(types)), "/max_authority", most)
}

/// The members that name an event of writer.
pub(super) fn of(number: u32) -> Value {
    json!({"sourceThread": "writer", "eventId": id(number)})
}

pub(super) fn of_at(number: u32, revision: u32) -> Value {
    with(of(number), "/expectedRevision", revision)
}

impl Story {
    /// Both threads, of which the writer's has a label, and no capability.
    pub fn apart(name: &str) -> Self {
        let mut story = Self::tasks(name);
        story.thread("alice", with(thread("writer", WRITER), "/continuationId", "writer-04"));
        story.thread("bob", thread("builder", BUILDER));
        story
    }

    /// The same with a capability for everything.
    pub fn linked(name: &str) -> Self {
        let mut story = Self::apart(name);
        story.allow(wide(1));
        story
    }

    /// Writer sends an event.
    pub fn tell(&mut self, event: Value) -> &mut Step {
        self.call("writer", SEND, json!({"event": event}))
    }

    /// Builder receives one.
    pub fn take(&mut self, number: u32, revision: u32) -> &mut Step {
        self.call("builder", RECEIVE, of_at(number, revision))
    }

    /// Builder says what to do with one.
    pub fn choose(&mut self, number: u32, revision: u32, decision: &str) -> &mut Step {
        self.call("builder", RECEIVE, with(of_at(number, revision), "/decision", decision))
    }
}

/// A receipt that says this.
pub(super) fn receipt(stage: &str, status: &str, reason: Value) -> Value {
    json!({"receipt": {"stage": stage, "status": status, "reason": reason}})
}

/// What a sent event looks like.
pub(super) fn pending() -> Value {
    json!({
        "verification": "unexamined", "uptake": "none", "sourceThread": "writer", "targetThread": "builder",
        "disposition": {"revision": 0, "decision": "pending", "delivery": "durably-received"},
        "receipt": {"stage": "scope", "status": "pending", "grant_id": "grant_thread-1", "reason": absent(), "verdicts": []},
    })
}

/// One event is one message: in the receiver's mailbox, and in both audit trails.
fn sent() -> Story {
    let mut story = Story::linked("an event is a message, in both trails");
    let step = story.tell(event(1, "QUESTION")).keep("message", "/messageId").keep("digest", "/receipt/event_digest");
    step.rules(&["EV-2", "EV-3", "EV-4", "EV-5", "TH-5", "TH-6", "TH-7", "CG-1", "CG-5", "CG-6", "CG-7", "CG-8"])
        .ok(pending());
    let shown = json!({"items": [{"envelope": {
        "messageId": var("message"), "messageType": "question", "intent": "suggest", "claimStatus": "unverified",
        "content": {"$json": event(1, "QUESTION")}, "expiresAt": time(DAY),
    }}]});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(shown);
    let told = json!({"eventType": "event-durably-received", "messageId": var("message"), "detail": {
        "eventId": id(1), "eventDigest": var("digest"), "grantId": "grant_thread-1", "envelopeDigest": not(json!("")),
    }});
    for (caller, task, cursor) in [("writer", writer(), 3), ("builder", builder(), 3)] {
        let params = json!({"task": task, "timeoutMs": 0, "afterCursor": cursor});
        story.call(caller, "tasks.wait", params).ok(json!({"events": [told]}));
    }
    let both = ["writer", "builder", "alice", "bob", "guard", "ops"];
    for caller in both {
        story.call(caller, "events.get", of(1)).ok(pending());
    }
    let kinds = [
        ("OBSERVATION", "observation"),
        ("PROPOSAL", "suggestion"),
        ("RESULT", "result"),
        ("COMPLETION", "result"),
        ("STATE_UPDATE", "state-update"),
        ("BLOCKER", "state-update"),
        ("ACTION_REQUEST", "action-request"),
        ("HANDOFF", "action-request"),
    ];
    for (number, (kind, _)) in (2..).zip(kinds) {
        story.tell(event(number, kind)).ok(json!({"eventType": kind}));
    }
    let mut types: Vec<Value> = vec![json!({"envelope": {"messageType": "question"}})];
    types.extend(kinds.iter().map(|(_, kind)| json!({"envelope": {"messageType": kind}})));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": types}));
    story
}

/// Stage 2: who calls, and as what it is registered.
fn authenticated() -> Story {
    let mut story = Story::linked("the source of an event is who its thread is registered as");
    let params = json!({"event": event(1, "QUESTION")});
    for caller in ["builder", "stranger", "alice", "guard", "ops", "host"] {
        story.call(caller, SEND, params.clone()).refused("principal-mismatch", "EV-2");
    }
    for (pointer, value) in [("/source/agent_id", "agent-Writer"), ("/source/role", "owner")] {
        story.tell(with(event(1, "QUESTION"), pointer, value)).refused("principal-mismatch", "EV-3");
    }
    for label in ["writer-03", "Writer-04", "writer-0\u{424}"] {
        let other = with(event(1, "QUESTION"), "/continuation_id", label);
        story.tell(other).refused("continuation-mismatch", "EV-4");
    }
    // Of two failures the earlier stage is reported.
    let both = with(with(event(1, "APPROVAL"), "/source/role", "owner"), "/target/thread_id", "nobody");
    story.tell(both).error_at("params-invalid", "/event/event_type");
    let both = with(with(event(1, "QUESTION"), "/source/role", "owner"), "/target/thread_id", "nobody");
    story.tell(both).refused("principal-mismatch", "EV-3");
    let broken = with(event(1, "QUESTION"), "/evidence_refs", json!(["log:1", {"ref": "a", "sha256": "b"}]));
    story.tell(broken).refused("cross-thread-event-invalid", "CE-3");
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    story.tell(event(1, "QUESTION")).refused("task-retired", "OP-4");
    story
}

/// Rules TH-5 to TH-7: both threads take part.
fn registered() -> Story {
    let mut story = Story::tasks("an event goes from one active thread to another");
    let inactive = "thread-not-active";
    story.tell(event(1, "QUESTION")).refused(inactive, "TH-5");
    story.thread("alice", with(thread("writer", WRITER), "/continuationId", "writer-04"));
    story.thread("bob", thread("builder", BUILDER));
    story.allow(wide(1));
    let at = |thread: &str, revision: u32| json!({"threadId": thread, "expectedRevision": revision});
    story.call("bob", "threads.archive", at("builder", 0)).ok(json!({}));
    story.tell(event(1, "QUESTION")).refused(inactive, "TH-7");
    story.call("alice", "threads.archive", at("writer", 0)).ok(json!({}));
    story.tell(event(1, "QUESTION")).refused(inactive, "TH-6");
    let next = with(at("builder", 1), "/next", task_input("builder", "inc_builder-0002"));
    story.call("bob", "threads.resume", next).ok(json!({}));
    story.tell(event(1, "QUESTION")).refused(inactive, "TH-6");
    let next = with(at("writer", 1), "/next", task_input("writer", "inc_writer-0002"));
    story.call("alice", "threads.resume", next).ok(json!({"continuationId": "writer-04"}));
    let params = json!({"event": event(1, "QUESTION")});
    story.call("writer-next", SEND, params).rules(&["TH-5", "TH-6", "TH-7"]).ok(pending());
    story
}

/// Rules CG-1, CG-5 and CG-6: nothing goes without a capability, and each says for what it is.
fn allowed() -> Story {
    let mut story = Story::apart("without a capability nothing is sent");
    let denied = "policy-denied";
    story.tell(event(1, "QUESTION")).rules(&["CG-1"]).error(denied).named("denied");
    story.tell(with(event(1, "QUESTION"), "/target/thread_id", "nobody")).error(denied).same_as("denied");
    story.grant(super::cast::grant("peer", 1));
    story.tell(event(1, "QUESTION")).rules(&["CG-1"]).error(denied).same_as("denied");
    let reads = json!({"capability": "read_thread", "source_thread": "writer", "target_thread": "builder"});
    story.allow(reads);
    story.tell(event(1, "QUESTION")).error(denied).same_as("denied");
    let narrow = with(capability(1), "/allowed_subjects", json!(["a", "deployment.endpoint"]));
    let narrow = with(narrow, "/allowed_trajectories", json!(["project:migration"]));
    story.allow(narrow);
    story.tell(event(1, "PROPOSAL")).refused(denied, "CG-5");
    for (pointer, value) in [
        ("/subject", "deployment.Endpoint"),
        ("/subject", "deployment"),
        ("/trajectory_id", "project:other"),
        ("/trajectory_id", "project:migration\u{a0}b"),
    ] {
        story.tell(with(event(1, "QUESTION"), pointer, value)).refused(denied, "CG-6");
    }
    // Without a capability the other way nothing comes back.
    let back = with(
        event(1, "QUESTION"),
        "/source",
        json!({"thread_id": "builder", "agent_id": "agent-builder", "role": "author"}),
    );
    let back = with(with(back, "/target/thread_id", "writer"), "/continuation_id", "builder-01");
    let label = json!({"threadId": "builder", "change": {"continuationId": "builder-01"}, "expectedRevision": 0});
    story.call("bob", "threads.configure", label).ok(json!({}));
    story.call("builder", SEND, json!({"event": back})).error(denied).same_as("denied");
    story.tell(event(1, "QUESTION")).rules(&["CG-1", "CG-5", "CG-6"]).ok(pending());
    // Of several the least that alone allows everything is named: they are not added up.
    story.allow(with(wide(2), "/allowed_subjects", json!(["other"])));
    story.tell(event(2, "PROPOSAL")).refused(denied, "CG-6");
    story.allow(wide(3));
    story.allow(wide(4));
    story.tell(event(2, "PROPOSAL")).ok(json!({"receipt": {"grant_id": "grant_thread-3"}}));
    story
}

/// Rules CG-2 to CG-4: what was allowed and is not any more.
fn withdrawn() -> Story {
    let mut story = Story::apart("a capability that ended allows nothing");
    let denied = "policy-denied";
    story.allow(with(wide(1), "/requires_target_consent", true));
    story.tell(event(1, "QUESTION")).refused(denied, "CG-4");
    let agree = |consent: bool| json!({"grantId": "grant_thread-1", "consent": consent});
    story.call("builder", "capabilities.consent", agree(true)).ok(json!({}));
    story.tell(event(1, "QUESTION")).rules(&["CG-4"]).ok(json!({}));
    story.call("builder", "capabilities.consent", agree(false)).ok(json!({}));
    story.tell(event(2, "QUESTION")).refused(denied, "CG-4");
    story.allow(with(wide(2), "/expires_at", time(MINUTE)));
    story.tell(event(2, "QUESTION")).at(MINUTE - 1).rules(&["CG-3"]).ok(json!({}));
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-1"})).ok(json!({}));
    story.tell(event(3, "QUESTION")).at(MINUTE).refused(denied, "CG-3");
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-2"})).ok(json!({}));
    story.tell(event(3, "QUESTION")).refused(denied, "CG-2");
    // A replay passes today's authority as well.
    story.tell(event(1, "QUESTION")).refused(denied, "CG-2");
    story.allow(wide(3));
    story.tell(event(3, "QUESTION")).rules(&["CG-2"]).ok(json!({"receipt": {"grant_id": "grant_thread-3"}}));
    story
}

/// Rule CG-7: to request is more than to inform, and to authorise is more than both.
fn authority() -> Story {
    let mut story = Story::apart("a sender can request without being able to authorise");
    let denied = "policy-denied";
    let types = json!(["QUESTION", "ACTION_REQUEST", "HANDOFF"]);
    story.allow(with(capability(1), "/allowed_event_types", types.clone()));
    story.tell(event(1, "QUESTION")).rules(&["CG-7"]).ok(json!({}));
    story.tell(event(2, "ACTION_REQUEST")).refused(denied, "CG-7");
    story.tell(event(2, "HANDOFF")).refused(denied, "CG-7");
    story.tell(with(event(2, "QUESTION"), "/authority/may_request_action", true)).refused(denied, "CG-7");
    let most = |request: bool, authorize: bool| json!({"may_inform": true, "may_request_action": request, "may_authorize_execution": authorize});
    let granted = |number: u32, most: Value| {
        with(with(capability(number), "/allowed_event_types", types.clone()), "/max_authority", most)
    };
    story.allow(granted(2, most(true, false)));
    story.tell(with(event(2, "ACTION_REQUEST"), "/authority/may_request_action", false)).refused(denied, "CG-7");
    story.tell(with(event(2, "ACTION_REQUEST"), "/authority/may_authorize_execution", true)).refused(denied, "CG-7");
    story.tell(event(2, "ACTION_REQUEST")).rules(&["CG-7"]).ok(json!({"receipt": {"grant_id": "grant_thread-2"}}));
    let mute = with(event(3, "QUESTION"), "/authority/may_inform", false);
    story.tell(mute).refused(denied, "CG-7");
    story.allow(granted(3, most(true, true)));
    let all = with(event(3, "ACTION_REQUEST"), "/authority/may_authorize_execution", true);
    story.tell(all).ok(json!({"receipt": {"grant_id": "grant_thread-3"}}));
    story
}

/// Rule CG-8: overrides are listed, and none is looser than what the target runs with.
fn overrides() -> Story {
    let mut story = Story::apart("an override is listed and no looser");
    let denied = "override-denied";
    let settings = json!({"sandbox": {"value": "workspace", "order": ["none", "workspace", "read-only"]}});
    let change = json!({"threadId": "builder", "change": {"settings": settings}, "expectedRevision": 0});
    story.call("bob", "threads.configure", change).ok(json!({}));
    story.allow(with(wide(1), "/allowed_overrides", json!(["sandbox", "model", "approval"])));
    let asks = |overrides: Value| with(event(1, "ACTION_REQUEST"), "/overrides", overrides);
    for overrides in [
        json!({"sandbox": "none"}),
        json!({"sandbox": "Read-only"}),
        json!({"reasoning": "low"}),
        json!({"sandbox": "read-only", "reasoning": "low"}),
        json!({"approval": "always"}),
    ] {
        story.tell(asks(overrides)).refused(denied, "CG-8");
    }
    story.tell(asks(json!({"sandbox": "read-only", "model": "small"}))).rules(&["CG-8"]).ok(json!({}));
    let same = with(with(asks(json!({"sandbox": "workspace"})), "/event_id", id(2)), "/subject", "other");
    story.tell(same).rules(&["CG-8"]).ok(json!({}));
    story
}

/// Rule EV-5: an id of a thread is one event, whatever delivers it how often, over all incarnations (field reports P230
/// to P232).
fn identity() -> Story {
    let mut story = Story::linked("an event id stands for one event");
    story.tell(event(1, "OBSERVATION")).named("first").keep("message", "/messageId").ok(pending());
    for _ in 0..3 {
        story.tell(event(1, "OBSERVATION")).rules(&["EV-5"]).ok(with(pending(), "/messageId", var("message")));
    }
    for (pointer, value) in [("/payload/value", json!("other")), ("/subject", json!("other")), ("/sequence", json!(1))]
    {
        let other = with(event(1, "OBSERVATION"), pointer, value);
        story.tell(other).refused("idempotency-conflict", "EV-5");
    }
    story.take(1, 0).ok(json!({"disposition": {"decision": "accepted", "revision": 1}}));
    story.tell(event(1, "OBSERVATION")).rules(&["EV-5"]).ok(json!({"disposition": {"decision": "accepted"}}));
    let resume = json!({"threadId": "writer", "next": task_input("writer", "inc_writer-0002"), "expectedRevision": 0});
    story.call("alice", "threads.resume", resume).ok(json!({}));
    let again = json!({"event": event(1, "OBSERVATION")});
    story
        .call("writer-next", SEND, again)
        .rules(&["EV-5"])
        .ok(json!({"messageId": var("message"), "senderIncarnationId": WRITER}));
    let other = json!({"event": event(1, "QUESTION")});
    story.call("writer-next", SEND, other).refused("idempotency-conflict", "EV-5");
    // The same id of another thread is another event.
    let back = with(
        event(1, "OBSERVATION"),
        "/source",
        json!({"thread_id": "builder", "agent_id": "agent-builder", "role": "author"}),
    );
    let back = with(with(back, "/target/thread_id", "writer"), "/continuation_id", "builder-01");
    let label = json!({"threadId": "builder", "change": {"continuationId": "builder-01"}, "expectedRevision": 0});
    story.call("bob", "threads.configure", label).ok(json!({}));
    story.allow(with(with(wide(2), "/source_thread", "builder"), "/target_thread", "writer"));
    let params = json!({"event": back});
    story.call("builder", SEND, params).rules(&["EV-5"]).ok(json!({"messageId": not(var("message"))}));
    story
}

/// Rule OP-10: a name that two owners use means neither until one is named.
fn owners() -> Story {
    let mut story = Story::linked("a target that two owners have is named with its owner");
    story.register("carol", task_input("builder", "inc_other-0001"));
    story.thread("carol", thread("builder", "inc_other-0001"));
    let params = json!({"capability": wide(2), "targetOwner": "user:carol"});
    story.call("guard", "capabilities.grant", params).ok(json!({}));
    story.tell(event(1, "QUESTION")).error("not-visible");
    let named = |owner: &str| json!({"event": event(1, "QUESTION"), "owner": owner});
    story.call("writer", SEND, named("user:carol")).ok(json!({"targetOwner": "user:carol"}));
    story.call("writer", SEND, named("user:dave")).error("policy-denied");
    story.call("carol", "events.get", of(1)).ok(json!({}));
    story.call("bob", "events.get", of(1)).error("not-visible");
    story
}

/// Times are those of every message.
fn times() -> Story {
    let mut story = Story::linked("an event has a time");
    let at = |created: i64, expires: i64| {
        with(with(event(1, "QUESTION"), "/created_at", time(created)), "/expires_at", time(expires))
    };
    story.tell(at(-MINUTE, 0)).refused("message-expired", "MS-3");
    story.tell(at(MINUTE, DAY)).refused("lifetime-exceeded", "MS-5");
    story.tell(at(0, 31 * DAY)).refused("lifetime-exceeded", "MS-6");
    story.tell(at(0, MINUTE)).ok(pending());
    story.tell(with(at(0, MINUTE), "/event_id", id(2))).ok(json!({}));
    story.choose(2, 0, "defer").ok(json!({}));
    story.take(1, 0).at(MINUTE).refused("message-expired", "MS-3");
    story.call("builder", "events.reconsider", of_at(2, 1)).refused("message-expired", "MS-3");
    story.call("bob", "maintenance.expireDue", json!({})).ok(json!({"expired": []}));
    story.call("guard", "maintenance.expireDue", json!({})).ok(json!({"expired": [{}, {}]}));
    for caller in ["writer", "builder"] {
        story.call(caller, "events.get", of(1)).ok(receipt("scope", "expired", json!("expired")));
    }
    story
}

/// The task's own consent stands beside the capability.
fn consents() -> Story {
    let mut story = Story::linked("a task that takes nothing takes no event");
    let mute =
        |mute: bool, revision: u32| json!({"task": builder(), "consent": {"mute": mute}, "expectedRevision": revision});
    story.call("builder", "tasks.setConsent", mute(true, 0)).ok(json!({}));
    story.tell(event(1, "QUESTION")).refused("consent-denied", "CN-1");
    story.call("builder", "tasks.setConsent", mute(false, 1)).ok(json!({}));
    story.tell(event(1, "QUESTION")).rules(&["CN-1"]).ok(json!({}));
    story
}

/// Requests are counted as steers are, since they ask for as much.
fn budget() -> Story {
    let mut story = Story::linked("requests are counted as steers are");
    for number in 1..=60 {
        story.tell(event(number, "ACTION_REQUEST")).ok(json!({}));
    }
    story.tell(event(61, "ACTION_REQUEST")).refused("backpressure", "BU-3");
    story.tell(event(61, "QUESTION")).rules(&["BU-3"]).ok(json!({}));
    story.tell(event(62, "HANDOFF")).at(MINUTE).rules(&["BU-3"]).ok(json!({}));
    story
}
