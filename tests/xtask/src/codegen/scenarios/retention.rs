//! Scenarios of purges: what goes, what stays, who may, and that nothing is called purged before it is.

use super::cast::{
    BUILDER, DAY, MINUTE, SETTLED, WRITER, adapter_ref, bound, builder, disposition, envelope, grant, message,
    message_at, message_id, receipt, task_input, task_ref, with,
};
use super::proposals::{proposal, proposal_id};
use super::story::{Step, Story, absent, not, var};
use super::summaries::summary;
use super::time;
use serde_json::{Value, json};

/// When messages that were written at 0 have expired.
const OVER: i64 = 60 * MINUTE;

pub(super) fn stories() -> Vec<Story> {
    vec![
        who_and_when(),
        two_phases(),
        replay_after_purge(),
        left_alone(),
        late_receipts(),
        late_while_pending(),
        pages(),
        of_each_kind(),
        what_summaries_tell(),
        evidence(),
        swept_before(),
        unseen(),
    ]
}

fn cutoff(offset: i64) -> Value {
    json!({"before": time(offset)})
}

/// A policy purges what expired by `offset`; the id of the purge is kept.
fn purge(story: &mut Story, offset: i64) -> &mut Step {
    story.call("guard", "maintenance.purgeContent", cutoff(offset)).at(offset).keep("purge", "/purgeId")
}

/// The host says how emptying its store went.
fn scrub<'s>(story: &'s mut Story, result: &str) -> &'s mut Step {
    let mut params = json!({"purgeId": var("purge"), "result": result});
    if result == "busy" {
        params["reason"] = "log-held".into();
    }
    story.call("host", "maintenance.recordScrub", params)
}

fn purged(numbers: &[u32]) -> Value {
    let named = |number: &u32| json!({"senderIncarnationId": WRITER, "messageId": message_id(*number)});
    numbers.iter().map(named).collect()
}

/// Rules RT-1 and RT-2: a policy or the operator, up to now (behaviours 174 and 175).
fn who_and_when() -> Story {
    let mut story = Story::granted("who purges, and up to when", "peer");
    story.sent("suggest", 0);
    for caller in ["alice", "writer", "builder", "host"] {
        story.call(caller, "maintenance.purgeContent", cutoff(0)).refused("policy-required", "RT-1");
    }
    story.call("guard", "maintenance.purgeContent", cutoff(1)).refused("retention-cutoff-invalid", "RT-2");
    for limit in [json!(0), json!(1001)] {
        let params = with(cutoff(0), "/limit", limit);
        story.call("guard", "maintenance.purgeContent", params).error_at("params-invalid", "/limit");
    }
    let zone = json!({"before": "2026-05-04T08:00:00+08"});
    story.call("guard", "maintenance.purgeContent", zone).error_at("params-invalid", "/before");
    let nothing = json!({
        "purgeId": null, "state": "purged", "purgedAt": time(0), "messages": [], "adapterRefs": [], "hasMore": false,
        "pendingReason": absent(), "retentionCutoff": time(0),
    });
    for caller in ["guard", "ops"] {
        story.call(caller, "maintenance.purgeContent", cutoff(0)).rules(&["RT-1", "RT-2"]).ok(nothing.clone());
    }
    let keyed = with(cutoff(0), "/idempotencyKey", "idem_purge-1");
    story.call("guard", "maintenance.purgeContent", keyed.clone()).ok(nothing.clone());
    story.call("guard", "maintenance.purgeContent", keyed.clone()).at(1).replayed(nothing);
    let other = with(keyed, "/before", time(1));
    story.call("guard", "maintenance.purgeContent", other).refused("idempotency-conflict", "OP-6");
    story
}

