//! Submissions: up to the call, the call, and what becomes of it.

use super::{any_host, host, life, mail::under_claim, named_params, receiver, request, with};
use crate::{
    cast,
    oracle::{attempts, unresolved},
    outside::{self, Truth, Work},
    random::Random,
    world::{Answer, World},
};
use serde_json::{Value, json};
use threadmesh_runtime::{dispatcher::Dispatcher, wit::Principal};

/// A message is prepared for its harness.
pub fn prepare(world: &World, random: &mut Random) {
    let any = random.chance(10);
    let fits = |life: &Value| any || life["decision"] == "accepted";
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let who = receiver(world, random, &life);
    if life["attempt"]["state"] == "prepared" && random.chance(60) {
        // What was prepared for another session is prepared again.
        super::bind(world, slot, &cast::receiver(&life), None);
    }
    request(world, slot, &who, "adapter.prepareSubmission", named_params(&life));
}

/// A prepared submission begins.
pub fn begin(world: &World, random: &mut Random) {
    let any = random.chance(10);
    let fits = |life: &Value| life["attempt"]["state"] == "prepared" || (any && life.get("attempt").is_some());
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let Some(attempt) = attempt(random, &life) else { return };
    let who = receiver(world, random, &life);
    let params = json!({"submissionId": attempt["id"], "expectedRevision": attempt["dispositionRevision"]});
    let answer = request(world, slot, &who, "adapter.beginSubmission", params);
    perform_own(world, random, slot, &who, answer);
}

/// A claimed message is accepted and begins.
pub fn accept_and_begin(world: &World, random: &mut Random) {
    let any = random.chance(10);
    let fits = |life: &Value| any || life["claim"]["state"] == "claimed";
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let (params, worker) = under_claim(random, &life);
    let mut who = receiver(world, random, &life);
    who.worker = worker.or(who.worker);
    let answer = request(world, slot, &who, "adapter.acceptAndBegin", params);
    perform_own(world, random, slot, &who, answer);
}

/// A receiver that makes its calls itself makes this one, now or never, and mostly says so.
pub fn perform_own(world: &World, random: &mut Random, slot: usize, who: &Principal, answer: Answer) {
    let Some(value) = answer.value().filter(|value| value.get("dispatch").is_some()) else { return };
    let submission = &value["submission"];
    let text = |name: &str| submission[name].as_str().unwrap_or_default().to_owned();
    let work = Work { submission: text("submissionId"), key: text("adapterIdempotencyKey") };
    if random.chance(20) {
        return;
    }
    world.strike(&work);
    if random.chance(60) {
        let id = submission["submissionId"].clone();
        let revision =
            world.oracle(|oracle| oracle.life_of(&work.submission).map(|(_, life)| life["revision"].clone()));
        let params = json!({"submissionId": id, "expectedRevision": revision, "receipt": outside::receipt(&work.key)});
        request(world, slot, who, "adapter.recordReceipt", params);
    }
}

/// Some attempt of a message; mostly the current one.
fn attempt(random: &mut Random, life: &Value) -> Option<Value> {
    let all: Vec<Value> = attempts(life).cloned().collect();
    if random.chance(75) { all.first().cloned() } else { random.one(&all) }
}

/// A dispatcher performs its next call.
pub fn perform(world: &World, random: &mut Random) {
    any_dispatcher(world, random, Dispatcher::call_one);
}

/// The dispatchers try in turn, until one has something to do.
fn any_dispatcher(world: &World, random: &mut Random, work: impl Fn(&Dispatcher) -> bool) {
    any_host(world, random, |slot| {
        let node = world.node(slot);
        node.is_some_and(|node| node.dispatcher.get().is_some_and(&work))
    });
}

/// A dispatcher asks its next question.
pub fn ask(world: &World, random: &mut Random) {
    if random.chance(50) {
        sweep(world, random);
    }
    any_dispatcher(world, random, Dispatcher::ask_one);
}

/// A dispatcher sweeps over what is unresolved.
pub fn sweep(world: &World, random: &mut Random) {
    let Some(node) = host(world, random).and_then(|slot| world.node(slot)) else { return };
    if let Some(dispatcher) = node.dispatcher.get() {
        dispatcher.sweep();
        if random.chance(70) {
            dispatcher.ask_one();
        }
    }
}

/// Somebody who may or may not say what became of a call.
fn witness(world: &World, random: &mut Random, life: &Value) -> Principal {
    match random.below(10) {
        0..=4 => receiver(world, random, life),
        5 => cast::operator(),
        6 => cast::policy(),
        7 => cast::user("bob"),
        8 => cast::user("alice"),
        _ => cast::user("mallory"),
    }
}

/// Somebody asserts a receipt: the true one, or the same again, or another.
pub fn receipt(world: &World, random: &mut Random) {
    let (Some(slot), Some((_, life))) =
        (host(world, random), life(world, random, |life| life.get("attempt").is_some()))
    else {
        return;
    };
    let Some(attempt) = attempt(random, &life) else { return };
    let key = attempt["key"].as_str().unwrap_or_default();
    let receipt = match random.below(5) {
        0 => outside::receipt("another"),
        _ => outside::receipt(key),
    };
    let params = json!({"submissionId": attempt["id"], "expectedRevision": life["revision"], "receipt": receipt});
    let who = witness(world, random, &life);
    request(world, slot, &who, "adapter.recordReceipt", params.clone());
    if random.chance(30) {
        world.count("receipt-repeated");
        request(world, slot, &who, "adapter.recordReceipt", params);
    }
}

