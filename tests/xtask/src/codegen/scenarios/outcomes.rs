//! Scenarios of what becomes of an attempt: receipts, queries, reconciliations, quarantine and contradictions, and what
//! waits while nobody knows.

use super::cast::{
    MINUTE, SECOND, SETTLED, bound, builder, disposition, envelope, message_at, profile, receipt, received, with,
    without,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        sticky(),
        settling(),
        lease_longer(),
        receipts(),
        too_early(),
        found(),
        absent_final(),
        absent_now(),
        undeclared(),
        not_submitted(),
        manual(),
        asserted(),
        reconciliations(),
        late_receipt(),
        revoked_meanwhile(),
        revoked_and_absent(),
        contradiction(),
        contradiction_asked_again(),
        contradiction_before_begin(),
        contradiction_while_open(),
        contradiction_after_the_end(),
        contradiction_after_expiry(),
        rotated(),
        restart(),
    ]
}

fn evidence(resolution: &str) -> Value {
    json!({"resolution": resolution, "evidenceRefs": ["log:1"]})
}

fn submitted(operation: &str) -> Value {
    with(evidence("confirmed-submitted"), "/receipt", receipt(operation))
}

fn state(state: &str) -> Value {
    json!({"submission": {"submissionId": var("submission"), "state": state}})
}

/// Rule SU-1: while an attempt is unknown or quarantined nothing relabels the message (weaknesses A4 b, c).
fn sticky() -> Story {
    let mut story = Story::adapted("nothing relabels a message whose outcome is unknown", "peer");
    let number = story.begun("suggest", 0);
    let unknown = "external-outcome-unknown";
    let fail = with(message_at(number, 1), "/failureReason", "It hangs.");
    let tries = |story: &mut Story| {
        story.call("builder", "messages.failDelivery", fail.clone()).refused(unknown, "SU-1");
        for decision in ["accepted", "rejected", "deferred", "unsupported", "revoked", "stale"] {
            story.respond(number, 1, decision).refused(unknown, "SU-1");
        }
        story.seen(number, received(1, "accepted", "accepted"));
    };
    tries(&mut story);
    story.query("unanswerable").ok(state("manual-reconciliation"));
    tries(&mut story);
    story.respond(number, 1, "expired").at(60 * MINUTE).refused(unknown, "SU-1");
    for sweeper in ["guard", "bob"] {
        story.call(sweeper, "maintenance.expireDue", json!({})).ok(json!({"expired": [], "hasMore": false}));
    }
    story.seen(number, received(1, "accepted", "accepted"));
    story.reconcile("ops", 1, evidence("confirmed-not-submitted")).ok(state("confirmed-not-submitted"));
    story.respond(number, 1, "revoked").refused("message-expired", "MS-3");
    story.call("builder", "messages.failDelivery", fail.clone()).rules(&["SU-1"]).ok(json!({"delivery": "failed"}));
    story
}

/// Rule SU-6: until the call can no longer arrive, only who makes it judges it (settled 2).
fn settling() -> Story {
    let mut story = Story::adapted("until it is settled only its own dispatcher judges an attempt", "peer");
    story.begun("suggest", 0);
    let settling = "submission-settling";
    let others = |story: &mut Story| {
        for caller in ["builder", "bob", "guard", "ops"] {
            story.receipt(caller, 1, receipt("turn-1")).refused(settling, "SU-6");
            story.reconcile(caller, 1, evidence("manual-required")).refused(settling, "SU-6");
            story.reconcile(caller, 1, submitted("turn-1")).refused(settling, "SU-6");
        }
        story.reconcile("ops", 1, evidence("confirmed-not-submitted")).refused(settling, "SU-6");
        for result in ["absent-now", "absent-final", "unanswerable"] {
            story.query(result).instance("host-2").refused(settling, "SU-6");
        }
        let found = json!({
            "submissionId": var("submission"), "result": "found", "evidenceRefs": ["query:1"], "receipt": receipt("turn-1"),
        });
        story.call("host", "adapter.recordQuery", found).instance("host-2").refused(settling, "SU-6");
        story.receipt("host", 1, receipt("turn-1")).instance("host-2").refused(settling, "SU-6");
    };
    others(&mut story);
    story.receipt("ops", 1, receipt("turn-1")).at(SETTLED - 1).refused(settling, "SU-6");
    story.query("absent-final").refused(settling, "SU-6");
    story.reconcile("ops", 1, submitted("turn-1")).at(SETTLED).rules(&["SU-6"]).ok(state("receipt-recorded"));
    story
}

