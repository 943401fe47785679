//! Scenarios of relationship proposals: who asks, who sees it, what becomes of it, and that nothing tells whether there
//! is a target.

use super::cast::{
    BUILDER, DAY, MINUTE, SECOND, WRITER, bound, builder, grant, task_input, task_ref, with, without, writer,
};
use super::policy::rotate;
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const PROPOSE: &str = "relationships.propose";
const LIST: &str = "relationships.listProposals";
const REJECT: &str = "relationships.rejectProposal";
const WITHDRAW: &str = "relationships.withdrawProposal";
const GRANT: &str = "relationships.grant";

pub(super) fn stories() -> Vec<Story> {
    vec![
        asked(),
        seen(),
        authored(),
        names(),
        times(),
        aimed(),
        open_limit(),
        target_limit(),
        rejected(),
        withdrawn(),
        told_apart(),
        approved(),
        mismatched(),
        for_whom(),
        names_taken(),
        decided_once(),
        lapsed(),
        moved_on(),
    ]
}

pub(super) fn proposal_id(number: u32) -> String {
    format!("proposal_work-{number:04}")
}

/// A proposal of writer to builder, written at the start and open for a day.
pub(super) fn proposal(number: u32) -> Value {
    json!({
        "specVersion": "0.0-draft", "proposalId": proposal_id(number), "source": writer(), "target": builder(),
        "relationshipType": "peer", "requestedIntents": ["notify", "suggest"],
        "requestedDeliveryModes": ["store-only", "side-channel", "checkpoint-offer", "wake-idle"],
        "requestedSummaryVisibility": "none", "reason": format!("Reason {number}: the caches are shared."),
        "proposedBy": {"actorType": "agent", "task": writer()}, "createdAt": time(0), "expiresAt": time(DAY),
    })
}

/// The same from and to others.
fn between(number: u32, source: Value, target: Value) -> Value {
    let proposal = with(proposal(number), "/proposedBy/task", source.clone());
    with(with(proposal, "/source", source), "/target", target)
}

fn propose<'a>(story: &'a mut Story, caller: &str, proposal: Value) -> &'a mut Step {
    story.call(caller, PROPOSE, json!({"proposal": proposal}))
}

fn named(number: u32) -> Value {
    json!({"proposalId": proposal_id(number)})
}

fn task(id: &str, owner: &str) -> Value {
    json!({"kind": "task", "id": id, "incarnation": format!("inc_{id}-0001"), "owner": owner})
}

/// The policy grants what was proposed.
fn approve(story: &mut Story, draft: Value, number: u32) -> &mut Step {
    let decision = json!({"decisionId": "decision_work-1", "proposalId": proposal_id(number)});
    story.call("guard", GRANT, json!({"grant": draft, "decision": decision}))
}

/// A proposal, the same again, and another under its name.
fn asked() -> Story {
    let mut story = Story::tasks("a task asks for a grant");
    let pending = json!({
        "replay": false, "status": "pending", "content": "visible", "proposal": proposal(1),
        "proposedAt": time(0), "decidedAt": absent(), "grantId": absent(), "reasonCode": absent(),
    });
    let keyed = json!({"proposal": proposal(1), "idempotencyKey": "idem_propose-1"});
    story
        .call("writer", PROPOSE, keyed.clone())
        .rules(&["PP-1", "PP-2", "PP-3", "PP-4", "PP-5", "PP-6", "PP-7"])
        .ok(pending.clone());
    story.call("writer", PROPOSE, keyed.clone()).at(MINUTE).replayed(with(pending.clone(), "/replay", true));
    propose(&mut story, "writer", proposal(1)).rules(&["PP-2"]).ok(with(pending, "/replay", true));
    for (pointer, value) in [
        ("/reason", json!("Another.")),
        ("/relationshipType", json!("supervisor")),
        ("/requestedIntents", json!(["notify"])),
        ("/requestedSummaryVisibility", json!("coordination")),
        ("/expiresAt", json!(time(2 * DAY))),
        ("/target/harness", json!("codex")),
    ] {
        propose(&mut story, "writer", with(proposal(1), pointer, value)).refused("idempotency-conflict", "PP-2");
    }
    let other = with(keyed, "/proposal/reason", "Another.");
    story.call("writer", PROPOSE, other).refused("idempotency-conflict", "OP-6");
    // It grants nothing.
    story.send(super::cast::envelope(1, "suggest", 0)).rules(&["PO-2"]).error("policy-denied");
    story
}

