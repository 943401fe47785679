//! Scenarios of submissions up to the boundary: which adapter, which gate, which attempt, and the one call.

use super::cast::{
    BUILDER, MINUTE, SECOND, SETTLED, WRITER, adapter_ref, builder, envelope, grant, message_at, profile, receipt,
    received, task_input, with,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        one_call(),
        own_call(),
        in_one_commit(),
        in_one_commit_refused(),
        in_one_commit_gates(),
        begin_gates(),
        not_bound(),
        incapable(),
        changed(),
        redeclared(),
        in_flight(),
        not_submittable(),
        too_many(),
        not_current(),
        begun_once(),
        looked_at(),
    ]
}

/// The commit that begins an attempt hands out the call, once; nothing else ever does (settled 1).
fn one_call() -> Story {
    let mut story = Story::adapted("the commit that begins hands out the call, once", "peer");
    let number = story.accepted("suggest", 0);
    let key = |params: Value, key: &str| with(params, "/idempotencyKey", key);
    let prepare = key(message_at(number, 1), "idem_prepare-1");
    let prepared = json!({
        "replay": false, "adapterRef": adapter_ref(), "envelope": envelope(number, "suggest", 0),
        "submission": {
            "state": "prepared", "expectedDispositionRevision": 1, "preparedAt": time(0), "attemptStartedAt": absent(),
            "receiver": builder(), "receipt": absent(), "adapterIdempotencyKeyDigest": absent(),
        },
    });
    story
        .call("builder", "adapter.prepareSubmission", prepare.clone())
        .keep("submission", "/submission/submissionId")
        .keep("key", "/submission/adapterIdempotencyKey")
        .rules(&["AD-1", "AD-2", "SU-2", "SU-3", "SU-4"])
        .ok(prepared)
        .effects(json!([]));
    let same = json!({"replay": true, "submission": {"submissionId": var("submission"), "state": "prepared"}});
    story.prepare(number, 1).ok(same.clone()).effects(json!([]));
    story.call("builder", "adapter.prepareSubmission", prepare.clone()).rules(&["OP-6"]).replayed(same);
    let begin = key(json!({"submissionId": var("submission"), "expectedRevision": 1}), "idem_begin-1");
    let call = json!([{"kind": "call", "name": "adapter.submit", "key": var("submission"), "body": {
        "submissionId": var("submission"), "adapterIdempotencyKey": var("key"), "tenant": "default", "profile": "loop",
        "session": "session-1", "deadlineMs": 10_000, "envelope": envelope(number, "suggest", 0),
        "senderIncarnationId": WRITER, "expectedRevision": 1,
    }}]);
    let begun = json!({
        "replay": false, "dispatch": absent(),
        "submission": {"state": "outcome-unknown", "attemptStartedAt": time(SECOND), "adapterIdempotencyKey": var("key")},
    });
    story
        .call("builder", "adapter.beginSubmission", begin.clone())
        .at(SECOND)
        .rules(&["AD-1", "AD-2", "AD-3", "OP-7", "SU-3", "SU-5"])
        .ok(begun)
        .effects(call);
    let again = json!({"replay": true, "dispatch": absent(), "submission": {"state": "outcome-unknown"}});
    story.call("builder", "adapter.beginSubmission", begin.clone()).replayed(again.clone()).effects(json!([]));
    story.begin(1).ok(again.clone()).effects(json!([]));
    story.begin(9).ok(again.clone()).effects(json!([]));
    story
        .call("builder", "adapter.beginSubmission", begin.clone())
        .instance("host-2")
        .replayed(again.clone())
        .effects(json!([]));
    let unknown = json!({"replay": true, "submission": {"state": "outcome-unknown"}});
    story.call("builder", "adapter.prepareSubmission", prepare).replayed(unknown).effects(json!([]));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({"replay": false})).effects(json!([]));
    let over = json!({"replay": true, "dispatch": absent(), "submission": {"state": "receipt-recorded"}});
    story.call("builder", "adapter.beginSubmission", begin).at(2 * SETTLED).replayed(over).effects(json!([]));
    story
}

