//! Scenarios of threads and of the capabilities between them: who may register, read and end one, and what goes on over
//! incarnations.

use super::cast::{BUILDER, DAY, MINUTE, WRITER, builder, envelope, message, task_input, task_ref, with, writer};
use super::story::{Step, Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        registration(),
        settings(),
        own_side(),
        configuration(),
        machine(),
        rotation(),
        resumption(),
        resumption_of_mail(),
        granted(),
        identity(),
        scope(),
        bounds(),
        consent(),
        revocation(),
        holders(),
        forks(),
        lists(),
        keys(),
        told(),
    ]
}

/// What registers the thread of a task.
pub(super) fn thread(task: &str, incarnation: &str) -> Value {
    json!({"threadId": task, "incarnationId": incarnation, "agentId": format!("agent-{task}"), "role": "author"})
}

/// A capability from writer to builder.
pub(super) fn capability(number: u32) -> Value {
    json!({
        "capability": "send_message_to_thread", "source_thread": "writer", "target_thread": "builder",
        "allowed_event_types": ["QUESTION", "OBSERVATION", "STATE_UPDATE"], "grant_id": format!("grant_thread-{number}"),
    })
}

/// A capability of another kind from writer to builder.
fn other(kind: &str, number: u32) -> Value {
    let id = format!("grant_thread-{number}");
    json!({"capability": kind, "source_thread": "writer", "target_thread": "builder", "grant_id": id})
}

impl Story {
    /// Registers the thread of a task.
    pub fn thread(&mut self, owner: &str, input: Value) -> &mut Step {
        self.call(owner, "threads.register", json!({"thread": input})).ok(json!({"state": "active", "epoch": 0}))
    }

    /// Both tasks and their threads.
    pub fn threads(name: &str) -> Self {
        let mut story = Self::tasks(name);
        story.thread("alice", thread("writer", WRITER));
        story.thread("bob", thread("builder", BUILDER));
        story
    }

    /// The policy allows one thread something with another.
    pub fn allow(&mut self, draft: Value) -> &mut Step {
        self.call("guard", "capabilities.grant", json!({"capability": draft})).ok(json!({}))
    }
}

fn named(thread: &str) -> Value {
    json!({"threadId": thread})
}

fn at(thread: &str, revision: u32) -> Value {
    json!({"threadId": thread, "expectedRevision": revision})
}

/// A registration, and the same again.
fn registration() -> Story {
    let mut story = Story::tasks("a thread is registered for a live task");
    let register = |input: Value| json!({"thread": input});
    let shown = json!({
        "threadId": "writer", "owner": "user:alice", "state": "active", "incarnationId": WRITER, "role": "author",
        "agentId": "agent-writer", "reception": "asked", "epoch": 0, "revision": 0, "forkedFrom": absent(),
        "continuationId": "writer-04", "settings": absent(),
    });
    let input = with(thread("writer", WRITER), "/continuationId", "writer-04");
    story.call("alice", "threads.register", register(input.clone())).rules(&["OP-3", "OP-4", "TH-1"]).ok(shown.clone());
    story.call("alice", "threads.register", register(input.clone())).rules(&["TH-1"]).ok(shown.clone());
    for (pointer, value) in
        [("/agentId", "other"), ("/role", "other"), ("/continuationId", "other"), ("/reception", "standing")]
    {
        let changed = register(with(input.clone(), pointer, value));
        story.call("alice", "threads.register", changed).refused("idempotency-conflict", "TH-1");
    }
    for caller in ["writer", "ops", "host"] {
        story.call(caller, "threads.register", register(input.clone())).refused("control-plane-required", "OP-3");
    }
    story.call("alice", "threads.register", register(thread("nobody", "inc_nobody-0001"))).error("not-visible");
    story.call("bob", "threads.register", register(input)).error("not-visible");
    let policy = json!({"thread": thread("builder", BUILDER), "owner": "user:bob"});
    story.call("guard", "threads.register", policy).ok(json!({"owner": "user:bob"}));
    super::policy::rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    story.register("alice", task_input("editor", "inc_editor-0001"));
    let editor = task_ref("editor", "inc_editor-0001");
    super::policy::rotate(&mut story, "alice", editor, task_input("editor", "inc_editor-0002"));
    let retired = register(thread("editor", "inc_editor-0001"));
    story.call("alice", "threads.register", retired).refused("task-retired", "OP-4");
    story
}

