//! What the use of an idempotency key leaves behind.

use super::world::*;
use crate::kernel::keys::key;
use alloc::{string::String, vec::Vec};
use serde_json::{Value, json};

/// Keys are told apart by their parts, whatever the parts hold.
#[test]
fn keys_of_different_parts_differ() {
    assert_eq!(key(&["a/b", "c%2F", ""]), "a%2Fb/c%252F/");
    assert_ne!(key(&["a%2Fb"]), key(&["a/b"]));
    assert_ne!(key(&["a", "b"]), key(&["a/b"]));
}

/// The digests that are stored, and what each of them is about.
fn uses(world: &World) -> Vec<Value> {
    world.rows("replay").iter().map(|row| serde_json::from_str(&row.body).unwrap()).collect()
}

/// Whoever does the same again under another key is answered with what is there, and the new key names that too.
#[test]
fn every_use_names_what_was_made_or_found() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let proposal = json!({"proposal": {
        "specVersion": "0.0-draft", "proposalId": "proposal_river-1", "source": reference(&survey),
        "target": reference(&bridge), "relationshipType": "peer", "requestedIntents": ["notify"],
        "requestedDeliveryModes": ["store-only"], "requestedSummaryVisibility": "none",
        "reason": "Both rivers meet there.", "proposedBy": {"actorType": "agent", "task": reference(&survey)},
        "createdAt": crate::time::format(START), "expiresAt": crate::time::format(START + 3_600_000),
    }});
    for (who, operation, params) in [
        (user("alice"), "tasks.register", registration(&survey)),
        (user("alice"), "relationships.grant", grant(&survey, &bridge, "peer", 1)),
        (operator(), "adapters.declare", profile("codex", "host")),
        (operator(), "anchors.declare", json!({"anchors": []})),
        (survey.clone(), "relationships.propose", proposal),
        (survey.clone(), "messages.send", message(START, &survey, &bridge, "msg_river-0001", "suggest")),
    ] {
        let before = uses(&world).len();
        for _ in 0..2 {
            world.call(&who, operation, params.clone()).ok();
        }
        let after = uses(&world);
        assert_eq!(after.len(), before + 2, "{operation}");
        let named: Vec<String> = after.iter().map(|used| used["resource"].as_str().unwrap().into()).collect();
        assert!(named.iter().all(|resource| !resource.is_empty()), "{operation}: {after:?}");
    }
}
