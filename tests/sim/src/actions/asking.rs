//! Tasks ask for grants, and others decide.

use super::{host, request};
use crate::{
    cast::{self, TASKS},
    oracle::text,
    random::Random,
    world::World,
};
use serde_json::{Value, json};
use threadmesh_protocol::time;
use threadmesh_runtime::wit::Principal;

/// More than a task may have open.
const CROWD: usize = 18;
/// Longer than a proposal may live.
const TOO_LONG_MS: i64 = 31 * 24 * 3_600_000;

/// A task asks for a grant towards another one, or towards nobody.
pub fn propose(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let known = world.cast(|cast| random.one(&cast.proposals));
    if let Some((who, mut proposal)) = known.filter(|_| random.chance(12)) {
        if random.chance(50) {
            proposal["requestedSummaryVisibility"] = "none".into();
            proposal["reason"] = "altered".into();
        }
        request(world, slot, &who, "relationships.propose", json!({ "proposal": proposal }));
        return;
    }
    let source = random.pick(&["survey", "survey", "bridge", "annex", "lurker"]);
    for _ in 0..if random.chance(6) { CROWD } else { 1 } {
        let (who, proposal) = written(world, random, source);
        world.cast(|cast| cast.proposals.push((who.clone(), proposal.clone())));
        request(world, slot, &who, "relationships.propose", json!({ "proposal": proposal }));
    }
}

fn written(world: &World, random: &mut Random, source: &str) -> (Principal, Value) {
    let target = random.pick(&["bridge", "bridge", "survey", "annex", "lurker", "nobody"]);
    let target = if target == source && random.chance(90) { "nobody" } else { target };
    let (number, from, to) = world.cast(|cast| {
        cast.asked += 1;
        (cast.asked, cast.task(source, None), cast.task(target, None))
    });
    let now = world.time.now();
    let (created, lives) = match random.below(20) {
        0 => (now - 90_000, 60_000),
        1 => (now + 9_000, 60_000),
        2 => (now, TOO_LONG_MS),
        _ => (now, *random.pick(&[&20_000, &120_000, &900_000, &900_000])),
    };
    let own = cast::reference(&from);
    let proposal = json!({
        "specVersion": "0.0-draft", "proposalId": cast::proposal_id(number), "source": own,
        "target": cast::reference(&to), "relationshipType": "peer", "requestedIntents": ["notify", "suggest"],
        "requestedDeliveryModes": ["store-only", "checkpoint-offer"], "requestedSummaryVisibility": "state-only",
        "reason": cast::motive(number), "proposedBy": {"actorType": "agent", "task": own},
        "createdAt": time::format(created), "expiresAt": time::format(created + lives),
    });
    let who = if random.chance(94) { from } else { world.cast(|cast| cast.task("lurker", None)) };
    (who, proposal)
}

/// A proposal is rejected, withdrawn or granted, by somebody who may or may not.
pub fn decide(world: &World, random: &mut Random) {
    let any = random.chance(25);
    let fits = |row: &Value| any || row["state"] == "pending";
    let rows: Vec<Value> = world
        .oracle(|oracle| oracle.rows("proposal").filter(|(_, row)| fits(row)).map(|(_, row)| row.clone()).collect());
    let (Some(slot), Some(row)) = (host(world, random), random.one(&rows)) else { return };
    let named = json!({"proposalId": row["proposalId"]});
    let owner = |party: &Value| cast::user(text(party, "owner").trim_start_matches("user:"));
    let source = world.cast(|cast| cast.task(text(&row["source"], "taskId"), None));
    match random.below(10) {
        0..=2 => {
            let target = row.get("target").map_or_else(|| cast::user("bob"), owner);
            let who = random.one(&[cast::policy(), target.clone(), target, owner(&row["source"]), source]);
            let Some(who) = who else { return };
            request(world, slot, &who, "relationships.rejectProposal", named);
        }
        3..=5 => {
            let others = [cast::policy(), cast::user("bob"), cast::user("mallory")];
            let who = random.one(&[[source.clone(), source, owner(&row["source"])].as_slice(), &others].concat());
            let Some(who) = who else { return };
            request(world, slot, &who, "relationships.withdrawProposal", named);
        }
        _ => approve(world, random, slot, &row),
    }
}

/// The grant that was asked for, or one that is not quite that.
fn approve(world: &World, random: &mut Random, slot: usize, row: &Value) {
    let asked = &row["document"];
    let id = text(asked, "proposalId").rsplit('-').next().unwrap_or_default();
    let mut draft = json!({
        "specVersion": "0.0-draft", "grantId": format!("grant_asked-{id}"), "grantVersion": 1,
        "relationshipId": format!("rel_asked-{id}"), "relationshipType": asked["relationshipType"],
        "source": asked["source"], "target": asked["target"], "allowedIntents": asked["requestedIntents"],
        "allowedDeliveryModes": asked["requestedDeliveryModes"],
        "summaryVisibility": asked["requestedSummaryVisibility"], "structuredGateResponses": false,
        "createdAt": time::format(crate::time::START),
    });
    if random.chance(20) {
        draft["summaryVisibility"] = "coordination".into();
    }
    let decision = json!({"decisionId": "decision_00002", "proposalId": asked["proposalId"]});
    let who = if random.chance(85) { cast::policy() } else { cast::user(TASKS[random.below(TASKS.len())].1) };
    request(world, slot, &who, "relationships.grant", json!({"grant": draft, "decision": decision}));
}
