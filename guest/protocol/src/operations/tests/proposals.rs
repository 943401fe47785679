//! Relationship proposals: what they tell, whom they reach, and what they cost.

use super::world::*;
use crate::kernel::{Principal, Status};
use alloc::{format, string::ToString, vec::Vec};
use serde_json::{Value, json};

/// Params of `relationships.propose`, open for an hour.
fn proposal(now: i64, source: &Principal, target: &Principal, id: &str) -> Value {
    json!({"proposal": {
        "specVersion": "0.0-draft", "proposalId": id, "source": reference(source), "target": reference(target),
        "relationshipType": "peer", "requestedIntents": ["notify", "suggest"],
        "requestedDeliveryModes": ["store-only", "side-channel", "checkpoint-offer"],
        "requestedSummaryVisibility": "none", "reason": "Both rivers meet there.",
        "proposedBy": {"actorType": "agent", "task": reference(source)},
        "createdAt": crate::time::format(now), "expiresAt": crate::time::format(now + 3_600_000),
    }})
}

fn register(world: &mut World, task: &Principal) {
    let owner = task.owner.as_deref().unwrap().trim_start_matches("user:").to_string();
    world.call(&user(&owner), "tasks.register", registration(task)).ok();
}

fn listed(world: &mut World, who: &Principal, task: &Principal) -> Value {
    world.call(who, "relationships.listProposals", json!({"task": reference(task)})).ok()["items"].clone()
}

/// Weaknesses A8: the answers, the events and the budgets of the source are the same whether or not there is a target.
#[test]
fn nothing_tells_the_source_whether_there_is_a_target() {
    let mut seen = Vec::new();
    let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
    for there in [true, false] {
        let mut world = World::new();
        register(&mut world, &survey);
        if there {
            register(&mut world, &bridge);
        } else {
            // As many calls, so that the keys are the same.
            register(&mut world, &task("bob", "tower"));
        }
        let mut told = Vec::new();
        for id in ["proposal_river-1", "proposal_river-2"] {
            told.push(world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, id)).value);
        }
        let withdraw = json!({"proposalId": "proposal_river-1"});
        told.push(world.call(&survey, "relationships.withdrawProposal", withdraw).value);
        told.push(listed(&mut world, &survey, &survey));
        let wait = json!({"task": reference(&survey), "timeoutMs": 0});
        told.push(world.call(&survey, "tasks.wait", wait).ok());
        let budget = world.rows("budget").into_iter().map(|row| row.body);
        told.extend(budget.map(Value::from));
        assert_eq!(told[3].as_array().unwrap().len(), 2);
        assert_eq!(told[4]["events"].as_array().unwrap().len(), 4);
        seen.push(told);
    }
    assert_eq!(seen[0], seen[1]);
}

/// Somebody who takes the target's names does not take its proposals, where the source holds a grant towards it.
#[test]
fn a_known_target_is_not_squatted() {
    let mut world = World::new();
    let (survey, bridge, squatter) = (task("alice", "survey"), task("bob", "bridge"), task("mallory", "bridge"));
    register(&mut world, &survey);
    register(&mut world, &bridge);
    world.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, "peer", 1)).ok();
    register(&mut world, &squatter);
    world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, "proposal_river-1")).ok();
    assert_eq!(listed(&mut world, &user("bob"), &bridge)[0]["proposal"]["proposalId"], "proposal_river-1");
    assert_eq!(listed(&mut world, &user("mallory"), &squatter), json!([]));
    // Without one, whom the ids mean is in doubt, and nobody is shown what the source wrote.
    let tower = task("alice", "tower");
    register(&mut world, &tower);
    world.call(&tower, "relationships.propose", proposal(START, &tower, &bridge, "proposal_river-2")).ok();
    for owner in ["bob", "mallory"] {
        let items = listed(&mut world, &user(owner), &task(owner, "bridge"));
        assert!(!items.to_string().contains("proposal_river-2"));
    }
    world.check();
}