/// The lease of the dispatcher counts where it ends later than the settle bound.
fn lease_longer() -> Story {
    let mut story = Story::granted("the lease of the dispatcher counts as well", "peer");
    story.declare(with(profile(), "/settleMs", 0));
    story.begun("suggest", 0);
    story.query("absent-now").at(14_999).instance("host-2").refused("submission-settling", "SU-6");
    story.query("absent-now").at(15_000).instance("host-2").rules(&["SU-6"]).ok(state("outcome-unknown"));
    story
}

/// Rules SU-7 and OP-7: one receipt, recorded with the disposition in one commit; the same again is a replay.
fn receipts() -> Story {
    let mut story = Story::adapted("one receipt, recorded with the disposition", "peer");
    let number = story.begun("suggest", 0);
    for revision in [0, 2] {
        story.receipt("host", revision, receipt("turn-1")).refused("revision-conflict", "OP-7");
    }
    for (pointer, bad) in [
        ("/acceptedAt", json!("yesterday")),
        ("/adapterOperationId", json!("")),
        ("/extra", json!(1)),
        ("/evidenceRefs", json!([])),
    ] {
        story
            .receipt("host", 1, with(receipt("turn-1"), pointer, bad))
            .error_at("params-invalid", &format!("/receipt{pointer}"));
    }
    let both = json!({
        "replay": false,
        "submission": {"state": "receipt-recorded", "receipt": receipt("turn-1"), "reconciliation": absent()},
        "disposition": with(disposition(2, "adapter-submitted", "accepted", "accepted"), "/outcome", "effect-observed"),
    });
    story.receipt("host", 1, receipt("turn-1")).rules(&["LC-5", "SU-7", "SU-8"]).ok(both.clone());
    let again = with(both, "/replay", true);
    story.receipt("host", 1, receipt("turn-1")).rules(&["SU-7"]).ok(again.clone());
    story
        .receipt("builder", 2, json!({"acceptedAt": time(SECOND), "adapterOperationId": "turn-1"}))
        .rules(&["SU-7"])
        .ok(again);
    for caller in ["host", "builder", "ops"] {
        story.receipt(caller, 2, receipt("turn-2")).refused("receipt-conflict", "SU-7");
        let more = with(receipt("turn-1"), "/evidenceRefs", json!(["log:9"]));
        story.receipt(caller, 2, more).refused("receipt-conflict", "SU-7");
    }
    story.reconcile("ops", 2, submitted("turn-2")).refused("receipt-conflict", "SU-7");
    story.reconcile("ops", 2, evidence("confirmed-not-submitted")).refused("submission-state", "SU-13");
    story.reconcile("ops", 2, evidence("manual-required")).refused("submission-state", "SU-13");
    story.query("absent-now").refused("submission-state", "SU-13");
    story.query("absent-final").at(SETTLED).refused("submission-state", "SU-13");
    story.seen(number, json!({"revision": 2, "delivery": "adapter-submitted", "outcome": "effect-observed"}));
    story
}

