//! Missing and foreign are one answer: every operation that names something of somebody, called by those who may not see
//! it, with ids that exist and with ids that do not. The answers are the same, byte by byte, and nothing that the parties
//! see is another afterwards.

mod sending;

use super::cast::{BUILDER, WRITER, adapter_ref, builder, grant, message, receipt, task_input, task_ref, with};
use super::story::{Story, var};
use super::time;
use super::{events, proposals, summaries, threads};
use serde_json::{Value, json};

/// What is named: things of Alice and Bob, or nothing that there is.
struct Ids {
    /// A message that waits for its receiver.
    waiting: Value,
    /// A message whose outcome is unknown.
    begun: Value,
    submission: Value,
    task: Value,
    grant: &'static str,
    proposal: String,
    thread: &'static str,
    capability: &'static str,
    source: &'static str,
    event: String,
}

/// An operation, how it names things, and who may do it.
struct Case {
    operation: &'static str,
    params: fn(&Ids) -> Value,
    /// What those get who may not see what is named.
    denied: Denied,
    /// Who may see it, and the code with which the call ends where it is not done.
    rightful: (&'static str, Option<&'static str>),
}

/// The code that a caller of a kind gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Denied {
    /// `not-visible` for everybody.
    Unseen,
    /// Users and policies get `not-visible`; the others may not call it at all.
    ControlPlane,
    /// The same for tasks as well: only the operator is told before anything is looked at.
    NotOperator,
    /// There is no such operation, but for the host.
    Internal,
}

/// Callers that may see nothing of what is named: strangers, and everybody of another tenant.
const CALLERS: &[(&str, &str)] = &[
    ("carol", "user"),
    ("stranger", "task"),
    ("other-bob", "user"),
    ("other-builder", "task"),
    ("other-guard", "policy"),
    ("other-ops", "operator"),
];

