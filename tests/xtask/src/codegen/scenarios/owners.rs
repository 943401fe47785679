//! Scenarios of ids that several owners use: whoever sees the records of all of them says whose it means, and so does a
//! receiver whose senders have the same ids. Rule OP-10.
//!
//! In all of them Alice's `writer` sends to Bob's `builder`, and Carol has tasks of the same ids.

use super::cast::{
    BUILDER, WRITER, builder, envelope, grant, message, message_at, message_id, receipt, received, task_input,
    task_ref, with, without, writer,
};
use super::story::{Story, var};
use super::{proposals, summaries, time};
use serde_json::{Value, json};

const RULE: &[&str] = &["OP-10"];
const ALICE: &str = "user:alice";
const BOB: &str = "user:bob";
const CAROL: &str = "user:carol";
const GUARD: &str = "policy:guard";

pub(super) fn stories() -> Vec<Story> {
    vec![
        looks(),
        facts(),
        tasks(),
        changes(),
        rotations(),
        grants(),
        revocations(),
        decided_proposals(),
        read_summaries(),
        sent_by_a_policy(),
        two_targets(),
        told_apart(),
        taken(),
        passed_on(),
        own_first(),
        own_side(),
        agreed(),
        of_an_office(),
    ]
}

fn of(owner: &str, params: Value) -> Value {
    with(params, "/owner", owner)
}

/// Alice's writer may send to Bob's builder, and Carol's to Carol's. Everyone's tasks have the same ids.
fn world(name: &str) -> Story {
    let mut story = Story::adapted(name, "peer");
    let party =
        |task: &str, incarnation: &str| json!({"kind": "task", "id": task, "incarnation": incarnation, "owner": CAROL});
    story.principal("carol-writer", party("writer", WRITER));
    story.principal("carol-builder", party("builder", BUILDER));
    story.register("carol", task_input("writer", WRITER));
    story.register("carol", task_input("builder", BUILDER));
    let params = json!({"grant": grant("peer", 1), "decision": {"decisionId": "decision_work-1"}});
    story.call("carol", "relationships.grant", params).ok(json!({}));
    story
}

/// The same, with a message of Alice's writer that was accepted and one of Carol's that was not, under one id.
fn mail(name: &str) -> Story {
    let mut story = world(name);
    story.accepted("suggest", 0);
    story.call("carol-writer", "messages.send", json!({"envelope": envelope(1, "suggest", 0)})).ok(json!({}));
    story
}

/// What policies and the operator read of a message.
fn looks() -> Story {
    let mut story = mail("an office reads the message of the owner that it names");
    for caller in ["guard", "ops"] {
        for look in ["messages.getDisposition", "audit.list", "inspector.snapshot"] {
            let shown = |revision: u32, decision: &str| match (look, revision) {
                ("audit.list", 0) => json!([{"eventType": "message-durably-received"}]),
                ("audit.list", _) => json!([{"cursor": 1}, {"eventType": "receiver-decided"}]),
                ("inspector.snapshot", _) => json!({"disposition": {"revision": revision, "decision": decision}}),
                _ => json!({"revision": revision, "decision": decision}),
            };
            let missing = format!("{look} by {caller}");
            story.call(caller, look, message(1)).error("not-visible").rules(RULE).named(&missing);
            story.call(caller, look, of(ALICE, message(1))).rules(RULE).ok(shown(1, "accepted"));
            story.call(caller, look, of(CAROL, message(1))).rules(RULE).ok(shown(0, "pending"));
            for owner in [BOB, "user:nobody", "alice", "operator:ops"] {
                story.call(caller, look, of(owner, message(1))).error("not-visible").same_as(&missing);
            }
        }
    }
    // Who has a part in one of them sees that one, and no other by naming its owner.
    for caller in ["alice", "writer", "bob", "builder"] {
        story.call(caller, "messages.getDisposition", message(1)).ok(received(1, "accepted", "accepted"));
        let own = of(ALICE, message(1));
        story.call(caller, "messages.getDisposition", own).ok(received(1, "accepted", "accepted"));
        story.call(caller, "messages.getDisposition", of("user:nobody", message(1))).error("not-visible").named(caller);
        story.call(caller, "messages.getDisposition", of(CAROL, message(1))).error("not-visible").same_as(caller);
    }
    for caller in ["carol", "carol-writer", "carol-builder"] {
        story.call(caller, "messages.getDisposition", message(1)).ok(received(0, "pending", ""));
        story.call(caller, "messages.getDisposition", of(ALICE, message(1))).error("not-visible");
    }
    story
}