/// Both sides see it; a task is shown no free text of a peer, and others see nothing (weaknesses A8).
fn seen() -> Story {
    let mut story = Story::tasks("both sides see a proposal");
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    propose(&mut story, "writer", proposal(2)).at(SECOND).ok(json!({"status": "pending"}));
    let item = |cursor: u32, number: u32, side: &str| json!({"cursor": cursor, "side": side, "status": "pending", "content": "visible", "proposal": proposal(number)});
    let withheld = |item: Value| {
        let item = with(item, "/content", "withheld");
        with(item, "/proposal/reason", absent())
    };
    // Cursors are places in the audit stream of the task; the first is that of the registration.
    let page = |first: Value, second: Value| json!({"items": [first, second], "nextCursor": 3});
    let own = page(item(2, 1, "source"), item(3, 2, "source"));
    for caller in ["writer", "alice", "guard"] {
        story.call(caller, LIST, json!({"task": writer()})).ok(own.clone());
    }
    let decides = page(item(2, 1, "target"), item(3, 2, "target"));
    for caller in ["bob", "guard"] {
        story.call(caller, LIST, json!({"task": builder()})).ok(decides.clone());
    }
    let bare = page(withheld(item(2, 1, "target")), withheld(item(3, 2, "target")));
    for caller in ["builder", "ops"] {
        story.call(caller, LIST, json!({"task": builder()})).ok(bare.clone());
    }
    for (after, limit, items, next) in
        [(0, 1, json!([{"cursor": 2}]), 2), (2, 1, json!([{"cursor": 3}]), 3), (3, 100, json!([]), 3)]
    {
        let page = json!({"task": builder(), "afterCursor": after, "limit": limit});
        story.call("bob", LIST, page).ok(json!({"items": items, "nextCursor": next}));
    }
    story.call("stranger", LIST, json!({"task": builder()})).named("unseen").error("not-visible");
    for caller in ["alice", "carol", "writer", "builder-next"] {
        story.call(caller, LIST, json!({"task": builder()})).error("not-visible").same_as("unseen");
    }
    let nobody = json!({"task": task_ref("nobody", "inc_nobody-0001")});
    for caller in ["alice", "bob", "guard", "ops"] {
        story.call(caller, LIST, nobody.clone()).error("not-visible").same_as("unseen");
    }
    for limit in [0, 101] {
        let page = json!({"task": builder(), "limit": limit});
        story.call("bob", LIST, page).error_at("params-invalid", "/limit");
    }
    // Whoever waits is told of it, by its id.
    let event = json!({"cursor": 2, "eventType": "relationship-proposed", "revision": 0, "detail": {"proposalId": proposal_id(1)}});
    story
        .call("builder", "tasks.wait", json!({"task": builder(), "timeoutMs": 0, "afterCursor": 1, "limit": 1}))
        .ok(json!({"events": [event]}));
    story
}

