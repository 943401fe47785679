//! The end of a life: nothing goes wrong any more, and everything must come to rest.
//!
//! First the dispatchers do what they can. What is unresolved then waits for people, and is counted. Then the operator
//! looks at the outside and says what happened, time passes, and a policy sweeps.

use crate::{
    actions::{accept, reconciliation},
    cast,
    oracle::unresolved,
    outside::Truth,
    world::{Answer, World},
};
use serde_json::{Value, json};

/// Longer than anything lives.
const LONG_MS: i64 = 2 * 3_600_000;
/// How often a thing is tried that must come to an end.
const TRIES: usize = 60;

/// Brings everything to rest, and lets the oracle see whether it has.
pub(crate) fn settle(world: &World) {
    for slot in 0..world.slots() {
        // A host whose clock ever moved may have stopped writing; one whose connection is lost has.
        let sound = world.node(slot).is_some_and(|node| !node.store.is_broken()) && !world.was_skewed(slot);
        if !sound {
            world.end(slot);
            world.set_skew(slot, 0);
            world.start(slot);
        }
        accept(world, slot);
        if world.node(slot).is_some_and(|node| node.dispatcher.get().is_none()) {
            // What could not be declared under a clock that was behind can be now.
            world.end(slot);
            world.start(slot);
        }
    }
    for _ in 0..8 {
        world.time.pass(31_000);
        world.tick();
        (0..world.slots()).for_each(|slot| dispatch(world, slot));
        let unknown = |life: &Value| life["attempt"]["state"] == "outcome-unknown";
        if !world.oracle(|oracle| oracle.rows("life").any(|(_, life)| unknown(life))) {
            break;
        }
    }
    let waiting = world.oracle(|oracle| oracle.rows("life").filter(|(_, life)| unresolved(life)).count() as u64);
    world.stats(|stats| stats.queued += waiting);
    resolve(world);
    world.time.pass(LONG_MS);
    sweep(world);
    world.oracle(|oracle| oracle.at_rest());
}

fn dispatch(world: &World, slot: usize) {
    let Some(node) = world.node(slot) else { return };
    for _ in 0..TRIES {
        if !node.host.follow_one() {
            break;
        }
    }
    let Some(dispatcher) = node.dispatcher.get() else { return };
    while dispatcher.call_one() {}
    dispatcher.sweep();
    while dispatcher.ask_one() {}
}

/// The operator says of each call what he sees.
fn resolve(world: &World) {
    for _ in 0..TRIES {
        let open = world.oracle(|oracle| {
            let life = oracle.rows("life").find(|(_, life)| unresolved(life));
            life.map(|(id, life)| (id.clone(), life.clone()))
        });
        let Some((id, life)) = open else { return };
        let attempt = &life["attempt"];
        let happened = world.truth(attempt) == Truth::Happened;
        let told = happened && said(world, &life, attempt, "confirmed-submitted");
        if !told {
            if happened {
                // The message was given up before a receipt contradicted: there is no way to record the effect.
                world.oracle(|oracle| oracle.mislead(&id));
            }
            said(world, &life, attempt, "confirmed-not-submitted");
        }
    }
}

fn said(world: &World, life: &Value, attempt: &Value, resolution: &str) -> bool {
    let mut params = reconciliation(life, attempt, resolution);
    params["idempotencyKey"] = world.cast(|cast| cast.key()).into();
    matches!(world.call(0, &cast::operator(), "adapter.reconcileSubmission", &params), Answer::Ok(_))
}

/// A policy ends what is past its time, until there is no more.
fn sweep(world: &World) {
    for _ in 0..TRIES {
        let params = json!({"limit": 1000, "idempotencyKey": world.cast(|cast| cast.key())});
        match world.call(0, &cast::policy(), "maintenance.expireDue", &params) {
            Answer::Ok(value) if value["hasMore"] == false => return,
            _ => {}
        }
    }
}