/// What the host and a policy add to a message.
fn facts() -> Story {
    let mut story = mail("an office adds to the message of the owner that it names");
    let lost = |revision: u32| with(message_at(1, revision), "/resolution", "confirmed-not-admitted");
    for caller in ["guard", "ops"] {
        story.call(caller, "adapter.recoverContextAdmission", lost(1)).error("not-visible");
        story.call(caller, "adapter.recoverContextAdmission", of(ALICE, lost(1))).error("state-conflict");
        story.call(caller, "adapter.recoverContextAdmission", of(CAROL, lost(0))).error("state-conflict");
    }
    let failed =
        |revision: u32| with(with(message_at(1, revision), "/outcome", "failed"), "/evidenceRefs", json!(["log:1"]));
    story.call("host", "messages.recordOutcome", failed(1)).error("not-visible").rules(RULE);
    story.call("host", "messages.recordOutcome", of(BOB, failed(1))).error("not-visible");
    story.call("host", "messages.recordOutcome", of(CAROL, failed(0))).error("state-conflict");
    story.call("host", "messages.recordOutcome", of(ALICE, failed(1))).rules(RULE).ok(json!({"outcome": "failed"}));
    let notified = |revision: u32| with(message_at(1, revision), "/delivery", "receiver-notified");
    story.call("host", "messages.recordDelivery", notified(0)).error("not-visible");
    let told = json!({"revision": 1, "delivery": "receiver-notified", "outcome": "not-observed"});
    story.call("host", "messages.recordDelivery", of(CAROL, notified(0))).rules(RULE).ok(told);
    let target = json!({"targetId": "turn-1", "state": "not-running", "observedAt": time(0)});
    let none = json!({"enumeration": "complete", "targets": []});
    let result = json!({
        "specVersion": "0.0-draft", "interruptionId": "int_work-0001", "messageId": message_id(1),
        "receiver": builder(), "requestedAt": time(0), "updatedAt": time(0),
        "results": {"modelTurn": target, "toolCalls": none, "subprocesses": none},
    });
    let result = |revision: u32| with(message_at(1, revision), "/result", result.clone());
    story.call("host", "messages.recordInterruptionResult", result(1)).error("not-visible");
    for (owner, revision) in [(ALICE, 2), (CAROL, 1)] {
        let params = of(owner, result(revision));
        story.call("host", "messages.recordInterruptionResult", params).error("state-conflict");
    }
    story
}

/// What policies and the operator read of a task.
fn tasks() -> Story {
    let mut story = mail("an office reads the task of the owner that it names");
    let update = json!({"task": writer(), "runtime": {"runId": "run-a"}, "expectedRevision": 0});
    story.call("alice", "tasks.updateRuntime", update).ok(json!({"revision": 1}));
    story.call("writer", "relationships.propose", json!({"proposal": proposals::proposal(1)})).ok(json!({}));
    let task = |method: &str| match method {
        "tasks.wait" => json!({"task": writer(), "timeoutMs": 0}),
        _ => json!({"task": writer()}),
    };
    let reads = [
        ("tasks.get", json!({"revision": 1}), json!({"revision": 0})),
        ("tasks.wait", json!({"nextCursor": 6}), json!({"nextCursor": 3})),
        ("tasks.listRelated", json!({"items": [{"task": builder()}]}), json!({"items": [{"task": builder()}]})),
        (
            "relationships.list",
            json!({"items": [{"grant": {"grantedBy": {"actorId": "guard"}}}]}),
            json!({"items": [{"grant": {"grantedBy": {"actorId": "carol"}}}]}),
        ),
        ("relationships.listProposals", json!({"items": [{"side": "source"}]}), json!({"items": []})),
    ];
    for (caller, (method, alice, carol)) in
        ["guard", "ops"].iter().flat_map(|caller| reads.iter().map(move |read| (*caller, read)))
    {
        let missing = format!("{method} by {caller}");
        story.call(caller, method, task(method)).error("not-visible").rules(RULE).named(&missing);
        story.call(caller, method, of(ALICE, task(method))).rules(RULE).ok(alice.clone());
        story.call(caller, method, of(CAROL, task(method))).rules(RULE).ok(carol.clone());
        story.call(caller, method, of(BOB, task(method))).error("not-visible").same_as(&missing);
    }
    // Nobody else names another's task.
    for caller in ["alice", "writer"] {
        for (method, alice, _) in &reads {
            let missing = format!("{method} by {caller}");
            story.call(caller, method, of(ALICE, task(method))).rules(RULE).ok(alice.clone());
            story.call(caller, method, of("user:nobody", task(method))).error("not-visible").named(&missing);
            story.call(caller, method, of(CAROL, task(method))).error("not-visible").rules(RULE).same_as(&missing);
        }
    }
    story.call("bob", "tasks.get", of(ALICE, task("tasks.get"))).error("not-visible").rules(RULE);
    story
}

