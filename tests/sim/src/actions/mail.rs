//! Sending, claiming and deciding.

use super::{host, life, named_params, receiver, request, unsure, with};
use crate::{
    cast::{self, ROUTES},
    random::Random,
    world::World,
};
use serde_json::{Value, json};
use threadmesh_protocol::time;
use threadmesh_runtime::wit::Principal;

/// A new message on one of the routes, or between Alice's own tasks.
pub fn send(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (mut who, envelope) = written(world, random, false);
    if random.chance(3) {
        who = world.cast(|cast| cast.task(random.pick(&["lurker", "annex"]), None));
    }
    copies(world, slot, &who, &envelope, 1, 0);
}

/// So many orders that a revocation does not fit into one commit, at a pace that is allowed or at one that is not. Mostly
/// they are revoked.
pub fn crowd(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let pace = *random.pick(&[&1_000, &3_000, &3_000, &3_000]);
    let (who, envelope) = written(world, random, true);
    copies(world, slot, &who, &envelope, 56, pace);
    if random.chance(75) {
        super::authority::withdraw(world, random, 0);
    }
}

/// New messages that are alike.
fn copies(world: &World, slot: usize, who: &Principal, envelope: &Value, count: usize, pace: i64) {
    for _ in 0..count {
        let (mut envelope, number) = (envelope.clone(), world.cast(cast::Cast::next_message));
        envelope["messageId"] = cast::message_id(number).into();
        envelope["content"] = cast::secret(number).into();
        envelope["createdAt"] = time::format(world.time.now()).into();
        world.cast(|cast| cast.sent.push((who.clone(), envelope.clone())));
        request(world, slot, who, "messages.send", json!({ "envelope": envelope }));
        world.time.pass(pace);
    }
}

/// Who sends, and the envelope without what is new in each.
fn written(world: &World, random: &mut Random, crowd: bool) -> (Principal, Value) {
    let route = if crowd { 0 } else { random.pick(&[&0, &0, &0, &0, &1, &2, &3, &3]).to_owned() };
    let (source, target) = ROUTES.get(route).copied().unwrap_or(("survey", "annex"));
    let intents = ["notify", "suggest", "suggest", "steer", "steer", "interrupt"];
    let quiet = route < ROUTES.len() && world.oracle(|oracle| peers(oracle, route)) && random.chance(90);
    let intent = match (crowd, quiet) {
        (true, _) => "steer",
        (_, true) => random.pick(&intents[..3]),
        _ => random.pick(&intents),
    };
    let (from, to) = world.cast(|cast| (cast.task(source, None), cast.task(target, None)));
    let owner = route >= ROUTES.len();
    let (who, actor, actor_id) = match owner {
        true => (cast::user("alice"), "user", Some("alice")),
        false => (from.clone(), "agent", None),
    };
    let lives: i64 = if crowd { 800_000 } else { *random.pick(&[&20_000, &120_000, &300_000, &800_000, &800_000]) };
    let lives = if random.chance(2) { 1_000_000 } else { lives };
    let unknown = random.chance(2);
    let quiet = intent == "suggest" && random.chance(8);
    let mut envelope = json!({
        "specVersion": "0.0-draft", "messageType": "suggestion", "intent": intent, "claimStatus": "sender-asserted",
        "sender": {
            "taskId": from.id, "incarnationId": from.incarnation, "actorType": actor, "harness": "codex",
        },
        "target": cast::reference(&to), "relationshipId": cast::relationship(if unknown { 9 } else { route }),
        "reason": "simulated", "delivery": {"requestedMode": if quiet { "store-only" } else { cast::mode(intent) }, "requiresDisposition": true},
        "expiresAt": time::format(world.time.now() + lives),
    });
    if let Some(id) = actor_id {
        envelope["sender"]["actorId"] = id.into();
    }
    if matches!(intent, "steer" | "interrupt") {
        let runtime = world.oracle(|oracle| runtime(oracle, &to));
        let (run, objective) = (runtime["runId"].clone(), runtime["objectiveVersion"].clone());
        envelope["freshness"] = match random.below(8) {
            0 => json!({"expectedRunId": "run-0"}),
            1 | 2 => json!({ "expectedRunId": run }),
            3 => json!({"expectedRunId": run, "expectedObjectiveVersion": objective, "expectedCheckpoint": "point-1"}),
            _ => json!({"expectedRunId": run, "expectedObjectiveVersion": objective}),
        };
    }
    if random.chance(10)
        && let Some((_, parent)) = life(world, random, |_| true)
    {
        envelope["causality"] = json!({"parentMessageId": parent["messageId"]});
        if random.chance(20) {
            envelope["causality"]["hopCount"] = 5.into();
        }
    }
    (who, envelope)
}