/// Rule TH-3: the value of a setting is on its list.
fn settings() -> Story {
    let mut story = Story::tasks("the value of a setting is on its list");
    let sandbox = |value: &str| json!({"sandbox": {"value": value, "order": ["none", "workspace", "read-only"]}});
    let input = |value: &str| json!({"thread": with(thread("writer", WRITER), "/settings", sandbox(value))});
    story.call("alice", "threads.register", input("Workspace")).refused("params-invalid", "TH-3");
    let step = story.call("alice", "threads.register", input("workspace")).rules(&["TH-3"]);
    step.ok(json!({"settings": sandbox("workspace")}));
    let change =
        |value: &str| json!({"threadId": "writer", "change": {"settings": sandbox(value)}, "expectedRevision": 0});
    story.call("alice", "threads.configure", change("loose")).refused("params-invalid", "TH-3");
    story.call("alice", "threads.configure", change("read-only")).ok(json!({"settings": sandbox("read-only")}));
    story
}

/// Who may read a thread without any capability.
fn own_side() -> Story {
    let mut story = Story::threads("a thread is read by its own side");
    for caller in ["writer", "alice", "ops", "guard"] {
        story.call(caller, "threads.read", named("writer")).ok(json!({"threadId": "writer", "revision": 0}));
    }
    for caller in ["builder", "bob", "carol", "stranger", "host"] {
        story.call(caller, "threads.read", named("writer")).error("not-visible");
    }
    let elsewhere = json!({"threadId": "writer", "owner": "user:bob"});
    story.call("alice", "threads.read", elsewhere.clone()).error("not-visible");
    story.call("guard", "threads.read", elsewhere).error("not-visible");
    // Two owners use the same name: without an owner a policy means none of them.
    story.register("bob", task_input("writer", WRITER));
    story.thread("bob", thread("writer", WRITER));
    story.call("guard", "threads.read", named("writer")).error("not-visible");
    story
        .call("guard", "threads.read", json!({"threadId": "writer", "owner": "user:bob"}))
        .ok(json!({"owner": "user:bob"}));
    story.call("bob", "threads.read", named("writer")).ok(json!({"owner": "user:bob"}));
    story.call("writer", "threads.read", named("writer")).ok(json!({"owner": "user:alice"}));
    story
}

fn configuration() -> Story {
    let mut story = Story::threads("a thread is configured by its owner");
    let change = |change: Value, revision: u32| with(at("builder", revision), "/change", change);
    let standing = json!({"reception": "standing"});
    for caller in ["builder", "ops", "host"] {
        let params = change(standing.clone(), 0);
        story.call(caller, "threads.configure", params).refused("control-plane-required", "OP-3");
    }
    story.call("alice", "threads.configure", change(standing.clone(), 0)).error("not-visible");
    story.call("bob", "threads.configure", change(standing.clone(), 1)).refused("revision-conflict", "OP-7");
    let step = story.call("bob", "threads.configure", change(standing.clone(), 0)).rules(&["OP-7", "TH-2"]);
    step.ok(json!({"reception": "standing", "agentId": "agent-builder", "revision": 1, "epoch": 0}));
    let all = json!({"agentId": "agent-9", "role": "builder", "continuationId": "builder-02"});
    let step = story.call("guard", "threads.configure", change(all.clone(), 1));
    step.ok(with(with(all, "/reception", "standing"), "/revision", 2));
    story.call("bob", "threads.terminate", at("builder", 2)).ok(json!({"state": "terminated"}));
    story.call("bob", "threads.configure", change(standing, 3)).refused("state-conflict", "TH-2");
    story
}

/// Rule LC-22: every step of a thread, and those that it does not take.
fn machine() -> Story {
    let mut story = Story::threads("a thread is archived, resumed and terminated");
    let archived = json!({"state": "archived", "epoch": 1, "revision": 1, "incarnationId": BUILDER});
    story.call("bob", "threads.archive", at("builder", 1)).refused("revision-conflict", "OP-7");
    for caller in ["ops", "host"] {
        story.call(caller, "threads.archive", at("builder", 0)).refused("control-plane-required", "TH-4");
    }
    for caller in ["alice", "writer", "carol"] {
        story.call(caller, "threads.archive", at("builder", 0)).error("not-visible");
    }
    story.call("bob", "threads.archive", at("builder", 0)).rules(&["LC-22", "TH-4", "OP-7"]).ok(archived);
    story.call("bob", "threads.archive", at("builder", 1)).refused("transition-illegal", "LC-22");
    let next = |number: u32| task_input("builder", &format!("inc_builder-{number:04}"));
    let resume = |number: u32, revision: u32| with(at("builder", revision), "/next", next(number));
    let resumed = json!({"state": "active", "epoch": 1, "revision": 2, "incarnationId": "inc_builder-0002"});
    story.call("bob", "threads.resume", resume(2, 1)).rules(&["LC-22"]).ok(resumed);
    story.call("bob", "threads.resume", resume(3, 2)).rules(&["LC-22"]).ok(json!({"revision": 3, "epoch": 1}));
    for caller in ["builder", "ops", "host"] {
        story.call(caller, "threads.terminate", at("builder", 3)).refused("control-plane-required", "OP-3");
    }
    story.call("bob", "threads.terminate", at("builder", 4)).refused("revision-conflict", "OP-7");
    let ended = json!({"state": "terminated", "epoch": 2, "revision": 4});
    story.call("bob", "threads.terminate", at("builder", 3)).rules(&["LC-22"]).ok(ended);
    story.call("bob", "threads.terminate", at("builder", 4)).refused("transition-illegal", "LC-22");
    story.call("bob", "threads.archive", at("builder", 4)).refused("transition-illegal", "LC-22");
    story.call("bob", "threads.resume", resume(4, 4)).refused("transition-illegal", "LC-22");
    story.call("writer", "threads.archive", at("writer", 0)).ok(json!({"state": "archived"}));
    story.call("alice", "threads.terminate", at("writer", 1)).rules(&["LC-22"]).ok(json!({"state": "terminated"}));
    story
}