/// What a policy changes about a task.
fn changes() -> Story {
    let mut story = world("a policy changes the task of the owner that it names");
    let at = |revision: u32| json!({"task": writer(), "expectedRevision": revision});
    let changes = [
        ("tasks.updateRuntime", "/runtime", json!({"runId": "run-2"})),
        ("tasks.setConsent", "/consent", json!({"mute": true})),
        ("tasks.attach", "/adapterRef", json!({"kind": "loop"})),
    ];
    for (revision, (method, member, value)) in (0..).zip(&changes) {
        let params = |owner: &str| of(owner, with(at(revision), member, value.clone()));
        story.call("guard", method, without(params(ALICE), "/owner")).error("not-visible").rules(RULE);
        story.call("guard", method, params(BOB)).error("not-visible");
        story.call("alice", method, params(CAROL)).error("not-visible").rules(RULE);
        story.call("guard", method, params(CAROL)).rules(RULE).ok(json!({"revision": revision + 1}));
    }
    story.call("alice", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 0}));
    story.call("carol", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 3}));
    story
}

/// Which task goes on as the next incarnation.
fn rotations() -> Story {
    let mut story = world("a policy rotates the task of the owner that it names");
    let next = task_input("writer", "inc_writer-0002");
    let params = json!({"previous": writer(), "next": next, "expectedRevision": 0});
    let rotate = "tasks.rotateIncarnation";
    story.call("guard", rotate, params.clone()).error("not-visible").rules(RULE);
    story.call("alice", rotate, of(CAROL, params.clone())).error("not-visible").rules(RULE);
    story.call("guard", rotate, of(CAROL, params.clone())).rules(RULE).ok(json!({"previous": {"retiredAt": time(0)}}));
    let next = json!({"task": task_ref("writer", "inc_writer-0002")});
    story.call("carol", "tasks.get", next.clone()).ok(json!({"revision": 0}));
    story.call("alice", "tasks.get", next).error("not-visible");
    story.call("alice", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 0}));
    story.call("guard", rotate, of(ALICE, params)).rules(RULE).ok(json!({}));
    story
}

/// A policy grants between the owners that it names.
fn grants() -> Story {
    let mut story = world("a policy grants between the tasks of the owners that it names");
    let draft = |version: u32| {
        let draft = with(grant("peer", version), "/relationshipId", "rel_across");
        let draft = with(draft, "/grantId", format!("grant_across-{version}"));
        json!({"grant": draft, "decision": {"decisionId": "decision_work-2"}})
    };
    let between = |version: u32, source: &str, target: &str| {
        with(with(draft(version), "/sourceOwner", source), "/targetOwner", target)
    };
    let (method, denied) = ("relationships.grant", "grant-scope-denied");
    story.call("guard", method, draft(1)).error(denied).named("in doubt");
    for params in [
        with(draft(1), "/sourceOwner", CAROL),
        with(draft(1), "/targetOwner", BOB),
        between(1, BOB, CAROL),
        between(1, CAROL, "user:nobody"),
    ] {
        story.call("guard", method, params).error(denied).same_as("in doubt");
    }
    // A user grants between tasks of its own, whoever is named.
    story.call("carol", method, between(1, CAROL, BOB)).error(denied).same_as("in doubt");
    story.call("carol", method, between(1, ALICE, CAROL)).error(denied).same_as("in doubt");
    let twice = json!({"grantVersion": 1});
    story.call("guard", method, between(1, CAROL, BOB)).rules(RULE).ok(twice.clone());
    story.call("guard", method, between(1, CAROL, BOB)).ok(twice);
    story.call("guard", method, between(1, ALICE, BOB)).refused("idempotency-conflict", "GA-2");
    let across = with(envelope(7, "suggest", 0), "/relationshipId", "rel_across");
    story.call("carol-writer", "messages.send", json!({"envelope": across})).ok(json!({}));
    story
        .call("builder", "mailbox.listPending", json!({"receiver": builder()}))
        .ok(json!({"items": [{"owner": CAROL}]}));
    story.call("writer", "messages.send", json!({"envelope": across_again()})).error("policy-denied");
    story
}