/// A receiver that performs the call itself is told what to do once, and settles it itself.
fn own_call() -> Story {
    let mut story = Story::granted("a receiver that performs the call itself", "peer");
    story.declare(with(profile(), "/executor", "caller"));
    let number = story.accepted("suggest", 0);
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    let dispatch =
        json!({"adapterRef": adapter_ref(), "envelope": envelope(number, "suggest", 0), "settleAt": time(SETTLED)});
    story.begin(1).ok(json!({"replay": false, "dispatch": dispatch})).effects(json!([]));
    story.begin(1).ok(json!({"replay": true, "dispatch": absent()})).effects(json!([]));
    story.receipt("bob", 1, receipt("turn-1")).refused("submission-settling", "SU-6");
    story.receipt("host", 1, receipt("turn-1")).refused("submission-settling", "SU-6");
    let recorded = json!({
        "replay": false, "submission": {"state": "receipt-recorded", "receipt": receipt("turn-1")},
        "disposition": {"revision": 2, "delivery": "adapter-submitted", "outcome": "not-observed"},
    });
    story.receipt("builder", 1, receipt("turn-1")).rules(&["SU-6", "SU-7", "SU-8"]).ok(recorded);
    story
}

/// `adapter.acceptAndBegin`: acknowledge, prepare and begin in one commit.
fn in_one_commit() -> Story {
    let mut story = Story::adapted("accepted and begun in one commit", "supervisor");
    let number = story.sent("steer", 0);
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({}));
    let params = with(with(message_at(number, 0), "/claimToken", var("token")), "/idempotencyKey", "idem_begin-1");
    let begun = json!({
        "disposition": received(1, "accepted", "accepted"), "dispatch": absent(),
        "submission": {"state": "outcome-unknown", "expectedDispositionRevision": 1, "attemptStartedAt": time(0)},
    });
    story
        .call("builder-w1", "adapter.acceptAndBegin", params.clone())
        .keep("submission", "/submission/submissionId")
        .rules(&["AD-1", "AD-2", "MB-1", "MB-2", "MB-3", "OP-7", "PO-6", "PO-7", "SU-3"])
        .ok(begun.clone())
        .effects(json!([{"kind": "call", "name": "adapter.submit"}]));
    story.call("builder-w1", "adapter.acceptAndBegin", params.clone()).replayed(begun).effects(json!([]));
    story.call("builder-w2", "adapter.acceptAndBegin", params).error("mailbox-claim-invalid").rules(&["MB-2"]);
    story
        .receipt("host", 1, receipt("turn-1"))
        .ok(json!({"disposition": {"revision": 2, "outcome": "effect-observed"}}));
    story
}

/// It fails as the first part that would have failed, and then nothing of it was done.
fn in_one_commit_refused() -> Story {
    let mut story = Story::granted("accepted and begun in one commit, or not at all", "peer");
    let (number, other) = (story.sent("suggest", 0), story.sent("suggest", 0));
    let begin = |number: u32, revision: u32| with(message_at(number, revision), "/claimToken", var("token"));
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({}));
    let operation = "adapter.acceptAndBegin";
    story.call("builder", operation, begin(number, 0)).refused("mailbox-busy", "MB-1");
    story.call("builder-w1", operation, begin(other, 0)).refused("mailbox-claim-invalid", "MB-2");
    story.call("builder-w1", operation, begin(number, 1)).refused("revision-conflict", "OP-7");
    story.call("builder-w1", operation, begin(number, 0)).refused("adapter-not-bound", "AD-1").effects(json!([]));
    story.seen(number, received(0, "pending", ""));
    story.declare(with(profile(), "/capabilities/intents", json!(["steer"])).clone()).error("capabilities-invalid");
    story
}