/// Rule SU-8: what was not begun has no receipt, and there is nothing to reconcile.
fn too_early() -> Story {
    let mut story = Story::adapted("what was not begun has no receipt", "peer");
    let number = story.accepted("suggest", 0);
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    for caller in ["host", "builder", "ops"] {
        story.receipt(caller, 1, receipt("turn-1")).refused("submission-state", "SU-8");
        story.reconcile(caller, 1, submitted("turn-1")).refused("submission-state", "SU-8");
        story.reconcile(caller, 1, evidence("manual-required")).error("submission-state").rules(&["SU-13"]);
    }
    story.reconcile("ops", 1, evidence("confirmed-not-submitted")).refused("submission-state", "SU-13");
    story.query("absent-now").refused("submission-state", "SU-13");
    story.query("unanswerable").refused("submission-state", "SU-13");
    story.begin(1).ok(json!({}));
    story.receipt("host", 1, receipt("turn-1")).rules(&["SU-8", "SU-13"]).ok(state("receipt-recorded"));
    story
}

/// The adapter answers that it happened: the receipt is the host's observation.
fn found() -> Story {
    let mut story = Story::adapted("unknown, and found", "peer");
    let number = story.begun("suggest", 0);
    let found = json!({"submissionId": var("submission"), "result": "found", "evidenceRefs": ["query:1"]});
    let query =
        |receipt: Option<Value>| receipt.map_or(found.clone(), |receipt| with(found.clone(), "/receipt", receipt));
    story
        .call("host", "adapter.recordQuery", query(None))
        .at(SETTLED)
        .instance("host-2")
        .refused("reconciliation-invalid", "SU-11");
    let same = with(query(Some(receipt("turn-1"))), "/idempotencyKey", "idem_query-1");
    let recorded = json!({
        "replay": false, "submission": {"state": "receipt-recorded", "receipt": receipt("turn-1")},
        "disposition": {"revision": 2, "delivery": "adapter-submitted", "outcome": "effect-observed"},
    });
    story.call("host", "adapter.recordQuery", same.clone()).instance("host-2").rules(&["OP-2", "SU-11"]).ok(recorded);
    story.call("host", "adapter.recordQuery", same).instance("host-3").replayed(state("receipt-recorded"));
    let other = query(Some(receipt("turn-2")));
    story.call("host", "adapter.recordQuery", other).refused("receipt-conflict", "SU-7");
    story.seen(number, json!({"revision": 2, "delivery": "adapter-submitted"}));
    story
}

/// A final absence permits a fresh attempt with ids of its own; only a declared profile's is final (settled 3).
fn absent_final() -> Story {
    let mut story = Story::adapted("unknown, and finally absent", "peer");
    let number = story.begun("suggest", 0);
    story.prepare(number, 1).ok(json!({"replay": true}));
    let none = with(
        json!({"submissionId": var("submission"), "result": "absent-final", "evidenceRefs": ["query:1"]}),
        "/receipt",
        receipt("turn-1"),
    );
    story.call("host", "adapter.recordQuery", none).at(SETTLED).refused("reconciliation-invalid", "SU-11");
    let resolved = json!({"submission": {
        "state": "confirmed-not-submitted", "receipt": absent(),
        "reconciliation": {"resolution": "confirmed-not-submitted", "evidenceRefs": ["query:1"], "reconciledAt": time(SETTLED)},
    }, "disposition": received(1, "accepted", "accepted")});
    story.query("absent-final").rules(&["SU-6", "SU-12"]).ok(resolved);
    story.query("absent-final").refused("submission-state", "SU-13");
    let fresh = json!({"replay": false, "submission": {"state": "prepared", "submissionId": not(var("submission"))}});
    story.prepare(number, 1).keep("submission", "/submission/submissionId").ok(fresh);
    story.begin(1).ok(json!({"replay": false})).effects(json!([{"kind": "call", "key": var("submission")}]));
    story.receipt("host", 1, receipt("turn-2")).ok(state("receipt-recorded"));
    story
}

