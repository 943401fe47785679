//! Content goes when its time is over.

use super::{any_host, host, request};
use crate::{cast, random::Random, world::World};
use serde_json::json;
use threadmesh_protocol::time;

/// Content of what ended is removed; mostly the store is emptied of it soon after.
pub fn purge(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let who = match random.below(10) {
        0..=5 => cast::policy(),
        6 | 7 => cast::operator(),
        8 => cast::user("alice"),
        _ => world.cast(|cast| cast.task("bridge", Some("worker-1"))),
    };
    let ago = *random.pick(&[&0, &0, &0, &0, &30_000, &300_000, &-20_000]);
    let before = time::format(world.time.now() - ago);
    let limit = 1 + random.below(12);
    request(world, slot, &who, "maintenance.purgeContent", json!({"before": before, "limit": limit}));
    if random.chance(60) {
        world.perform(slot);
    }
}

/// Some host does what commits asked to be done at least once, if there is anything.
pub fn perform(world: &World, random: &mut Random) {
    any_host(world, random, |slot| world.perform(slot) > 0);
}