/// The same gates as those of its parts: the adapter, the lease, the incarnation.
fn in_one_commit_gates() -> Story {
    let mut story = Story::adapted("accepted and begun in one commit: the gates", "peer");
    story.send(with(envelope(1, "suggest", 0), "/delivery/requestedMode", "store-only")).ok(json!({"replay": false}));
    story.messages = 1;
    let second = story.sent("suggest", 0);
    let begin = |number: u32| with(message_at(number, 0), "/claimToken", var("token"));
    let operation = "adapter.acceptAndBegin";
    story.claim("builder", 1, 0).keep("token", "/claimToken").ok(json!({}));
    story.call("builder", operation, begin(1)).refused("adapter-incapable", "AD-2").effects(json!([]));
    story.claim("builder", second, 0).keep("token", "/claimToken").ok(json!({}));
    story.call("builder", operation, begin(second)).at(MINUTE).refused("mailbox-claim-expired", "MB-3");
    let next = json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({}));
    story.call("builder", operation, begin(second)).refused("task-retired", "OP-4").effects(json!([]));
    story
}

/// The second gate asks about the adapter again: one that is gone or can no longer do it is not called.
fn begin_gates() -> Story {
    let mut story = Story::adapted("an adapter that is gone when the attempt begins", "peer");
    let number = story.accepted("suggest", 0);
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    let attach = |revision: u32, reference: Value| json!({"task": builder(), "adapterRef": reference, "expectedRevision": revision});
    story.call("builder", "tasks.attach", attach(0, json!({"kind": "gone"}))).ok(json!({"revision": 1}));
    story.begin(1).refused("adapter-not-bound", "AD-1").effects(json!([]));
    story.call("builder", "tasks.attach", attach(1, adapter_ref())).ok(json!({"revision": 2}));
    let mut less = with(profile(), "/digest", format!("sha256:{:064}", 2));
    less["capabilities"]["intents"] = json!(["suggest"]);
    less["capabilities"]["deliveryModes"] = json!(["store-only"]);
    less["capabilities"]["features"]["idleWake"] = false.into();
    story.declare(less);
    story.begin(1).refused("adapter-incapable", "AD-2").effects(json!([]));
    story.declare(profile());
    story.begin(1).rules(&["AD-1", "AD-2", "AD-3"]).ok(json!({"replay": false})).effects(json!([{"kind": "call"}]));
    story
}

/// Rule AD-1: without a reference to a declared profile there is nothing to submit to.
fn not_bound() -> Story {
    let mut story = Story::new("without a declared profile there is nothing to submit to");
    story.register("alice", task_input("writer", WRITER));
    story.register("bob", task_input("builder", BUILDER));
    story.grant(grant("peer", 1));
    let number = story.accepted("suggest", 0);
    let attach = |revision: u32, kind: &str| json!({"task": builder(), "adapterRef": {"kind": kind}, "expectedRevision": revision});
    story.prepare(number, 1).refused("adapter-not-bound", "AD-1");
    story.call("builder", "tasks.attach", attach(0, "loop")).ok(json!({"revision": 1, "adapterRef": {"kind": "loop"}}));
    story.prepare(number, 1).refused("adapter-not-bound", "AD-1");
    story.declare(profile());
    story.call("builder", "tasks.attach", attach(1, "Loop")).ok(json!({"revision": 2}));
    story.prepare(number, 1).refused("adapter-not-bound", "AD-1");
    story.call("builder", "tasks.attach", attach(2, "loop")).ok(json!({"revision": 3}));
    story
        .prepare(number, 1)
        .rules(&["AD-1"])
        .ok(json!({"replay": false, "adapterRef": {"kind": "loop", "session": absent()}}));
    story
}

/// Rule AD-2: what the adapter does not declare, and what is not meant for a harness, is not submitted.
fn incapable() -> Story {
    let mut story = Story::granted("what the adapter does not declare is not submitted", "supervisor");
    let mut able = profile();
    able["capabilities"]["intents"] = json!(["suggest", "notify"]);
    able["capabilities"]["deliveryModes"] = json!(["store-only", "side-channel", "checkpoint-offer"]);
    able["capabilities"]["features"]["idleWake"] = false.into();
    story.declare(able);
    let incapable = "adapter-incapable";
    for (intent, mode) in [
        ("notify", "store-only"),
        ("notify", "side-channel"),
        ("suggest", "store-only"),
        ("suggest", "side-channel"),
        ("suggest", "wake-idle"),
        ("steer", "active-steer"),
        ("interrupt", "interrupt-request"),
    ] {
        story.messages += 1;
        let number = story.messages;
        story.send(with(envelope(number, intent, 0), "/delivery/requestedMode", mode)).ok(json!({"replay": false}));
        story.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
        story.prepare(number, 1).refused(incapable, "AD-2");
        story.seen(number, received(1, "accepted", "accepted"));
    }
    let number = story.accepted("suggest", 0);
    story.prepare(number, 1).rules(&["AD-2"]).ok(json!({"replay": false}));
    story
}