/// Absent for now says nothing: the call may still arrive, and then the receipt counts.
fn absent_now() -> Story {
    let mut story = Story::adapted("unknown, and absent for now", "peer");
    let number = story.begun("suggest", 0);
    for minutes in 1..4 {
        story
            .query("absent-now")
            .at(minutes * MINUTE)
            .instance("host-2")
            .rules(&["SU-12"])
            .ok(state("outcome-unknown"));
    }
    let listed = json!({"items": [{"submissionId": var("submission"), "queries": 3, "expectedRevision": 1}]});
    story.call("host", "adapter.listUnresolved", json!({})).ok(listed);
    story.prepare(number, 1).ok(json!({"replay": true, "submission": {"state": "outcome-unknown"}})).effects(json!([]));
    let found = json!({
        "submissionId": var("submission"), "result": "found", "evidenceRefs": ["query:4"], "receipt": receipt("turn-1"),
    });
    story.call("host", "adapter.recordQuery", found).at(5 * MINUTE).instance("host-2").ok(state("receipt-recorded"));
    story.call("host", "adapter.listUnresolved", json!({})).ok(json!({"items": []}));
    let unknown = json!({"submissionId": "sub_unknown1", "result": "absent-now", "evidenceRefs": ["query:1"]});
    story.call("host", "adapter.recordQuery", unknown).error("not-visible");
    story
}

/// Rule SU-12: an absence is final only where the operator declared so, for the very configuration that was called.
fn undeclared() -> Story {
    let mut story = Story::granted("whose absences are not final", "peer");
    story.declare(with(profile(), "/absentFinal", false));
    story.begun("suggest", 0);
    let authority = "reconciliation-authority";
    story.query("absent-final").at(SETTLED).refused(authority, "SU-12");
    let declared = with(profile(), "/digest", format!("sha256:{:064}", 2));
    story.declare(declared);
    story.query("absent-final").at(SETTLED).refused(authority, "SU-12");
    for caller in ["builder", "bob", "guard"] {
        story.reconcile(caller, 1, evidence("confirmed-not-submitted")).refused(authority, "SU-12");
    }
    story.reconcile("host", 1, evidence("confirmed-not-submitted")).refused(authority, "SU-12");
    story.query("unanswerable").ok(state("manual-reconciliation"));
    story
        .reconcile("ops", 1, evidence("confirmed-not-submitted"))
        .rules(&["SU-9", "SU-12"])
        .ok(state("confirmed-not-submitted"));
    story
}

/// The host that never called says so at once; another one cannot know.
fn not_submitted() -> Story {
    let mut story = Story::adapted("the host that never called says so", "peer");
    let number = story.begun("suggest", 0);
    story.query("not-submitted").instance("host-2").refused("reconciliation-authority", "SU-12");
    story.query("not-submitted").at(2 * SETTLED).instance("host-2").refused("reconciliation-authority", "SU-12");
    story.query("not-submitted").rules(&["SU-6", "SU-12"]).ok(state("confirmed-not-submitted"));
    story.prepare(number, 1).ok(json!({"replay": false, "submission": {"state": "prepared"}}));
    story
}

/// Rule SU-9: quarantine has exits, for the operator alone (weaknesses A4 a).
fn manual() -> Story {
    let mut story = Story::adapted("quarantine ends by the operator alone", "peer");
    let (first, second) = (story.begun("suggest", 0), story.messages + 1);
    let authority = "reconciliation-authority";
    story
        .reconcile("builder", 1, evidence("manual-required"))
        .at(SETTLED)
        .rules(&["SU-9", "SU-12"])
        .ok(state("manual-reconciliation"));
    for caller in ["builder", "bob", "guard", "host"] {
        story.receipt(caller, 1, receipt("turn-1")).refused(authority, "SU-9");
        story.reconcile(caller, 1, submitted("turn-1")).refused(authority, "SU-9");
        story.reconcile(caller, 1, evidence("confirmed-not-submitted")).refused(authority, "SU-12");
        story.reconcile(caller, 1, evidence("manual-required")).refused("submission-state", "SU-13");
    }
    story.query("absent-final").refused(authority, "SU-9");
    story.query("not-submitted").refused(authority, "SU-9");
    story.query("unanswerable").refused(authority, "SU-9");
    story.query("absent-now").refused("submission-state", "SU-13");
    story.reconcile("ops", 0, submitted("turn-1")).refused("revision-conflict", "OP-7");
    let resolved = json!({
        "submission": {"state": "receipt-recorded", "receipt": with(receipt("turn-1"), "/evidenceRefs", json!(["log:1"]))},
        "disposition": {"revision": 2, "delivery": "adapter-submitted", "outcome": "not-observed"},
    });
    story.reconcile("ops", 1, submitted("turn-1")).rules(&["SU-9", "SU-10", "SU-11"]).ok(resolved);
    story.seen(first, json!({"delivery": "adapter-submitted"}));
    let number = story.begun("suggest", SETTLED);
    assert_eq!(number, second);
    story.reconcile("bob", 1, evidence("manual-required")).at(2 * SETTLED).ok(state("manual-reconciliation"));
    story
        .reconcile("ops", 1, evidence("confirmed-not-submitted"))
        .rules(&["SU-9", "SU-12"])
        .ok(state("confirmed-not-submitted"));
    story.prepare(number, 1).ok(json!({"replay": false}));
    story
}

