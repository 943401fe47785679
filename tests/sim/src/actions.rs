//! What can happen in a life. A new operation joins the simulation as a row of [`TABLE`].
//!
//! Each action draws all that it needs from the salt that it is given: whom, about what, and how. What it cannot do where
//! it stands (there is no such message, no host runs) it leaves.

mod asking;
mod attested;
mod authority;
mod calls;
mod chaos;
mod context;
mod facts;
mod further;
mod interrupts;
mod keeping;
mod looks;
mod mail;
mod passing;
mod telling;

use authority::bind;
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
    /// In which lives it is drawn more often.
    pub theme: Option<Theme>,
    /// Does it.
    pub run: fn(&World, &mut Random),
}

/// What a life is about more than others are, so that what is rare in all happens often in some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Who is who, and what is granted.
    Authority,
    /// Calls and what becomes of them.
    Calls,
    /// Messages before models.
    Context,
    /// What was seen to happen.
    Outcomes,
    /// Messages that are passed on or sent together.
    Passing,
    /// What is asked for, and consent.
    Proposals,
    /// Expiry and purges.
    Retention,
    /// What tasks let each other know, and looking.
    Summaries,
    /// Crashes, clocks, and coming too late.
    Trouble,
}

const THEMES: &[Theme] = &[
    Theme::Authority,
    Theme::Calls,
    Theme::Context,
    Theme::Outcomes,
    Theme::Passing,
    Theme::Proposals,
    Theme::Retention,
    Theme::Summaries,
    Theme::Trouble,
];
/// How many times as often an action is drawn in a life of its theme.
const STRESS: usize = 5;

impl Theme {
    /// A theme, or none, as for every third life.
    pub fn draw(random: &mut Random) -> Option<Self> {
        THEMES.get(random.below(THEMES.len() * 3 / 2)).copied()
    }
}

impl Row {
    fn weight_in(&self, theme: Option<Theme>) -> usize {
        if theme.is_some() && self.theme == theme { self.weight * STRESS } else { self.weight }
    }
}

const fn row(name: &'static str, weight: usize, theme: Option<Theme>, run: fn(&World, &mut Random)) -> Row {
    Row { name, weight, theme, run }
}

/// All actions.
pub static TABLE: &[Row] = &[
    row("send", 90, None, mail::send),
    row("crowd", 2, Some(Theme::Authority), mail::crowd),
    row("send-again", 14, Some(Theme::Passing), mail::send_again),
    row("send-batch", 14, Some(Theme::Passing), mail::send_batch),
    row("told", 45, None, facts::told),
    row("outcome", 35, Some(Theme::Outcomes), facts::outcome),
    row("denials", 6, None, facts::denials),
    row("further", 380, None, further::further),
    row("claim", 30, None, mail::claim),
    row("ack", 30, None, mail::ack),
    row("respond", 25, None, mail::respond),
    row("put-off", 22, None, mail::put_off),
    row("too-late", 60, Some(Theme::Trouble), mail::too_late),
    row("run-out", 12, Some(Theme::Retention), mail::run_out),
    row("fail-delivery", 10, None, mail::fail),
    row("prepare", 25, Some(Theme::Calls), calls::prepare),
    row("begin", 25, Some(Theme::Calls), calls::begin),
    row("accept-and-begin", 25, Some(Theme::Calls), calls::accept_and_begin),
    row("perform", 90, Some(Theme::Calls), calls::perform),
    row("ask", 50, Some(Theme::Calls), calls::ask),
    row("sweep", 45, Some(Theme::Calls), calls::sweep),
    row("receipt", 30, Some(Theme::Calls), calls::receipt),
    row("receipt-late", 25, Some(Theme::Calls), calls::late_receipt),
    row("reconcile", 35, Some(Theme::Calls), calls::reconcile),
    row("query-recorded", 8, Some(Theme::Calls), calls::record_query),
    row("expire", 30, Some(Theme::Retention), authority::expire),
    row("take", 25, Some(Theme::Context), context::take),
    row("shown", 36, Some(Theme::Context), context::shown),
    row("recover", 22, Some(Theme::Context), context::recover),
    row("read", 22, Some(Theme::Context), context::read),
    row("purge", 20, Some(Theme::Retention), keeping::purge),
    row("stored", 20, Some(Theme::Retention), keeping::perform),
    row("propose", 16, Some(Theme::Proposals), asking::propose),
    row("decide-proposal", 40, Some(Theme::Proposals), asking::decide),
    row("publish", 18, Some(Theme::Summaries), telling::publish),
    row("read-summary", 14, Some(Theme::Summaries), telling::read),
    row("agree", 22, Some(Theme::Proposals), telling::agree),
    row("forward", 36, Some(Theme::Passing), passing::forward),
    row("interrupted", 32, Some(Theme::Outcomes), interrupts::report),
    row("anchors", 6, Some(Theme::Outcomes), attested::declare),
    row("verify", 30, Some(Theme::Outcomes), attested::verify),
    row("grant", 12, Some(Theme::Authority), authority::grant),
    row("revoke", 14, Some(Theme::Authority), authority::revoke),
    row("rotate", 10, Some(Theme::Authority), authority::rotate),
    row("runtime", 16, Some(Theme::Authority), authority::runtime),
    row("rebind", 10, Some(Theme::Authority), authority::attach),
    row("consent", 6, Some(Theme::Authority), authority::consent),
    row("declare", 4, None, authority::declare),
    row("register", 4, None, authority::register),
    row("look", 25, Some(Theme::Summaries), looks::look),
    row("probe", 20, Some(Theme::Summaries), looks::probe),
    row("again", 30, Some(Theme::Summaries), looks::again),
    row("nonsense", 10, None, looks::nonsense),
    row("time-passes", 80, None, chaos::pass),
    row("crash", 40, Some(Theme::Trouble), chaos::crash),
    row("start", 90, None, chaos::start),
    row("clock", 8, Some(Theme::Trouble), chaos::clock),
    row("clock-accepted", 12, Some(Theme::Trouble), chaos::accept_clock),
];

/// What is done at the end of every life, and is not drawn: somebody waits.
pub(crate) static WAIT: Row = row("wait", 0, None, looks::wait);

/// The action with this name.
pub fn named(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// One of the actions, each as often as it weighs in a life with this theme.
pub fn draw(random: &mut Random, theme: Option<Theme>) -> &'static Row {
    let total = TABLE.iter().map(|row| row.weight_in(theme)).sum();
    let mut place = random.below(total);
    for row in TABLE {
        let weight = row.weight_in(theme);
        if place < weight {
            return row;
        }
        place -= weight;
    }
    &TABLE[0]
}

/// A host that can be asked now.
fn host(world: &World, random: &mut Random) -> Option<usize> {
    random.one(&world.idle())
}

/// Lets the hosts try in turn, beginning anywhere, until one has something to do.
fn any_host(world: &World, random: &mut Random, work: impl Fn(usize) -> bool) {
    let idle = world.idle();
    let mut turn = idle.iter().cycle().skip(random.below(idle.len())).take(idle.len());
    while turn.next().is_some_and(|slot| !work(*slot)) {}
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