/// Rule PP-1: by the source itself.
fn authored() -> Story {
    let mut story = Story::tasks("a task asks for itself");
    for caller in ["alice", "bob", "guard", "ops", "host", "builder", "writer-next", "stranger"] {
        propose(&mut story, caller, proposal(1)).refused("principal-mismatch", "PP-1");
    }
    let forged = with(proposal(1), "/proposedBy/task", builder());
    propose(&mut story, "writer", forged).error("relationship-proposal-invalid");
    let itself = with(proposal(1), "/target", writer());
    propose(&mut story, "writer", itself).error("relationship-proposal-invalid");
    // A credential of a task that nobody registered.
    let stranger = task_ref("stranger", "inc_stranger-0001");
    propose(&mut story, "stranger", between(1, stranger, builder())).error("not-visible");
    propose(&mut story, "writer", proposal(1)).rules(&["PP-1"]).ok(json!({"status": "pending"}));
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    propose(&mut story, "writer", proposal(2)).refused("task-retired", "OP-4");
    story.call("writer", WITHDRAW, named(1)).refused("task-retired", "OP-4");
    story.call("writer", LIST, json!({"task": writer()})).refused("task-retired", "OP-4");
    let next = task_ref("writer", "inc_writer-0002");
    propose(&mut story, "writer-next", between(2, next, builder())).rules(&["PP-1"]).ok(json!({"status": "pending"}));
    story
}

/// Rule PP-2: ids belong to the owner of the source (weaknesses A9).
fn names() -> Story {
    let mut story = Story::tasks("a proposal id belongs to its owner");
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.principal("editor", task("editor", "user:alice"));
    propose(&mut story, "writer", proposal(1)).rules(&["PP-2"]).ok(json!({"replay": false}));
    propose(&mut story, "builder", between(1, builder(), writer())).rules(&["PP-2"]).ok(json!({"replay": false}));
    let editor = task_ref("editor", "inc_editor-0001");
    propose(&mut story, "editor", between(1, editor, builder())).refused("idempotency-conflict", "PP-2");
    story
        .call("guard", LIST, json!({"task": builder()}))
        .ok(json!({"items": [{"side": "target"}, {"side": "source"}]}));
    story
}

/// Rules PP-3 to PP-5: not expired, not from the future, and no longer than allowed.
fn times() -> Story {
    let mut story = Story::tasks("a proposal has its time");
    let timed = |number: u32, created: i64, expires: i64| {
        with(with(proposal(number), "/createdAt", time(created)), "/expiresAt", time(expires))
    };
    let invalid = "relationship-proposal-invalid";
    propose(&mut story, "writer", timed(1, -DAY, 0)).refused("proposal-expired", "PP-3");
    propose(&mut story, "writer", timed(1, -DAY, 1)).rules(&["PP-3"]).ok(json!({"status": "pending"}));
    propose(&mut story, "writer", timed(2, 5_001, DAY)).refused(invalid, "PP-4");
    propose(&mut story, "writer", timed(2, 5_000, DAY)).rules(&["PP-4"]).ok(json!({"status": "pending"}));
    propose(&mut story, "writer", timed(3, 0, 30 * DAY + 1)).refused(invalid, "PP-5");
    propose(&mut story, "writer", timed(3, 5_000, 30 * DAY + 5_000)).refused(invalid, "PP-5");
    propose(&mut story, "writer", timed(3, -DAY, 29 * DAY + 1)).refused(invalid, "PP-5");
    propose(&mut story, "writer", timed(3, 0, 30 * DAY)).rules(&["PP-5"]).ok(json!({"status": "pending"}));
    propose(&mut story, "writer", timed(4, DAY, 0)).error(invalid);
    let status =
        json!({"items": [{"status": "expired", "decidedAt": absent()}, {"status": "pending"}, {"status": "pending"}]});
    story.call("writer", LIST, json!({"task": writer()})).at(1).ok(status);
    story
}