/// What a task, an owner or a policy says is an assertion, and no observed effect (settled 4).
fn asserted() -> Story {
    let mut story = Story::adapted("an asserted receipt is no observed effect", "peer");
    for (index, caller) in ["builder", "bob", "guard", "ops"].iter().enumerate() {
        let start = i64::try_from(index).expect("few") * SETTLED;
        let number = story.begun("suggest", start);
        story.messages = number;
        let asserted =
            json!({"disposition": {"revision": 2, "delivery": "adapter-submitted", "outcome": "not-observed"}});
        match index % 2 {
            0 => story.receipt(caller, 1, receipt("turn-1")).at(start + SETTLED).ok(asserted),
            _ => story.reconcile(caller, 1, submitted("turn-1")).at(start + SETTLED).ok(asserted),
        };
    }
    for caller in ["writer", "alice"] {
        story.receipt(caller, 2, receipt("turn-1")).error("not-visible");
        story.reconcile(caller, 2, evidence("manual-required")).error("not-visible");
    }
    story
}

/// Rules SU-10 and SU-11: a reconciliation has evidence, and a receipt exactly where something was submitted.
fn reconciliations() -> Story {
    let mut story = Story::adapted("a reconciliation has evidence", "peer");
    story.begun("suggest", 0);
    let required = "reconciliation-evidence-required";
    for resolution in ["confirmed-submitted", "confirmed-not-submitted", "manual-required"] {
        story
            .reconcile("ops", 1, without(evidence(resolution), "/evidenceRefs"))
            .at(SETTLED)
            .refused(required, "SU-10");
        story.reconcile("ops", 1, with(evidence(resolution), "/evidenceRefs", json!([]))).refused(required, "SU-10");
    }
    let invalid = "reconciliation-invalid";
    story.reconcile("ops", 1, evidence("confirmed-submitted")).refused(invalid, "SU-11");
    for resolution in ["confirmed-not-submitted", "manual-required"] {
        let receipted = with(evidence(resolution), "/receipt", receipt("turn-1"));
        story.reconcile("ops", 1, receipted).refused(invalid, "SU-11");
    }
    story.reconcile("ops", 1, evidence("applied")).error_at("params-invalid", "/reconciliation/resolution");
    story.reconcile("ops", 2, submitted("turn-1")).refused("revision-conflict", "OP-7");
    let own = with(submitted("turn-1"), "/receipt/evidenceRefs", json!(["turn:1"]));
    let kept = json!({"submission": {"receipt": with(receipt("turn-1"), "/evidenceRefs", json!(["turn:1"]))}});
    story.reconcile("ops", 1, own).rules(&["SU-10", "SU-11"]).ok(kept);
    story
}