/// Rule AD-3: an adapter that was attached again after the preparation is not called; preparing again is the way out
/// (weaknesses A5).
fn changed() -> Story {
    let mut story = Story::adapted("an adapter that changed since the preparation", "peer");
    let number = story.accepted("suggest", 0);
    story
        .prepare(number, 1)
        .keep("first", "/submission/submissionId")
        .keep("key", "/submission/adapterIdempotencyKey")
        .ok(json!({"replay": false}));
    let moved =
        json!({"task": builder(), "adapterRef": {"kind": "loop", "session": "session-2"}, "expectedRevision": 0});
    story.call("bob", "tasks.attach", moved).ok(json!({"revision": 1}));
    let begin = json!({"submissionId": var("first"), "expectedRevision": 1});
    story
        .call("builder", "adapter.beginSubmission", begin.clone())
        .refused("adapter-ref-changed", "AD-3")
        .effects(json!([]));
    let fresh = json!({
        "replay": false, "adapterRef": {"session": "session-2"},
        "submission": {"submissionId": not(var("first")), "adapterIdempotencyKey": not(var("key")), "state": "prepared"},
    });
    story.prepare(number, 1).keep("submission", "/submission/submissionId").rules(&["AD-3", "LC-14"]).ok(fresh);
    story.call("builder", "adapter.beginSubmission", begin).error("not-visible").effects(json!([]));
    let called = json!([{"body": {"session": "session-2", "submissionId": var("submission")}}]);
    story.begin(1).rules(&["AD-3"]).ok(json!({"replay": false})).effects(called);
    story
}

/// The same for a profile whose configuration changed; and an attempt that was begun is not touched by it.
fn redeclared() -> Story {
    let mut story = Story::adapted("a profile that changed since the preparation", "peer");
    let (number, begun) = (story.accepted("suggest", 0), story.accepted("suggest", 0));
    story.prepare(begun, 1).keep("begun", "/submission/submissionId").ok(json!({"replay": false}));
    let begin = json!({"submissionId": var("begun"), "expectedRevision": 1});
    story.call("builder", "adapter.beginSubmission", begin).ok(json!({"replay": false}));
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    let other = with(with(profile(), "/digest", format!("sha256:{:064}", 2)), "/deadlineMs", 5_000);
    story.declare(other);
    story.begin(1).refused("adapter-ref-changed", "AD-3");
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    story.begin(1).rules(&["AD-3"]).ok(json!({"replay": false})).effects(json!([{"body": {"deadlineMs": 5_000}}]));
    let params = json!({"submissionId": var("begun"), "expectedRevision": 1, "receipt": receipt("turn-1")});
    story.call("host", "adapter.recordReceipt", params).ok(json!({"submission": {"state": "receipt-recorded"}}));
    story
}

