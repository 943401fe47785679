//! Operations that name a counterpart before anything is between the two: whoever may not see it gets one answer.

use super::super::cast::MINUTE;
use super::super::cast::{builder, envelope, grant, task_ref, with};
use super::super::story::Story;
use super::super::time;
use super::super::{events, threads};
use super::{foreign, missing, views, world};
use serde_json::{Value, json};

/// A send names a receiver that the caller may not see before there is a grant: there is none, whoever is named.
pub(super) fn sends(operation: &str) -> Story {
    let mut story = world(operation);
    views(&mut story, false);
    let from = |actor: Value, target: &Value, relationship: &str| {
        let sender = with(with(actor, "/taskId", "stranger"), "/incarnationId", "inc_stranger-0001");
        let envelope = with(with(envelope(50, "suggest", 0), "/sender", sender), "/target", target.clone());
        let envelope = with(envelope, "/relationshipId", relationship);
        if operation == "messages.send" { json!({"envelope": envelope}) } else { json!({"envelopes": [envelope]}) }
    };
    for (caller, actor) in strangers() {
        let nobody = task_ref("nobody", "inc_nobody-0001");
        let name = format!("missing for {caller}");
        let params = from(actor.clone(), &nobody, "rel_nobody");
        story.call(caller, operation, params).error("policy-denied").named(&name);
        for (target, relationship) in [(builder(), "rel_work"), (nobody, "rel_work"), (builder(), "rel_nobody")] {
            let params = from(actor.clone(), &target, relationship);
            story.call(caller, operation, params).error("policy-denied").same_as(&name);
        }
    }
    views(&mut story, true);
    story.sent("suggest", 0);
    story
}

/// How Carol and her task sign.
fn strangers() -> [(&'static str, Value); 2] {
    [
        ("stranger", json!({"actorType": "agent", "harness": "codex"})),
        ("carol", json!({"actorType": "user", "actorId": "carol", "harness": "codex"})),
    ]
}

/// What is passed on is a message that the caller received: any other one is not there.
pub(super) fn forwards() -> Story {
    let mut story = world("messages.forward");
    let draft = with(grant("peer", 1), "/source", task_ref("stranger", "inc_stranger-0001"));
    story.grant(with(with(draft, "/grantId", "grant_stranger-1"), "/relationshipId", "rel_stranger"));
    views(&mut story, false);
    let onward = |actor: &Value, original: &Value| {
        let sender = with(with(actor.clone(), "/taskId", "stranger"), "/incarnationId", "inc_stranger-0001");
        let envelope = with(with(envelope(1, "suggest", 0), "/messageId", "msg_work-0050"), "/sender", sender);
        let parent = json!({"parentMessageId": original["messageId"]});
        let envelope = with(with(envelope, "/relationshipId", "rel_stranger"), "/causality", parent);
        json!({"envelope": envelope, "original": original})
    };
    for (caller, actor) in strangers() {
        let name = format!("missing for {caller}");
        let missing = onward(&actor, &missing().waiting);
        story.call(caller, "messages.forward", missing).error("not-visible").named(&name);
        for foreign in [foreign().waiting, foreign().begun] {
            let params = onward(&actor, &foreign);
            story.call(caller, "messages.forward", params).error("not-visible").same_as(&name);
        }
    }
    views(&mut story, true);
    story.sent("suggest", 0);
    story
}

/// A grant names both ends; who may not grant between them is told so whether they are there or not.
pub(super) fn grants() -> Story {
    let mut story = world("relationships.grant");
    views(&mut story, false);
    let draft = |source: &Value, target: &Value| {
        let ends = with(with(grant("peer", 9), "/source", source.clone()), "/target", target.clone());
        let draft = with(with(ends, "/relationshipId", "rel_other"), "/expiresAt", time(MINUTE));
        json!({"grant": draft, "decision": {"decisionId": "decision_work-9"}})
    };
    let (own, nobody) = (task_ref("stranger", "inc_stranger-0001"), task_ref("nobody", "inc_nobody-0001"));
    let refused = "grant-scope-denied";
    story.call("carol", "relationships.grant", draft(&own, &nobody)).error(refused).named("missing target");
    story.call("carol", "relationships.grant", draft(&own, &builder())).error(refused).same_as("missing target");
    story.call("carol", "relationships.grant", draft(&nobody, &own)).error(refused).named("missing source");
    story.call("carol", "relationships.grant", draft(&builder(), &own)).error(refused).same_as("missing source");
    let refused = "control-plane-required";
    story.call("stranger", "relationships.grant", draft(&own, &nobody)).error(refused).named("by a task");
    story.call("stranger", "relationships.grant", draft(&own, &builder())).error(refused).same_as("by a task");
    views(&mut story, true);
    story.call("guard", "relationships.grant", draft(&own, &builder())).ok(json!({"grantVersion": 9}));
    story
}

/// A capability names both threads; who may not grant between them is told so whether they are there or not.
pub(super) fn capabilities() -> Story {
    let mut story = world("capabilities.grant");
    story.thread("carol", threads::thread("stranger", "inc_stranger-0001"));
    views(&mut story, false);
    let draft = |source: &str, target: &str| {
        let draft = with(with(threads::capability(9), "/source_thread", source), "/target_thread", target);
        json!({"capability": draft})
    };
    let (grant, refused) = ("capabilities.grant", "grant-scope-denied");
    story.call("carol", grant, draft("stranger", "nobody")).error(refused).named("missing target");
    story.call("carol", grant, draft("stranger", "builder")).error(refused).same_as("missing target");
    story.call("carol", grant, draft("nobody", "stranger")).error(refused).named("missing source");
    story.call("carol", grant, draft("builder", "stranger")).error(refused).same_as("missing source");
    let refused = "control-plane-required";
    story.call("stranger", grant, draft("stranger", "nobody")).error(refused).named("by a task");
    story.call("stranger", grant, draft("stranger", "builder")).error(refused).same_as("by a task");
    views(&mut story, true);
    story.call("guard", grant, draft("stranger", "builder")).ok(json!({"grant_id": "grant_thread-9"}));
    story
}

/// An event names a target that the caller may not see before there is a capability: there is none, whoever is named.
pub(super) fn tells() -> Story {
    let mut story = world("events.send");
    story.thread("carol", with(threads::thread("stranger", "inc_stranger-0001"), "/continuationId", "stranger-01"));
    views(&mut story, false);
    let from = |target: &str| {
        let source = json!({"thread_id": "stranger", "agent_id": "agent-stranger", "role": "author"});
        let event = with(with(events::event(50, "QUESTION"), "/source", source), "/continuation_id", "stranger-01");
        json!({"event": with(event, "/target/thread_id", target)})
    };
    let send = "events.send";
    story.call("stranger", send, from("nobody")).error("policy-denied").named("missing");
    story.call("stranger", send, from("builder")).error("policy-denied").same_as("missing");
    let owned = with(from("builder"), "/owner", "user:bob");
    story.call("stranger", send, owned).error("policy-denied").same_as("missing");
    views(&mut story, true);
    story.tell(events::event(2, "QUESTION")).ok(json!({}));
    story
}
