//! Time, clocks and processes.

use super::host;
use crate::{cast, node::Node, random::Random, world::World};

/// Time passes: a moment, a lease, until a call is settled, until messages expire.
pub fn pass(world: &World, random: &mut Random) {
    let ms =
        *random.pick(&[&5, &300, &300, &2_000, &2_000, &11_000, &11_000, &31_000, &31_000, &31_000, &61_000, &200_000]);
    world.time.pass(ms);
}

/// A process ends.
pub fn crash(world: &World, random: &mut Random) {
    let slot = random.below(world.slots());
    if world.node(slot).is_some() {
        world.count("crash");
        world.end(slot);
    }
}

/// A process starts where none runs, or where its store must be opened again.
pub fn start(world: &World, random: &mut Random) {
    for slot in 0..world.slots() {
        let idle = world.idle().contains(&slot);
        let lame = |node: &Node| node.store.is_broken() || (node.dispatcher.get().is_none() && random.chance(50));
        if idle && world.node(slot).as_deref().is_some_and(lame) {
            world.end(slot);
        }
        if world.node(slot).is_none() && random.chance(80) {
            world.start(slot);
        }
    }
}

/// The clock of a host is set: a little, too far back, or across a jump. Or it is right again.
pub fn clock(world: &World, random: &mut Random) {
    let slot = random.below(world.slots());
    let (kind, skew) = match random.below(6) {
        0 => ("clock-back", -3_000),
        1 => ("clock-back", -9_000),
        2 => ("clock-forward", 4_000),
        3 => ("clock-forward", 50_000),
        4 => ("clock-leaps", 3_600_000),
        _ => ("clock-leaps", -3_600_000),
    };
    if world.skew(slot) == 0 {
        world.count(kind);
        world.set_skew(slot, skew);
    } else {
        world.set_skew(slot, 0);
    }
    // A host that sees its clock leap writes no more until it is started again.
    if random.chance(50) {
        world.end(slot);
        world.start(slot);
    }
}

/// The operator takes a clock as right that is behind what was committed, mostly when it is.
pub fn accept_clock(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    if world.skew(slot) == 0 || random.chance(10) {
        accept(world, slot);
    }
}

/// Has the operator accept the clock of the host in `slot`.
pub fn accept(world: &World, slot: usize) {
    let Some(node) = world.node(slot) else { return };
    if let Ok(true) = node.host.accept_clock(&cast::operator()) {
        world.note(|| format!("the clock of host {} is accepted", node.process));
    }
}