/// Nothing tells whether there is a target; where its ids are in doubt, nobody gets the proposal.
fn aimed() -> Story {
    let mut story = Story::tasks("nothing tells whether there is a target");
    let pending = json!({"replay": false, "status": "pending", "content": "visible"});
    propose(&mut story, "writer", proposal(1)).ok(pending.clone());
    for (number, target) in [
        (2, task_ref("nobody", "inc_nobody-0001")),
        (3, task_ref("Builder", BUILDER)),
        (4, task_ref("builder", "inc_builder-0009")),
    ] {
        propose(&mut story, "writer", between(number, writer(), target)).ok(pending.clone());
    }
    story.call("bob", LIST, json!({"task": builder()})).ok(json!({"items": [{"cursor": 2}], "nextCursor": 2}));
    // Mallory takes Bob's names: who is meant is in doubt from now on.
    story.principal("mallory", json!({"kind": "user", "id": "mallory"}));
    story.register("mallory", task_input("builder", BUILDER));
    propose(&mut story, "writer", proposal(5)).ok(pending.clone());
    story.call("mallory", LIST, json!({"task": builder()})).ok(json!({"items": []}));
    story.call("bob", LIST, json!({"task": builder()})).ok(json!({"nextCursor": 2}));
    story.call("mallory", REJECT, named(1)).named("unseen").error("not-visible");
    story.call("mallory", REJECT, named(5)).error("not-visible").same_as("unseen");
    story.call("mallory", REJECT, named(9)).error("not-visible").same_as("unseen");
    story.call("mallory", WITHDRAW, named(1)).error("not-visible").same_as("unseen");
    // A sibling of the source is meant before anybody else, and must be live.
    story.register("alice", task_input("builder", BUILDER));
    propose(&mut story, "writer", proposal(6)).ok(pending);
    story.call("alice", LIST, json!({"task": builder()})).ok(json!({"items": [{"side": "target"}]}));
    rotate(&mut story, "alice", builder(), bound("builder", "inc_builder-0002"));
    propose(&mut story, "writer", proposal(7)).refused("task-retired", "OP-4");
    story
}

/// Rule PP-6: a task has so many open proposals, whatever incarnation made them.
fn open_limit() -> Story {
    let mut story = Story::tasks("a task asks for so much at a time");
    for number in 1..=16 {
        let lives = if number == 16 { MINUTE } else { DAY };
        let target = task_ref("nobody", &format!("inc_nobody-{number:04}"));
        let proposal = with(between(number, writer(), target), "/expiresAt", time(lives));
        propose(&mut story, "writer", proposal).rules(&["PP-6"]).ok(json!({"status": "pending"}));
    }
    propose(&mut story, "writer", proposal(17)).refused("backpressure", "PP-6");
    story.call("writer", WITHDRAW, named(1)).ok(json!({"status": "withdrawn"}));
    propose(&mut story, "writer", proposal(17)).rules(&["PP-6"]).ok(json!({"status": "pending"}));
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    let next = |number: u32| between(number, task_ref("writer", "inc_writer-0002"), builder());
    propose(&mut story, "writer-next", next(18)).at(MINUTE - 1).refused("backpressure", "PP-6");
    // An expired one does not count, though nobody swept it.
    propose(&mut story, "writer-next", next(18)).at(MINUTE).rules(&["PP-6"]).ok(json!({"status": "pending"}));
    story
}

/// Rule PP-7: the tasks of one owner ask so much of a target, and keep no other owner from asking.
fn target_limit() -> Story {
    let mut story = Story::tasks("so much is asked of a target at a time");
    for source in ["a", "b", "c", "d", "e"] {
        let (id, owner) = (format!("asker-{source}"), if source == "e" { "carol" } else { "alice" });
        let incarnation = format!("inc_{id}-0001");
        story.register(owner, task_input(&id, &incarnation));
        story.principal(&id, task(&id, &format!("user:{owner}")));
        for number in 1..=16 {
            let mut proposal = between(number, task_ref(&id, &incarnation), builder());
            proposal["proposalId"] = format!("proposal_{id}-{number:04}").into();
            propose(&mut story, &id, proposal).rules(&["PP-7"]).ok(json!({"status": "pending"}));
        }
    }
    propose(&mut story, "writer", proposal(1)).refused("backpressure", "PP-7");
    story.call("carol", WITHDRAW, json!({"proposalId": "proposal_asker-e-0001"})).ok(json!({"status": "withdrawn"}));
    let elsewhere = between(1, writer(), task_ref("builder", "inc_builder-0002"));
    propose(&mut story, "writer", elsewhere).rules(&["PP-7"]).ok(json!({"status": "pending"}));
    story.call("bob", REJECT, json!({"proposalId": "proposal_asker-a-0001"})).ok(json!({"status": "rejected"}));
    propose(&mut story, "writer", proposal(2)).rules(&["PP-7"]).ok(json!({"status": "pending"}));
    story
}

