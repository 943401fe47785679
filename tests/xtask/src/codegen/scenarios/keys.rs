//! Scenarios of idempotency keys and of what nobody else may see: for every operation.

use super::cast::{
    BUILDER, DAY, MINUTE, SETTLED, WRITER, adapter_ref, bound, builder, envelope, grant, message, message_at,
    message_id, profile, receipt, received, task_input, task_ref, with,
};
use super::story::{Story, not, var};
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        tasks(),
        relationships(),
        messages(),
        mailbox(),
        submissions(),
        resolutions(),
        scopes(),
        faults_spend_nothing(),
        todays_authority(),
        odd_keys(),
        unseen_messages(),
        unseen_submissions(),
        unseen_tasks(),
        tenants(),
    ]
}

/// One call with a key, again with the same content, and with other content.
pub(super) fn thrice(story: &mut Story, caller: &str, method: &str, params: &Value, change: (&str, Value)) {
    let key = format!("idem_thrice-{}", method.replace('.', "-"));
    let keyed = with(params.clone(), "/idempotencyKey", key);
    story.call(caller, method, keyed.clone()).rules(&["OP-6"]).ok(json!({}));
    story.call(caller, method, keyed.clone()).rules(&["OP-6"]).replayed(json!({}));
    let (pointer, value) = change;
    story.call(caller, method, with(keyed.clone(), pointer, value)).refused("idempotency-conflict", "OP-6");
    story.call(caller, method, keyed).rules(&["OP-6"]).replayed(json!({})).effects(json!([]));
}

fn tasks() -> Story {
    let mut story = Story::new("keys of task operations");
    let register = json!({"task": bound("builder", BUILDER)});
    thrice(&mut story, "bob", "tasks.register", &register, ("/task/harness", "gemini".into()));
    let attach = json!({"task": builder(), "adapterRef": adapter_ref(), "expectedRevision": 0});
    thrice(&mut story, "builder", "tasks.attach", &attach, ("/expectedRevision", 1.into()));
    let update = json!({"task": builder(), "runtime": {"runId": "run-2"}, "expectedRevision": 1});
    thrice(&mut story, "builder", "tasks.updateRuntime", &update, ("/runtime/runId", "run-3".into()));
    let consent = json!({"task": builder(), "consent": {"mute": true}, "expectedRevision": 2});
    thrice(&mut story, "bob", "tasks.setConsent", &consent, ("/consent/mute", false.into()));
    let rotate = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 3});
    thrice(&mut story, "bob", "tasks.rotateIncarnation", &rotate, ("/expectedRevision", 4.into()));
    story
        .call("ops", "tasks.get", json!({"task": builder()}))
        .ok(json!({"revision": 4, "runtime": {"runId": "run-2"}}));
    story
}

fn relationships() -> Story {
    let mut story = Story::tasks("keys of relationships and of what is declared");
    let params = json!({"grant": grant("peer", 1), "decision": {"decisionId": "decision_work-1"}});
    thrice(&mut story, "guard", "relationships.grant", &params, ("/decision/decisionId", "decision_work-2".into()));
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    thrice(&mut story, "guard", "relationships.revoke", &revoke, ("/expectedGrantVersion", 2.into()));
    thrice(&mut story, "ops", "adapters.declare", &profile(), ("/deadlineMs", 1.into()));
    thrice(&mut story, "guard", "maintenance.expireDue", &json!({"limit": 1}), ("/limit", 2.into()));
    story
}