/// A receipt that comes after the message's end is still what happened (delivery rule 2).
fn late_receipt() -> Story {
    let mut story = Story::adapted("a receipt after the end is still recorded", "supervisor");
    let number = story.begun("steer", 0);
    story.call("guard", "maintenance.expireDue", json!({})).at(60 * MINUTE).ok(json!({"expired": []}));
    let recorded = json!({
        "submission": {"state": "receipt-recorded"},
        "disposition": {"revision": 2, "delivery": "adapter-submitted", "decision": "accepted", "outcome": "effect-observed"},
    });
    story.receipt("host", 1, receipt("turn-1")).rules(&["SU-1"]).ok(recorded.clone());
    story.call("guard", "maintenance.expireDue", json!({})).ok(json!({"expired": []}));
    story.seen(number, recorded["disposition"].clone());
    story
}

fn revoke(story: &mut Story) -> &mut super::story::Step {
    let params = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", params)
}

/// A revocation waits for the attempt, and is applied by whatever resolves it (settled 6).
fn revoked_meanwhile() -> Story {
    let mut story = Story::adapted("revoked while the outcome is unknown, and found", "supervisor");
    let number = story.begun("steer", 0);
    revoke(&mut story).ok(json!({"invalidatedMessages": 0}));
    story.seen(number, received(1, "accepted", "accepted"));
    let both = json!({
        "submission": {"state": "receipt-recorded"},
        "disposition": {"revision": 3, "delivery": "adapter-submitted", "decision": "revoked", "decisionReasonCode": "revoked", "outcome": "effect-observed"},
    });
    story.receipt("host", 1, receipt("turn-1")).rules(&["SU-1", "LC-7"]).ok(both.clone());
    story.seen(number, both["disposition"].clone());
    story
}

/// The same where nothing was submitted: the message is revoked, and not attempted again.
fn revoked_and_absent() -> Story {
    let mut story = Story::adapted("revoked while the outcome is unknown, and absent", "supervisor");
    let number = story.begun("steer", 0);
    revoke(&mut story).ok(json!({"invalidatedMessages": 0}));
    story.query("unanswerable").ok(json!({"disposition": received(1, "accepted", "accepted")}));
    let revoked =
        json!({"submission": {"state": "confirmed-not-submitted"}, "disposition": received(2, "revoked", "revoked")});
    story.reconcile("ops", 1, evidence("confirmed-not-submitted")).ok(revoked);
    story.prepare(number, 2).refused("policy-denied", "PO-3");
    story
}