/// Whether the current grant of a route is one between peers.
fn peers(oracle: &crate::oracle::Oracle, route: usize) -> bool {
    let relationship = cast::relationship(route);
    let current = |grant: &Value| grant["relationship"] == relationship.as_str() && grant["superseded"] == false;
    oracle.rows("grant").any(|(_, grant)| current(grant) && grant["kind"] == "peer")
}

fn runtime(oracle: &crate::oracle::Oracle, task: &Principal) -> Value {
    let fits = |row: &Value| row["taskId"] == task.id && row["incarnationId"].as_str() == task.incarnation.as_deref();
    oracle.rows("task").find(|(_, row)| fits(row)).map(|(_, row)| row.clone()).unwrap_or_default()
}

/// Several messages in one commit, perhaps with one that was sent before.
pub fn send_batch(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (who, envelope) = written(world, random, false);
    let mut envelopes = Vec::new();
    for _ in 0..2 + random.below(2) {
        let (mut envelope, number) = (envelope.clone(), world.cast(cast::Cast::next_message));
        envelope["messageId"] = cast::message_id(number).into();
        envelope["content"] = cast::secret(number).into();
        envelope["createdAt"] = time::format(world.time.now()).into();
        envelopes.push(envelope);
    }
    if random.chance(30)
        && let Some((_, known)) = world.cast(|cast| random.one(&cast.sent))
    {
        envelopes.push(known);
    }
    request(world, slot, &who, "messages.sendBatch", json!({ "envelopes": envelopes }));
}

/// A message that was sent before, as it was or with other content, under a new key.
pub fn send_again(world: &World, random: &mut Random) {
    let sent = world.cast(|cast| random.one(&cast.sent));
    let (Some(slot), Some((who, mut envelope))) = (host(world, random), sent) else { return };
    if random.chance(30) {
        envelope["reason"] = "altered".into();
    }
    request(world, slot, &who, "messages.send", json!({ "envelope": envelope }));
}

fn open(life: &Value) -> bool {
    matches!(life["decision"].as_str(), Some("pending" | "deferred"))
}

/// A worker claims a message.
pub fn claim(world: &World, random: &mut Random) {
    let any = random.chance(25);
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, |life| any || open(life))) else {
        return;
    };
    let who = receiver(world, random, &life);
    request(world, slot, &who, "mailbox.claim", unsure(random, &life));
}

/// The params of a decision under a claim: with the claim's token, mostly.
pub fn under_claim(random: &mut Random, life: &Value) -> (Value, Option<String>) {
    let claim = &life["claim"];
    let token = claim["token"].as_str().filter(|token| token.starts_with("sha256:"));
    let wrong = format!("sha256:{:064x}", random.draw());
    let token = if random.chance(4) { wrong } else { token.map_or(wrong, Into::into) };
    let worker = claim["worker"].as_str().filter(|_| random.chance(92)).map(Into::into);
    (with(named_params(life), json!({ "claimToken": token })), worker)
}

/// Decides under a claim.
pub fn ack(world: &World, random: &mut Random) {
    let any = random.chance(10);
    let claimed = |life: &Value| any || life["claim"]["state"] == "claimed";
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, claimed)) else { return };
    let (params, worker) = under_claim(random, &life);
    let mut who = receiver(world, random, &life);
    who.worker = worker.or(who.worker);
    let decision = random.pick(&["accepted", "accepted", "accepted", "rejected", "deferred"]);
    let params = with(params, deferral(world, random, json!({ "decision": decision })));
    request(world, slot, &who, "mailbox.ack", params);
}