/// A plain rotation takes the thread along, and raises its epoch.
fn rotation() -> Story {
    let mut story = Story::tasks("a rotation takes the thread along");
    story.thread("bob", with(thread("builder", BUILDER), "/continuationId", "builder-01"));
    super::policy::rotate(&mut story, "bob", builder(), task_input("builder", "inc_builder-0002"));
    let shown = json!({
        "state": "active", "incarnationId": "inc_builder-0002", "epoch": 1, "revision": 1, "agentId": "agent-builder",
        "continuationId": absent(),
    });
    story.call("builder-next", "threads.read", named("builder")).ok(shown);
    story.call("builder", "threads.read", named("builder")).refused("task-retired", "OP-4");
    story.call("builder", "threads.list", json!({})).refused("task-retired", "OP-4");
    story.call("builder", "capabilities.list", named("builder")).refused("task-retired", "OP-4");
    story.call("builder", "threads.archive", at("builder", 1)).refused("task-retired", "OP-4");
    story
}

fn resumption() -> Story {
    let mut story = Story::threads("a thread is resumed as the next incarnation");
    let next = with(with(task_input("builder", "inc_builder-0002"), "/agentId", "agent-2"), "/role", "tester");
    let params = with(with(at("builder", 0), "/next", next), "/continuationId", "builder-02");
    for caller in ["builder", "ops", "host"] {
        story.call(caller, "threads.resume", params.clone()).refused("control-plane-required", "OP-3");
    }
    story.call("alice", "threads.resume", params.clone()).error("not-visible");
    let renamed = with(params.clone(), "/next/taskId", "mason");
    story.call("bob", "threads.resume", renamed).refused("task-rotation-mismatch", "TK-7");
    let same = with(params.clone(), "/next/incarnationId", BUILDER);
    story.call("bob", "threads.resume", same).refused("incarnation-conflict", "TK-2");
    let late = with(params.clone(), "/expectedRevision", 1);
    story.call("bob", "threads.resume", late).refused("revision-conflict", "OP-7");
    let command = with(params.clone(), "/next/adapterRef", json!({"kind": "loop", "command": "rm"}));
    story.call("bob", "threads.resume", command).refused("params-invalid", "TK-1");
    let shown = json!({
        "state": "active", "incarnationId": "inc_builder-0002", "epoch": 0, "revision": 1, "agentId": "agent-2",
        "role": "tester", "continuationId": "builder-02",
    });
    story.call("bob", "threads.resume", params).rules(&["OP-3", "OP-7", "TK-2", "TK-7"]).ok(shown.clone());
    story.call("builder-next", "threads.read", named("builder")).ok(shown);
    story.call("builder-next", "tasks.get", json!({"task": task_ref("builder", "inc_builder-0002")})).ok(json!({}));
    story.call("bob", "tasks.get", json!({"task": builder()})).ok(json!({"state": "archived"}));
    story
}

/// Plain mail speaks of an incarnation: it is over when that is.
fn resumption_of_mail() -> Story {
    let mut story = Story::granted("plain mail does not outlive an incarnation", "peer");
    story.thread("bob", thread("builder", BUILDER));
    for _ in 0..60 {
        story.sent("suggest", 0);
    }
    let params = with(at("builder", 0), "/next", task_input("builder", "inc_builder-0002"));
    story.call("bob", "threads.resume", params).ok(json!({"revision": 1}));
    for number in [1, 50, 60] {
        story.seen(number, json!({"decision": "stale", "decisionReasonCode": "stale-incarnation"}));
    }
    story.call("bob", "threads.read", named("builder")).ok(json!({"revision": 1}));
    story.send(envelope(70, "suggest", 0)).error("policy-denied");
    story.call("writer", "messages.getDisposition", message(70)).error("not-visible");
    story
}