/// Rule SU-2: an attempt that crossed the boundary is not prepared again, and is shown only to who knows its revision.
fn in_flight() -> Story {
    let mut story = Story::adapted("an attempt that crossed the boundary is not prepared again", "peer");
    let number = story.begun("suggest", 0);
    let shown =
        |state: &str| json!({"replay": true, "submission": {"submissionId": var("submission"), "state": state}});
    story.prepare(number, 0).refused("submission-in-flight", "SU-2");
    story.prepare(number, 2).refused("submission-in-flight", "SU-2");
    story.prepare(number, 1).rules(&["SU-2"]).ok(shown("outcome-unknown")).effects(json!([]));
    story.query("unanswerable").ok(json!({"submission": {"state": "manual-reconciliation"}}));
    story.prepare(number, 2).refused("submission-in-flight", "SU-2");
    story.prepare(number, 1).rules(&["SU-2"]).ok(shown("manual-reconciliation")).effects(json!([]));
    let submitted =
        json!({"resolution": "confirmed-submitted", "evidenceRefs": ["log:1"], "receipt": receipt("turn-1")});
    story.reconcile("ops", 1, submitted).ok(json!({"disposition": {"revision": 2}}));
    story.prepare(number, 2).refused("submission-in-flight", "SU-2");
    story.prepare(number, 1).rules(&["SU-2"]).ok(shown("receipt-recorded")).effects(json!([]));
    story
}