/// Whoever grants settles whom the proposal is to: the target's side finds it from then on.
#[test]
fn an_approval_reaches_a_target_that_was_registered_later() {
    let mut world = World::new();
    let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
    register(&mut world, &survey);
    world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, "proposal_river-1")).ok();
    register(&mut world, &bridge);
    assert_eq!(listed(&mut world, &user("bob"), &bridge), json!([]));
    let mut draft = grant(&survey, &bridge, "peer", 1);
    draft["decision"]["proposalId"] = "proposal_river-1".into();
    world.call(&policy("board"), "relationships.grant", draft.clone()).ok();
    let seen = listed(&mut world, &user("bob"), &bridge);
    assert_eq!((&seen[0]["status"], &seen[0]["side"]), (&json!("approved"), &json!("target")));
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    let again = world.call(&policy("board"), "relationships.grant", draft);
    assert_eq!(again.status, Status::Accepted);
    world.check();
}

/// The grant and the approval are one decision: either both rows are written or none.
#[test]
fn grant_and_approval_are_one_commit() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, "proposal_river-1")).ok();
    let mut draft = grant(&survey, &bridge, "peer", 1);
    draft["grant"]["grantId"] = "grant_other".into();
    draft["decision"]["proposalId"] = "proposal_river-1".into();
    let before = (world.rows("grant").len(), world.rows("proposal"));
    assert_eq!(world.call(&user("alice"), "relationships.grant", draft.clone()).rule(), "GA-3");
    assert_eq!((world.rows("grant").len(), world.rows("proposal")), before);
    draft["grant"]["grantVersion"] = 2.into();
    let request = world.request(&user("alice"), "relationships.grant", draft);
    let Turn::Done(decision) = world.turn(&request) else { panic!("it waits") };
    let written: Vec<&str> = decision.writes.iter().map(|write| write.collection.as_str()).collect();
    for collection in ["grant", "proposal"] {
        assert!(written.contains(&collection), "{written:?}");
    }
    world.check();
}

/// What one proposal reads does not grow with what others asked for, and a full budget reads no more than its limit.
#[test]
fn a_proposal_reads_what_it_counts() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for number in 0..200 {
        let other = task("carol", &format!("asker-{number}"));
        register(&mut world, &other);
        let target = task("bob", &format!("tower-{}", number % 20));
        let params = proposal(world.now, &other, &target, &format!("proposal_other-{number}"));
        world.call(&other, "relationships.propose", params).ok();
    }
    let first = world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, "proposal_river-1"));
    assert!(first.rows_read <= 12, "{} rows", first.rows_read);
    first.ok();
    let page = world.call(&user("alice"), "relationships.listProposals", json!({"task": reference(&survey)}));
    assert!(page.rows_read <= 3, "{} rows", page.rows_read);
    assert_eq!(page.ok()["items"].as_array().unwrap().len(), 1);
}

/// A purge finds the free text by the time of the decision or of the expiry, and nothing where there is none.
#[test]
fn free_text_is_found_by_time() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for id in ["proposal_river-1", "proposal_river-2"] {
        world.call(&survey, "relationships.propose", proposal(START, &survey, &bridge, id)).ok();
    }
    world.now += 1000;
    let reject = json!({"proposalId": "proposal_river-1"});
    world.call(&user("alice"), "relationships.rejectProposal", reject).ok();
    let key = |at: i64| format!("{TENANT}/{at:016}");
    let mut keys = world.index("proposal", "purge");
    keys.sort();
    assert_eq!(keys, [key(START + 1000), key(START + 3_600_000)]);
    let open = world.index("proposal", "open");
    assert_eq!(open.len(), 1);
    let text = world.rows("audit").into_iter().map(|row| row.body).collect::<Vec<_>>().concat();
    assert!(!text.contains("rivers meet"), "free text in the audit");
}