/// Rule PP-9: the owner of the target or a policy rejects; both sides learn of it.
fn rejected() -> Story {
    let mut story = Story::tasks("the target's side rejects a proposal");
    for number in 1..=2 {
        propose(&mut story, "writer", proposal(number)).ok(json!({"status": "pending"}));
    }
    for caller in ["writer", "builder", "ops", "host"] {
        story.call(caller, REJECT, named(1)).refused("control-plane-required", "OP-3");
    }
    story.call("alice", REJECT, named(1)).refused("proposal-decision-denied", "PP-9");
    story.call("carol", REJECT, named(1)).named("unseen").error("not-visible");
    story.call("bob", REJECT, named(9)).error("not-visible").same_as("unseen");
    story.call("bob", REJECT, with(named(1), "/reasonCode", "revoked")).error_at("params-invalid", "/reasonCode");
    let done = json!({"status": "rejected", "decidedAt": time(MINUTE), "reasonCode": "policy-denied", "grantId": absent(), "proposal": proposal(1)});
    let keyed = with(named(1), "/idempotencyKey", "idem_reject-1");
    story.call("bob", REJECT, keyed.clone()).at(MINUTE).rules(&["PP-8", "PP-9"]).ok(done.clone());
    story.call("bob", REJECT, keyed.clone()).at(2 * DAY).replayed(done);
    story.call("bob", REJECT, with(keyed, "/reasonCode", "other")).refused("idempotency-conflict", "OP-6");
    story.call("guard", REJECT, named(1)).refused("proposal-not-pending", "PP-8");
    story.call("bob", REJECT, named(2)).refused("proposal-expired", "PP-3");
    let listed = json!({"items": [{"status": "rejected", "reasonCode": "policy-denied"}, {"status": "expired"}]});
    story.call("writer", LIST, json!({"task": writer()})).ok(listed.clone());
    story.call("builder", LIST, json!({"task": builder()})).ok(listed);
    let event = json!({"eventType": "relationship-proposal-rejected", "revision": 1, "detail": {"proposalId": proposal_id(1), "reasonCode": "policy-denied"}, "actor": {"kind": "user", "id": "bob"}});
    for (caller, of) in [("writer", writer()), ("builder", builder())] {
        let wait = json!({"task": of, "timeoutMs": 0, "afterCursor": 3});
        story.call(caller, "tasks.wait", wait).ok(json!({"events": [event.clone()]}));
    }
    propose(&mut story, "writer", with(proposal(3), "/expiresAt", time(3 * DAY))).ok(json!({"status": "pending"}));
    let reasoned = with(named(3), "/reasonCode", "backpressure");
    story.call("guard", REJECT, reasoned).rules(&["PP-9"]).ok(json!({"reasonCode": "backpressure"}));
    story
}

