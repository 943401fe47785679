//! Who takes part in the scenarios, and what they usually say.
//!
//! Alice owns the task `writer`, Bob the task `builder`, Carol the task `stranger`. The policy `guard` grants across
//! owners, `ops` is the operator, and `host` is the running host.

use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Map, Value, json};

/// A second.
pub(super) const SECOND: i64 = 1_000;
/// A minute: also the lease of a claim, and the window of the budgets.
pub(super) const MINUTE: i64 = 60 * SECOND;
/// A day.
pub(super) const DAY: i64 = 24 * 60 * MINUTE;
/// When others than its own dispatcher may judge an attempt that begins at 0: the deadline of 10 s and the settle bound
/// of 20 s of the profile, which are later than the lease.
pub(super) const SETTLED: i64 = 30 * SECOND;

/// The sender's incarnation.
pub(super) const WRITER: &str = "inc_writer-0001";
/// The receiver's incarnation.
pub(super) const BUILDER: &str = "inc_builder-0001";

pub(super) fn principals() -> Map<String, Value> {
    let task = |id: &str, incarnation: &str, owner: &str| json!({"kind": "task", "id": id, "incarnation": incarnation, "owner": owner});
    let worker = |worker: &str| {
        let mut principal = task("builder", BUILDER, "user:bob");
        principal["worker"] = worker.into();
        principal
    };
    let cast = [
        ("alice", json!({"kind": "user", "id": "alice"})),
        ("bob", json!({"kind": "user", "id": "bob"})),
        ("carol", json!({"kind": "user", "id": "carol"})),
        ("guard", json!({"kind": "policy", "id": "guard"})),
        ("ops", json!({"kind": "operator", "id": "ops"})),
        ("host", json!({"kind": "host", "id": "host"})),
        ("writer", task("writer", WRITER, "user:alice")),
        ("builder", task("builder", BUILDER, "user:bob")),
        ("builder-w1", worker("w1")),
        ("builder-w2", worker("w2")),
        ("builder-next", task("builder", "inc_builder-0002", "user:bob")),
        ("writer-next", task("writer", "inc_writer-0002", "user:alice")),
        ("stranger", task("stranger", "inc_stranger-0001", "user:carol")),
    ];
    cast.into_iter().map(|(name, principal)| (name.to_owned(), principal)).collect()
}

/// A reference to a task.
pub(super) fn task_ref(task: &str, incarnation: &str) -> Value {
    json!({"taskId": task, "incarnationId": incarnation})
}

pub(super) fn writer() -> Value {
    task_ref("writer", WRITER)
}

pub(super) fn builder() -> Value {
    task_ref("builder", BUILDER)
}

/// The adapter reference that the receiver is registered with.
pub(super) fn adapter_ref() -> Value {
    json!({"kind": "loop", "session": "session-1"})
}

/// A TaskInput with a runtime.
pub(super) fn task_input(task: &str, incarnation: &str) -> Value {
    json!({
        "taskId": task, "incarnationId": incarnation, "harness": "codex",
        "runtime": {"runId": "run-1", "objectiveVersion": 4, "checkpoint": "half-way"},
    })
}

/// The same with the adapter reference.
pub(super) fn bound(task: &str, incarnation: &str) -> Value {
    with(task_input(task, incarnation), "/adapterRef", adapter_ref())
}

/// `value` with the member at `pointer` set; the member before the last must be there.
pub(super) fn with(mut value: Value, pointer: &str, member: impl Into<Value>) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = value.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    parent.insert(name.into(), member.into());
    value
}

/// `value` without the member at `pointer`.
pub(super) fn without(mut value: Value, pointer: &str) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    value.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object").remove(name);
    value
}

/// A grant draft from writer to builder.
pub(super) fn grant(kind: &str, version: u32) -> Value {
    let supervises = matches!(kind, "supervisor" | "parent");
    let mut intents = vec!["notify", "suggest"];
    let mut modes = vec!["store-only", "side-channel", "checkpoint-offer", "wake-idle"];
    if supervises {
        intents.extend(["steer", "interrupt"]);
        modes.extend(["active-steer", "interrupt-request"]);
    }
    json!({
        "specVersion": "0.0-draft", "grantId": format!("grant_work-{version}"), "grantVersion": version,
        "relationshipId": "rel_work", "relationshipType": kind, "source": writer(), "target": builder(),
        "allowedIntents": intents, "allowedDeliveryModes": modes, "summaryVisibility": "none",
        "structuredGateResponses": false, "createdAt": time(0), "expiresAt": time(90 * DAY),
    })
}

