//! Looking, asking again, and asking for what is none of one's business.

use super::{host, keyed, life, named_params, receiver, with};
use crate::{
    cast,
    oracle::party,
    random::Random,
    world::{Answer, World},
};
use serde_json::{Value, json};
use threadmesh_protocol::generated::limits;
use threadmesh_runtime::wit::{Fact, Principal};

/// Anybody of the cast.
fn anybody(world: &World, random: &mut Random) -> Principal {
    let task = random.pick(&["survey", "bridge", "annex", "lurker"]);
    match random.below(8) {
        0 => cast::operator(),
        1 => cast::policy(),
        2 => cast::user("alice"),
        3 => cast::user("bob"),
        4 => cast::user("mallory"),
        _ => world.cast(|cast| cast.task(task, Some("worker-1"))),
    }
}

/// Somebody looks at something.
pub fn look(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let known = life(world, random, |_| true).map(|(_, life)| life).unwrap_or_default();
    let who = if random.chance(50) { receiver(world, random, &known) } else { anybody(world, random) };
    let task = cast::reference(&who);
    let message = json!({"messageId": known["messageId"], "senderIncarnationId": known["sender"]["incarnationId"]});
    let page = json!({"task": task, "limit": 1 + random.below(20)});
    let (operation, params) = match random.below(13) {
        6 | 7 => ("inspector.snapshot", message),
        8 => ("tasks.get", json!({ "task": task })),
        9 => ("tasks.listRelated", page),
        10 => ("relationships.list", page),
        11 | 12 => ("relationships.listProposals", page),
        0 | 1 => ("mailbox.listPending", json!({"receiver": task, "limit": 1 + random.below(20)})),
        2 => ("messages.getDisposition", message),
        3 => ("audit.list", message),
        4 => ("adapter.getSubmission", json!({"submissionId": known["attempt"]["id"]})),
        _ => ("tasks.wait", json!({"task": task, "limit": 1 + random.below(20)})),
    };
    world.call(slot, &who, operation, &params);
}

/// Somebody who has seen everything waits for more: a task for events or mail, one end of a message for what becomes of it.
pub fn wait(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let task = random.pick(&["survey", "bridge", "bridge", "annex"]);
    let who = world.cast(|cast| cast.task(task, Some("worker-1")));
    let reference = cast::reference(&who);
    let counters = world.oracle(|oracle| oracle.row("box", &party(&cast::owned(&who))).cloned()).unwrap_or_default();
    let after = |counter: &str| counters[counter].as_i64().unwrap_or(0);
    let known = life(world, random, |life| life["decision"] == "pending").map(|(_, life)| life);
    let (who, operation, params) = match (random.below(3), known) {
        (0, _) => (who, "mailbox.listPending", json!({"receiver": reference, "afterCursor": after("cursor")})),
        (1, Some(life)) => {
            let named = named_params(&life);
            let params = json!({
                "messageId": named["messageId"], "senderIncarnationId": named["senderIncarnationId"],
                "afterRevision": life["revision"],
            });
            (receiver(world, random, &life), "messages.getDisposition", params)
        }
        _ => (who, "tasks.wait", json!({"task": reference, "afterCursor": after("sequence")})),
    };
    let ms = *random.pick(&[&1, &70, &300, &2_000, &11_000, &limits::WAIT_MS_MAX]);
    world.call(slot, &who, operation, &with(params, json!({ "timeoutMs": ms })));
}