/// Decides without a claim, in any way.
pub fn respond(world: &World, random: &mut Random) {
    let any = random.chance(35);
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, |life| any || open(life))) else {
        return;
    };
    let who = receiver(world, random, &life);
    let words = ["accepted", "accepted", "rejected", "deferred", "stale", "expired", "unsupported", "revoked"];
    let word = random.pick(&words);
    let mut decision = deferral(world, random, json!({ "decision": word }));
    if random.chance(10) {
        decision["reasonCode"] = random.pick(&["other", "backpressure", "policy-denied"]).into();
    }
    request(world, slot, &who, "messages.respond", with(unsure(random, &life), decision));
}

/// A message is put off; one that was is decided.
pub fn put_off(world: &World, random: &mut Random) {
    let ended = |life: &Value| matches!(life["delivery"].as_str(), Some("failed" | "expired"));
    let deferred = |life: &Value| life["decision"] == "deferred" && !ended(life);
    let put_off = life(world, random, deferred);
    let known = put_off.is_some();
    let Some((_, life)) = put_off.or_else(|| life(world, random, open)) else { return };
    let Some(slot) = host(world, random) else { return };
    let words = ["rejected", "deferred", "stale", "expired", "unsupported", "revoked"];
    let decision = if known { random.pick(&words) } else { "deferred" };
    let who = cast::receiver(&life);
    request(world, slot, &who, "messages.respond", with(named_params(&life), json!({ "decision": decision })));
}

/// The receiver of a message that was decided, or whose delivery ended, decides once more, or gives it up once more.
pub fn too_late(world: &World, random: &mut Random) {
    let decided = ["accepted", "rejected", "stale", "expired", "unsupported", "revoked"];
    let first = random.below(decided.len());
    let mut states = decided.iter().cycle().skip(first).take(decided.len());
    let found = states.find_map(|state| life(world, random, |life| life["decision"] == *state));
    let (Some(slot), Some((_, life))) = (host(world, random), found) else { return };
    let who = cast::receiver(&life);
    let words = ["accepted", "rejected", "deferred", "stale", "expired", "unsupported", "revoked"];
    let (operation, more) = match random.below(6) {
        0 => ("messages.failDelivery", json!({"failureReason": "no harness"})),
        1 if life.get("attempt").is_some() => {
            let params = super::reconciliation(&life, &life["attempt"], "manual-required");
            request(world, slot, &who, "adapter.reconcileSubmission", params);
            return;
        }
        2 if life.get("attempt").is_some() => {
            let key = life["attempt"]["key"].as_str().unwrap_or_default();
            let receipt = json!(crate::outside::receipt(key));
            let params = json!({"submissionId": life["attempt"]["id"], "receipt": receipt});
            let params = with(params, json!({"expectedRevision": life["revision"]}));
            request(world, slot, &who, "adapter.recordReceipt", params);
            return;
        }
        _ => ("messages.respond", json!({"decision": random.pick(&words)})),
    };
    request(world, slot, &who, operation, with(named_params(&life), more));
}

/// Time passes until a message is past its own, a policy sweeps, and somebody comes too late.
pub fn run_out(world: &World, random: &mut Random) {
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, open)) else { return };
    let left = life["expires"].as_i64().unwrap_or(0) - world.time.now();
    world.time.pass(left.clamp(0, 900_000) + 1_000);
    world.tick();
    request(world, slot, &cast::policy(), "maintenance.expireDue", json!({"limit": 50}));
    (0..4).for_each(|_| too_late(world, random));
}

/// A deferral may name a time.
fn deferral(world: &World, random: &mut Random, mut decision: Value) -> Value {
    if decision["decision"] == "deferred" && random.chance(40) {
        let ahead = *random.pick(&[&5_000, &60_000, &800_000_000]);
        decision["notBefore"] = time::format(world.time.now() + ahead).into();
    }
    decision
}

/// The receiver gives up.
pub fn fail(world: &World, random: &mut Random) {
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, |_| true)) else { return };
    let who = receiver(world, random, &life);
    let params = with(unsure(random, &life), json!({"failureReason": "no harness"}));
    request(world, slot, &who, "messages.failDelivery", params);
}