fn across_again() -> Value {
    with(envelope(8, "suggest", 0), "/relationshipId", "rel_across")
}

/// A grant id is its issuer's.
fn revocations() -> Story {
    let mut story = world("a grant is revoked or consented to by its issuer's name");
    story.principal("warden", json!({"kind": "policy", "id": "warden"}));
    let params = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    let consent = with(params.clone(), "/consent", true);
    story.call("warden", "relationships.consent", consent.clone()).error("not-visible").rules(RULE);
    for owner in [GUARD, CAROL] {
        let consent = of(owner, consent.clone());
        story.call("warden", "relationships.consent", consent).refused("grant-consent-denied", "GA-7");
    }
    let revoke = "relationships.revoke";
    story.call("warden", revoke, params.clone()).error("not-visible").rules(RULE).named("in doubt");
    story.call("warden", revoke, of(ALICE, params.clone())).error("not-visible").same_as("in doubt");
    story.call("alice", revoke, of(CAROL, params.clone())).error("not-visible").same_as("in doubt");
    story.call("warden", revoke, of(CAROL, params.clone())).rules(RULE).ok(json!({"revokedAt": time(0)}));
    story.sent("suggest", 0);
    let sent = json!({"envelope": envelope(1, "suggest", 0)});
    story.call("carol-writer", "messages.send", sent).error("policy-denied");
    // Bob revokes what is granted towards his task, and names who granted it.
    story.call("bob", revoke, of(CAROL, params.clone())).error("not-visible");
    story.call("bob", revoke, of(GUARD, params)).rules(RULE).ok(json!({"revokedAt": time(0)}));
    story.send(envelope(2, "suggest", 0)).error("policy-denied");
    story
}

/// A proposal id is that of its source's owner.
fn decided_proposals() -> Story {
    let mut story = world("a proposal is decided by the name of its source's owner");
    let proposal = |number: u32| json!({"proposal": proposals::proposal(number)});
    for number in [1, 2] {
        for caller in ["writer", "carol-writer"] {
            story.call(caller, "relationships.propose", proposal(number)).ok(json!({"replay": false}));
        }
    }
    let named = |number: u32| json!({"proposalId": proposals::proposal_id(number), "source": writer()});
    for (number, method, state) in
        [(1, "relationships.rejectProposal", "rejected"), (2, "relationships.withdrawProposal", "withdrawn")]
    {
        story.call("guard", method, named(number)).error("not-visible").rules(RULE).named(method);
        story.call("guard", method, of(BOB, named(number))).error("not-visible").same_as(method);
        story.call("alice", method, of(CAROL, named(number))).error("not-visible").same_as(method);
        story.call("guard", method, of(CAROL, named(number))).rules(RULE).ok(json!({"status": state}));
    }
    let items = |states: [&str; 2]| json!({"items": states.map(|state| json!({"status": state}))});
    let list = json!({"task": writer()});
    story.call("writer", "relationships.listProposals", list.clone()).ok(items(["pending", "pending"]));
    story.call("carol-writer", "relationships.listProposals", list).ok(items(["rejected", "withdrawn"]));
    story
}

