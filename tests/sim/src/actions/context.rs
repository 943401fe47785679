//! An accepted suggestion is put before a model: its rendering is taken, shown and confirmed; or read by a client that
//! pulls; or somebody else says what became of it.

use super::{authority::bind, host, keyed, life, receiver, request, unsure, with};
use crate::{cast, random::Random, world::World};
use serde_json::{Value, json};

/// Longer than the lease of an admission.
const LEASE_OVER_MS: i64 = 181_000;

/// Whether a message can be put before a model.
fn showable(life: &Value) -> bool {
    let ended = matches!(life["delivery"].as_str(), Some("adapter-submitted" | "failed" | "expired"));
    life["decision"] == "accepted" && life["intent"] == "suggest" && !ended
}

/// An admission that is in flight.
pub fn in_flight(life: &Value) -> bool {
    life.get("admission").is_some()
}

/// The rendering of a message is taken, to show it.
pub fn take(world: &World, random: &mut Random) {
    let any = random.chance(15);
    let fits = |life: &Value| (any && life["decision"] == "accepted") || showable(life);
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    if random.chance(50) {
        // Only one profile says how it shows what it is given.
        bind(world, slot, &cast::receiver(&life), Some("own"));
    }
    let who = receiver(world, random, &life);
    let params = keyed(world, unsure(random, &life));
    world.call(slot, &who, "adapter.prepareContextAdmission", &params);
    if random.chance(30) {
        // The answer was lost, perhaps for longer than it is of use.
        world.time.pass(if random.chance(40) { LEASE_OVER_MS } else { 50 });
        world.tick();
        world.call(slot, &who, "adapter.prepareContextAdmission", &params);
    }
}

/// Evidence of the kind that the admission was prepared for, as its harness would give it.
fn evidence(admission: &Value) -> Value {
    let session = &admission["session"];
    let kind = admission["kind"].as_str().unwrap_or_default();
    let own = match kind {
        "acp-session" => json!({"sessionId": session, "stopReason": "end_turn"}),
        "codex-app-server" => json!({"threadId": session, "turnId": "turn-1", "turnStatus": "completed"}),
        "gemini-headless" => {
            json!({"sessionId": session, "exitCode": 0, "toolUseCount": 0, "resultStatus": "success"})
        }
        _ => json!({"session": session, "toolCallId": "call-1"}),
    };
    let mut bound = json!({
        "kind": kind, "nonce": admission["nonce"], "renderingDigest": admission["digest"],
        "renderingBytes": admission["bytes"],
    });
    if let Some(snapshot) = admission.get("snapshot") {
        bound["snapshotDigest"] = snapshot.clone();
    }
    with(bound, own)
}

/// The same with something wrong about it.
fn flawed(random: &mut Random, admission: &Value) -> Value {
    let mut evidence = evidence(admission);
    let other = format!("sha256:{:064x}", random.draw());
    match random.below(9) {
        0 => evidence["nonce"] = other.into(),
        1 => evidence["renderingDigest"] = other.into(),
        2 => evidence["renderingBytes"] = 100.into(),
        3 => evidence["kind"] = "mcp-session".into(),
        4 => evidence["exitCode"] = 1.into(),
        5 => evidence["snapshotDigest"] = other.into(),
        6 => {
            evidence.as_object_mut().map(|members| members.remove("nonce"));
        }
        7 => {
            let ends =
                [("stopReason", json!("cancelled")), ("turnStatus", json!("failed")), ("toolUseCount", json!(2))];
            for (name, value) in ends {
                if evidence.get(name).is_some() {
                    evidence[name] = value;
                }
            }
        }
        _ => {
            for name in ["session", "sessionId", "threadId"] {
                if evidence.get(name).is_some() {
                    evidence[name] = "session-9".into();
                }
            }
        }
    }
    evidence
}

/// Whoever showed the rendering says so, mostly with what proves it.
pub fn shown(world: &World, random: &mut Random) {
    let any = random.chance(8);
    let fits = |life: &Value| in_flight(life) || (any && showable(life));
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let admission = &life["admission"];
    let wrong = format!("sha256:{:064x}", random.draw());
    let token = admission["token"].as_str().filter(|_| random.chance(94)).unwrap_or(&wrong);
    let right = random.chance(50);
    let evidence = if right { evidence(admission) } else { flawed(random, admission) };
    if !right {
        world.count("evidence-flawed");
    }
    let mut who = receiver(world, random, &life);
    if random.chance(90) {
        who.worker = admission["worker"].as_str().filter(|worker| !worker.is_empty()).map(Into::into);
    }
    let params = with(unsure(random, &life), json!({"admissionToken": token, "evidence": evidence}));
    request(world, slot, &who, "adapter.confirmContextAdmission", params.clone());
    if random.chance(15) {
        request(world, slot, &who, "adapter.confirmContextAdmission", params);
    }
}

/// Somebody says what became of an admission whose token is lost, too early or after its lease.
pub fn recover(world: &World, random: &mut Random) {
    let any = random.chance(8);
    let fits = |life: &Value| in_flight(life) || (any && showable(life));
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let late = random.chance(45);
    if late {
        world.time.pass(LEASE_OVER_MS);
        world.tick();
    }
    let who = match random.below(8) {
        0..=3 => receiver(world, random, &life),
        4 => cast::operator(),
        5 => cast::policy(),
        6 => cast::user(cast::owner(life["receiver"]["taskId"].as_str().unwrap_or_default())),
        _ => cast::user("mallory"),
    };
    let word = random.pick(&["confirmed-admitted", "confirmed-not-admitted", "corrupt-delivery"]);
    let admission = &life["admission"];
    let evidence = if random.chance(75) { evidence(admission) } else { flawed(random, admission) };
    let mut params = with(unsure(random, &life), json!({ "resolution": word }));
    if (word == "confirmed-admitted") == random.chance(55) {
        params["evidence"] = evidence;
    }
    request(world, slot, &who, "adapter.recoverContextAdmission", params);
}

/// A client that pulls reads a message into its model's context, perhaps once more.
pub fn read(world: &World, random: &mut Random) {
    let any = random.chance(15);
    let fits = |life: &Value| any || showable(life);
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let who = receiver(world, random, &life);
    let call = format!("call-{}", random.below(1000));
    let params = with(unsure(random, &life), json!({"session": "mcp-1", "toolCallId": call}));
    request(world, slot, &who, "adapter.admitContext", params);
}
