//! One message goes the way that it is meant to go, by one step.

use super::{calls, chaos, context, host, life, named_params, request, with};
use crate::{cast, random::Random, world::World};
use serde_json::{Value, json};
use threadmesh_runtime::wit::Principal;

/// The next step of a message that has not come to its end: claimed, decided, prepared, begun, asked about.
pub fn further(world: &World, random: &mut Random) {
    let moves = |life: &Value| {
        let ended = matches!(life["delivery"].as_str(), Some("adapter-submitted" | "failed" | "expired"));
        let idle = life["decision"] == "accepted" && life["mode"] == "side-channel";
        let waits = life["attempt"]["state"] == "manual-reconciliation";
        !ended && !waits && !idle && matches!(life["decision"].as_str(), Some("pending" | "deferred" | "accepted"))
    };
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, moves)) else { return };
    if life["attempt"]["state"] == "outcome-unknown" {
        return find_out(world, random);
    }
    if context::in_flight(&life) {
        return if random.chance(75) { context::shown(world, random) } else { context::recover(world, random) };
    }
    let (operation, who, params) = step(random, &life);
    let answer = request(world, slot, &who, operation, params);
    calls::perform_own(world, random, slot, &who, answer);
}

/// The call is made, if it still waits; otherwise its target is asked, when that may be.
fn find_out(world: &World, random: &mut Random) {
    match random.below(3) {
        0 => calls::perform(world, random),
        1 => {
            world.time.pass(31_000);
            world.tick();
            chaos::start(world, random);
        }
        _ => calls::sweep(world, random),
    }
    calls::ask(world, random);
}

fn step(random: &mut Random, life: &Value) -> (&'static str, Principal, Value) {
    let who = cast::receiver(life);
    let params = named_params(life);
    if life["decision"] == "accepted" {
        if life["intent"] == "suggest" && life["delivery"] != "context-admitted" && random.chance(18) {
            let read = with(params, json!({"session": "mcp-1", "toolCallId": "call-1"}));
            return ("adapter.admitContext", who, read);
        }
        return match life["attempt"]["state"].as_str() {
            Some("prepared") if life["attempt"]["dispositionRevision"] == life["revision"] => {
                let begin = json!({"submissionId": life["attempt"]["id"], "expectedRevision": life["revision"]});
                ("adapter.beginSubmission", who, begin)
            }
            _ => ("adapter.prepareSubmission", who, params),
        };
    }
    if life["claim"]["state"] != "claimed" {
        return ("mailbox.claim", who, params);
    }
    let params = with(params, json!({"claimToken": life["claim"]["token"]}));
    if random.chance(45) {
        ("adapter.acceptAndBegin", who, params)
    } else {
        ("mailbox.ack", who, with(params, json!({"decision": "accepted"})))
    }
}