/// What is stamped, and what is shown to whom.
fn granted() -> Story {
    let mut story = Story::threads("a capability is granted between two threads");
    let stamped = json!({
        "grant_id": "grant_thread-1", "issued_by": "policy:guard", "issued_at": time(0),
        "max_authority": {"may_inform": true, "may_request_action": false, "may_authorize_execution": false},
    });
    story.allow(capability(1)).rules(&["CG-9", "CG-10", "CG-11", "CG-15", "TH-2", "OP-3"]).ok(stamped.clone());
    story.allow(capability(1)).rules(&["CG-10"]).ok(stamped.clone());
    let unnamed = super::cast::without(capability(1), "/grant_id");
    let made = story.call("guard", "capabilities.grant", json!({"capability": unnamed})).keep("made", "/grant_id");
    made.ok(json!({"grant_id": not(json!("grant_thread-1")), "capability": "send_message_to_thread"}));
    story.allow(other("read_thread", 2)).ok(json!({"max_authority": absent()}));
    for caller in ["writer", "alice", "ops", "guard"] {
        let status =
            |side: &str| json!({"side": side, "status": "current", "consent": absent(), "targetOwner": "user:bob"});
        let items = json!([status("source"), status("source"), status("source")]);
        story.call(caller, "capabilities.list", named("writer")).ok(json!({"items": items}));
    }
    for caller in ["builder", "carol", "stranger", "host"] {
        story.call(caller, "capabilities.list", named("writer")).error("not-visible");
    }
    let revoke = json!({"grantId": var("made")});
    story.call("guard", "capabilities.revoke", revoke).ok(json!({"replay": false, "endedEvents": 0}));
    for caller in ["writer", "builder", "ops", "host"] {
        let params = json!({"capability": capability(3)});
        story.call(caller, "capabilities.grant", params).refused("control-plane-required", "OP-3");
    }
    story
}

/// Rule CG-10: an id of an issuer stands for one document, between the same threads.
fn identity() -> Story {
    let mut story = Story::threads("a capability is never changed");
    story.allow(capability(1));
    for (pointer, value) in [
        ("/allowed_event_types", json!(["QUESTION"])),
        ("/expires_at", json!(time(DAY))),
        ("/requires_target_consent", json!(true)),
        ("/allowed_subjects", json!(["a"])),
    ] {
        let params = json!({"capability": with(capability(1), pointer, value)});
        story.call("guard", "capabilities.grant", params).refused("idempotency-conflict", "CG-10");
    }
    let back = with(with(capability(1), "/source_thread", "builder"), "/target_thread", "writer");
    story.call("guard", "capabilities.grant", json!({"capability": back})).refused("idempotency-conflict", "CG-10");
    story.register("bob", task_input("writer", WRITER));
    story.thread("bob", thread("writer", WRITER));
    let params = json!({"capability": capability(1), "sourceOwner": "user:bob"});
    story.call("guard", "capabilities.grant", params).refused("idempotency-conflict", "CG-10");
    // Another issuer has ids of its own.
    let own = json!({"capability": capability(1), "sourceOwner": "user:bob"});
    story.call("bob", "capabilities.grant", own).rules(&["CG-10"]).ok(json!({"issued_by": "user:bob"}));
    story
}

/// Rule CG-9: who may grant between which threads.
fn scope() -> Story {
    let mut story = Story::threads("a user grants between its own threads");
    let refused = |story: &mut Story, caller: &str, params: Value| {
        story.call(caller, "capabilities.grant", params).refused("grant-scope-denied", "CG-9");
    };
    for caller in ["alice", "bob", "carol"] {
        refused(&mut story, caller, json!({"capability": capability(1)}));
    }
    let unknown = json!({"capability": with(capability(1), "/target_thread", "nobody")});
    refused(&mut story, "guard", unknown);
    let owner = json!({"capability": capability(1), "targetOwner": "user:alice"});
    refused(&mut story, "guard", owner);
    // A look-alike is another name.
    refused(&mut story, "guard", json!({"capability": with(capability(1), "/target_thread", "bui\u{406}der")}));
    refused(&mut story, "guard", json!({"capability": with(capability(1), "/target_thread", "Builder")}));
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.thread("alice", thread("editor", "inc_editor-0001"));
    let own = with(capability(1), "/target_thread", "editor");
    let step = story.call("alice", "capabilities.grant", json!({"capability": own})).rules(&["CG-9"]);
    step.ok(json!({"issued_by": "user:alice"}));
    // Two owners use the name: it means none of them until one is named.
    story.register("bob", task_input("writer", WRITER));
    story.thread("bob", thread("writer", WRITER));
    refused(&mut story, "guard", json!({"capability": capability(2)}));
    let named = json!({"capability": capability(2), "sourceOwner": "user:alice"});
    story.call("guard", "capabilities.grant", named).rules(&["CG-9"]).ok(json!({}));
    story
}

