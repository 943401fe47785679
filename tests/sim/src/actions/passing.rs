//! Messages are passed on.

use super::{host, life, request};
use crate::{
    cast::{self, ROUTES},
    oracle::text,
    random::Random,
    world::World,
};
use serde_json::{Value, json};
use threadmesh_protocol::time;

/// A receiver passes on what it accepted, as it was; or stronger, longer, altered, or back to where it came from.
pub fn forward(world: &World, random: &mut Random) {
    let any = random.chance(12);
    let fits = |life: &Value| any || life["decision"] == "accepted";
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, fits)) else { return };
    let sent = world.cast(|cast| {
        cast.sent.iter().map(|(_, envelope)| envelope).find(|it| it["messageId"] == life["messageId"]).cloned()
    });
    let Some(original) = sent else { return };
    let who = cast::receiver(&life);
    let routes: Vec<usize> = (0..ROUTES.len()).filter(|route| ROUTES[*route].0 == who.id).collect();
    let Some(route) = random.one(&routes) else { return };
    let (number, to) = world.cast(|cast| (cast.next_message(), cast.task(ROUTES[route].1, None)));
    let mut envelope = original.clone();
    envelope["messageId"] = cast::message_id(number).into();
    envelope["sender"] = json!({
        "taskId": who.id, "incarnationId": who.incarnation, "actorType": "agent", "harness": "codex",
    });
    envelope["target"] = cast::reference(&to);
    envelope["relationshipId"] = cast::relationship(route).into();
    envelope["causality"] = json!({"parentMessageId": original["messageId"]});
    envelope["reason"] = "passed on".into();
    envelope["createdAt"] = time::format(world.time.now()).into();
    if text(&envelope, "intent") != "notify" {
        (envelope["intent"], envelope["delivery"]["requestedMode"]) = ("suggest".into(), "checkpoint-offer".into());
    }
    envelope.as_object_mut().map(|members| members.remove("freshness"));
    spoil(world, random, &mut envelope);
    let named = json!({"senderIncarnationId": life["sender"]["incarnationId"], "messageId": life["messageId"]});
    world.cast(|cast| cast.sent.push((who.clone(), envelope.clone())));
    request(world, slot, &who, "messages.forward", json!({"envelope": envelope, "original": named}));
}

fn spoil(world: &World, random: &mut Random, envelope: &mut Value) {
    match random.below(16) {
        0 => envelope["content"] = "something else".into(),
        1 => envelope["causality"] = json!({"parentMessageId": cast::message_id(0)}),
        2 => envelope["expiresAt"] = time::format(world.time.now() + 899_000).into(),
        3 => {
            (envelope["intent"], envelope["delivery"]["requestedMode"]) = ("steer".into(), "active-steer".into());
            envelope["freshness"] = json!({"expectedRunId": "run-1"});
        }
        _ => {}
    }
}
