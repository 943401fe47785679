//! What can happen in a life. A new operation joins the simulation as a row of [`TABLE`].
//!
//! Each action draws all that it needs from the salt that it is given: whom, about what, and how. What it cannot do where
//! it stands (there is no such message, no host runs) it leaves.

mod authority;
mod calls;
mod chaos;
mod facts;
mod further;
mod looks;
mod mail;

use authority::rebind;
pub(crate) use calls::reconciliation;
pub(crate) use chaos::accept;

use crate::{random::Random, world::World};
use serde_json::Value;
use threadmesh_runtime::wit::Principal;

/// An action.
pub struct Row {
    /// Its name, for traces.
    pub name: &'static str,
    /// How often it is drawn, beside the others.
    pub weight: usize,
    /// Does it.
    pub run: fn(&World, &mut Random),
}

const fn row(name: &'static str, weight: usize, run: fn(&World, &mut Random)) -> Row {
    Row { name, weight, run }
}

/// All actions.
pub static TABLE: &[Row] = &[
    row("send", 90, mail::send),
    row("send-again", 14, mail::send_again),
    row("send-batch", 14, mail::send_batch),
    row("told", 45, facts::told),
    row("outcome", 35, facts::outcome),
    row("denials", 6, facts::denials),
    row("further", 380, further::further),
    row("claim", 30, mail::claim),
    row("ack", 30, mail::ack),
    row("respond", 25, mail::respond),
    row("put-off", 22, mail::put_off),
    row("too-late", 60, mail::too_late),
    row("run-out", 12, mail::run_out),
    row("fail-delivery", 10, mail::fail),
    row("prepare", 25, calls::prepare),
    row("begin", 25, calls::begin),
    row("accept-and-begin", 25, calls::accept_and_begin),
    row("perform", 90, calls::perform),
    row("ask", 50, calls::ask),
    row("sweep", 45, calls::sweep),
    row("receipt", 30, calls::receipt),
    row("receipt-late", 25, calls::late_receipt),
    row("reconcile", 35, calls::reconcile),
    row("query-recorded", 8, calls::record_query),
    row("expire", 30, authority::expire),
    row("grant", 12, authority::grant),
    row("revoke", 14, authority::revoke),
    row("rotate", 10, authority::rotate),
    row("runtime", 16, authority::runtime),
    row("rebind", 10, authority::attach),
    row("consent", 6, authority::consent),
    row("declare", 4, authority::declare),
    row("register", 4, authority::register),
    row("look", 25, looks::look),
    row("probe", 20, looks::probe),
    row("again", 30, looks::again),
    row("nonsense", 10, looks::nonsense),
    row("time-passes", 80, chaos::pass),
    row("crash", 40, chaos::crash),
    row("start", 90, chaos::start),
    row("clock", 8, chaos::clock),
    row("clock-accepted", 12, chaos::accept_clock),
    row("follow", 12, chaos::follow),
];

/// The action with this name.
pub fn named(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// One of the actions, each as often as it weighs.
pub fn draw(random: &mut Random) -> &'static Row {
    let total = TABLE.iter().map(|row| row.weight).sum();
    let mut place = random.below(total);
    for row in TABLE {
        if place < row.weight {
            return row;
        }
        place -= row.weight;
    }
    &TABLE[0]
}

/// A host that can be asked now.
fn host(world: &World, random: &mut Random) -> Option<usize> {
    random.one(&world.idle())
}

/// One of the messages, with its row id; the last ones more often.
fn life(world: &World, random: &mut Random, fits: impl Fn(&Value) -> bool) -> Option<(String, Value)> {
    let ids: Vec<String> =
        world.oracle(|oracle| oracle.rows("life").filter(|(_, life)| fits(life)).map(|(id, _)| id.clone()).collect());
    let recent = ids.len().min(3);
    let from = if random.chance(60) { ids.len() - recent } else { 0 };
    let id = random.one(&ids[from..])?;
    world.oracle(|oracle| oracle.row("life", &id).cloned()).map(|life| (id, life))
}

/// The params by which a message is named.
fn named_params(life: &Value) -> Value {
    serde_json::json!({
        "messageId": life["messageId"], "senderIncarnationId": life["sender"]["incarnationId"],
        "expectedRevision": life["revision"],
    })
}

/// The same, now and then with another revision than the message has.
fn unsure(random: &mut Random, life: &Value) -> Value {
    let mut params = named_params(life);
    if random.chance(6) {
        params["expectedRevision"] = (life["revision"].as_i64().unwrap_or(0) + 1).into();
    }
    params
}

/// `params` with the members of `more`.
fn with(mut params: Value, more: Value) -> Value {
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    params
}

/// `params` with a key that nobody used.
fn keyed(world: &World, params: Value) -> Value {
    let key = world.cast(|cast| cast.key());
    with(params, serde_json::json!({ "idempotencyKey": key }))
}

/// Calls with a fresh key, and remembers the request, so that it can be made again.
fn request(world: &World, slot: usize, who: &Principal, operation: &str, params: Value) -> crate::world::Answer {
    let params = keyed(world, params);
    world.cast(|cast| {
        cast.requests.push((who.clone(), operation.to_owned(), params.clone()));
        if cast.requests.len() > 24 {
            cast.requests.remove(0);
        }
    });
    world.call(slot, who, operation, &params)
}

/// Somebody who acts as the receiver of a message: mostly the right one and the right worker.
fn receiver(world: &World, random: &mut Random, life: &Value) -> Principal {
    let task = life["receiver"]["taskId"].as_str().unwrap_or_default();
    let worker = random.pick(&["worker-1", "worker-1", "worker-1", "worker-2"]);
    let number = life["receiver"]["incarnationId"].as_str().and_then(|id| id.rsplit('-').next()?.parse().ok());
    match random.below(20) {
        0 => world.cast(|cast| cast.task(random.pick(&["survey", "bridge", "lurker"]), Some(worker))),
        1 | 2 => world.cast(|cast| cast.task(task, Some(worker))),
        _ => crate::cast::task(task, number.unwrap_or(1), Some(worker)),
    }
}