fn messages() -> Story {
    let mut story = Story::granted("keys of messages", "peer");
    let send = json!({"envelope": envelope(1, "suggest", 0)});
    thrice(&mut story, "writer", "messages.send", &send, ("/envelope/reason", "Another one.".into()));
    let other = json!({"envelope": envelope(2, "suggest", 0), "idempotencyKey": "idem_thrice-messages-send"});
    story.call("writer", "messages.send", other).refused("idempotency-conflict", "OP-6");
    let respond = with(message_at(1, 0), "/decision", "deferred");
    thrice(&mut story, "builder", "messages.respond", &respond, ("/decision", "rejected".into()));
    let fail = with(message_at(1, 1), "/failureReason", "No room.");
    thrice(&mut story, "builder", "messages.failDelivery", &fail, ("/failureReason", "Less room.".into()));
    story.seen(1, json!({"revision": 2, "delivery": "failed", "deliveryFailureReason": "No room."}));
    story.call("writer", "messages.getDisposition", message(2)).error("not-visible");
    story
}

fn mailbox() -> Story {
    let mut story = Story::granted("keys of the mailbox", "peer");
    let number = story.sent("suggest", 0);
    thrice(&mut story, "builder-w1", "mailbox.claim", &message_at(number, 0), ("/expectedRevision", 1.into()));
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({"replay": true, "fence": 1}));
    let ack = with(with(message_at(number, 0), "/claimToken", var("token")), "/decision", "rejected");
    thrice(&mut story, "builder-w1", "mailbox.ack", &ack, ("/decision", "accepted".into()));
    story.seen(number, received(1, "rejected", "receiver-rejected"));
    story
}

fn submissions() -> Story {
    let mut story = Story::adapted("keys of submissions", "peer");
    let number = story.accepted("suggest", 0);
    thrice(
        &mut story,
        "builder-w1",
        "adapter.prepareSubmission",
        &message_at(number, 1),
        ("/expectedRevision", 0.into()),
    );
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": true}));
    let begin = json!({"submissionId": var("submission"), "expectedRevision": 1});
    thrice(&mut story, "builder-w1", "adapter.beginSubmission", &begin, ("/expectedRevision", 0.into()));
    let taken = json!({"submissionId": var("submission"), "expectedRevision": 1, "receipt": receipt("turn-1")});
    thrice(&mut story, "host", "adapter.recordReceipt", &taken, ("/receipt/adapterOperationId", "turn-2".into()));
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({}));
    let both = with(message_at(number, 0), "/claimToken", var("token"));
    thrice(&mut story, "builder-w1", "adapter.acceptAndBegin", &both, ("/expectedRevision", 1.into()));
    story
}

fn resolutions() -> Story {
    let mut story = Story::adapted("keys of resolutions", "peer");
    story.begun("suggest", 0);
    let now = json!({"submissionId": var("submission"), "result": "absent-now", "evidenceRefs": ["query:1"]});
    story.query("absent-now").at(SETTLED).ok(json!({}));
    thrice(&mut story, "host", "adapter.recordQuery", &now, ("/result", "unanswerable".into()));
    let manual = json!({"resolution": "manual-required", "evidenceRefs": ["log:1"]});
    let manual = json!({"submissionId": var("submission"), "expectedRevision": 1, "reconciliation": manual});
    thrice(&mut story, "bob", "adapter.reconcileSubmission", &manual, ("/expectedRevision", 2.into()));
    let listed = json!({"submission": {"state": "manual-reconciliation"}});
    story.call("builder", "adapter.getSubmission", json!({"submissionId": var("submission")})).ok(listed);
    story
}

