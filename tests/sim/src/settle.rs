//! The end of a life: nothing goes wrong any more, and everything must come to rest.
//!
//! First the dispatchers do what they can. What is unresolved then waits for people, and is counted. Then the operator
//! looks at the outside and says what happened, time passes, and a policy sweeps.

use crate::{
    actions::{accept, reconciliation},
    cast,
    oracle::unresolved,
    outside::{self, Truth},
    world::{Answer, World},
};
use serde_json::{Value, json};
use threadmesh_protocol::time;

/// Longer than anything lives.
const LONG_MS: i64 = 2 * 3_600_000;
/// How often a thing is tried that must come to an end.
const TRIES: usize = 60;
/// The collections that hold what people and models wrote, and those that might.
const CONTENT: &[&str] = &[
    "message", "life", "evidence", "proposal", "summary", "task", "box", "budget", "replay", "audit", "purge", "sweep",
];

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
        world.oracle(|oracle| oracle.followed());
        let unknown = |life: &Value| life["attempt"]["state"] == "outcome-unknown";
        if !world.oracle(|oracle| oracle.rows("life").any(|(_, life)| unknown(life))) {
            break;
        }
    }
    // Whatever is still to happen outside happens before anybody looks.
    world.time.pass(outside::LATE_MS_MAX + outside::DEADLINE_MS);
    world.tick();
    let waiting = world.oracle(|oracle| oracle.rows("life").filter(|(_, life)| unresolved(life)).count() as u64);
    world.stats(|stats| stats.queued += waiting);
    resolve(world);
    world.time.pass(LONG_MS);
    recover(world);
    sweep(world);
    purge(world);
    world.oracle(|oracle| oracle.at_rest());
}

fn dispatch(world: &World, slot: usize) {
    let Some(node) = world.node(slot) else { return };
    for _ in 0..TRIES {
        if world.perform(slot) == 0 {
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

/// What was being shown to a model when its session was lost was not shown, as far as the operator can see.
fn recover(world: &World) {
    for _ in 0..TRIES {
        let open = world.oracle(|oracle| {
            let life = oracle.rows("life").find(|(_, life)| life.get("admission").is_some());
            life.map(|(_, life)| life.clone())
        });
        let Some(life) = open else { return };
        let params = json!({
            "messageId": life["messageId"], "senderIncarnationId": life["sender"]["incarnationId"],
            "expectedRevision": life["revision"], "resolution": "confirmed-not-admitted",
            "idempotencyKey": world.cast(|cast| cast.key()),
        });
        world.call(0, &cast::operator(), "adapter.recoverContextAdmission", &params);
    }
}

/// Everything is over, and its content is removed; the store is emptied of it, and nothing of it is left.
fn purge(world: &World) {
    for _ in 0..TRIES {
        let before = time::format(world.time.now());
        let params = json!({"before": before, "limit": 1000, "idempotencyKey": world.cast(|cast| cast.key())});
        match world.call(0, &cast::policy(), "maintenance.purgeContent", &params) {
            Answer::Ok(value) if value["hasMore"] == false => break,
            _ => {}
        }
    }
    for _ in 0..TRIES {
        // An effect that another process took and did not perform is due again when its lease is over.
        world.time.pass(31_000);
        if world.perform(0) == 0 {
            break;
        }
    }
    let rows = world.node(0).map(|node| node.store.rows(CONTENT)).unwrap_or_default();
    world.oracle(|oracle| oracle.emptied(&rows));
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