/// A receipt after confirmed-not-submitted contradicts it: quarantine (settled 6).
fn contradiction() -> Story {
    let mut story = Story::adapted("a receipt after it was confirmed that nothing was submitted", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    let late = json!({"contradiction": true, "submission": {"state": "manual-reconciliation", "receipt": absent()}, "disposition": received(1, "accepted", "accepted")});
    let params = json!({"submissionId": var("submission"), "expectedRevision": 1, "receipt": receipt("turn-1"), "idempotencyKey": "idem_late-1"});
    story.call("host", "adapter.recordReceipt", params.clone()).rules(&["LC-14"]).ok(late.clone());
    story.call("host", "adapter.recordReceipt", params).rules(&["OP-6"]).replayed(late);
    story.receipt("host", 1, receipt("turn-1")).refused("reconciliation-authority", "SU-9");
    story
        .prepare(number, 1)
        .ok(json!({"replay": true, "submission": {"state": "manual-reconciliation"}}))
        .effects(json!([]));
    story.respond(number, 1, "revoked").refused("external-outcome-unknown", "SU-1");
    story
        .reconcile("ops", 1, submitted("turn-1"))
        .ok(json!({"disposition": {"revision": 2, "delivery": "adapter-submitted"}}));
    story
}

/// The operator's own late receipt quarantines the attempt; asking again with the same key does not end that.
fn contradiction_asked_again() -> Story {
    let mut story = Story::adapted("a contradiction that is asked for again", "peer");
    story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    let params = json!({
        "submissionId": var("submission"), "expectedRevision": 1, "receipt": receipt("turn-1"),
        "idempotencyKey": "idem_late-2",
    });
    let late = json!({"contradiction": true, "submission": {"state": "manual-reconciliation"}});
    story.call("ops", "adapter.recordReceipt", params.clone()).rules(&["LC-14"]).ok(late.clone());
    story.call("ops", "adapter.recordReceipt", params.clone()).rules(&["OP-6"]).replayed(late).effects(json!([]));
    story
        .call("ops", "adapter.getSubmission", json!({"submissionId": var("submission")}))
        .ok(state("manual-reconciliation"));
    story.receipt("ops", 1, receipt("turn-1")).ok(json!({"disposition": {"delivery": "adapter-submitted"}}));
    story.call("ops", "adapter.recordReceipt", params).replayed(json!({"submission": {"state": "receipt-recorded"}}));
    story
}

/// An attempt that was prepared meanwhile gives way, and is not begun.
fn contradiction_before_begin() -> Story {
    let mut story = Story::adapted("a contradiction before the next attempt began", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    story.prepare(number, 1).keep("second", "/submission/submissionId").ok(json!({"replay": false}));
    story
        .receipt("host", 1, receipt("turn-1"))
        .ok(json!({"contradiction": true, "submission": {"state": "manual-reconciliation"}}));
    let begin = json!({"submissionId": var("second"), "expectedRevision": 1});
    story.call("builder", "adapter.beginSubmission", begin).error("not-visible").effects(json!([]));
    story.begin(1).refused("transition-illegal", "LC-17").effects(json!([]));
    story.prepare(number, 1).ok(json!({"replay": true, "submission": {"submissionId": var("submission")}}));
    story.reconcile("ops", 1, evidence("confirmed-not-submitted")).ok(state("confirmed-not-submitted"));
    story.prepare(number, 1).ok(json!({"replay": false, "submission": {"submissionId": not(var("second"))}}));
    story
}

/// While a newer attempt is open its outcome comes first; if it did not happen, the contradiction is taken up.
fn contradiction_while_open() -> Story {
    let mut story = Story::adapted("a contradiction while the next attempt is open", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    story.prepare(number, 1).keep("second", "/submission/submissionId").ok(json!({"replay": false}));
    let second = json!({"submissionId": var("second"), "expectedRevision": 1});
    story.call("builder", "adapter.beginSubmission", second).ok(json!({"replay": false}));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({"contradiction": true}));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({"contradiction": true, "replay": true}));
    let never = json!({"submissionId": var("second"), "result": "absent-final", "evidenceRefs": ["query:2"]});
    story
        .call("host", "adapter.recordQuery", never)
        .at(3 * SETTLED)
        .ok(json!({"submission": {"submissionId": var("second"), "state": "confirmed-not-submitted"}}));
    story
        .call("builder", "adapter.getSubmission", json!({"submissionId": var("submission")}))
        .ok(state("manual-reconciliation"));
    story
        .prepare(number, 1)
        .ok(json!({"replay": true, "submission": {"state": "manual-reconciliation"}}))
        .effects(json!([]));
    story.reconcile("ops", 1, submitted("turn-1")).ok(json!({"disposition": {"delivery": "adapter-submitted"}}));
    story
}

/// A receipt for a message that failed meanwhile: quarantine, which ends only in what the record can still say.
fn contradiction_after_the_end() -> Story {
    let mut story = Story::adapted("a receipt after the message failed", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    let fail = with(message_at(number, 1), "/failureReason", "It was not submitted.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"revision": 2, "delivery": "failed"}));
    story
        .receipt("host", 2, receipt("turn-1"))
        .ok(json!({"contradiction": true, "submission": {"state": "manual-reconciliation"}}));
    story.seen(number, json!({"revision": 2, "delivery": "failed"}));
    story.receipt("ops", 2, receipt("turn-1")).refused("transition-illegal", "LC-16");
    story.reconcile("ops", 2, submitted("turn-1")).refused("transition-illegal", "LC-16");
    story.reconcile("ops", 2, evidence("confirmed-not-submitted")).ok(state("confirmed-not-submitted"));
    story.prepare(number, 2).refused("state-conflict", "SU-3");
    story
}

/// The same for one that was swept: nothing is submitted again, and the quarantine is not swept away.
fn contradiction_after_expiry() -> Story {
    let mut story = Story::adapted("a receipt after the message expired", "peer");
    let number = story.begun("suggest", 0);
    story.query("absent-final").at(SETTLED).ok(state("confirmed-not-submitted"));
    story.call("guard", "maintenance.expireDue", json!({})).at(60 * MINUTE).ok(json!({"expired": [{"revision": 2}]}));
    story
        .receipt("host", 2, receipt("turn-1"))
        .ok(json!({"contradiction": true, "submission": {"state": "manual-reconciliation"}}));
    story.query("absent-final").refused("reconciliation-authority", "SU-9");
    story.reconcile("ops", 2, submitted("turn-1")).refused("transition-illegal", "LC-16");
    story.reconcile("ops", 2, evidence("confirmed-not-submitted")).ok(state("confirmed-not-submitted"));
    story.seen(number, json!({"revision": 2, "delivery": "expired", "decision": "accepted"}));
    story
}

/// The attempt of a retired incarnation is resolved by its successor, its owner or the operator (weaknesses A4 e).
fn rotated() -> Story {
    let mut story = Story::adapted("the attempt of a retired incarnation", "peer");
    let number = story.begun("suggest", 0);
    let (kept, waiting) = (var("submission"), story.sent("suggest", 0));
    let params = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 0});
    story
        .call("bob", "tasks.rotateIncarnation", params)
        .ok(json!({"previous": {"revision": 1}, "current": {"revision": 0}}));
    story.seen(waiting, received(1, "stale", "stale-incarnation"));
    story.seen(number, received(1, "accepted", "accepted"));
    let retired = "task-retired";
    story.receipt("builder", 1, receipt("turn-1")).at(SETTLED).refused(retired, "OP-4");
    story.reconcile("builder", 1, evidence("manual-required")).refused(retired, "OP-4");
    story.call("builder", "adapter.getSubmission", json!({"submissionId": kept})).refused(retired, "OP-4");
    story.prepare(number, 1).refused(retired, "OP-4");
    story.begin(1).refused(retired, "OP-4");
    story.respond(number, 1, "revoked").refused(retired, "OP-4");
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).refused(retired, "OP-4");
    story
        .call("builder-next", "adapter.getSubmission", json!({"submissionId": kept}))
        .rules(&["OP-4"])
        .ok(state("outcome-unknown"));
    story.call("builder-next", "adapter.prepareSubmission", message_at(number, 1)).error("not-visible");
    story.reconcile("builder-next", 1, evidence("manual-required")).rules(&["OP-4"]).ok(state("manual-reconciliation"));
    story
        .reconcile("ops", 1, submitted("turn-1"))
        .ok(json!({"disposition": {"revision": 2, "delivery": "adapter-submitted"}}));
    story
}