/// A key belongs to a principal, an operation and, where workers compete, a worker (field report P083).
fn scopes() -> Story {
    let mut story = Story::granted("a key belongs to its principal, operation and worker", "peer");
    let key = |params: Value| with(params, "/idempotencyKey", "idem_shared-1");
    story
        .call("writer", "messages.send", key(json!({"envelope": envelope(1, "suggest", 0)})))
        .rules(&["OP-6"])
        .ok(json!({"replay": false}));
    let authored = with(envelope(2, "suggest", 0), "/sender/actorType", "user");
    let authored = json!({"envelope": with(authored, "/sender/actorId", "alice")});
    story.call("alice", "messages.send", key(authored)).rules(&["OP-6"]).ok(json!({"replay": false}));
    story
        .call("builder-w1", "mailbox.claim", key(message_at(1, 0)))
        .keep("token", "/claimToken")
        .rules(&["OP-6"])
        .ok(json!({"fence": 1}));
    // The second worker's use of the key is its own: it is told to wait, and gets no token.
    story.call("builder-w2", "mailbox.claim", key(message_at(1, 0))).refused("mailbox-busy", "MB-1");
    let second = json!({"replay": false, "fence": 2, "claimToken": not(var("token"))});
    story.call("builder-w2", "mailbox.claim", key(message_at(1, 0))).at(MINUTE).rules(&["OP-6"]).ok(second);
    story
        .call("builder", "messages.respond", key(with(message_at(2, 0), "/decision", "rejected")))
        .rules(&["OP-6"])
        .ok(json!({}));
    // Whoever reads with another credential is the same principal.
    let rotated = json!({
        "kind": "task", "id": "writer", "incarnation": WRITER, "owner": "user:alice", "authentication": "authn_rotated",
    });
    story.principal("writer-rotated", rotated);
    let again = key(json!({"envelope": envelope(1, "suggest", 0)}));
    story.call("writer-rotated", "messages.send", again).rules(&["OP-6"]).replayed(json!({"replay": true}));
    story
}

/// A call that was refused spends no key.
fn faults_spend_nothing() -> Story {
    let mut story = Story::tasks("a call that was refused spends no key");
    let key = |params: Value| with(params, "/idempotencyKey", "idem_once-1");
    story.call("writer", "messages.send", key(json!({"envelope": envelope(1, "suggest", 0)}))).error("policy-denied");
    story.grant(grant("peer", 1));
    story
        .call("writer", "messages.send", key(json!({"envelope": envelope(2, "suggest", 0)})))
        .rules(&["OP-6"])
        .ok(json!({"replay": false}));
    story.call("writer", "messages.getDisposition", message(1)).error("not-visible");
    let reordered = key(json!({"envelope": envelope(2, "suggest", 0)}));
    story.call("writer", "messages.send", reordered).at(DAY).rules(&["OP-6"]).replayed(json!({"replay": true}));
    story
}

/// A replay passes today's authority: what may no longer be seen does not come back with an old key (weaknesses A1).
fn todays_authority() -> Story {
    let mut story = Story::adapted("a replay passes today's authority", "peer");
    let (number, other) = (story.accepted("suggest", 0), story.sent("suggest", 0));
    let key = |params: Value, key: &str| with(params, "/idempotencyKey", key);
    let prepare = key(message_at(number, 1), "idem_prepare-1");
    let claim = key(message_at(other, 0), "idem_claim-1");
    story
        .call("builder", "adapter.prepareSubmission", prepare.clone())
        .ok(json!({"envelope": {"messageId": message_id(number)}}));
    story.call("builder", "mailbox.claim", claim.clone()).keep("token", "/claimToken").ok(json!({}));
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({}));
    story.call("builder", "adapter.prepareSubmission", prepare.clone()).refused("policy-denied", "PO-3");
    story.call("builder", "mailbox.claim", claim.clone()).refused("policy-denied", "PO-3");
    let attach = json!({
        "task": builder(), "adapterRef": adapter_ref(), "expectedRevision": 0, "idempotencyKey": "idem_attach-once",
    });
    story.call("builder", "tasks.attach", attach.clone()).ok(json!({}));
    story.call("builder", "tasks.attach", attach.clone()).replayed(json!({"revision": 1}));
    let rotate = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 1});
    story.call("bob", "tasks.rotateIncarnation", rotate).ok(json!({}));
    story.call("builder", "adapter.prepareSubmission", prepare).refused("task-retired", "OP-4");
    // Its replay would tell a task that is retired what it may not read any more.
    story.call("builder", "tasks.attach", attach).refused("task-retired", "OP-4");
    story.call("builder", "mailbox.claim", claim).refused("task-retired", "OP-4");
    story
}