/// Rules CG-11 and CG-15, and what is no capability at all.
fn bounds() -> Story {
    let mut story = Story::threads("what a capability cannot be");
    let grant = |draft: Value| json!({"capability": draft});
    let ends = |offset: i64| grant(with(capability(1), "/expires_at", time(offset)));
    let refused = "capability-invalid";
    story.call("guard", "capabilities.grant", ends(367 * DAY)).refused(refused, "CG-11");
    story.call("guard", "capabilities.grant", ends(0)).refused(refused, "CP-2");
    story
        .call("guard", "capabilities.grant", grant(with(capability(1), "/target_thread", "writer")))
        .refused(refused, "CG-15");
    let silent = super::cast::without(capability(1), "/allowed_event_types");
    story.call("guard", "capabilities.grant", grant(silent)).refused(refused, "CP-1");
    let stamped = grant(with(capability(1), "/issued_by", "user:bob"));
    story.call("guard", "capabilities.grant", stamped).error_at("params-invalid", "/capability/issued_by");
    let typed = grant(with(capability(1), "/allowed_event_types", json!(["APPROVAL"])));
    story.call("guard", "capabilities.grant", typed).error_at("params-invalid", "/capability/allowed_event_types/0");
    story.call("guard", "capabilities.grant", ends(MINUTE)).rules(&["CG-11", "CP-2", "CG-15"]).ok(json!({}));
    let expired = json!({"items": [{"status": "expired"}]});
    story.call("bob", "capabilities.list", named("builder")).at(MINUTE).ok(expired);
    story.call("alice", "threads.terminate", at("writer", 0)).ok(json!({}));
    story.call("guard", "capabilities.grant", grant(capability(2))).refused("state-conflict", "TH-2");
    story
}

/// Rules CG-13 and CG-14: the consent is the target's.
fn consent() -> Story {
    let mut story = Story::threads("a capability waits for the target's consent");
    story.allow(with(capability(1), "/requires_target_consent", true));
    story.allow(capability(2));
    let status = |story: &mut Story, word: &str, consent: Value| {
        let items = json!([{"status": word, "consent": consent}, {"status": "current", "consent": absent()}]);
        story.call("bob", "capabilities.list", named("builder")).ok(json!({"items": items}));
    };
    status(&mut story, "awaiting-consent", json!(false));
    let agree = |number: u32, consent: bool| json!({"grantId": format!("grant_thread-{number}"), "consent": consent});
    for caller in ["writer", "alice"] {
        story.call(caller, "capabilities.consent", agree(1, true)).refused("grant-consent-denied", "CG-13");
    }
    for caller in ["carol", "stranger", "guard", "ops"] {
        story.call(caller, "capabilities.consent", agree(1, true)).error("not-visible");
    }
    story.call("builder", "capabilities.consent", agree(2, true)).refused("state-conflict", "CG-14");
    let step = story.call("builder", "capabilities.consent", agree(1, true)).rules(&["CG-13", "CG-14"]);
    step.ok(json!({"consent": true}));
    status(&mut story, "current", json!(true));
    story.call("bob", "capabilities.consent", agree(1, false)).rules(&["CG-13"]).ok(json!({"consent": false}));
    status(&mut story, "awaiting-consent", json!(false));
    super::policy::rotate(&mut story, "bob", builder(), task_input("builder", "inc_builder-0002"));
    story.call("builder", "capabilities.consent", agree(1, true)).refused("task-retired", "OP-4");
    story.call("builder-next", "capabilities.consent", agree(1, true)).ok(json!({"consent": true}));
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-1"})).ok(json!({}));
    story.call("bob", "capabilities.consent", agree(1, false)).refused("state-conflict", "CG-14");
    story
}