/// Content is emptied first, and called purged when the host left nothing behind (settled 45).
fn two_phases() -> Story {
    let mut story = Story::granted("content goes in two phases", "peer");
    let number = story.accepted("suggest", 0);
    let keyed = with(cutoff(OVER), "/idempotencyKey", "idem_purge-1");
    let pending = json!({
        "purgeId": not(json!("")), "state": "pending", "pendingReason": "not-scrubbed-yet", "purgedAt": absent(),
        "retentionCutoff": time(OVER), "messages": purged(&[number]), "adapterRefs": [], "hasMore": false,
    });
    let step = story.call("guard", "maintenance.purgeContent", keyed.clone()).at(OVER).keep("purge", "/purgeId");
    step.ok(pending);
    story.seen(number, disposition(2, "expired", "accepted", "accepted"));
    let held = json!({"state": "pending", "pendingReason": "log-held", "purgedAt": absent()});
    scrub(&mut story, "busy").rules(&["RT-3"]).ok(held.clone());
    scrub(&mut story, "busy").ok(held.clone());
    story.call("guard", "maintenance.purgeContent", keyed.clone()).replayed(held);
    let odd = json!({"purgeId": var("purge"), "result": "busy"});
    story.call("host", "maintenance.recordScrub", odd).refused("params-invalid", "RT-3");
    let odd = json!({"purgeId": var("purge"), "result": "done", "reason": "log-held"});
    story.call("host", "maintenance.recordScrub", odd).refused("params-invalid", "RT-3");
    let keyed_scrub = json!({"purgeId": var("purge"), "result": "done", "idempotencyKey": "idem_scrub-1"});
    let done = json!({"state": "purged", "purgedAt": time(OVER + MINUTE), "pendingReason": absent()});
    let step = story.call("host", "maintenance.recordScrub", keyed_scrub.clone()).at(OVER + MINUTE);
    step.rules(&["RT-3"]).ok(done.clone());
    story.call("host", "maintenance.recordScrub", keyed_scrub.clone()).replayed(done.clone());
    let other = with(with(keyed_scrub, "/result", "busy"), "/reason", "store-failed");
    story.call("host", "maintenance.recordScrub", other).refused("idempotency-conflict", "OP-6");
    scrub(&mut story, "busy").ok(done.clone());
    scrub(&mut story, "done").at(OVER + 2 * MINUTE).ok(done.clone());
    story.call("guard", "maintenance.purgeContent", keyed).replayed(done);
    let marked = json!({"retentionCutoff": time(OVER), "purgeId": var("purge")});
    let events = json!([
        {"eventType": "message-expired"},
        {"eventType": "content-purge-pending", "detail": marked},
        {"eventType": "content-purged", "detail": marked},
    ]);
    let page = with(message(number), "/afterCursor", 2);
    for caller in ["builder", "writer"] {
        story.call(caller, "audit.list", page.clone()).ok(events.clone());
    }
    purge(&mut story, OVER + 2 * MINUTE).ok(json!({"purgeId": null, "messages": []}));
    story
}

/// The original envelope is still a replay, other content still a conflict, and what was purged says nothing
/// (behaviour 169; gap G7).
fn replay_after_purge() -> Story {
    let mut story = Story::adapted("what is asked again after a purge", "peer");
    let number = story.begun("suggest", 0);
    let written = with(receipt("turn-1"), "/evidenceRefs", json!(["log:1"]));
    story.receipt("host", 1, written.clone()).ok(json!({"submission": {"state": "receipt-recorded"}}));
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number])}));
    scrub(&mut story, "done").ok(json!({"state": "purged"}));
    story.send(envelope(number, "suggest", 0)).ok(json!({"replay": true}));
    let other = with(envelope(number, "suggest", 0), "/content", "Removed by retention policy.");
    story.send(other).refused("idempotency-conflict", "MS-4");
    let kept = json!({
        "replay": true,
        "submission": {"state": "receipt-recorded", "receipt": {
            "adapterOperationId": not(json!("turn-1")), "acceptedAt": receipt("turn-1")["acceptedAt"],
            "evidenceRefs": absent(),
        }},
    });
    story.receipt("host", 2, written).rules(&["SU-7"]).ok(kept.clone());
    story.receipt("host", 2, receipt("turn-1")).refused("receipt-conflict", "SU-7");
    let params = json!({"submissionId": var("submission")});
    let shown = with(kept, "/replay", false);
    story.call("builder", "adapter.getSubmission", params).ok(shown);
    story.prepare(number, 1).ok(json!({"replay": true, "envelope": absent()}));
    let read = with(with(message_at(number, 2), "/session", "mcp-1"), "/toolCallId", "call-1");
    story.call("builder", "adapter.admitContext", read).refused("message-expired", "MS-3");
    let empty = json!({"items": []});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    story
}