/// Mallory asks for what there is and for what there is not: the answers must not tell which is which.
pub fn probe(world: &World, random: &mut Random) {
    let (Some(slot), Some((_, life))) = (host(world, random), life(world, random, |_| true)) else { return };
    let who = match random.below(3) {
        0 => cast::user("mallory"),
        1 => cast::task("lurker", 1, Some("worker-1")),
        _ => cast::task("bridge", 99, Some("worker-1")),
    };
    // A credential of an incarnation that never was is not one of Bob's either.
    let who = if who.id == "bridge" { Principal { owner: Some("user:mallory".into()), ..who } } else { who };
    let (message, sender) = (&life["messageId"], &life["sender"]["incarnationId"]);
    let submission = life["attempt"]["id"].clone();
    let submission = if submission.is_null() { json!("sub_00000000000000000000000000000000") } else { submission };
    let named = |message: &Value| json!({"messageId": message, "senderIncarnationId": sender});
    let revised = json!({"expectedRevision": life["revision"]});
    let gone = json!("msg_9999999");
    let none = json!("sub_ffffffffffffffffffffffffffffffff");
    let token = json!({"claimToken": format!("sha256:{:064}", 7)});
    let asked = |operation: &'static str, more: Value| {
        let more = with(revised.clone(), more);
        (operation, (with(named(message), more.clone()), with(named(&gone), more)), true)
    };
    let (operation, pair, keys) = match random.below(17) {
        9 => ("inspector.snapshot", (named(message), named(&gone)), false),
        10 => asked("adapter.prepareContextAdmission", json!({})),
        11 => asked("adapter.recoverContextAdmission", json!({"resolution": "confirmed-not-admitted"})),
        12 => asked("adapter.admitContext", json!({"session": "mcp-1", "toolCallId": "call-1"})),
        13 => asked("messages.recordOutcome", json!({"outcome": "failed", "evidenceRefs": ["log:1"]})),
        14 => asked("messages.failDelivery", json!({"failureReason": "no harness"})),
        15 => {
            let own = |end: &Value| end["owner"] == "user:mallory";
            let others = |row: &Value| !own(&row["source"]) && row.get("target").is_none_or(|target| !own(target));
            let known = world.oracle(|oracle| {
                let mut rows = oracle.rows("proposal").filter(|(_, row)| others(row));
                rows.next().map(|(_, row)| row["proposalId"].clone())
            });
            let of = |id: Value| json!({ "proposalId": id });
            let there = known.unwrap_or_else(|| "proposal_none-00001".into());
            ("relationships.withdrawProposal", (of(there), of("proposal_none-00002".into())), true)
        }
        16 => {
            let of = |id: &str| json!({"grantId": id, "expectedGrantVersion": 1, "consent": true});
            ("relationships.consent", (of(&cast::grant_id(0, 1)), of("grant_none-0001")), true)
        }
        0 => ("messages.getDisposition", (named(message), named(&gone)), false),
        1 => ("audit.list", (named(message), named(&gone)), false),
        2 => ("adapter.getSubmission", (json!({"submissionId": submission}), json!({ "submissionId": none })), false),
        3 => asked("mailbox.claim", json!({})),
        4 => asked("mailbox.ack", with(token, json!({"decision": "accepted"}))),
        5 => asked("messages.respond", json!({"decision": "rejected"})),
        6 => asked("adapter.prepareSubmission", json!({})),
        7 => {
            let begin = |id: &Value| with(json!({ "submissionId": id }), revised.clone());
            ("adapter.beginSubmission", (begin(&submission), begin(&none)), true)
        }
        _ => {
            let receipt = json!({"receipt": crate::outside::receipt("none")});
            let of = |id: &Value| with(with(json!({ "submissionId": id }), revised.clone()), receipt.clone());
            ("adapter.recordReceipt", (of(&submission), of(&none)), true)
        }
    };
    let ask = |params: Value| {
        let params = if keys { keyed(world, params) } else { params };
        world.call(slot, &who, operation, &params)
    };
    let (there, missing) = (ask(pair.0), ask(pair.1));
    match (there, missing) {
        (Answer::Lost, _) | (_, Answer::Lost) => {}
        (Answer::Refused(one), Answer::Refused(other)) if one == other => {}
        (one, other) => world.oracle(|oracle| {
            oracle.violation(format!("{operation} tells {} what is there: {one:?}, {other:?}", cast::name(&who)));
        }),
    }
}

/// A request is made again: its answer was lost, or somebody is not sure.
pub fn again(world: &World, random: &mut Random) {
    let known = world.cast(|cast| random.one(&cast.requests));
    let (Some(slot), Some((who, operation, mut params))) = (host(world, random), known) else { return };
    world.count("request-repeated");
    match random.below(12) {
        // The same key with other content.
        0 if params.get("expectedRevision").is_some() => params["expectedRevision"] = json!(77),
        // Another worker, or the next incarnation, under the same key.
        1 => {
            let worker = Some("worker-2".into());
            world.call(slot, &Principal { worker, ..who }, &operation, &params);
            return;
        }
        _ => {}
    }
    world.call(slot, &who, &operation, &params);
}

/// A request that is none: nobody, an unknown operation, members that are missing or too many, a place in a trace that is
/// too large; and a policy is asked that no host has.
pub fn nonsense(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let who = anybody(world, random);
    match random.below(7) {
        0 => world.call(slot, &who, "messages.unsend", &json!({})),
        1 => {
            world.call(slot, &Principal { incarnation: None, ..cast::task("bridge", 1, None) }, "tasks.get", &json!({}))
        }
        2 => world.call(slot, &who, "mailbox.claim", &json!({"messageId": "msg_0000001"})),
        3 => world.call(slot, &who, "adapter.listUnresolved", &json!({})),
        4 => {
            let long = Fact { name: "tracestate".into(), value: "x".repeat(513) };
            world.call_with(slot, &who, "messages.getDisposition", &json!({"messageId": "msg_0000001"}), &[long])
        }
        5 => {
            let asked = json!({"policy": "sha256:none", "hook": "delivery.claim", "input": "{}"});
            world.call(slot, &cast::host(), "policy.evaluate", &asked)
        }
        _ => world.call(slot, &who, "messages.getDisposition", &json!({"messageId": "x", "more": 1})),
    };
}