/// What the operator declares of the profile `loop`.
pub(super) fn profile() -> Value {
    json!({
        "profile": "loop", "digest": format!("sha256:{:064}", 1), "executor": "host", "deadlineMs": 10_000,
        "settleMs": 20_000, "canQuery": true, "absentFinal": true, "capabilities": capabilities(),
    })
}

fn capabilities() -> Value {
    json!({
        "specVersion": "0.0-draft", "adapterName": "loop", "adapterVersion": "1.0.0",
        "intents": ["suggest", "steer", "interrupt"],
        "deliveryModes": ["store-only", "checkpoint-offer", "wake-idle", "active-steer", "interrupt-request"],
        "features": {
            "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": true,
            "checkpointEvents": true, "idleWake": true, "contextAdmission": "none", "provenanceRendering": "none",
            "modelTurnCancellation": true, "subprocessCancellation": false, "dispositionCallbacks": false,
            "structuredGateResponses": "none", "durableSubmissionIdempotency": "queryable-receipt",
            "typedInterruptionResults": true,
        },
    })
}

/// An envelope from writer to builder. `number` makes its id; it is written at `offset` and lives an hour, or ten
/// minutes where it is urgent.
pub(super) fn envelope(number: u32, intent: &str, offset: i64) -> Value {
    let (mode, kind, lifetime) = match intent {
        "notify" => ("store-only", "observation", 60 * MINUTE),
        "suggest" => ("checkpoint-offer", "suggestion", 60 * MINUTE),
        "steer" => ("active-steer", "action-request", 10 * MINUTE),
        _ => ("interrupt-request", "action-request", 10 * MINUTE),
    };
    let sender = json!({"taskId": "writer", "incarnationId": WRITER, "harness": "codex", "actorType": "agent"});
    let mut envelope = json!({
        "specVersion": "0.0-draft", "messageId": message_id(number), "messageType": kind, "intent": intent,
        "claimStatus": "unverified", "sender": sender, "target": builder(), "relationshipId": "rel_work",
        "content": format!("Content {number}: use the shared cache."), "reason": "It saves an hour.",
        "delivery": {"requestedMode": mode, "requiresDisposition": true},
        "createdAt": time(offset), "expiresAt": time(offset + lifetime),
    });
    if matches!(intent, "steer" | "interrupt") {
        envelope["freshness"] = json!({"expectedRunId": "run-1", "expectedObjectiveVersion": 4});
    }
    envelope
}

pub(super) fn message_id(number: u32) -> String {
    format!("msg_work-{number:04}")
}

/// The members that name a message of writer.
pub(super) fn message(number: u32) -> Value {
    json!({"senderIncarnationId": WRITER, "messageId": message_id(number)})
}

/// The same with an expected revision.
pub(super) fn message_at(number: u32, revision: u32) -> Value {
    with(message(number), "/expectedRevision", revision)
}

/// A disposition, as the draft's binding shows it: without the members that are not given.
pub(super) fn disposition(revision: u32, delivery: &str, decision: &str, reason: &str) -> Value {
    let reason = if reason.is_empty() { absent() } else { reason.into() };
    json!({
        "revision": revision, "delivery": delivery, "decision": decision, "decisionReasonCode": reason,
        "deliveryFailureReason": absent(), "outcome": "not-observed",
    })
}

/// A disposition that is still open.
pub(super) fn received(revision: u32, decision: &str, reason: &str) -> Value {
    disposition(revision, "durably-received", decision, reason)
}

/// A receipt that a harness gave.
pub(super) fn receipt(operation: &str) -> Value {
    json!({"adapterOperationId": operation, "acceptedAt": time(SECOND)})
}

impl Story {
    /// Registers a task for `owner`.
    pub fn register(&mut self, owner: &str, input: Value) -> &mut Step {
        self.call(owner, "tasks.register", json!({"task": input})).ok(json!({"replay": false, "revision": 0}))
    }

    /// The policy grants.
    pub fn grant(&mut self, draft: Value) -> &mut Step {
        let params = json!({"grant": draft, "decision": {"decisionId": "decision_work-1"}});
        self.call("guard", "relationships.grant", params).ok(json!({}))
    }