/// What nobody knows the end of is left alone, and so is the adapter reference that it needs (behaviours 166 and 171).
fn left_alone() -> Story {
    let mut story = Story::adapted("what nobody knows the end of is not purged", "peer");
    let number = story.begun("suggest", 0);
    let next = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).at(SETTLED).ok(json!({}));
    let nothing = json!({"messages": [], "adapterRefs": []});
    purge(&mut story, OVER).ok(nothing.clone());
    let manual = json!({"resolution": "manual-required", "evidenceRefs": ["log:1"]});
    story.reconcile("bob", 1, manual).ok(json!({"submission": {"state": "manual-reconciliation"}}));
    purge(&mut story, OVER).ok(nothing);
    let none = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    story.reconcile("ops", 1, none).ok(json!({}));
    let reference = json!([{"taskId": "builder", "incarnationId": BUILDER}]);
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number]), "adapterRefs": reference}));
    scrub(&mut story, "done").ok(json!({"state": "purged"}));
    story.call("bob", "tasks.get", json!({"task": builder()})).ok(json!({"adapterRef": null, "revision": 2}));
    let live = json!({"task": super::cast::task_ref("builder", "inc_builder-0002")});
    story.call("bob", "tasks.get", live).ok(json!({"adapterRef": adapter_ref()}));
    story
}

/// Receipts that came too late go as well, whichever attempt they were of.
fn late_receipts() -> Story {
    let mut story = Story::adapted("receipts that came too late are purged", "peer");
    let number = story.begun("suggest", 0);
    let none = || json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    story.reconcile("ops", 1, none()).at(SETTLED).ok(json!({}));
    let late = with(receipt("turn-1"), "/evidenceRefs", json!(["log:2"]));
    story.receipt("builder", 1, late.clone()).ok(json!({"contradiction": true}));
    let nothing = json!({"messages": []});
    purge(&mut story, OVER).ok(nothing);
    story.reconcile("ops", 1, none()).ok(json!({"submission": {"state": "confirmed-not-submitted"}}));
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number])}));
    scrub(&mut story, "done").ok(json!({"state": "purged"}));
    // The same receipt again is another one now: nothing but its digest is left, and that was ruled upon.
    story.receipt("builder", 2, late).ok(json!({"contradiction": true}));
    story.reconcile("ops", 2, none()).ok(json!({}));
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number])}));
    let other = story.begun("suggest", OVER);
    story.reconcile("ops", 1, none()).at(OVER + SETTLED).ok(json!({}));
    story.receipt("builder", 1, with(receipt("turn-2"), "/evidenceRefs", json!(["log:3"]))).ok(json!({}));
    story.reconcile("ops", 1, none()).ok(json!({}));
    story.prepare(other, 1).ok(json!({"replay": false}));
    purge(&mut story, 2 * OVER).ok(json!({"messages": purged(&[other])}));
    story
}

/// A receipt that comes between the two phases leaves a message unknown whose content is gone. That nothing is left of that
/// is said all the same, and says nothing about the call: the receipt goes with a later purge, once somebody ruled on it.
fn late_while_pending() -> Story {
    let mut story = Story::adapted("a receipt that comes while a purge is pending", "peer");
    let number = story.begun("suggest", 0);
    let none = || json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    story.reconcile("ops", 1, none()).at(SETTLED).ok(json!({}));
    purge(&mut story, OVER).ok(json!({"state": "pending", "messages": purged(&[number])}));
    let late = with(receipt("turn-1"), "/evidenceRefs", json!(["log:2"]));
    story.receipt("builder", 2, late).ok(json!({"contradiction": true}));
    scrub(&mut story, "done").ok(json!({"state": "purged", "messages": purged(&[number])}));
    let unknown = json!({"submission": {"state": "manual-reconciliation"}});
    story.call("ops", "adapter.getSubmission", json!({"submissionId": var("submission")})).ok(unknown);
    story.seen(number, disposition(2, "expired", "accepted", "accepted"));
    purge(&mut story, OVER + 1).ok(json!({"purgeId": null, "messages": []}));
    story.reconcile("ops", 2, none()).ok(json!({"submission": {"state": "confirmed-not-submitted"}}));
    purge(&mut story, OVER + 1).ok(json!({"state": "pending", "messages": purged(&[number])}));
    scrub(&mut story, "done").ok(json!({"state": "purged"}));
    let events = json!([
        {"eventType": "content-purge-pending"},
        {"eventType": "adapter-receipt-contradicts"},
        {"eventType": "content-purged"},
        {"eventType": "adapter-submission-reconciled"},
        {"eventType": "content-purge-pending"},
        {"eventType": "content-purged"},
    ]);
    story.call("writer", "audit.list", with(message(number), "/afterCursor", 6)).ok(events);
    story
}

