//! One life: drawn from a seed, lived, and lived again exactly.

use crate::{
    actions,
    cast::{self, ROUTES, TASKS},
    coverage::Stats,
    oracle::Seen,
    random::Random,
    scenario::Recorded,
    settle,
    world::{Setup, World},
};
use serde_json::json;
use std::{fmt, sync::Arc};
use threadmesh_runtime::Core;

/// How many wait at the end of a life.
const WAITS: usize = 2;

/// Something that happens.
#[derive(Clone)]
pub struct Action {
    /// What.
    pub row: &'static actions::Row,
    /// How: everything that it draws comes from here.
    pub salt: u64,
    /// Whether nothing goes wrong meanwhile.
    pub calm: bool,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:x}{}", self.row.name, self.salt, if self.calm { ":calm" } else { "" })
    }
}

/// A life.
#[derive(Clone)]
pub struct Life {
    /// Where its randomness comes from.
    pub seed: u64,
    /// How many hosts share the store.
    pub hosts: usize,
    /// What happens, in turn.
    pub actions: Vec<Action>,
}

/// What came of a life.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What must never be and was.
    pub violations: Vec<String>,
    /// What was counted.
    pub stats: Stats,
    /// Edges and pairs.
    pub seen: Seen,
    /// A line for everything that happened, where that was asked for.
    pub trace: Vec<String>,
    /// Every call, where that was asked for.
    pub recorded: Vec<Recorded>,
}

/// What to keep of a life beside the outcome, and where to live it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// The trace.
    pub trace: bool,
    /// The calls.
    pub calls: bool,
    /// The facts in a file instead of in memory.
    pub file: bool,
}

impl Life {
    /// The life with this seed.
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ 0x1405_7B7E_F767_814F);
        let hosts = 2 + random.below(2);
        let count = 40 + random.below(48);
        let theme = actions::Theme::draw(&mut random);
        let actions = (0..count).map(|_| {
            let row = actions::draw(&mut random, theme);
            Action { row, salt: random.draw(), calm: random.chance(35) }
        });
        Self { seed, hosts, actions: actions.collect() }
    }

    /// Lives it over `core`.
    pub fn live(&self, core: &Arc<dyn Core>, keep: Keep) -> Outcome {
        let setup =
            Setup { seed: self.seed, hosts: self.hosts, trace: keep.trace, record: keep.calls, file: keep.file };
        let world = World::new(Arc::clone(core), &setup);
        begin(&world, self.seed);
        for action in &self.actions {
            world.act(action.row, action.salt, action.calm);
            if world.oracle(|oracle| !oracle.violations.is_empty()) {
                break;
            }
        }
        linger(&world, self.seed);
        if world.oracle(|oracle| oracle.violations.is_empty()) {
            settle::settle(&world);
        }
        let (trace, recorded) = world.told();
        Outcome {
            violations: world.oracle(|oracle| oracle.violations.clone()),
            stats: world.stats(|stats| stats.clone()),
            seen: world.oracle(|oracle| oracle.seen.clone()),
            trace,
            recorded,
        }
    }
}

/// Some wait for more, and others act while they do. That comes behind everything that is drawn, so that which lives there
/// are does not depend on it.
fn linger(world: &World, seed: u64) {
    let mut random = Random::new(seed ^ 0x5A5A);
    for _ in 0..WAITS {
        if world.oracle(|oracle| oracle.violations.is_empty()) {
            world.act(&actions::WAIT, random.draw(), random.chance(50));
        }
    }
}

/// The hosts start, the tasks are registered, and the relationships granted.
fn begin(world: &World, seed: u64) {
    let mut random = Random::new(seed ^ 0xA5A5);
    (0..world.slots()).for_each(|slot| world.start(slot));
    for (name, owner) in TASKS {
        world.cast(|cast| cast.incarnations.insert(name, 1));
        let task = cast::task(name, 1, None);
        let profile = random.pick(&["steady", "steady", "sloppy", "mute", "own", "own"]);
        let key = world.cast(|cast| cast.key());
        let params = json!({"task": cast::input(&task, profile), "idempotencyKey": key});
        world.call(0, &cast::user(owner), "tasks.register", &params);
    }
    let mut own = cast::declaration("own", 0);
    own["idempotencyKey"] = world.cast(|cast| cast.key()).into();
    world.call(0, &cast::operator(), "adapters.declare", &own);
    for route in 0..ROUTES.len() {
        let kind = if route == 0 { random.pick(&["supervisor", "supervisor", "peer"]) } else { "peer" };
        let mut params = world.cast(|cast| cast::grant(cast, route, kind, 1, None));
        params["idempotencyKey"] = world.cast(|cast| cast.key()).into();
        world.cast(|cast| cast.grants.insert(route, 1));
        world.call(0, &cast::policy(), "relationships.grant", &params);
    }
}
