//! What must never be, whatever happens: judged from commits, answers and effects, with a ledger of its own.
//!
//! - A state moves along edges of `spec/transitions.json`, and states that exclude each other never stand together.
//! - A call is begun only for an accepted message under a current grant, while it is fresh and not expired; it reaches an
//!   adapter at most once, in the process whose commit returned it; and at most one effect belongs to one message.
//! - While nobody knows what became of a call, nothing else about its message changes; what is established about it is
//!   what happened, unless the operator was wrong.
//! - An accepted answer rests on a commit, says what was committed, and is not given twice under one key.
//! - Nothing older replaces anything newer.
//! - The content of a message, its claim and its adapter key are shown to nobody who may not see them; nor are the reason
//!   of a proposal and the hints of a summary.
//! - A message counts as shown to a model only by evidence that is bound to the admission, or by a read.
//! - What was purged stands in no row and in no later answer.
//! - A read answers what was true at one moment. A target is asked by others than the owner of an attempt only when that is
//!   settled; only what its target promises is called absent for good, and not while the call is on its way; and a host
//!   that runs goes on with what it began.
//! - A call that waits is answered as soon as another process's commit makes that possible ([`crate::world`] looks).
//! - The store never fails by itself, another process reads what one has committed, and what contradicts the rows and
//!   leases as they are is refused (asked for now and then).
//! - That an outcome is verified rests on attestations that are sound, by keys that the operator declared.

mod asked;
mod commit;
mod duties;
mod gate;
mod hosts;
mod intents;
mod kept;
mod outcomes;
mod reply;
mod shown;

pub use outcomes::Sound;

use crate::machines::Machines;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};
use threadmesh_runtime::wit::Principal;

/// An operation that runs.
#[derive(Clone, Debug)]
pub struct Context {
    /// The process that runs it.
    pub process: u64,
    /// The caller.
    pub who: Principal,
    /// Its name.
    pub operation: String,
    /// Its params.
    pub params: Value,
}

/// What was taken and tried of the machines.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Edges taken: machine, state, event.
    pub edges: BTreeMap<(String, String, String), u64>,
    /// Pairs that somebody asked for: machine, state, event.
    pub pairs: BTreeMap<(String, String, String), u64>,
}

/// A row as the oracle knows it.
#[derive(Clone, Debug)]
struct Mirror {
    revision: u32,
    body: Value,
}

/// A call that was begun.
#[derive(Clone, Debug)]
struct Begun {
    process: u64,
    life: String,
    called: bool,
}

/// The judge.
pub struct Oracle {
    machines: Arc<Machines>,
    rows: BTreeMap<&'static str, BTreeMap<String, Mirror>>,
    others: BTreeMap<(String, String), u32>,
    last_time: i64,
    /// How much earlier than the last committed time the decision may be whose answer is looked at.
    pub slack: i64,
    /// A clock that was behind was accepted: times may be earlier from here on.
    rewound: bool,
    begun: BTreeMap<String, Begun>,
    effects: BTreeMap<String, u32>,
    /// Messages about which the operator said what is not so.
    misled: BTreeSet<String>,
    dispatched: BTreeSet<String>,
    accepted: BTreeMap<(String, Option<String>), Value>,
    /// Attestations that are sound, by id.
    sound: BTreeMap<String, Sound>,
    /// In which messages a content stands: those that passed it on.
    carried: BTreeMap<u32, BTreeSet<String>>,
    /// What was taken and tried.
    pub seen: Seen,
    /// What must never be and was.
    pub violations: Vec<String>,
}

/// The collections whose content the oracle looks at.
const COLLECTIONS: &[&str] = &["life", "task", "grant", "profile", "box", "proposal", "summary", "anchors", "purge"];

impl Default for Oracle {
    fn default() -> Self {
        Self::new()
    }
}

impl Oracle {
    /// One that has seen nothing.
    pub fn new() -> Self {
        static MACHINES: OnceLock<Arc<Machines>> = OnceLock::new();
        Self {
            machines: Arc::clone(MACHINES.get_or_init(|| Arc::new(Machines::read()))),
            rows: COLLECTIONS.iter().map(|name| (*name, BTreeMap::new())).collect(),
            others: BTreeMap::new(),
            last_time: 0,
            slack: 0,
            rewound: false,
            begun: BTreeMap::new(),
            effects: BTreeMap::new(),
            misled: BTreeSet::new(),
            dispatched: BTreeSet::new(),
            accepted: BTreeMap::new(),
            sound: BTreeMap::new(),
            carried: BTreeMap::new(),
            seen: Seen::default(),
            violations: Vec::new(),
        }
    }