/// A purge takes as many as it was asked for, the oldest first, and says whether more is due.
fn pages() -> Story {
    let mut story = Story::granted("a purge takes a page", "peer");
    let numbers = [story.sent("suggest", 0), story.sent("suggest", 1), story.sent("suggest", 2)];
    let params = with(cutoff(OVER + 2), "/limit", 2);
    let step = story.call("guard", "maintenance.purgeContent", params).at(OVER + 2).keep("purge", "/purgeId");
    step.ok(json!({"messages": purged(&numbers[..2]), "hasMore": true}));
    scrub(&mut story, "done").ok(json!({"state": "purged"}));
    let last = with(cutoff(OVER + 2), "/limit", 1);
    story
        .call("guard", "maintenance.purgeContent", last)
        .ok(json!({"messages": purged(&numbers[2..]), "hasMore": false}));
    story
}

/// The pages of whatever else has content: retired tasks, proposals and summaries. A page that takes all that is due says
/// that there is no more.
fn of_each_kind() -> Story {
    let mut story = Story::new("a purge takes a page of each kind");
    let next = |id: &str, number: u32| bound(id, &format!("inc_{id}-{number:04}"));
    for (owner, id) in [("alice", "writer"), ("bob", "builder")] {
        story.register(owner, next(id, 1));
        let previous = task_ref(id, &format!("inc_{id}-0001"));
        let params = json!({"previous": previous, "next": next(id, 2), "expectedRevision": 0});
        story.call(owner, "tasks.rotateIncarnation", params).ok(json!({"previous": {"revision": 1}}));
    }
    let two_pages = |story: &mut Story, offset: i64, name: &str, taken: [Value; 2]| {
        for (one, more) in taken.into_iter().zip([true, false]) {
            let params = with(cutoff(offset), "/limit", 1);
            let step = story.call("guard", "maintenance.purgeContent", params).at(offset).keep("taken", "/purgeId");
            step.ok(with(json!({"hasMore": more}), &format!("/{name}"), json!([one])));
        }
        purge(story, offset).ok(json!({"purgeId": null, "hasMore": false}));
    };
    let retired = ["builder", "writer"].map(|id| task_ref(id, &format!("inc_{id}-0001")));
    two_pages(&mut story, 0, "adapterRefs", retired);
    let asker = with(with(proposal(1), "/source", task_ref("writer", "inc_writer-0002")), "/target", builder());
    let asker = with(asker, "/proposedBy/task", task_ref("writer", "inc_writer-0002"));
    for number in 1..=2 {
        let proposal = with(asker.clone(), "/proposalId", proposal_id(number));
        story
            .call("writer-next", "relationships.propose", json!({"proposal": proposal}))
            .ok(json!({"status": "pending"}));
    }
    two_pages(&mut story, DAY, "proposalIds", [1, 2].map(|number| proposal_id(number).into()));
    let told = json!({"eventType": "content-purge-pending", "revision": 0, "detail": {
        "proposalId": proposal_id(2), "purgeId": var("taken"), "retentionCutoff": time(DAY),
    }});
    let last = json!({"task": task_ref("writer", "inc_writer-0002"), "timeoutMs": 0, "afterCursor": 4});
    story.call("writer-next", "tasks.wait", last).ok(json!({"events": [told]}));
    story
}