const CASES: &[Case] = &[
    Case {
        operation: "adapter.acceptAndBegin",
        params: |ids| with(at(&ids.waiting, 0), "/claimToken", token()),
        denied: Denied::Unseen,
        rightful: ("builder", Some("mailbox-claim-invalid")),
    },
    Case {
        operation: "adapter.admitContext",
        params: |ids| with(with(at(&ids.waiting, 0), "/session", "mcp-1"), "/toolCallId", "call-1"),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "adapter.beginSubmission",
        params: |ids| json!({"submissionId": ids.submission, "expectedRevision": 1}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "adapter.confirmContextAdmission",
        params: |ids| with(with(at(&ids.waiting, 0), "/admissionToken", token()), "/evidence", evidence()),
        denied: Denied::Unseen,
        rightful: ("builder", Some("admission-token-invalid")),
    },
    Case {
        operation: "adapter.getSubmission",
        params: |ids| json!({"submissionId": ids.submission}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "adapter.prepareContextAdmission",
        params: |ids| at(&ids.waiting, 0),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "adapter.prepareSubmission",
        params: |ids| at(&ids.waiting, 0),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "adapter.reconcileSubmission",
        params: |ids| {
            let manual = json!({"resolution": "manual-required", "evidenceRefs": ["log:1"]});
            json!({"submissionId": ids.submission, "expectedRevision": 1, "reconciliation": manual})
        },
        denied: Denied::Unseen,
        rightful: ("builder", Some("submission-settling")),
    },
    Case {
        operation: "adapter.recordQuery",
        params: |ids| json!({"submissionId": ids.submission, "result": "absent-now", "evidenceRefs": ["query:1"]}),
        denied: Denied::Internal,
        rightful: ("host", None),
    },
    Case {
        operation: "adapter.recordReceipt",
        params: |ids| json!({"submissionId": ids.submission, "expectedRevision": 1, "receipt": receipt("turn-1")}),
        denied: Denied::Unseen,
        rightful: ("host", None),
    },
    Case {
        operation: "adapter.recoverContextAdmission",
        params: |ids| with(with(at(&ids.waiting, 0), "/resolution", "confirmed-admitted"), "/evidence", evidence()),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "audit.list",
        params: |ids| ids.waiting.clone(),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "capabilities.consent",
        params: |ids| json!({"grantId": ids.capability, "consent": true}),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "capabilities.list",
        params: |ids| json!({"threadId": ids.thread}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "capabilities.revoke",
        params: |ids| json!({"grantId": ids.capability}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "events.decline",
        params: |ids| json!({"sourceThread": ids.source, "eventId": ids.event, "expectedRevision": 0}),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "events.get",
        params: |ids| json!({"sourceThread": ids.source, "eventId": ids.event}),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "events.list",
        params: |ids| json!({"threadId": ids.thread}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "events.receive",
        params: |ids| json!({"sourceThread": ids.source, "eventId": ids.event, "expectedRevision": 0}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "events.reconsider",
        params: |ids| json!({"sourceThread": ids.source, "eventId": ids.event, "expectedRevision": 0}),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "inquiries.begin",
        params: |ids| with(ids.waiting.clone(), "/fence", 1),
        denied: Denied::Internal,
        rightful: ("host", Some("state-conflict")),
    },
    Case {
        operation: "inquiries.record",
        params: |ids| {
            let digest = format!("sha256:{:064}", 1);
            with(with(with(ids.waiting.clone(), "/fence", 1), "/resolverDigest", digest), "/result", "absent")
        },
        denied: Denied::Internal,
        rightful: ("host", Some("state-conflict")),
    },
    Case {
        operation: "inspector.snapshot",
        params: |ids| ids.waiting.clone(),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "mailbox.ack",
        params: |ids| with(with(at(&ids.waiting, 0), "/claimToken", token()), "/decision", "accepted"),
        denied: Denied::Unseen,
        rightful: ("builder", Some("mailbox-claim-invalid")),
    },
    Case {
        operation: "mailbox.claim",
        params: |ids| at(&ids.waiting, 0),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "mailbox.listPending",
        params: |ids| json!({"receiver": ids.task}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "messages.failDelivery",
        params: |ids| with(at(&ids.waiting, 0), "/failureReason", "No room."),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "messages.getDisposition",
        params: |ids| ids.begun.clone(),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "messages.recordDelivery",
        params: |ids| with(at(&ids.waiting, 0), "/delivery", "receiver-notified"),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "messages.recordInterruptionResult",
        params: |ids| {
            let target = json!({"targetId": "turn-1", "state": "not-running", "observedAt": time(0)});
            let none = json!({"enumeration": "complete", "targets": []});
            let result = json!({
                "specVersion": "0.0-draft", "interruptionId": "int_work-0001", "messageId": ids.waiting["messageId"],
                "receiver": ids.task, "requestedAt": time(0), "updatedAt": time(0),
                "results": {"modelTurn": target, "toolCalls": none, "subprocesses": none},
            });
            with(at(&ids.waiting, 0), "/result", result)
        },
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "messages.recordOutcome",
        params: |ids| with(with(at(&ids.begun, 1), "/outcome", "failed"), "/evidenceRefs", json!(["log:1"])),
        denied: Denied::Unseen,
        rightful: ("builder", Some("external-outcome-unknown")),
    },
    Case {
        operation: "messages.respond",
        params: |ids| with(at(&ids.waiting, 0), "/decision", "accepted"),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "relationships.consent",
        params: |ids| json!({"grantId": ids.grant, "expectedGrantVersion": 1, "consent": true}),
        denied: Denied::Unseen,
        rightful: ("builder", Some("state-conflict")),
    },
    Case {
        operation: "relationships.list",
        params: |ids| json!({"task": ids.task}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "relationships.listProposals",
        params: |ids| json!({"task": ids.task}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "relationships.rejectProposal",
        params: |ids| json!({"proposalId": ids.proposal}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "relationships.revoke",
        params: |ids| json!({"grantId": ids.grant, "expectedGrantVersion": 1}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "relationships.withdrawProposal",
        params: |ids| json!({"proposalId": ids.proposal}),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "state.get",
        params: |ids| json!({"threadId": ids.thread, "trajectoryId": "project:migration", "subject": "a"}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "state.history",
        params: |ids| json!({"threadId": ids.thread, "trajectoryId": "project:migration", "subject": "a"}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "state.invalidate",
        params: |ids| json!({"threadId": ids.thread, "trajectoryId": "project:migration", "subject": "a", "expectedVersion": 0}),
        denied: Denied::ControlPlane,
        rightful: ("bob", Some("state-conflict")),
    },
    Case {
        operation: "state.wait",
        params: |ids| json!({"threadId": ids.thread, "trajectoryId": "project:migration", "subject": "a"}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.attach",
        params: |ids| json!({"task": ids.task, "adapterRef": adapter_ref(), "expectedRevision": 0}),
        denied: Denied::NotOperator,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.get",
        params: |ids| json!({"task": ids.task}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.getSummary",
        params: |ids| json!({"task": ids.task, "relationshipId": "rel_shown"}),
        denied: Denied::Unseen,
        rightful: ("writer", None),
    },
    Case {
        operation: "tasks.listRelated",
        params: |ids| json!({"task": ids.task}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.publishSummary",
        params: |ids| {
            let summary = with(summaries::summary("state-only", 2), "/task", ids.task.clone());
            json!({"summary": with(summary, "/projection/grantId", ids.grant), "expectedPreviousVersion": null})
        },
        denied: Denied::NotOperator,
        rightful: ("builder", Some("summary-projection-denied")),
    },
    Case {
        operation: "tasks.rotateIncarnation",
        params: |ids| {
            let task = ids.task["taskId"].as_str().unwrap_or_default();
            json!({"previous": ids.task, "next": task_input(task, "inc_other-00001"), "expectedRevision": 0})
        },
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "tasks.setConsent",
        params: |ids| json!({"task": ids.task, "consent": {"mute": true}, "expectedRevision": 0}),
        denied: Denied::NotOperator,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.updateRuntime",
        params: |ids| json!({"task": ids.task, "runtime": {"runId": "run-2"}, "expectedRevision": 0}),
        denied: Denied::NotOperator,
        rightful: ("builder", None),
    },
    Case {
        operation: "tasks.wait",
        params: |ids| json!({"task": ids.task, "timeoutMs": 0}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "threads.archive",
        params: |ids| json!({"threadId": ids.thread, "expectedRevision": 0}),
        denied: Denied::NotOperator,
        rightful: ("builder", None),
    },
    Case {
        operation: "threads.configure",
        params: |ids| json!({"threadId": ids.thread, "change": {"role": "mason"}, "expectedRevision": 0}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "threads.fork",
        params: |ids| {
            let fork = json!({"threadId": "builder", "incarnationId": BUILDER, "agentId": "a", "role": "b"});
            json!({"threadId": ids.thread, "fork": fork})
        },
        denied: Denied::NotOperator,
        rightful: ("bob", Some("idempotency-conflict")),
    },
    Case {
        operation: "threads.read",
        params: |ids| json!({"threadId": ids.thread}),
        denied: Denied::Unseen,
        rightful: ("builder", None),
    },
    Case {
        operation: "threads.register",
        params: |ids| json!({"thread": threads::thread(ids.thread, &format!("inc_{}-0001", ids.thread))}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "threads.resume",
        params: |ids| {
            let next = task_input(ids.thread, "inc_other-00001");
            json!({"threadId": ids.thread, "next": next, "expectedRevision": 0})
        },
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
    Case {
        operation: "threads.terminate",
        params: |ids| json!({"threadId": ids.thread, "expectedRevision": 0}),
        denied: Denied::ControlPlane,
        rightful: ("bob", None),
    },
];

impl Denied {
    fn code(self, kind: &str) -> &'static str {
        match (self, kind) {
            (Self::Internal, "user" | "task" | "policy" | "operator") => "method-not-found",
            (Self::ControlPlane, "task" | "operator" | "host") | (Self::NotOperator, "operator" | "host") => {
                "control-plane-required"
            }
            _ => "not-visible",
        }
    }
}

pub(super) fn stories() -> Vec<Story> {
    let mut all: Vec<Story> = CASES.iter().map(story).collect();
    all.extend([
        sending::sends("messages.send"),
        sending::sends("messages.sendBatch"),
        sending::forwards(),
        sending::grants(),
        sending::capabilities(),
        sending::tells(),
    ]);
    all
}

fn at(message: &Value, revision: u32) -> Value {
    with(message.clone(), "/expectedRevision", revision)
}

fn token() -> String {
    format!("sha256:{}", "0".repeat(64))
}

/// Evidence of an admission that there is not.
fn evidence() -> Value {
    json!({
        "kind": "mcp-session", "nonce": token(), "renderingDigest": token(), "renderingBytes": 1, "session": "mcp-1",
        "toolCallId": "call-1",
    })
}

fn foreign() -> Ids {
    Ids {
        waiting: message(1),
        begun: message(2),
        submission: var("submission"),
        task: builder(),
        grant: "grant_work-1",
        proposal: proposals::proposal_id(1),
        thread: "builder",
        capability: "grant_thread-1",
        source: "writer",
        event: events::id(1),
    }
}

fn missing() -> Ids {
    Ids {
        waiting: message(98),
        begun: message(99),
        submission: json!("sub_00000000000000000000000000000000"),
        task: task_ref("nobody", "inc_nobody-0001"),
        grant: "grant_nobody-1",
        proposal: proposals::proposal_id(99),
        thread: "nobody",
        capability: "grant_nobody-1",
        source: "nobody",
        event: events::id(99),
    }
}

/// A world with one of everything, Carol's task, and the callers of another tenant.
fn world(operation: &str) -> Story {
    let mut story = Story::adapted(&format!("uniform: {operation}"), "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    story.sent("suggest", 0);
    story.begun("suggest", 0);
    story.call("writer", "relationships.propose", json!({"proposal": proposals::proposal(1)})).ok(json!({}));
    let shown = with(with(grant("peer", 1), "/relationshipId", "rel_shown"), "/grantId", "grant_shown-1");
    story.grant(with(shown, "/summaryVisibility", "state-only"));
    let summary = with(summaries::summary("state-only", 1), "/projection/grantId", "grant_shown-1");
    let summary = with(summary, "/projection/relationshipId", "rel_shown");
    let summary = with(summary, "/audience/relationshipIds", json!(["rel_shown"]));
    let published = json!({"summary": summary, "expectedPreviousVersion": null});
    story.call("builder", "tasks.publishSummary", published).ok(json!({}));
    story.thread("alice", with(threads::thread("writer", WRITER), "/continuationId", "writer-04"));
    story.thread("bob", threads::thread("builder", BUILDER));
    story.allow(threads::capability(1));
    story.tell(events::event(1, "QUESTION")).ok(json!({}));
    let others = [
        ("other-bob", json!({"kind": "user", "id": "bob"})),
        ("other-builder", json!({"kind": "task", "id": "builder", "incarnation": BUILDER, "owner": "user:bob"})),
        ("other-guard", json!({"kind": "policy", "id": "guard"})),
        ("other-ops", json!({"kind": "operator", "id": "ops"})),
        ("other-host", json!({"kind": "host", "id": "host"})),
    ];
    for (name, principal) in others {
        story.principal(name, with(principal, "/tenant", "other"));
    }
    story
}

/// What the parties see: streams and their cursors, the mailbox, revisions and states. The second time it must be the same.
fn views(story: &mut Story, again: bool) {
    let writer = task_ref("writer", WRITER);
    let views = [
        ("writer", "tasks.wait", json!({"task": writer, "timeoutMs": 0})),
        ("builder", "tasks.wait", json!({"task": builder(), "timeoutMs": 0})),
        ("builder", "mailbox.listPending", json!({"receiver": builder()})),
        ("writer", "messages.getDisposition", message(1)),
        ("writer", "messages.getDisposition", message(2)),
        ("alice", "tasks.get", json!({"task": writer})),
        ("bob", "tasks.get", json!({"task": builder()})),
        ("builder", "adapter.getSubmission", json!({"submissionId": var("submission")})),
        ("alice", "threads.list", json!({})),
        ("bob", "capabilities.list", json!({"threadId": "builder"})),
        ("bob", "events.list", json!({"threadId": "builder"})),
        ("guard", "audit.list", message(1)),
        ("bob", "relationships.listProposals", json!({"task": builder()})),
        ("alice", "relationships.list", json!({"task": writer})),
        ("writer", "tasks.listRelated", json!({"task": writer})),
        ("builder", "tasks.getSummary", json!({"task": builder(), "relationshipId": "rel_shown"})),
    ];
    for (number, (caller, method, params)) in views.into_iter().enumerate() {
        let step = story.call(caller, method, params).ok(least(method));
        let name = format!("view {number}");
        if again {
            step.same_as(&name)
        } else {
            step.named(&name)
        };
    }
}

fn story(case: &Case) -> Story {
    let mut story = world(case.operation);
    views(&mut story, false);
    for (caller, kind) in CALLERS {
        both(&mut story, case, caller, kind);
    }
    views(&mut story, true);
    // The ids are good ones: who may see what they name gets another answer.
    let (caller, refused) = case.rightful;
    let step = story.call(caller, case.operation, (case.params)(&foreign()));
    match refused {
        Some(code) => step.error(code),
        None => step.ok(least(case.operation)),
    };
    // Last, since not every target can call as a host.
    both(&mut story, case, "other-host", "host");
    story
}

/// The operation by `caller` with ids of nothing, and with those of others; and the same with their owner, where one can be
/// named.
fn both(story: &mut Story, case: &Case, caller: &str, kind: &str) {
    let (name, code) = (format!("missing for {caller}"), case.denied.code(kind));
    story.call(caller, case.operation, (case.params)(&missing())).error(code).named(&name);
    let mut others = vec![(case.params)(&foreign())];
    for ids in [missing(), foreign()].into_iter().filter(|_| kind != "host") {
        let params = (case.params)(&ids);
        others.extend(owner(&params).map(|owner| with(params, "/owner", owner)));
    }
    for params in others {
        story.call(caller, case.operation, params).error(code).same_as(&name);
    }
}

/// Whose the thing is that the params name: Alice owns the sender of messages and the source of proposals, Bob the task,
/// and the policy issued the grant.
fn owner(params: &Value) -> Option<&'static str> {
    let owners = [
        ("senderIncarnationId", "user:alice"),
        ("proposalId", "user:alice"),
        ("grantId", "policy:guard"),
        ("threadId", "user:bob"),
        ("sourceThread", "user:alice"),
        ("task", "user:bob"),
        ("previous", "user:bob"),
        ("summary", "user:bob"),
    ];
    owners.into_iter().find(|(member, _)| params.get(member).is_some()).map(|(_, owner)| owner)
}

/// What any answer of an operation has.
fn least(operation: &str) -> Value {
    if operation == "audit.list" { json!([{"cursor": 1}]) } else { json!({}) }
}
