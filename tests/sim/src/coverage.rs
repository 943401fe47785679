//! What a number of lives came to.

use crate::{machines::Machines, oracle::Seen};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use threadmesh_runtime::{
    HostError, Reply,
    wit::{Principal, PrincipalKind, Status},
};

/// What was counted in one life.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Operations that callers asked for.
    pub operations: u64,
    /// Operations that dispatchers asked their own hosts for.
    pub internal: u64,
    /// Processes that ended in the middle of life.
    pub crashes: u64,
    /// Faults by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Operations that somebody asked for, by name.
    pub asked: BTreeMap<String, u64>,
    /// Operations that were accepted, by name.
    pub accepted: BTreeMap<String, u64>,
    /// Refusals, by the rule that was reported.
    pub rules: BTreeMap<String, u64>,
    /// Operations that hosts could not run, by code.
    pub failures: BTreeMap<String, u64>,
    /// Attempts that only people could resolve, when everything else had come to rest.
    pub queued: u64,
    /// A digest of everything that happened.
    pub digest: u64,
}

impl Stats {
    /// Counts an operation.
    pub fn operation(&mut self, who: &Principal, operation: &str, result: &Result<Reply, HostError>) {
        let internal = who.kind == PrincipalKind::Host;
        *(if internal { &mut self.internal } else { &mut self.operations }) += 1;
        self.fold(operation);
        *self.asked.entry(operation.into()).or_default() += 1;
        match result {
            Ok(reply) => {
                self.fold(&reply.body);
                if reply.status == Status::Accepted {
                    *self.accepted.entry(operation.into()).or_default() += 1;
                }
                let rule = reply.problem.iter().filter_map(|problem| problem.detail.split(':').next());
                for rule in rule.filter(|rule| rule.contains('-') && !rule.contains(' ')) {
                    *self.rules.entry(rule.into()).or_default() += 1;
                }
            }
            Err(error) => {
                let code = error.code();
                self.fold(code);
                *self.failures.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    /// FNV-1a over what happens, so that two runs of a life can be compared.
    fn fold(&mut self, text: &str) {
        for byte in text.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// What many lives came to.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// How many lives.
    pub lives: u64,
    /// Operations in each life.
    pub operations: Vec<u64>,
    /// Crashes in each life.
    pub crashes: Vec<u64>,
    /// Sums over all lives.
    pub total: Stats,
    /// Edges and pairs.
    pub seen: Seen,
}

fn add<K: Clone + Ord>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key.clone()).or_default() += count;
    }
}

impl Coverage {
    /// Adds a life.
    pub fn add(&mut self, stats: &Stats, seen: &Seen) {
        self.lives += 1;
        self.operations.push(stats.operations);
        self.crashes.push(stats.crashes);
        self.sum(stats, seen);
    }

    /// Adds what other lives came to.
    pub fn merge(&mut self, other: Self) {
        self.lives += other.lives;
        self.operations.extend(other.operations);
        self.crashes.extend(other.crashes);
        self.sum(&other.total, &other.seen);
    }

    fn sum(&mut self, stats: &Stats, seen: &Seen) {
        let total = &mut self.total;
        total.operations += stats.operations;
        total.internal += stats.internal;
        total.crashes += stats.crashes;
        total.queued += stats.queued;
        add(&mut total.faults, &stats.faults);
        add(&mut total.asked, &stats.asked);
        add(&mut total.accepted, &stats.accepted);
        add(&mut total.rules, &stats.rules);
        add(&mut total.failures, &stats.failures);
        add(&mut self.seen.edges, &seen.edges);
        add(&mut self.seen.pairs, &seen.pairs);
    }

    /// The median of operations and of crashes in a life.
    pub fn medians(&self) -> (u64, u64) {
        let median = |counts: &[u64]| {
            let mut sorted = counts.to_vec();
            sorted.sort_unstable();
            sorted.get(sorted.len() / 2).copied().unwrap_or(0)
        };
        (median(&self.operations), median(&self.crashes))
    }

    /// Edges that were not taken, and edges that were taken although [`out_of_reach`] says that none can be.
    pub fn edges(&self, machines: &Machines) -> (Vec<String>, Vec<String>) {
        let all = machines.all().iter().flat_map(|machine| machine.edges.iter().map(move |edge| (machine, edge)));
        judge(
            all.map(|(machine, edge)| (machine.name.clone(), edge.from.clone(), edge.event.clone())),
            &self.seen.edges,
        )
    }

    /// The same for the pairs of state and event that have no edge: which of them nobody ever asked for.
    pub fn pairs(&self, machines: &Machines) -> (Vec<String>, Vec<String>) {
        let all = machines.all().iter().flat_map(|machine| {
            let pairs = machine.states.iter().flat_map(|state| machine.events.iter().map(move |event| (state, event)));
            let illegal = pairs.filter(|(state, event)| machine.next(state, event).is_none());
            illegal.map(|(state, event)| (machine.name.clone(), state.clone(), event.clone()))
        });
        judge(all, &self.seen.pairs)
    }