/// Rules SU-3 and OP-7: only an accepted message, as its receiver knows it, whose delivery has not ended.
fn not_submittable() -> Story {
    let mut story = Story::adapted("only an accepted message is submitted", "peer");
    let number = story.sent("suggest", 0);
    story.prepare(number, 0).refused("state-conflict", "SU-3");
    story.respond(number, 0, "deferred").ok(json!({}));
    story.prepare(number, 1).refused("state-conflict", "SU-3");
    story.respond(number, 1, "accepted").ok(json!({}));
    story.prepare(number, 1).refused("revision-conflict", "OP-7");
    story
        .prepare(number, 2)
        .keep("submission", "/submission/submissionId")
        .rules(&["OP-7", "SU-3"])
        .ok(json!({"replay": false}));
    story.begin(1).refused("revision-conflict", "OP-7");
    story.begin(3).refused("revision-conflict", "OP-7");
    story.respond(number, 2, "revoked").ok(received(3, "revoked", "revoked"));
    story.begin(2).refused("revision-conflict", "OP-7");
    story.begin(3).refused("revision-conflict", "OP-7");
    story.prepare(number, 3).refused("state-conflict", "SU-3");
    let rejected = story.sent("suggest", 0);
    story.respond(rejected, 0, "rejected").ok(json!({}));
    story.prepare(rejected, 1).refused("state-conflict", "SU-3");
    let failed = story.accepted("suggest", 0);
    let fail = with(message_at(failed, 1), "/failureReason", "No room.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"revision": 2}));
    story.prepare(failed, 2).refused("state-conflict", "SU-3");
    let late = story.accepted("suggest", 0);
    story.prepare(late, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    story.begin(1).at(60 * MINUTE).refused("message-expired", "MS-3").effects(json!([]));
    story.prepare(late, 1).refused("message-expired", "MS-3");
    story
}

/// Rule SU-4: sixteen attempts, each with ids of its own, and no more.
fn too_many() -> Story {
    let mut story = Story::adapted("a message is attempted at most sixteen times", "peer");
    let number = story.accepted("suggest", 0);
    let absent = || json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    for attempt in 1..=16 {
        let step = story.prepare(number, 1);
        step.at(i64::from(attempt) * SETTLED).keep("submission", "/submission/submissionId");
        match attempt {
            1 => step.ok(json!({"replay": false})),
            _ => step
                .rules(&["SU-4"])
                .ok(json!({"replay": false, "submission": {"submissionId": not(var("submission"))}})),
        };
        story.begin(1).ok(json!({"replay": false})).effects(json!([{"key": var("submission")}]));
        story.reconcile("ops", 1, absent()).at(i64::from(attempt + 1) * SETTLED).ok(json!({}));
    }
    story.prepare(number, 1).refused("state-conflict", "SU-4");
    story.prepare(number, 1).refused("state-conflict", "SU-4");
    story.seen(number, received(1, "accepted", "accepted"));
    let fail = with(message_at(number, 1), "/failureReason", "It does not work.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"delivery": "failed"}));
    story
}

/// Rule SU-5: what was about an earlier attempt is not about the current one.
fn not_current() -> Story {
    let mut story = Story::adapted("an earlier attempt is not the current one", "peer");
    let number = story.begun("suggest", 0);
    let none = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    story.reconcile("ops", 1, none.clone()).at(SETTLED).ok(json!({"submission": {"state": "confirmed-not-submitted"}}));
    story
        .prepare(number, 1)
        .keep("second", "/submission/submissionId")
        .ok(json!({"submission": {"submissionId": not(var("submission"))}}));
    story.begin(1).refused("submission-state", "SU-5").effects(json!([]));
    story.reconcile("ops", 1, none.clone()).refused("submission-state", "SU-5");
    story.query("absent-now").refused("submission-state", "SU-5");
    story.query("unanswerable").refused("submission-state", "SU-5");
    let second = json!({"submissionId": var("second"), "expectedRevision": 1});
    story.call("builder", "adapter.beginSubmission", second.clone()).rules(&["SU-5"]).ok(json!({"replay": false}));
    story.reconcile("ops", 1, none).refused("submission-state", "SU-5");
    let shown = json!({"submission": {"submissionId": var("submission"), "state": "confirmed-not-submitted"}});
    story.call("builder", "adapter.getSubmission", json!({"submissionId": var("submission")})).ok(shown);
    story
}

/// Two workers of one receiver: the second one that begins is told that it was begun. Their keys are their own, and so
/// are the ids of what they prepare.
fn begun_once() -> Story {
    let mut story = Story::adapted("two workers with the same keys", "peer");
    let number = story.accepted("suggest", 0);
    let prepare = with(message_at(number, 1), "/idempotencyKey", "idem_same-1");
    for worker in ["builder-w1", "builder-w2"] {
        let step = story.call(worker, "adapter.prepareSubmission", prepare.clone());
        step.keep(worker, "/submission/submissionId").keep("key", "/submission/adapterIdempotencyKey").ok(json!({}));
    }
    let begin = |id: &str| json!({"submissionId": var(id), "expectedRevision": 1, "idempotencyKey": "idem_same-2"});
    let first = json!({"replay": false, "submission": {"submissionId": var("builder-w2")}});
    story
        .call("builder-w1", "adapter.beginSubmission", begin("builder-w1"))
        .ok(first)
        .effects(json!([{"kind": "call"}]));
    let second = json!({"replay": true, "submission": {"state": "outcome-unknown"}});
    story.call("builder-w2", "adapter.beginSubmission", begin("builder-w2")).ok(second).effects(json!([]));
    let none = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    let params = json!({"submissionId": var("builder-w1"), "expectedRevision": 1, "reconciliation": none});
    story.call("ops", "adapter.reconcileSubmission", params).at(SETTLED).ok(json!({}));
    let other = json!({"replay": false, "submission": {
        "submissionId": not(var("builder-w1")), "adapterIdempotencyKey": not(var("key")), "state": "prepared",
    }});
    let w3 = json!({
        "kind": "task", "id": "builder", "incarnation": BUILDER, "owner": "user:bob", "worker": "w3",
    });
    story.principal("builder-w3", w3);
    story.call("builder-w3", "adapter.prepareSubmission", prepare).ok(other);
    story
}

/// What each party sees of an attempt: the sender the digest of the adapter's key and no more (weaknesses A8).
fn looked_at() -> Story {
    let mut story = Story::adapted("what each party sees of an attempt", "peer");
    story.begun("suggest", 0);
    let params = json!({"submissionId": var("submission")});
    let open =
        json!({"submission": {"adapterIdempotencyKey": not(json!("")), "adapterIdempotencyKeyDigest": absent()}});
    let closed =
        json!({"submission": {"adapterIdempotencyKey": absent(), "adapterIdempotencyKeyDigest": not(json!(""))}});
    for caller in ["builder", "builder-w1", "bob", "guard", "ops"] {
        story.call(caller, "adapter.getSubmission", params.clone()).ok(open.clone());
    }
    for caller in ["writer", "alice"] {
        story.call(caller, "adapter.getSubmission", params.clone()).ok(closed.clone());
    }
    for caller in ["stranger", "carol"] {
        story.call(caller, "adapter.getSubmission", params.clone()).error("not-visible");
    }
    story
}