/// Rule CG-12: who may withdraw a capability.
fn revocation() -> Story {
    let mut story = Story::threads("a capability is revoked by its issuer or its target's owner");
    let revoke = |number: u32| json!({"grantId": format!("grant_thread-{number}")});
    for number in 1..=3 {
        story.allow(capability(number));
    }
    for caller in ["writer", "builder", "ops", "host"] {
        story.call(caller, "capabilities.revoke", revoke(1)).refused("control-plane-required", "OP-3");
    }
    story.call("alice", "capabilities.revoke", revoke(1)).refused("grant-revoke-denied", "CG-12");
    story.call("carol", "capabilities.revoke", revoke(1)).error("not-visible");
    let first = json!({"replay": false, "revokedAt": time(0), "endedEvents": 0, "remaining": false});
    story.call("bob", "capabilities.revoke", revoke(1)).rules(&["CG-12", "OP-3"]).ok(first);
    let again = json!({"replay": true, "revokedAt": time(0)});
    story.call("bob", "capabilities.revoke", revoke(1)).at(MINUTE).ok(again);
    story.call("guard", "capabilities.revoke", revoke(2)).rules(&["CG-12"]).ok(json!({"revokedAt": time(MINUTE)}));
    let items = json!([{"status": "revoked"}, {"status": "revoked"}, {"status": "current"}]);
    story.call("writer", "capabilities.list", named("writer")).ok(json!({"items": items}));
    story
}

/// What a capability of each kind opens, and that it opens nothing else.
fn holders() -> Story {
    let mut story = Story::threads("a thread is read and archived by those who hold the capability");
    story.allow(capability(1));
    story.allow(with(other("read_thread", 2), "/requires_target_consent", true));
    story.call("writer", "threads.read", named("builder")).error("not-visible");
    story.call("writer", "threads.list", json!({})).ok(json!({"items": [{"threadId": "writer"}]}));
    let agree = json!({"grantId": "grant_thread-2", "consent": true});
    story.call("builder", "capabilities.consent", agree).ok(json!({}));
    let change = json!({"settings": {"sandbox": {"value": "a", "order": ["a"]}}});
    let configure = with(at("builder", 0), "/change", change);
    story.call("bob", "threads.configure", configure).ok(json!({"revision": 1}));
    let shown = json!({"threadId": "builder", "owner": "user:bob", "state": "active", "settings": absent()});
    story.call("writer", "threads.read", named("builder")).ok(shown.clone());
    let both = json!({"items": [{"threadId": "writer"}, shown]});
    story.call("writer", "threads.list", json!({})).ok(both);
    for caller in ["alice", "stranger", "carol"] {
        story.call(caller, "threads.read", named("builder")).error("not-visible");
    }
    story.call("builder", "threads.read", named("writer")).error("not-visible");
    story.call("writer", "threads.archive", at("builder", 1)).error("not-visible");
    story.allow(other("archive_thread", 3));
    story.call("writer", "threads.archive", at("builder", 0)).refused("revision-conflict", "OP-7");
    story.call("writer", "threads.archive", at("builder", 1)).rules(&["TH-4"]).ok(json!({"state": "archived"}));
    let fork = json!({"threadId": "editor", "incarnationId": "inc_editor-0001", "agentId": "a", "role": "b"});
    story.call("writer", "threads.fork", with(named("builder"), "/fork", fork)).error("not-visible");
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-2"})).ok(json!({}));
    story.call("writer", "threads.read", named("builder")).error("not-visible");
    story.call("writer", "threads.list", json!({"owner": "user:alice"})).ok(json!({"items": [{"threadId": "writer"}]}));
    super::policy::rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    story.call("writer", "threads.archive", at("builder", 2)).refused("task-retired", "OP-4");
    story.call("writer-next", "threads.archive", at("builder", 2)).refused("transition-illegal", "LC-22");
    story
}