/// A receipt turns up for an attempt that was taken for absent, perhaps when the next one is prepared.
pub fn late_receipt(world: &World, random: &mut Random) {
    let absent = |attempt: &Value| attempt["state"] == "confirmed-not-submitted";
    let newer = random.chance(50);
    let fits = |life: &Value| attempts(life).any(absent) && (!newer || life["attempt"]["state"] == "prepared");
    let over = |life: &Value| fits(life) && matches!(life["delivery"].as_str(), Some("failed" | "expired"));
    let ended = if random.chance(50) { life(world, random, over) } else { None };
    let (Some(slot), Some((_, life))) = (host(world, random), ended.or_else(|| life(world, random, fits))) else {
        return;
    };
    let Some(attempt) = attempts(&life).find(|attempt| absent(attempt)) else { return };
    let receipt = outside::receipt(attempt["key"].as_str().unwrap_or_default());
    let params = json!({"submissionId": attempt["id"], "expectedRevision": life["revision"], "receipt": receipt});
    let who = if random.chance(40) { cast::operator() } else { receiver(world, random, &life) };
    request(world, slot, &who, "adapter.recordReceipt", params);
    if random.chance(40) {
        // A contradiction about a message that has ended can be settled in one way only.
        let params = reconciliation(&life, attempt, "confirmed-submitted");
        request(world, slot, &cast::operator(), "adapter.reconcileSubmission", params);
    }
}

/// Somebody says what became of a call. The operator looks first, and is seldom wrong.
pub fn reconcile(world: &World, random: &mut Random) {
    let fits = if random.chance(85) { unresolved } else { |life: &Value| life.get("attempt").is_some() };
    let (Some(slot), Some((id, life))) = (host(world, random), life(world, random, fits)) else { return };
    let Some(attempt) = attempt(random, &life) else { return };
    let who = if random.chance(45) { cast::operator() } else { witness(world, random, &life) };
    let truth = world.truth(&attempt);
    let operator = who == cast::operator();
    let wrong = !operator || random.chance(12);
    let words = ["confirmed-submitted", "confirmed-not-submitted", "manual-required"];
    let resolution = match truth {
        _ if operator && wrong => "confirmed-not-submitted",
        _ if wrong => random.pick(&words),
        Truth::Happened => "confirmed-submitted",
        Truth::Never => "confirmed-not-submitted",
        Truth::Open => "manual-required",
    };
    let false_absence = operator && resolution == "confirmed-not-submitted" && truth != Truth::Never;
    if false_absence {
        world.count("operator-wrong");
        world.oracle(|oracle| oracle.mislead(&id));
    }
    let mut params = reconciliation(&life, &attempt, resolution);
    match random.below(24) {
        0 => params["reconciliation"]["evidenceRefs"] = json!([]),
        1 if resolution != "confirmed-submitted" => {
            params["reconciliation"]["receipt"] = json!(outside::receipt("another"));
        }
        _ => {}
    }
    request(world, slot, &who, "adapter.reconcileSubmission", params);
    if random.chance(30) {
        // The receiver takes what was confirmed as not made for something that may be made now.
        let begin = json!({"submissionId": attempt["id"], "expectedRevision": attempt["dispositionRevision"]});
        request(world, slot, &receiver(world, random, &life), "adapter.beginSubmission", begin);
    }
}

/// Params of `adapter.reconcileSubmission`.
pub fn reconciliation(life: &Value, attempt: &Value, resolution: &str) -> Value {
    let mut how = json!({"resolution": resolution, "evidenceRefs": ["log:1"]});
    if resolution == "confirmed-submitted" {
        how["receipt"] = json!(outside::receipt(attempt["key"].as_str().unwrap_or_default()));
    }
    json!({"submissionId": attempt["id"], "expectedRevision": life["revision"], "reconciliation": how})
}

/// The host records an answer to a question that proves nothing, or comes too late.
pub fn record_query(world: &World, random: &mut Random) {
    let (Some(slot), Some((_, life))) =
        (host(world, random), life(world, random, |life| life.get("attempt").is_some()))
    else {
        return;
    };
    let Some(attempt) = attempt(random, &life) else { return };
    let key = attempt["key"].as_str().unwrap_or_default();
    let truth = world.truth(&attempt);
    let base = json!({"submissionId": attempt["id"], "evidenceRefs": ["query:1"]});
    let answer = match truth {
        Truth::Happened => json!({"result": "found", "receipt": outside::receipt(key)}),
        Truth::Never if random.chance(50) && attempt["state"] != "prepared" => {
            // From here on the target refuses the key.
            world.outside(|outside| outside.fence(key));
            json!({"result": "absent-final"})
        }
        _ => json!({"result": random.pick(&["absent-now", "unanswerable"])}),
    };
    request(world, slot, &cast::host(), "adapter.recordQuery", with(base, answer));
}