    /// The operator declares the profile.
    pub fn declare(&mut self, profile: Value) -> &mut Step {
        self.call("ops", "adapters.declare", profile).ok(json!({}))
    }

    /// Both tasks, registered by different owners, without any grant.
    pub fn tasks(name: &str) -> Self {
        let mut story = Self::new(name);
        story.register("alice", task_input("writer", WRITER));
        story.register("bob", bound("builder", BUILDER));
        story
    }

    /// Both tasks, with a grant of this relationship type.
    pub fn granted(name: &str, kind: &str) -> Self {
        let mut story = Self::tasks(name);
        story.grant(grant(kind, 1));
        story
    }

    /// The same with a declared adapter.
    pub fn adapted(name: &str, kind: &str) -> Self {
        let mut story = Self::granted(name, kind);
        story.declare(profile());
        story
    }

    /// Writer sends.
    pub fn send(&mut self, envelope: Value) -> &mut Step {
        self.call("writer", "messages.send", json!({"envelope": envelope}))
    }

    /// Writer sends the next message, which is taken. Its number.
    pub fn sent(&mut self, intent: &str, offset: i64) -> u32 {
        self.messages += 1;
        let number = self.messages;
        self.send(envelope(number, intent, offset)).ok(json!({"replay": false}));
        number
    }

    /// Builder claims; the token is kept as `token`.
    pub fn claim(&mut self, caller: &str, number: u32, revision: u32) -> &mut Step {
        self.call(caller, "mailbox.claim", message_at(number, revision))
    }

    /// Builder decides under the claim that was kept as `token`.
    pub fn ack(&mut self, caller: &str, number: u32, revision: u32, decision: &str) -> &mut Step {
        let params = with(message_at(number, revision), "/claimToken", super::story::var("token"));
        self.call(caller, "mailbox.ack", with(params, "/decision", decision))
    }

    /// Builder decides without a claim.
    pub fn respond(&mut self, number: u32, revision: u32, decision: &str) -> &mut Step {
        self.call("builder", "messages.respond", with(message_at(number, revision), "/decision", decision))
    }

    /// Builder prepares the submission.
    pub fn prepare(&mut self, number: u32, revision: u32) -> &mut Step {
        self.call("builder", "adapter.prepareSubmission", message_at(number, revision))
    }

    /// Builder begins the submission that was kept as `submission`.
    pub fn begin(&mut self, revision: u32) -> &mut Step {
        let params = json!({"submissionId": super::story::var("submission"), "expectedRevision": revision});
        self.call("builder", "adapter.beginSubmission", params)
    }

    /// Somebody hands in a receipt for the submission that was kept as `submission`.
    pub fn receipt(&mut self, caller: &str, revision: u32, receipt: Value) -> &mut Step {
        let submission = super::story::var("submission");
        let params = json!({"submissionId": submission, "expectedRevision": revision, "receipt": receipt});
        self.call(caller, "adapter.recordReceipt", params)
    }

    /// Somebody says what became of the submission that was kept as `submission`.
    pub fn reconcile(&mut self, caller: &str, revision: u32, reconciliation: Value) -> &mut Step {
        let submission = super::story::var("submission");
        let params =
            json!({"submissionId": submission, "expectedRevision": revision, "reconciliation": reconciliation});
        self.call(caller, "adapter.reconcileSubmission", params)
    }

    /// The host says what the adapter answered about the submission that was kept as `submission`.
    pub fn query(&mut self, result: &str) -> &mut Step {
        let submission = super::story::var("submission");
        let params = json!({"submissionId": submission, "result": result, "evidenceRefs": ["query:1"]});
        self.call("host", "adapter.recordQuery", params)
    }

    /// A message that was accepted (revision 1), prepared and begun at the time of the last step.
    pub fn begun(&mut self, intent: &str, offset: i64) -> u32 {
        let number = self.accepted(intent, offset);
        self.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
        self.begin(1).ok(json!({"replay": false, "submission": {"state": "outcome-unknown"}}));
        number
    }

    /// A message that was accepted, at revision 1.
    pub fn accepted(&mut self, intent: &str, offset: i64) -> u32 {
        let number = self.sent(intent, offset);
        self.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
        number
    }

    /// What the writer sees of a message.
    pub fn seen(&mut self, number: u32, disposition: Value) -> &mut Step {
        self.call("writer", "messages.getDisposition", message(number)).ok(disposition)
    }
}