/// Summaries of the task of the owner who is named.
fn read_summaries() -> Story {
    let mut story = world("a summary is published and read by the name of the task's owner");
    let shown = |version: u32| with(grant("peer", version), "/summaryVisibility", "state-only");
    let between = |owner: &str, target: &str| {
        let grant = with(with(shown(2), "/grantId", "grant_shown-1"), "/relationshipId", "rel_shown");
        let params = json!({"grant": grant, "decision": {"decisionId": "decision_work-2"}});
        with(with(params, "/sourceOwner", owner), "/targetOwner", target)
    };
    story.call("guard", "relationships.grant", between(ALICE, BOB)).ok(json!({}));
    let carols = with(between(CAROL, CAROL), "/grant/grantId", "grant_shown-2");
    story.call("guard", "relationships.grant", carols).ok(json!({}));
    let publish = |grant: &str, version: u32| {
        let summary = with(summaries::summary("state-only", version), "/projection/grantId", grant);
        let summary = with(with(summary, "/projection/grantVersion", 2), "/projection/relationshipId", "rel_shown");
        let summary = with(summary, "/audience/relationshipIds", json!(["rel_shown"]));
        json!({"summary": summary, "expectedPreviousVersion": null})
    };
    let method = "tasks.publishSummary";
    story.call("guard", method, publish("grant_shown-1", 1)).error("not-visible").rules(RULE);
    story.call("carol", method, of(BOB, publish("grant_shown-1", 1))).error("not-visible").rules(RULE);
    story.call("guard", method, of(BOB, publish("grant_shown-1", 1))).rules(RULE).ok(json!({}));
    story.call("guard", method, of(CAROL, publish("grant_shown-2", 5))).rules(RULE).ok(json!({}));
    let read = json!({"task": builder(), "relationshipId": "rel_shown"});
    for caller in ["guard", "ops"] {
        story.call(caller, "tasks.getSummary", read.clone()).error("not-visible").rules(RULE);
        story.call(caller, "tasks.getSummary", of(BOB, read.clone())).rules(RULE).ok(json!({"summaryVersion": 1}));
        story.call(caller, "tasks.getSummary", of(CAROL, read.clone())).rules(RULE).ok(json!({"summaryVersion": 5}));
        story.call(caller, "tasks.getSummary", of(ALICE, read.clone())).error("not-visible");
    }
    // The source of a grant reads of the target of its grant.
    story.call("writer", "tasks.getSummary", read.clone()).ok(json!({"summaryVersion": 1}));
    story.call("writer", "tasks.getSummary", of(CAROL, read.clone())).error("not-visible");
    story.call("guard", "relationships.grant", between(ALICE, CAROL)).refused("idempotency-conflict", "GA-2");
    let second = with(between(ALICE, CAROL), "/grant/grantId", "grant_shown-3");
    story.call("guard", "relationships.grant", second).ok(json!({}));
    story.call("writer", "tasks.getSummary", read.clone()).error("not-visible").rules(RULE);
    story.call("writer", "tasks.getSummary", of(BOB, read)).rules(RULE).ok(json!({"summaryVersion": 1}));
    story
}

/// A policy sends for the task of the owner that it names.
fn sent_by_a_policy() -> Story {
    let mut story = world("a policy sends for the task of the owner that it names");
    let by = |number: u32| {
        let envelope = envelope(number, "suggest", 0);
        with(with(envelope, "/sender/actorType", "policy"), "/sender/actorId", "guard")
    };
    let one = |number: u32| json!({"envelope": by(number)});
    story.call("guard", "messages.send", one(1)).error("not-visible").rules(RULE);
    story.call("guard", "messages.send", of(BOB, one(1))).error("not-visible");
    story.call("guard", "messages.send", of(CAROL, one(1))).rules(RULE).ok(json!({"replay": false}));
    story.call("guard", "messages.send", of(ALICE, one(1))).rules(RULE).ok(json!({"replay": false}));
    story.call("guard", "messages.send", of(ALICE, one(1))).ok(json!({"replay": true}));
    // The key stands for the envelope and for the owner.
    let key = |owner: &str| with(of(owner, one(2)), "/idempotencyKey", "idem_by-owner");
    story.call("guard", "messages.send", key(ALICE)).ok(json!({"replay": false}));
    story.call("guard", "messages.send", key(CAROL)).error("idempotency-conflict");
    let batch = json!({"envelopes": [by(3), by(4)]});
    story.call("guard", "messages.sendBatch", batch.clone()).error("not-visible").rules(RULE);
    story
        .call("guard", "messages.sendBatch", of(CAROL, batch))
        .rules(RULE)
        .ok(json!({"results": [{"replay": false}, {"replay": false}]}));
    let inbox = |ids: &[u32]| {
        let items: Vec<Value> = ids.iter().map(|id| json!({"envelope": {"messageId": message_id(*id)}})).collect();
        json!({"items": items})
    };
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(inbox(&[1, 2]));
    story.call("carol-builder", "mailbox.listPending", json!({"receiver": builder()})).ok(inbox(&[1, 3, 4]));
    story
}