/// Keys that are no keys.
fn odd_keys() -> Story {
    let mut story = Story::granted("keys that are no keys", "peer");
    for key in [
        "",
        " ",
        "idem_",
        "idem_abc",
        "idem_ abcdef",
        "idem_abc\u{0}def",
        "idem_abc\ndef",
        "IDEM_abcdef",
        "idem_caf\u{e9}1",
    ] {
        let params = json!({"envelope": envelope(1, "suggest", 0), "idempotencyKey": key});
        story.call("writer", "messages.send", params).error_at("params-invalid", "/idempotencyKey");
    }
    let long = json!({"envelope": envelope(1, "suggest", 0), "idempotencyKey": format!("idem_{}", "k".repeat(192))});
    story.call("writer", "messages.send", long).error_at("params-invalid", "/idempotencyKey");
    let none = json!({"envelope": envelope(1, "suggest", 0), "idempotencyKey": null});
    story.call("writer", "messages.send", none).error_at("params-invalid", "/idempotencyKey");
    let longest = json!({"envelope": envelope(1, "suggest", 0), "idempotencyKey": format!("idem_{}", "k".repeat(191))});
    story.call("writer", "messages.send", longest).ok(json!({"replay": false}));
    story
}

/// What a stranger asks about a message, missing or not, has one answer.
fn unseen_messages() -> Story {
    let mut story = Story::adapted("missing and foreign messages look the same", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let number = story.sent("suggest", 0);
    story.call("stranger", "messages.getDisposition", message(99)).named("unseen").error("not-visible");
    let token = format!("sha256:{}", "0".repeat(64));
    let calls = |number: u32| {
        let at = message_at(number, 0);
        let decided = with(at.clone(), "/decision", "accepted");
        vec![
            ("messages.getDisposition", message(number)),
            ("audit.list", message(number)),
            ("messages.respond", decided.clone()),
            ("messages.failDelivery", with(at.clone(), "/failureReason", "No room.")),
            ("mailbox.claim", at.clone()),
            ("mailbox.ack", with(decided, "/claimToken", token.clone())),
            ("adapter.prepareSubmission", at.clone()),
            ("adapter.acceptAndBegin", with(at, "/claimToken", token.clone())),
        ]
    };
    for target in [number, 99] {
        for (method, params) in calls(target) {
            for caller in ["stranger", "carol"] {
                story.call(caller, method, params.clone()).error("not-visible").same_as("unseen");
            }
            // The sender sees its message, and what it may not do with it looks as if there were nothing.
            if target == 99 || !matches!(method, "messages.getDisposition" | "audit.list") {
                story.call("writer", method, params).error("not-visible").same_as("unseen");
            }
        }
    }
    let elsewhere = json!({"senderIncarnationId": BUILDER, "messageId": message_id(number)});
    story.call("builder", "messages.getDisposition", elsewhere).error("not-visible").same_as("unseen");
    story.seen(number, received(0, "pending", ""));
    story
}

/// The same for submissions.
fn unseen_submissions() -> Story {
    let mut story = Story::adapted("missing and foreign submissions look the same", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    story.begun("suggest", 0);
    story.call("stranger", "messages.getDisposition", message(99)).named("unseen").error("not-visible");
    let calls = |submission: Value| {
        let at = json!({"submissionId": submission, "expectedRevision": 1});
        let manual = json!({"resolution": "manual-required", "evidenceRefs": ["log:1"]});
        vec![
            ("adapter.getSubmission", json!({"submissionId": submission})),
            ("adapter.beginSubmission", at.clone()),
            ("adapter.recordReceipt", with(at.clone(), "/receipt", receipt("turn-1"))),
            ("adapter.reconcileSubmission", with(at, "/reconciliation", manual)),
        ]
    };
    for submission in [var("submission"), json!("sub_unknown1"), json!("sub_00000000000000000000000000000000")] {
        let known = submission.is_object();
        for (method, params) in calls(submission) {
            for caller in ["stranger", "carol"] {
                story.call(caller, method, params.clone()).error("not-visible").same_as("unseen");
            }
            if !known || method != "adapter.getSubmission" {
                story.call("writer", method, params).error("not-visible").same_as("unseen");
            }
        }
    }
    story
}

/// The same for tasks and grants.
fn unseen_tasks() -> Story {
    let mut story = Story::granted("missing and foreign tasks and grants look the same", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    story.call("stranger", "messages.getDisposition", message(99)).named("unseen").error("not-visible");
    for task in [
        builder(),
        task_ref("builder", "inc_builder-0009"),
        task_ref("nobody", BUILDER),
        task_ref("nobody", "inc_nobody-0001"),
    ] {
        let changes = [
            ("tasks.get", json!({"task": task})),
            ("tasks.wait", json!({"task": task, "timeoutMs": 0})),
            ("tasks.attach", json!({"task": task, "adapterRef": adapter_ref(), "expectedRevision": 0})),
            ("tasks.updateRuntime", json!({"task": task, "runtime": {"runId": "run-2"}, "expectedRevision": 0})),
            ("tasks.setConsent", json!({"task": task, "consent": {"mute": true}, "expectedRevision": 0})),
        ];
        for (method, params) in changes {
            for caller in ["stranger", "carol", "writer"] {
                story.call(caller, method, params.clone()).error("not-visible").same_as("unseen");
            }
        }
        story.call("stranger", "mailbox.listPending", json!({"receiver": task})).error("not-visible").same_as("unseen");
        let rotate = json!({"previous": task, "next": task_input(task["taskId"].as_str().expect("a text"), "inc_other-00001"), "expectedRevision": 0});
        story.call("carol", "tasks.rotateIncarnation", rotate).error("not-visible").same_as("unseen");
    }
    for grant in ["grant_work-1", "grant_nobody-1"] {
        let revoke = json!({"grantId": grant, "expectedGrantVersion": 1});
        story.call("carol", "relationships.revoke", revoke).error("not-visible").same_as("unseen");
    }
    story
}

/// Another tenant is another world, whoever it is that asks (settled 10).
fn tenants() -> Story {
    let mut story = Story::granted("another tenant is another world", "peer");
    let number = story.sent("suggest", 0);
    for (name, principal) in [
        ("other-guard", json!({"kind": "policy", "id": "guard"})),
        ("other-ops", json!({"kind": "operator", "id": "ops"})),
        ("other-host", json!({"kind": "host", "id": "host"})),
        ("other-bob", json!({"kind": "user", "id": "bob"})),
        ("other-builder", json!({"kind": "task", "id": "builder", "incarnation": BUILDER, "owner": "user:bob"})),
    ] {
        story.principal(name, with(principal, "/tenant", "other"));
    }
    for caller in ["other-guard", "other-ops", "other-bob", "other-builder"] {
        story.call(caller, "messages.getDisposition", message(number)).error("not-visible");
        story.call(caller, "tasks.get", json!({"task": builder()})).error("not-visible");
    }
    story.call("other-builder", "mailbox.claim", message_at(number, 0)).error("not-visible");
    story.call("other-builder", "mailbox.listPending", json!({"receiver": builder()})).error("not-visible");
    story.call("other-guard", "maintenance.expireDue", json!({})).at(DAY).ok(json!({"expired": []}));
    story
        .call("other-bob", "tasks.register", json!({"task": task_input("builder", BUILDER)}))
        .ok(json!({"replay": false}));
    story.call("other-builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    story.call("bob", "tasks.get", json!({"task": builder()})).ok(json!({"adapterRef": adapter_ref()}));
    story.call("other-host", "adapter.listUnresolved", json!({})).ok(json!({"items": []}));
    story
}
