//! What an interrupt did to each thing that it was meant to stop.

use super::{host, life, receiver, request, unsure, with};
use crate::{
    cast,
    oracle::{attempts, text},
    outside::Truth,
    random::Random,
    world::{Answer, World},
};
use serde_json::{Value, json};
use threadmesh_protocol::time;

/// Receiver or host report on interrupts, often more than once.
pub fn report(world: &World, random: &mut Random) {
    (0..=random.below(2)).for_each(|_| report_once(world, random));
}

/// One report, mostly on an interrupt that was accepted. The host says only what is so.
fn report_once(world: &World, random: &mut Random) {
    let any = random.chance(10);
    let fits = |life: &Value| any || (life["intent"] == "interrupt" && life["decision"] == "accepted");
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let happened = attempts(&life).any(|attempt| world.truth(attempt) == Truth::Happened);
    let hosts = random.chance(55);
    let who = if hosts { cast::host() } else { receiver(world, random, &life) };
    let result = result(world, random, &life, happened || !hosts);
    let params = with(unsure(random, &life), json!({ "result": result }));
    let answer = request(world, slot, &who, "messages.recordInterruptionResult", params);
    if let Answer::Ok(_) = answer {
        world.cast(|cast| cast.results.insert(text(&life, "messageId").to_owned(), result));
    }
}

fn result(world: &World, random: &mut Random, life: &Value, stopped: bool) -> Value {
    let id = text(life, "messageId");
    let now = time::format(world.time.now() + if random.chance(4) { 9_000 } else { 0 });
    let known = world.cast(|cast| cast.results.get(id).cloned()).filter(|_| random.chance(85));
    let before = |target: &str| {
        let of = |place: &Value| (place["targetId"] == target).then(|| text(place, "state").to_owned());
        let results = known.as_ref().map(|known| &known["results"])?;
        of(&results["modelTurn"]).or_else(|| results["toolCalls"]["targets"].as_array()?.iter().find_map(of))
    };
    let mut target = |name: &str| {
        let words = ["requested", "not-running", "not-cancellable", "cancelled", "failed", "denied"];
        let kept = before(name).filter(|state| state != "requested" && random.chance(80));
        let drawn = words[random.below(words.len())];
        let state = kept.unwrap_or_else(|| drawn.to_owned());
        let state = if state == "cancelled" && !stopped { "not-running".to_owned() } else { state };
        let mut target = json!({"targetId": name, "state": state, "observedAt": now});
        let reason = match state.as_str() {
            "cancelled" => Some("accepted"),
            "failed" => Some("adapter-failed"),
            "denied" => Some("policy-denied"),
            _ => None,
        };
        if let Some(reason) = reason {
            target["reasonCode"] = reason.into();
        }
        target
    };
    let (turn, tool) = (target("turn-1"), target("tool-1"));
    let mut result = json!({
        "specVersion": "0.0-draft", "interruptionId": format!("int_{id}"), "messageId": id,
        "receiver": {"taskId": life["receiver"]["taskId"], "incarnationId": life["receiver"]["incarnationId"]},
        "requestedAt": time::format(crate::time::START), "updatedAt": now,
        "results": {
            "modelTurn": turn, "toolCalls": {"enumeration": "partial", "targets": [tool]},
            "subprocesses": {"enumeration": "unavailable", "targets": []},
        },
    });
    match random.below(16) {
        0 => result["interruptionId"] = "int_another-0001".into(),
        1 => result["messageId"] = cast::message_id(0).into(),
        2 => result["results"]["toolCalls"]["targets"] = json!([]),
        _ => {}
    }
    result
}