/// A relationship that leads to two tasks of the same ids leads to neither, until one of the grants is revoked.
fn two_targets() -> Story {
    let mut story = world("a relationship does not choose between two targets of the same ids");
    story.sent("suggest", 0);
    let second = with(grant("peer", 1), "/grantId", "grant_second-1");
    let params = json!({"grant": second, "decision": {"decisionId": "decision_work-2"}});
    let params = with(with(params, "/sourceOwner", ALICE), "/targetOwner", CAROL);
    story.call("guard", "relationships.grant", params).ok(json!({}));
    story.send(envelope(2, "suggest", 0)).error("policy-denied").rules(&["PO-2"]);
    let proposal = json!({"proposal": proposals::proposal(1)});
    story.call("writer", "relationships.propose", proposal).ok(json!({"replay": false}));
    for caller in ["builder", "carol-builder"] {
        let list = json!({"task": builder()});
        story.call(caller, "relationships.listProposals", list).ok(json!({"items": []}));
    }
    let revoke = json!({"grantId": "grant_second-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({}));
    story.send(envelope(2, "suggest", 0)).rules(&["PO-2"]).ok(json!({"replay": false}));
    let ids = [1, 2].map(|number| json!({"envelope": {"messageId": message_id(number)}}));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": ids}));
    story.call("carol-builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    story
}

/// Bob's builder, to which the writers of Alice and of Carol may send, with a message of each under one id. Carol's comes
/// second.
fn two_senders(name: &str) -> Story {
    let mut story = world(name);
    let draft = with(with(grant("peer", 1), "/grantId", "grant_across-1"), "/relationshipId", "rel_across");
    let params = json!({"grant": draft, "decision": {"decisionId": "decision_work-2"}});
    let params = with(with(params, "/sourceOwner", CAROL), "/targetOwner", BOB);
    story.call("guard", "relationships.grant", params).ok(json!({}));
    story.sent("suggest", 0);
    let across = with(envelope(1, "suggest", 0), "/relationshipId", "rel_across");
    story.call("carol-writer", "messages.send", json!({"envelope": across})).ok(json!({"replay": false}));
    story
}

/// A receiver decides on each of two messages that have one id and one incarnation of their senders.
fn told_apart() -> Story {
    let mut story = two_senders("a receiver tells apart messages of two owners' senders of the same ids");
    let pending = json!({"items": [
        {"cursor": 1, "owner": ALICE, "envelope": {"messageId": message_id(1), "relationshipId": "rel_work"}},
        {"cursor": 2, "owner": CAROL, "envelope": {"messageId": message_id(1), "relationshipId": "rel_across"}},
    ]});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).rules(RULE).ok(pending);
    let silent = [
        ("messages.getDisposition", message(1)),
        ("audit.list", message(1)),
        ("inspector.snapshot", message(1)),
        ("mailbox.claim", message_at(1, 0)),
        ("messages.respond", with(message_at(1, 0), "/decision", "accepted")),
        ("messages.failDelivery", with(message_at(1, 0), "/failureReason", "No room.")),
        ("messages.recordDelivery", with(message_at(1, 0), "/delivery", "receiver-notified")),
        ("adapter.prepareSubmission", message_at(1, 0)),
    ];
    for (method, params) in &silent {
        story.call("builder", method, params.clone()).error("not-visible").rules(RULE).named(method);
        story.call("builder", method, of(BOB, params.clone())).error("not-visible").same_as(method);
    }
    story.call("bob", "messages.getDisposition", message(1)).error("not-visible").rules(RULE);
    let claim = of(CAROL, message_at(1, 0));
    story
        .call("builder-w1", "mailbox.claim", claim.clone())
        .rules(RULE)
        .keep("token", "/claimToken")
        .ok(json!({"owner": CAROL, "replay": false}));
    let ack = with(with(claim, "/claimToken", var("token")), "/decision", "rejected");
    story.call("builder-w1", "mailbox.ack", without(ack.clone(), "/owner")).error("not-visible").rules(RULE);
    story.call("builder-w1", "mailbox.ack", of(ALICE, ack.clone())).error("mailbox-claim-invalid");
    story.call("builder-w1", "mailbox.ack", ack).rules(RULE).ok(received(1, "rejected", "receiver-rejected"));
    let accept = of(ALICE, with(message_at(1, 0), "/decision", "accepted"));
    story.call("builder", "messages.respond", accept).rules(RULE).ok(received(1, "accepted", "accepted"));
    for caller in ["builder", "bob"] {
        for (owner, states) in
            [(ALICE, received(1, "accepted", "accepted")), (CAROL, received(1, "rejected", "receiver-rejected"))]
        {
            story.call(caller, "messages.getDisposition", of(owner, message(1))).rules(RULE).ok(states);
        }
    }
    // Each sender sees its own, which nobody else's message hides.
    story.seen(1, received(1, "accepted", "accepted"));
    let params = message(1);
    story.call("carol-writer", "messages.getDisposition", params).ok(received(1, "rejected", "receiver-rejected"));
    story
}

/// The way of each of them to the harness, and before a model.
fn taken() -> Story {
    let mut story = two_senders("a receiver hands over messages of two owners' senders of the same ids");
    for owner in [ALICE, CAROL] {
        let accept = of(owner, with(message_at(1, 0), "/decision", "accepted"));
        story.call("builder", "messages.respond", accept).ok(received(1, "accepted", "accepted"));
    }
    let at = |revision: u32| message_at(1, revision);
    story.call("builder", "adapter.prepareSubmission", at(1)).error("not-visible").rules(RULE);
    let prepared = json!({"submission": {"state": "prepared"}, "envelope": {"relationshipId": "rel_across"}});
    story
        .call("builder", "adapter.prepareSubmission", of(CAROL, at(1)))
        .rules(RULE)
        .keep("submission", "/submission/submissionId")
        .ok(prepared);
    story.begin(1).ok(json!({"submission": {"state": "outcome-unknown"}}));
    story.receipt("host", 1, receipt("turn-1")).ok(json!({"submission": {"state": "receipt-recorded"}}));
    let submitted = json!({"delivery": "adapter-submitted", "outcome": "effect-observed"});
    story.call("builder", "messages.getDisposition", of(CAROL, message(1))).rules(RULE).ok(submitted);
    let read = with(with(at(1), "/session", "mcp-1"), "/toolCallId", "call-1");
    story.call("builder", "adapter.admitContext", read.clone()).error("not-visible").rules(RULE);
    story
        .call("builder", "adapter.admitContext", of(ALICE, read))
        .rules(RULE)
        .ok(json!({"disposition": {"delivery": "context-admitted"}}));
    story
}

/// What is passed on is the message of the owner who is named.
fn passed_on() -> Story {
    let mut story = two_senders("a receiver passes on one of two messages of the same ids");
    story.register("bob", task_input("reader", "inc_reader-0001"));
    let reader = task_ref("reader", "inc_reader-0001");
    let draft = with(with(grant("peer", 1), "/source", builder()), "/target", reader.clone());
    let draft = with(with(draft, "/grantId", "grant_onward-1"), "/relationshipId", "rel_onward");
    let params = json!({"grant": draft, "decision": {"decisionId": "decision_work-3"}});
    story.call("guard", "relationships.grant", with(params, "/sourceOwner", BOB)).ok(json!({}));
    for owner in [ALICE, CAROL] {
        let accept = of(owner, with(message_at(1, 0), "/decision", "accepted"));
        story.call("builder", "messages.respond", accept).ok(received(1, "accepted", "accepted"));
    }
    let sender = with(with(builder(), "/harness", "codex"), "/actorType", "agent");
    let onward = with(with(envelope(1, "suggest", 0), "/messageId", message_id(50)), "/sender", sender);
    let onward = with(with(onward, "/target", reader), "/relationshipId", "rel_onward");
    let onward = with(onward, "/causality", json!({"parentMessageId": message_id(1)}));
    let forward = |original: Value| json!({"envelope": onward, "original": original});
    story.call("builder", "messages.forward", forward(message(1))).error("not-visible").rules(RULE).named("in doubt");
    story.call("builder", "messages.forward", forward(of(BOB, message(1)))).error("not-visible").same_as("in doubt");
    story.call("builder", "messages.forward", forward(of(CAROL, message(1)))).rules(RULE).ok(json!({"replay": false}));
    story
}

/// Without a name, what the caller's own side sent comes first: nobody else can put a message before it.
fn own_first() -> Story {
    let mut story = Story::granted("what one's own task sent is found without an owner", "peer");
    let editor = task_ref("editor", "inc_editor-0001");
    story.register("alice", task_input("editor", "inc_editor-0001"));
    // Bob takes the ids of Alice's writer for a task of his own, and sends to Alice under the id of her message.
    story.principal("impostor", json!({"kind": "task", "id": "writer", "incarnation": WRITER, "owner": BOB}));
    story.register("bob", task_input("writer", WRITER));
    let draft = with(with(grant("peer", 1), "/grantId", "grant_false-1"), "/relationshipId", "rel_false");
    let params =
        json!({"grant": with(draft, "/target", editor.clone()), "decision": {"decisionId": "decision_work-2"}});
    story.call("guard", "relationships.grant", with(params, "/sourceOwner", BOB)).rules(RULE).ok(json!({}));
    let theirs = with(with(envelope(1, "suggest", 0), "/target", editor), "/relationshipId", "rel_false");
    story.sent("suggest", 0);
    story.call("impostor", "messages.send", json!({"envelope": theirs})).ok(json!({"replay": false}));
    story.respond(1, 0, "accepted").ok(received(1, "accepted", "accepted"));
    for caller in ["writer", "alice"] {
        story.call(caller, "messages.getDisposition", message(1)).rules(RULE).ok(received(1, "accepted", "accepted"));
    }
    story.call("alice", "messages.getDisposition", of(BOB, message(1))).rules(RULE).ok(received(0, "pending", ""));
    story.call("writer", "messages.getDisposition", of(BOB, message(1))).error("not-visible").rules(RULE);
    // Bob owns a sender of one and the receiver of the other.
    story.call("bob", "messages.getDisposition", message(1)).ok(received(0, "pending", ""));
    story.call("bob", "messages.getDisposition", of(ALICE, message(1))).ok(received(1, "accepted", "accepted"));
    story
}

/// A user whose session may stand in a grant.
fn user(id: &str) -> Value {
    json!({"kind": "user", "id": id, "authentication": format!("authn_{id}-session")})
}

/// What a task sent is what it sent itself: another task of its owner is not its own side, as it is for the owner.
fn own_side() -> Story {
    let mut story = Story::granted("another task of the receiver's owner is not its own side", "peer");
    let party = |task: &str, owner: &str| json!({"kind": "task", "id": task, "incarnation": WRITER, "owner": owner});
    story.principal("bob-writer", party("writer", BOB));
    story.principal("bob", user("bob"));
    story.principal("alice-editor", party("editor", ALICE));
    story.register("bob", task_input("writer", WRITER));
    let params = json!({"grant": grant("peer", 1), "decision": {"decisionId": "decision_work-1"}});
    story.call("bob", "relationships.grant", params).ok(json!({"grantVersion": 1}));
    story.accepted("suggest", 0);
    // Neither is a task whose incarnation has the same name.
    story.call("alice-editor", "messages.getDisposition", message(1)).error("not-visible");
    story.call("bob-writer", "messages.send", json!({"envelope": envelope(1, "suggest", 0)})).ok(json!({}));
    for look in ["messages.getDisposition", "inspector.snapshot"] {
        let shown = |revision: u32| match look {
            "inspector.snapshot" => json!({"disposition": {"revision": revision}}),
            _ => json!({"revision": revision}),
        };
        story.call("builder", look, message(1)).rules(RULE).error("not-visible");
        story.call("builder", look, of(ALICE, message(1))).rules(RULE).ok(shown(1));
        story.call("builder", look, of(BOB, message(1))).rules(RULE).ok(shown(0));
        story.call("bob", look, message(1)).rules(RULE).ok(shown(0));
    }
    story
}

/// A target agrees to the grant of the issuer that it names.
fn agreed() -> Story {
    let mut story = Story::tasks("a target agrees to the grant of the issuer that it names");
    story.principal("bob", user("bob"));
    story.register("bob", task_input("tester", "inc_tester-0001"));
    let decision = json!({"decisionId": "decision_work-1", "requiresConsent": true});
    let own = with(grant("peer", 2), "/grantId", "grant_work-1");
    let own = with(with(own, "/source", task_ref("tester", "inc_tester-0001")), "/relationshipId", "rel_own");
    for (issuer, draft) in [("guard", grant("peer", 1)), ("bob", own)] {
        let params = json!({"grant": draft, "decision": decision});
        story.call(issuer, "relationships.grant", params).ok(json!({"grantId": "grant_work-1"}));
    }
    let agree = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1, "consent": true});
    story.call("builder", "relationships.consent", agree.clone()).rules(RULE).error("not-visible");
    let step = story.call("builder", "relationships.consent", of(GUARD, agree.clone())).rules(RULE);
    step.ok(json!({"grantVersion": 1, "consent": true}));
    let second = with(agree, "/expectedGrantVersion", 2);
    let step = story.call("bob", "relationships.consent", of(BOB, second)).rules(RULE);
    step.ok(json!({"grantVersion": 2, "consent": true}));
    story
}

/// Rule PO-2: only a user acts between its own tasks without a grant, however they came to be a policy's.
fn of_an_office() -> Story {
    let mut story = Story::new("a policy needs a grant between its own tasks");
    story.register("guard", task_input("writer", WRITER));
    story.register("guard", task_input("builder", BUILDER));
    let by =
        |kind: &str, id: &str| with(with(envelope(1, "suggest", 0), "/sender/actorType", kind), "/sender/actorId", id);
    let params = json!({"envelope": by("policy", "guard"), "owner": GUARD});
    story.call("guard", "messages.send", params).rules(&["PO-2"]).error("policy-denied");
    story
}
