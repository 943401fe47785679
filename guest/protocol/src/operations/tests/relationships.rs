//! Granting.

use super::world::*;
use crate::Code;
use crate::documents;
use alloc::string::ToString;
use serde_json::{Value, json};

#[test]
fn a_grant_is_stamped_checked_and_replayed() {
    let mut world = World::new();
    let (survey, bridge) = (task("alice", "survey"), task("alice", "bridge"));
    let alice = user("alice");
    for task in [&survey, &bridge] {
        world.call(&alice, "tasks.register", registration(task)).ok();
    }
    let mut draft = grant(&survey, &bridge, "supervisor", 1);
    let granted = world.call(&alice, "relationships.grant", draft.clone()).ok();
    documents::check("grant", &granted.to_string()).unwrap();
    assert_eq!(granted["authorization"]["principal"], json!({"actorType": "user", "actorId": "alice"}));
    assert_eq!(granted["createdAt"], "2026-06-01T08:00:00.000Z");
    draft["grant"]["createdAt"] = "2026-02-02T00:00:00Z".into();
    world.now += 1000;
    assert_eq!(world.call(&alice, "relationships.grant", draft.clone()).ok(), granted);
    draft["grant"]["summaryVisibility"] = "state-only".into();
    assert_eq!(world.call(&alice, "relationships.grant", draft).rule(), "GA-2");
    assert_eq!(world.call(&survey, "relationships.grant", grant(&survey, &bridge, "peer", 2)).rule(), "OP-3");
}

#[test]
fn versions_of_a_route_grow_and_the_newest_stands() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let alice = user("alice");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    let lower = grant(&survey, &bridge, "peer", 0);
    assert_eq!(world.call(&alice, "relationships.grant", lower).rule(), "GA-3");
    world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 3)).ok();
    assert_eq!(world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 2)).rule(), "GA-3");
    let listed = world.call(&bridge, "mailbox.listPending", json!({"receiver": reference(&bridge)})).ok();
    assert_eq!(listed["items"], json!([]));
    let params = with(named(&survey, "msg_river-0001"), json!({"expectedRevision": 0}));
    assert_eq!(world.call(&bridge, "mailbox.claim", params).rule(), "PO-4");
    // The first grant is still there, and answers its own draft.
    let first = world.call(&alice, "relationships.grant", grant(&survey, &bridge, "peer", 1)).ok();
    assert_eq!(first["grantVersion"], 1);
    world.send(&survey, &bridge, "msg_river-0002", "suggest");
    world.check();
}

#[test]
fn ends_are_resolved_in_the_scope_of_whoever_grants() {
    let mut world = World::new();
    let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
    world.call(&user("alice"), "tasks.register", registration(&survey)).ok();
    world.call(&user("bob"), "tasks.register", registration(&bridge)).ok();
    let draft = grant(&survey, &bridge, "peer", 1);
    for caller in ["alice", "bob", "carol"] {
        assert_eq!(world.call(&user(caller), "relationships.grant", draft.clone()).rule(), "GA-1");
    }
    let granted = world.call(&policy("board"), "relationships.grant", draft.clone()).ok();
    assert_eq!(granted["authorization"]["authority"], "policy");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    // Somebody else's task of the same name makes the reference ambiguous.
    world.call(&user("mallory"), "tasks.register", registration(&bridge)).ok();
    let second = grant(&survey, &bridge, "peer", 2);
    assert_eq!(world.call(&policy("board"), "relationships.grant", second).code(), Code::GrantScopeDenied);
    world.check();
}

#[test]
fn drafts_that_no_grant_can_come_of_are_refused() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let alice = user("alice");
    let mut refused = |change: &dyn Fn(&mut Value), code: Code, pointer: &str| {
        let mut draft = grant(&survey, &bridge, "peer", 2);
        change(&mut draft);
        let problem = world.call(&alice, "relationships.grant", draft).problem.unwrap();
        assert_eq!((problem.code, problem.pointer.as_str()), (code, pointer), "{}", problem.detail);
    };
    let invalid = Code::GrantInvalid;
    refused(&|draft| draft["grant"]["allowedIntents"] = json!(["steer"]), invalid, "/grant/allowedDeliveryModes");
    refused(&|draft| draft["grant"]["expiresAt"] = "2026-06-01T08:00:00Z".into(), invalid, "/grant/expiresAt");
    refused(&|draft| draft["grant"]["expiresAt"] = "2028-06-01T08:00:00Z".into(), invalid, "/grant/expiresAt");
    let proposal = |draft: &mut Value| draft["decision"]["proposalId"] = "proposal_00001".into();
    refused(&proposal, Code::NotVisible, "");
    let same = |draft: &mut Value| draft["grant"]["target"] = draft["grant"]["source"].clone();
    refused(&same, invalid, "/grant/target");
}