/// Rule PP-10: the source's side withdraws.
fn withdrawn() -> Story {
    let mut story = Story::tasks("the source's side withdraws a proposal");
    for number in 1..=5 {
        propose(&mut story, "writer", proposal(number)).ok(json!({"status": "pending"}));
    }
    for caller in ["bob", "builder"] {
        story.call(caller, WITHDRAW, named(1)).refused("proposal-decision-denied", "PP-10");
    }
    story.call("carol", WITHDRAW, named(1)).named("unseen").error("not-visible");
    for caller in ["stranger", "ops", "host"] {
        story.call(caller, WITHDRAW, named(1)).error("not-visible").same_as("unseen");
    }
    story.call("writer", WITHDRAW, named(9)).error("not-visible").same_as("unseen");
    let done = json!({"status": "withdrawn", "decidedAt": time(0), "reasonCode": absent()});
    let keyed = with(named(1), "/idempotencyKey", "idem_withdraw-1");
    story.call("writer", WITHDRAW, keyed.clone()).rules(&["PP-8", "PP-10"]).ok(done.clone());
    story.call("writer", WITHDRAW, keyed.clone()).replayed(done);
    story.call("writer", WITHDRAW, with(keyed, "/proposalId", proposal_id(2))).refused("idempotency-conflict", "OP-6");
    story.call("writer", WITHDRAW, named(1)).refused("proposal-not-pending", "PP-8");
    story.call("bob", REJECT, named(1)).refused("proposal-not-pending", "PP-8");
    story.call("alice", WITHDRAW, named(2)).rules(&["PP-10"]).ok(json!({"status": "withdrawn"}));
    story.call("guard", WITHDRAW, named(3)).rules(&["PP-10"]).ok(json!({"status": "withdrawn"}));
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    story.call("writer-next", WITHDRAW, named(4)).rules(&["PP-10"]).ok(json!({"status": "withdrawn"}));
    story.call("alice", WITHDRAW, named(5)).at(DAY).refused("proposal-expired", "PP-3");
    story
}

/// Two owners may use one proposal id; the source tells them apart.
fn told_apart() -> Story {
    let mut story = Story::tasks("the source tells proposals of one name apart");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let stranger = task_ref("stranger", "inc_stranger-0001");
    propose(&mut story, "writer", proposal(1)).ok(json!({"replay": false}));
    propose(&mut story, "stranger", between(1, stranger.clone(), builder())).ok(json!({"replay": false}));
    story.call("bob", REJECT, named(1)).error("not-visible");
    story.call("bob", REJECT, with(named(1), "/source", builder())).error("not-visible");
    let rejected = json!({"status": "rejected", "proposal": {"source": stranger}});
    story.call("bob", REJECT, with(named(1), "/source", stranger.clone())).rules(&["PP-9"]).ok(rejected);
    story.call("guard", WITHDRAW, named(1)).error("not-visible");
    // What is one's own needs no source.
    let withdrawn = json!({"status": "withdrawn", "proposal": {"source": writer()}});
    story.call("alice", WITHDRAW, named(1)).rules(&["PP-10"]).ok(withdrawn);
    story
}

/// Rule GA-5: the grant and the approval are one commit, and the same grant again answers the same.
fn approved() -> Story {
    let mut story = Story::tasks("a grant approves a proposal");
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    let granted = json!({"grantId": "grant_work-1", "authorization": {"proposalId": proposal_id(1)}});
    let decision = json!({"decisionId": "decision_work-1", "proposalId": proposal_id(1)});
    let keyed = json!({"grant": grant("peer", 1), "decision": decision, "idempotencyKey": "idem_grant-1"});
    story.call("guard", GRANT, keyed.clone()).at(MINUTE).rules(&["GA-5", "PP-3", "PP-8"]).ok(granted.clone());
    story.call("guard", GRANT, keyed).at(2 * DAY).replayed(granted.clone());
    approve(&mut story, grant("peer", 1), 1).rules(&["GA-2"]).ok(granted);
    // The grant came of the proposal; it is not the same grant without one, or with another.
    let plain = json!({"grant": grant("peer", 1), "decision": {"decisionId": "decision_work-1"}});
    story.call("guard", GRANT, plain).refused("idempotency-conflict", "GA-2");
    approve(&mut story, grant("peer", 1), 2).refused("idempotency-conflict", "GA-2");
    approve(&mut story, grant("peer", 2), 1).refused("proposal-not-pending", "PP-8");
    let approved = json!({"items": [{"status": "approved", "grantId": "grant_work-1", "decidedAt": time(MINUTE), "reasonCode": absent()}]});
    for (caller, of) in [("writer", writer()), ("builder", builder()), ("bob", builder())] {
        story.call(caller, LIST, json!({"task": of})).ok(approved.clone());
    }
    let event = json!({"eventType": "relationship-granted", "detail": {"grantId": "grant_work-1", "proposalId": proposal_id(1)}});
    story
        .call("builder", "tasks.wait", json!({"task": builder(), "timeoutMs": 0, "afterCursor": 2}))
        .ok(json!({"events": [event]}));
    let late = with(super::cast::envelope(1, "suggest", 2 * DAY), "/content", "Granted.");
    story.send(late).rules(&["PO-2"]).ok(json!({"replay": false}));
    story.call("alice", WITHDRAW, named(1)).refused("proposal-not-pending", "PP-8");
    story
}