    /// Notes something that must not be.
    pub fn violation(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    fn demand(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    /// The rows of a collection: id and content.
    pub fn rows(&self, collection: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.rows.get(collection).into_iter().flatten().map(|(id, row)| (id, &row.body))
    }

    /// The content of a row.
    pub fn row(&self, collection: &str, id: &str) -> Option<&Value> {
        self.rows.get(collection)?.get(id).map(|row| &row.body)
    }

    /// The life that a submission belongs to.
    pub fn life_of(&self, submission: &str) -> Option<(&String, &Value)> {
        self.rows("life").find(|(_, life)| attempts(life).any(|attempt| attempt["id"] == submission))
    }

    /// The operator says about this message what is not so: from here on it proves nothing.
    pub fn mislead(&mut self, life: &str) {
        self.misled.insert(life.into());
    }

    /// An adapter of `process` is asked to perform a call.
    pub fn called(&mut self, submission: &str, process: u64) {
        let Some(begun) = self.begun.get_mut(submission) else {
            return self.violation(format!("{submission} is called and was never begun"));
        };
        let (owner, twice) = (begun.process, std::mem::replace(&mut begun.called, true));
        self.demand(!twice, || format!("{submission} is called twice"));
        self.demand(owner == process, || format!("{submission} is called by process {process}, and {owner} began it"));
    }

    /// The process that has begun a call and not made it.
    pub fn waits_in(&self, submission: &str) -> Option<u64> {
        self.begun.get(submission).filter(|begun| !begun.called).map(|begun| begun.process)
    }

    /// An effect took place.
    pub fn effect(&mut self, submission: &str) {
        let Some(begun) = self.begun.get(submission) else {
            return self.violation(format!("{submission} took effect and was never begun"));
        };
        let life = begun.life.clone();
        let count = self.effects.entry(life.clone()).or_default();
        *count += 1;
        let count = *count;
        let misled = self.misled.contains(&life);
        self.demand(count <= 1 || misled, || format!("{life} took effect {count} times"));
    }

    /// What must hold when everything has come to rest.
    pub fn at_rest(&mut self) {
        let mut stuck = Vec::new();
        let mut open: BTreeMap<String, i64> = BTreeMap::new();
        for (id, life) in self.rows("life") {
            let delivery = self.machines.named("delivery");
            let ended = delivery.terminal.contains(text(life, "delivery")) && !unresolved(life);
            let waits = life.get("pendingRelabel").is_some() || life.get("admission").is_some();
            if !ended || waits {
                stuck.push(format!("stuck: {id}: {life}"));
            }
            if matches!(text(life, "decision"), "pending" | "deferred") && !ended {
                *open.entry(party(&life["receiver"])).or_default() += 1;
            }
        }
        for (id, mailbox) in self.rows("box") {
            let expected = open.get(id).copied().unwrap_or(0);
            if mailbox["open"] != expected {
                stuck.push(format!("{id} counts {} open messages, and there are {expected}", mailbox["open"]));
            }
        }
        self.violations.extend(stuck);
    }
}

/// A member that is a text; empty where it is not there.
pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The key of a party.
pub fn party(party: &Value) -> String {
    let part = |name: &str| text(party, name).replace('%', "%25").replace('/', "%2F");
    format!("{}/{}/{}/{}", crate::cast::TENANT, part("incarnationId"), part("taskId"), part("owner"))
}

/// The current attempt and the past ones.
pub fn attempts(life: &Value) -> impl Iterator<Item = &Value> {
    life.get("attempt").into_iter().chain(life["past"].as_array().into_iter().flatten())
}

/// Whether a call of this message may have happened and nobody knows.
pub fn unresolved(life: &Value) -> bool {
    matches!(text(&life["attempt"], "state"), "outcome-unknown" | "manual-reconciliation")
}

/// Whether an intent interrupts.
pub fn urgent(life: &Value) -> bool {
    matches!(text(life, "intent"), "steer" | "interrupt")
}