/// A summary that tells more than its state is purged once its grant or its task has ended, and not before.
fn what_summaries_tell() -> Story {
    let mut story = Story::tasks("summaries are purged when they are over");
    let publish = |story: &mut Story, task: &str, relationship: &str, version: u32, expires: i64| {
        let incarnation = format!("inc_{task}-0001");
        let draft =
            with(with(grant("peer", version), "/summaryVisibility", "coordination"), "/expiresAt", time(expires));
        let draft = with(with(draft, "/target", task_ref(task, &incarnation)), "/relationshipId", relationship);
        story.grant(draft);
        let projection = json!({
            "relationshipId": relationship, "grantId": format!("grant_work-{version}"), "grantVersion": version,
            "summaryVisibility": "coordination",
        });
        let told =
            with(with(summary("coordination", 0), "/task", task_ref(task, &incarnation)), "/projection", projection);
        let told = with(
            with(told, "/summaryId", format!("sum_{task}-{version}")),
            "/audience/relationshipIds",
            json!([relationship]),
        );
        story
            .call("bob", "tasks.publishSummary", json!({"summary": told, "expectedPreviousVersion": null}))
            .ok(json!({}));
    };
    story.register("bob", task_input("tester", "inc_tester-0001"));
    publish(&mut story, "builder", "rel_work", 1, 90 * DAY);
    publish(&mut story, "builder", "rel_ends", 2, MINUTE);
    publish(&mut story, "tester", "rel_test", 3, 90 * DAY);
    let over = |story: &mut Story, offset: i64, limit: u32, ids: Value, more: bool| {
        let step = story.call("guard", "maintenance.purgeContent", with(cutoff(offset), "/limit", limit)).at(offset);
        step.ok(json!({"summaryIds": ids, "hasMore": more}));
    };
    over(&mut story, MINUTE - 1, 1, json!([]), false);
    over(&mut story, MINUTE, 1, json!(["sum_builder-2"]), false);
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).at(2 * MINUTE).ok(json!({"replay": false}));
    let next = json!({
        "previous": task_ref("tester", "inc_tester-0001"), "next": task_input("tester", "inc_tester-0002"),
        "expectedRevision": 0,
    });
    over(&mut story, 2 * MINUTE - 1, 1, json!([]), false);
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({"previous": {"revision": 1}}));
    over(&mut story, 2 * MINUTE, 1, json!(["sum_builder-1"]), true);
    over(&mut story, 2 * MINUTE, 1, json!(["sum_tester-3"]), false);
    let told = json!({"eventType": "content-purge-pending", "detail": {"summaryId": "sum_builder-1"}});
    let last = json!({"task": builder(), "timeoutMs": 0, "afterCursor": 7});
    story.call("builder", "tasks.wait", last).ok(json!({"events": [told]}));
    story
}

/// The evidence of an outcome goes with the message.
fn evidence() -> Story {
    let mut story = Story::granted("the evidence of an outcome is purged", "peer");
    let number = story.accepted("suggest", 0);
    let params = with(with(message_at(number, 1), "/outcome", "failed"), "/evidenceRefs", json!(["log:1"]));
    story.call("builder", "messages.recordOutcome", params).ok(json!({"revision": 2}));
    let seen = json!({"outcomeEvidence": {"source": "asserted", "refs": ["log:1"]}});
    story.call("builder", "inspector.snapshot", message(number)).ok(seen);
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number])}));
    let gone = json!({"outcomeEvidence": absent(), "disposition": {"outcome": "failed"}});
    story.call("builder", "inspector.snapshot", message(number)).ok(gone);
    story
}

/// Only what expired by the cutoff, by the instant and not by the text of the time (weaknesses A2).
fn swept_before() -> Story {
    let mut story = Story::granted("only what expired by the cutoff", "peer");
    let number = story.sent("suggest", 0);
    let east = with(envelope(2, "suggest", 0), "/expiresAt", "2026-05-04T17:00:00.001+08:00");
    story.send(east).ok(json!({"replay": false}));
    let failed = with(message_at(number, 0), "/failureReason", "The checkout is gone.");
    story
        .call("builder", "messages.failDelivery", failed)
        .ok(json!({"deliveryFailureReason": "The checkout is gone."}));
    story.call("guard", "maintenance.purgeContent", cutoff(OVER - 1)).at(OVER).ok(json!({"messages": []}));
    purge(&mut story, OVER).ok(json!({"messages": purged(&[number])}));
    story.seen(number, json!({"delivery": "failed", "deliveryFailureReason": absent()}));
    purge(&mut story, OVER + 1).ok(json!({"messages": purged(&[2])}));
    story
}

/// Purges are the host's to finish, and ids of others are ids of nothing.
fn unseen() -> Story {
    let mut story = Story::new("purges of nobody");
    story.register("alice", task_input("writer", WRITER));
    let unknown = json!({"purgeId": format!("purge_{:032}", 0), "result": "done"});
    story.call("host", "maintenance.recordScrub", unknown.clone()).error("not-visible");
    for caller in ["guard", "ops", "alice"] {
        story.call(caller, "maintenance.recordScrub", unknown.clone()).error("method-not-found");
    }
    story
}