/// Rule GA-5: what is granted is what was asked for; a refused approval leaves no grant, and the proposal as it was.
fn mismatched() -> Story {
    let mut story = Story::tasks("what is granted is what was asked for");
    story.register("bob", task_input("tester", "inc_tester-0001"));
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    let mismatch = "grant-proposal-mismatch";
    for (pointer, value) in [
        ("/allowedIntents", json!(["notify"])),
        ("/allowedIntents", json!(["notify", "suggest", "steer"])),
        ("/allowedDeliveryModes", json!(["store-only"])),
        ("/relationshipType", json!("dependency")),
        ("/summaryVisibility", json!("state-only")),
        ("/target", task_ref("tester", "inc_tester-0001")),
    ] {
        approve(&mut story, with(grant("peer", 1), pointer, value), 1).refused(mismatch, "GA-5");
    }
    let back = with(with(grant("peer", 1), "/source", builder()), "/target", writer());
    approve(&mut story, back, 1).error("not-visible");
    approve(&mut story, grant("peer", 1), 9).error("not-visible");
    story.call("guard", LIST, json!({"task": builder()})).ok(json!({"items": [{"status": "pending"}]}));
    story.send(super::cast::envelope(1, "suggest", 0)).rules(&["PO-2"]).error("policy-denied");
    // Intents and modes are sets, and a harness label names nobody.
    let turned = with(grant("peer", 1), "/allowedIntents", json!(["suggest", "notify"]));
    let turned =
        with(turned, "/allowedDeliveryModes", json!(["wake-idle", "checkpoint-offer", "side-channel", "store-only"]));
    approve(&mut story, with(turned, "/source/harness", "gemini"), 1).rules(&["GA-5"]).ok(json!({"grantVersion": 1}));
    story
}

/// Rule GA-5, where nobody is known as the target yet: the grant is from whom and to whom the proposal names.
fn for_whom() -> Story {
    let mut story = Story::new("a grant is to whom the proposal names, known or not");
    let (editor, tester) = (task_ref("editor", "inc_editor-0001"), task_ref("tester", "inc_tester-0001"));
    story.register("alice", task_input("writer", WRITER));
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.register("bob", task_input("tester", "inc_tester-0001"));
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    story.register("bob", task_input("builder", BUILDER));
    for (end, other) in [("/source", editor), ("/target", tester)] {
        approve(&mut story, with(grant("peer", 1), end, other), 1).refused("grant-proposal-mismatch", "GA-5");
    }
    approve(&mut story, grant("peer", 1), 1).rules(&["GA-5"]).ok(json!({"grantVersion": 1}));
    story
}

/// A grant that somebody else holds under the source's names says nothing of whom the source means.
fn names_taken() -> Story {
    let mut story = Story::tasks("the grants of others under the same names name no target");
    story.register("carol", task_input("writer", WRITER));
    story.register("carol", task_input("builder", BUILDER));
    let params = json!({"grant": grant("peer", 1), "decision": {"decisionId": "decision_work-1"}});
    story.call("carol", GRANT, params).ok(json!({"grantVersion": 1}));
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    for owner in ["bob", "carol"] {
        story.call(owner, LIST, json!({"task": builder()})).ok(json!({"items": []}));
    }
    story
}