/// Another host after a restart lists what is unresolved and asks; it never calls.
fn restart() -> Story {
    let mut story = Story::adapted("another host after a restart", "peer");
    story.begun("suggest", 0);
    let item = json!({"items": [{
        "submissionId": var("submission"), "tenant": "default", "profile": "loop", "hosted": true, "instance": "host-1",
        "fence": 1, "queries": 0, "session": "session-1", "expectedRevision": 1, "messageId": envelope(1, "suggest", 0)["messageId"],
    }], "nextCursor": null});
    story.call("host", "adapter.listUnresolved", json!({})).instance("host-2").ok(item).effects(json!([]));
    story.query("absent-now").instance("host-2").refused("submission-settling", "SU-6");
    story.query("absent-now").at(SETTLED).instance("host-2").ok(state("outcome-unknown")).effects(json!([]));
    story
        .query("unanswerable")
        .at(2 * SETTLED)
        .instance("host-2")
        .ok(state("manual-reconciliation"))
        .effects(json!([]));
    story.call("host", "adapter.listUnresolved", json!({})).ok(json!({"items": []}));
    let unknown = json!({"submissionId": "sub_unknown1", "result": "absent-now", "evidenceRefs": ["query:1"]});
    story.call("host", "adapter.recordQuery", unknown).error("not-visible");
    story
}
