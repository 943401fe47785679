//! What is said about a message beside its decision: how far it came, and what was seen to happen.

use super::{host, life, receiver, request, unsure, with};
use crate::{cast, oracle::attempts, outside::Truth, random::Random, world::World};
use serde_json::json;

/// The receiver was told of a message, or offered it; mostly of one that is on its way.
pub fn told(world: &World, random: &mut Random) {
    let any = random.chance(30);
    let fits = |life: &serde_json::Value| any || matches!(life["decision"].as_str(), Some("pending" | "accepted"));
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let words =
        ["receiver-notified", "receiver-notified", "checkpoint-offered", "checkpoint-offered", "durably-received"];
    let word = random.pick(&words);
    let hosts = random.chance(if word == "durably-received" { 80 } else { 30 });
    let who = if hosts { cast::host() } else { receiver(world, random, &life) };
    let params = with(unsure(random, &life), json!({ "delivery": word }));
    request(world, slot, &who, "messages.recordDelivery", params);
}

/// Something was seen to happen, or not to work. The host says only what is so.
pub fn outcome(world: &World, random: &mut Random) {
    let (any, over) = (random.chance(30), random.chance(15));
    let fits = |life: &serde_json::Value| match over {
        true => life["outcome"] == "externally-verified",
        false => any || life.get("attempt").is_some(),
    };
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let happened = attempts(&life).any(|attempt| world.truth(attempt) == Truth::Happened);
    let (who, word) = match random.below(4) {
        0 if happened => (cast::host(), "effect-observed"),
        1 => (cast::receiver(&life), "externally-verified"),
        2 => (cast::receiver(&life), "effect-observed"),
        _ => (cast::receiver(&life), "failed"),
    };
    let params = with(unsure(random, &life), json!({"outcome": word, "evidenceRefs": ["log:1"]}));
    request(world, slot, &who, "messages.recordOutcome", params);
}

/// A host records what it refused.
pub fn denials(world: &World, random: &mut Random) {
    if let Some(slot) = host(world, random) {
        world.record_denials(slot);
    }
}