    /// Which of `all` are not among the keys of what was counted.
    pub fn missing(all: impl IntoIterator<Item = String>, counted: &BTreeMap<String, u64>) -> BTreeSet<String> {
        all.into_iter().filter(|name| !counted.contains_key(name)).collect()
    }
}

/// A machine, a state and an event.
type Place = (String, String, String);

fn judge(all: impl Iterator<Item = Place>, counted: &BTreeMap<Place, u64>) -> (Vec<String>, Vec<String>) {
    let (mut missing, mut surprising) = (Vec::new(), Vec::new());
    for place in all {
        let (machine, state, event) = &place;
        match (counted.contains_key(&place), out_of_reach(machine, state, event)) {
            (false, None) => missing.push(format!("{machine} {state} {event}")),
            (true, Some(why)) => surprising.push(format!("{machine} {state} {event}, although {why}")),
            _ => {}
        }
    }
    (missing, surprising)
}

/// Why nobody can ask for `event` of a record in `state`, if that is so.
pub fn out_of_reach(machine: &str, state: &str, event: &str) -> Option<&'static str> {
    match (machine, state, event) {
        ("thread" | "verification" | "uptake", ..) => Some("the tasks of these lives have no threads"),
        ("proposal", _, "expire") => Some("a proposal past its expiry reads as expired, and nobody sweeps it"),
        ("delivery", "control-plane-accepted", "persist") => None,
        ("delivery", "control-plane-accepted", _) => Some("a message is accepted and durable in one commit"),
        ("claim", "claimed", "claim") | ("claim", "free" | "acknowledged", "take-over") => {
            Some("a claim of a claimed message is a take-over, and of another one it is none")
        }
        _ => None,
    }
}

/// Groups of rules that are about texts and documents alone. Lives break some of them in passing; that each is broken
/// somewhere is the business of the vectors.
pub const OF_DOCUMENTS: &[&str] = &["attestation", "canonical-json", "documents", "frames", "shapes"];

/// Rules that so few lives break that a fixed number of them need not show it: LC-16 takes a receipt that contradicts
/// after its message ended, and an operator who rules that it was submitted.
const SELDOM: &[&str] = &["LC-16"];

/// Operations that no host of these lives can carry out: there is no engine for policies, and what is asked of one is denied.
pub const DENIED: &[&str] = &["policy.evaluate"];

/// Why no life breaks a rule that is not about documents alone, if that is so.
pub fn unbroken(rule: &str) -> Option<&'static str> {
    let (group, number) = rule.split_once('-')?;
    match (group, number.parse().ok()?) {
        ("LC", 1..=10) => Some("it guards what is about to be stored, against faults of the other rules"),
        ("LC", 15 | 21) => Some("what has no edge is refused for a better reason before"),
        ("LC", 22..=27) | ("TH" | "CG" | "EV" | "ST" | "IQ", _) => Some("the tasks of these lives have no threads"),
        ("LC", 19 | 20) => Some("no operation takes the names of machines, states and events, or a reason beside them"),
        ("BU", 1 | 2 | 4 | 7) => Some("it takes hundreds or thousands of messages"),
        ("BU", 3) => Some("a receiver has enough of interruptions before the sender may send no more"),
        ("BU", 6) => Some("it takes a chain of more than thirty messages"),
        ("OP", 10) => Some("no two owners of these lives give their tasks the same ids"),
        ("PO", 2) => Some("whoever has no grant learns only that it was denied, and no rule"),
        ("SU", 4) => Some("it takes more than sixteen attempts of one message"),
        ("PP", 7) => Some("it takes more than sixty open proposals"),
        ("RT", 3) => Some("a host says it right"),
        _ => None,
    }
}

/// Rules of `spec/rules` that lives can break, with whether they did: those never broken, and those that were although
/// [`unbroken`] says that none is.
pub fn rules(broken: &BTreeMap<String, u64>) -> (Vec<String>, Vec<String>) {
    let (mut missing, mut surprising) = (Vec::new(), Vec::new());
    for rule in of_operations() {
        match (broken.contains_key(&rule), unbroken(&rule)) {
            (false, None) if !SELDOM.contains(&rule.as_str()) => missing.push(rule),
            (true, Some(why)) => surprising.push(format!("{rule}, although {why}")),
            _ => {}
        }
    }
    (missing, surprising)
}

/// The ids of all rules but those of documents.
fn of_operations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/rules");
    let files = fs::read_dir(folder).expect("the folder of the rules");
    let files = files.map(|file| file.expect("a file").path());
    let listed = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default();
        path.extension().is_some_and(|end| end == "json") && OF_DOCUMENTS.iter().all(|group| name != *group)
    };
    let mut ids = Vec::new();
    for path in files.filter(listed) {
        let table: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
        let rules = table["rules"].as_array().into_iter().flatten();
        ids.extend(rules.map(|rule| rule["id"].as_str().expect("an id").to_owned()));
    }
    assert!(ids.len() > 100, "the rules of operations are read");
    ids.sort();
    ids
}