/// What could not be granted leaves the proposal open, and a proposal becomes one grant.
fn decided_once() -> Story {
    let mut story = Story::tasks("a proposal becomes one grant");
    story.grant(grant("peer", 3));
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    approve(&mut story, grant("peer", 2), 1).refused("grant-version-order", "GA-3");
    approve(&mut story, with(grant("peer", 4), "/expiresAt", time(0)), 1).error("grant-invalid");
    for caller in ["alice", "bob", "carol"] {
        let decision = json!({"decisionId": "decision_work-1", "proposalId": proposal_id(1)});
        let own = json!({"grant": grant("peer", 4), "decision": decision});
        story.call(caller, GRANT, own).refused("grant-scope-denied", "GA-1");
    }
    story.call("writer", LIST, json!({"task": writer()})).ok(json!({"items": [{"status": "pending"}]}));
    approve(&mut story, without(grant("peer", 4), "/expiresAt"), 1).rules(&["GA-5"]).ok(json!({"grantVersion": 4}));
    approve(&mut story, grant("peer", 5), 1).refused("proposal-not-pending", "PP-8");
    // It stays approved, whatever becomes of the grant.
    let revoke = json!({"grantId": "grant_work-4", "expectedGrantVersion": 4});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    story.call("writer", LIST, json!({"task": writer()})).ok(json!({"items": [{"status": "approved"}]}));
    story
}

/// Rule PP-3: to the millisecond.
fn lapsed() -> Story {
    let mut story = Story::tasks("an expired proposal becomes nothing");
    for number in 1..=2 {
        propose(&mut story, "writer", proposal(number)).ok(json!({"status": "pending"}));
    }
    approve(&mut story, grant("peer", 1), 1).at(DAY - 1).rules(&["PP-3"]).ok(json!({"grantVersion": 1}));
    approve(&mut story, grant("peer", 2), 2).at(DAY).refused("proposal-expired", "PP-3");
    story.call("bob", REJECT, named(2)).refused("proposal-expired", "PP-3");
    story.call("writer", WITHDRAW, named(2)).refused("proposal-expired", "PP-3");
    story
        .call("bob", LIST, json!({"task": builder()}))
        .ok(json!({"items": [{"status": "approved"}, {"status": "expired"}]}));
    propose(&mut story, "writer", proposal(2)).rules(&["PP-2"]).ok(json!({"replay": true, "status": "expired"}));
    story
}

/// A proposal between incarnations ends with either: the next one asks anew.
fn moved_on() -> Story {
    let mut story = Story::tasks("a proposal is between two incarnations");
    propose(&mut story, "writer", proposal(1)).ok(json!({"status": "pending"}));
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    approve(&mut story, grant("peer", 1), 1).refused("task-retired", "OP-4");
    story.call("bob", LIST, json!({"task": builder()})).ok(json!({"items": [{"status": "pending"}]}));
    let next = task_ref("builder", "inc_builder-0002");
    story.call("builder-next", LIST, json!({"task": next.clone()})).ok(json!({"items": []}));
    let draft = with(grant("peer", 1), "/target", next.clone());
    approve(&mut story, draft.clone(), 1).refused("grant-proposal-mismatch", "GA-5");
    propose(&mut story, "writer", between(2, writer(), next)).ok(json!({"status": "pending"}));
    approve(&mut story, draft, 2).rules(&["GA-5"]).ok(json!({"target": {"incarnationId": "inc_builder-0002"}}));
    story.call("bob", REJECT, named(1)).rules(&["PP-9"]).ok(json!({"status": "rejected"}));
    story.call("alice", "tasks.get", json!({"task": task_ref("writer", WRITER)})).ok(json!({"revision": 0}));
    story
}