/// A fork has an identity of its own, names where it comes from, and has no capability (field report P237).
fn forks() -> Story {
    let mut story = Story::tasks("a fork is a thread of its own");
    let settings = json!({"sandbox": {"value": "read-only", "order": ["none", "read-only"]}});
    let input = with(with(thread("builder", BUILDER), "/settings", settings.clone()), "/reception", "standing");
    story.thread("bob", input);
    story.thread("alice", thread("writer", WRITER));
    story.register("bob", task_input("mason", "inc_mason-0001"));
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.allow(capability(1));
    let fork = |task: &str, incarnation: &str| json!({"threadId": task, "incarnationId": incarnation, "agentId": format!("agent-{task}"), "role": "author"});
    let into = |task: &str, incarnation: &str| json!({"threadId": "builder", "fork": fork(task, incarnation)});
    let mason = into("mason", "inc_mason-0001");
    for caller in ["ops", "host"] {
        story.call(caller, "threads.fork", mason.clone()).refused("control-plane-required", "TH-4");
    }
    story.call("writer", "threads.fork", into("editor", "inc_editor-0001")).error("not-visible");
    story.call("bob", "threads.fork", into("mason", BUILDER)).error("not-visible");
    story.call("bob", "threads.fork", into("nobody", "inc_nobody-0001")).error("not-visible");
    let shown = json!({
        "threadId": "mason", "owner": "user:bob", "state": "active", "epoch": 0, "revision": 0, "settings": settings,
        "reception": "standing", "forkedFrom": {"threadId": "builder", "owner": "user:bob"},
    });
    story.call("bob", "threads.fork", mason.clone()).rules(&["TH-1", "TH-2", "TH-4"]).ok(shown.clone());
    story.call("bob", "threads.fork", mason).rules(&["TH-1"]).ok(shown);
    let loose = with(into("mason", "inc_mason-0001"), "/fork/settings", settings.clone());
    story.call("bob", "threads.fork", loose).error_at("params-invalid", "/fork/settings");
    let changed = with(into("mason", "inc_mason-0001"), "/fork/role", "other");
    story.call("bob", "threads.fork", changed).refused("idempotency-conflict", "TH-1");
    story.call("bob", "threads.fork", into("builder", BUILDER)).refused("idempotency-conflict", "TH-1");
    story.call("bob", "capabilities.list", named("mason")).ok(json!({"items": []}));
    story.allow(other("fork_thread", 2));
    let step = story.call("writer", "threads.fork", into("editor", "inc_editor-0001")).rules(&["TH-4"]);
    step.ok(json!({"owner": "user:alice", "forkedFrom": {"threadId": "builder", "owner": "user:bob"}}));
    super::policy::rotate(
        &mut story,
        "bob",
        task_ref("mason", "inc_mason-0001"),
        task_input("mason", "inc_mason-0002"),
    );
    story.register("bob", task_input("carver", "inc_carver-0001"));
    super::policy::rotate(
        &mut story,
        "bob",
        task_ref("carver", "inc_carver-0001"),
        task_input("carver", "inc_carver-0002"),
    );
    story.call("bob", "threads.fork", into("carver", "inc_carver-0001")).refused("task-retired", "OP-4");
    story.call("bob", "threads.terminate", at("builder", 0)).ok(json!({}));
    story.call("bob", "threads.fork", into("carver", "inc_carver-0002")).refused("state-conflict", "TH-2");
    story
}

/// Pages of threads and of capabilities.
fn lists() -> Story {
    let mut story = Story::threads("threads and capabilities are listed in pages");
    for task in ["anvil", "bellows"] {
        let incarnation = format!("inc_{task}-0001");
        story.register("bob", task_input(task, &incarnation));
        story.thread("bob", thread(task, &incarnation));
    }
    let ids = |ids: &[&str]| Value::Array(ids.iter().map(|id| json!({"threadId": id})).collect());
    for caller in ["bob", "guard", "ops"] {
        let first = json!({"limit": 2, "owner": "user:bob"});
        let step = story.call(caller, "threads.list", first).keep("place", "/next");
        step.ok(json!({"items": ids(&["anvil", "bellows"]), "next": not(json!(""))}));
        let rest = json!({"limit": 2, "owner": "user:bob", "after": var("place")});
        story.call(caller, "threads.list", rest).ok(json!({"items": ids(&["builder"]), "next": absent()}));
    }
    story.call("bob", "threads.list", json!({})).ok(json!({"items": ids(&["anvil", "bellows", "builder"])}));
    story.call("alice", "threads.list", json!({"owner": "user:bob"})).error("not-visible");
    story.call("writer", "threads.list", json!({"owner": "user:bob"})).error("not-visible");
    for caller in ["ops", "host"] {
        story.call(caller, "threads.list", json!({})).error("not-visible");
    }
    story.call("stranger", "threads.list", json!({})).error("not-visible");
    let read = |target: &str, number: u32| with(other("read_thread", number), "/target_thread", target);
    for (number, target) in [(1, "anvil"), (2, "bellows"), (3, "anvil")] {
        story.allow(read(target, number));
    }
    let step = story.call("writer", "threads.list", json!({"limit": 2})).keep("shown", "/next");
    step.ok(json!({"items": ids(&["writer", "anvil"])}));
    let rest = json!({"limit": 2, "after": var("shown")});
    story.call("writer", "threads.list", rest).ok(json!({"items": ids(&["bellows"]), "next": absent()}));
    let step = story.call("writer", "capabilities.list", json!({"threadId": "writer", "limit": 2}));
    step.keep("granted", "/next").ok(json!({"items": [{}, {}]}));
    let rest = json!({"threadId": "writer", "limit": 2, "after": var("granted")});
    let last = json!({"items": [{"capability": {"grant_id": "grant_thread-3"}}], "next": absent()});
    story.call("writer", "capabilities.list", rest).ok(last);
    story
}

/// One call with a key, again, and with other content: for every operation that takes one.
fn keys() -> Story {
    let mut story = Story::tasks("keys of threads and capabilities");
    let register = json!({"thread": thread("builder", BUILDER)});
    super::keys::thrice(&mut story, "bob", "threads.register", &register, ("/thread/role", "other".into()));
    story.thread("alice", thread("writer", WRITER));
    story.register("bob", task_input("mason", "inc_mason-0001"));
    let fork = json!({"threadId": "mason", "incarnationId": "inc_mason-0001", "agentId": "a", "role": "b"});
    let fork = json!({"threadId": "builder", "fork": fork});
    super::keys::thrice(&mut story, "bob", "threads.fork", &fork, ("/fork/role", "other".into()));
    let change = with(at("builder", 0), "/change", json!({"reception": "standing"}));
    super::keys::thrice(&mut story, "bob", "threads.configure", &change, ("/change/reception", "asked".into()));
    super::keys::thrice(&mut story, "bob", "threads.archive", &at("builder", 1), ("/expectedRevision", 2.into()));
    let resume = with(at("builder", 2), "/next", task_input("builder", "inc_builder-0002"));
    super::keys::thrice(&mut story, "bob", "threads.resume", &resume, ("/expectedRevision", 3.into()));
    let draft = with(capability(1), "/requires_target_consent", true);
    let grant = json!({"capability": draft});
    super::keys::thrice(
        &mut story,
        "guard",
        "capabilities.grant",
        &grant,
        ("/capability/grant_id", "grant_other-1".into()),
    );
    let consent = json!({"grantId": "grant_thread-1", "consent": true});
    super::keys::thrice(&mut story, "bob", "capabilities.consent", &consent, ("/consent", false.into()));
    let revoke = json!({"grantId": "grant_thread-1"});
    super::keys::thrice(&mut story, "bob", "capabilities.revoke", &revoke, ("/owner", "policy:guard".into()));
    super::keys::thrice(&mut story, "bob", "threads.terminate", &at("builder", 3), ("/expectedRevision", 4.into()));
    story
}

/// What the streams tell of threads and capabilities: both ends hear of a capability.
fn told() -> Story {
    let mut story = Story::tasks("the events of threads and capabilities");
    story.thread("alice", thread("writer", WRITER));
    story.thread("bob", thread("builder", BUILDER));
    story.allow(with(capability(1), "/requires_target_consent", true));
    let agree = json!({"grantId": "grant_thread-1", "consent": true});
    story.call("builder", "capabilities.consent", agree).ok(json!({}));
    story.call("bob", "capabilities.revoke", json!({"grantId": "grant_thread-1"})).ok(json!({}));
    let change = with(at("builder", 0), "/change", json!({"role": "mason"}));
    story.call("bob", "threads.configure", change).ok(json!({}));
    story.call("bob", "threads.archive", at("builder", 1)).ok(json!({}));
    story.call("alice", "threads.terminate", at("writer", 0)).ok(json!({}));
    let some = || not(json!(""));
    let thread =
        |kind: &str, revision: u32, detail: Value| json!({"eventType": kind, "revision": revision, "detail": detail});
    let granted =
        |kind: &str, detail: Value| json!({"eventType": kind, "detail": with(detail, "/grantId", "grant_thread-1")});
    let shared = vec![
        granted("capability-granted", json!({"capabilityDigest": some()})),
        granted("capability-consent-set", json!({"consent": "true"})),
        granted("capability-revoked", json!({})),
    ];
    let registered = |id: &str| thread("thread-registered", 0, json!({"registrationDigest": some(), "threadId": id}));
    let task = || json!({"eventType": "task-registered"});
    let mut writer_events = vec![task(), registered("writer")];
    writer_events.extend(shared.clone());
    writer_events.push(thread("thread-terminated", 1, json!({"threadId": "writer"})));
    let mut builder_events = vec![task(), registered("builder")];
    builder_events.extend(shared);
    builder_events.push(thread("thread-configured", 1, json!({"changeDigest": some(), "threadId": "builder"})));
    builder_events.push(thread("thread-archived", 2, json!({"threadId": "builder"})));
    let wait = |task: Value| json!({"task": task, "timeoutMs": 0});
    story.call("writer", "tasks.wait", wait(writer())).ok(json!({"events": writer_events}));
    story.call("builder", "tasks.wait", wait(builder())).ok(json!({"events": builder_events}));
    let next = with(at("builder", 2), "/next", task_input("builder", "inc_builder-0002"));
    story.call("bob", "threads.resume", next).ok(json!({}));
    let rotated = json!({"eventType": "task-rotated"});
    let told = json!({"nextIncarnationId": "inc_builder-0002", "threadId": "builder"});
    let resumed = thread("thread-resumed", 3, told);
    let fresh = task_ref("builder", "inc_builder-0002");
    story.call("builder-next", "tasks.wait", wait(fresh)).ok(json!({"events": [rotated, resumed]}));
    story
}
