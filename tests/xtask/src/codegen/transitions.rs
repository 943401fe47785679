//! `spec/transitions.json`: the state machines as data, read and held against itself.
//!
//! What is written from it: the Rust of the guest (`rust`), the prose with tables and diagrams (`prose`), and the
//! exhaustive conformance vectors (`super::vectors`). Expressions have no place in the data; guards are names.

mod audit;
mod prose;
mod rust;

use super::{Output, load};
use anyhow::Result;
use serde::Deserialize;
use std::path::Path;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    title: String,
    intro: Vec<String>,
    parties: Vec<Word>,
    guards: Vec<Word>,
    pub(super) machines: Vec<Machine>,
    pub(super) reasons: Reasons,
    pub(super) combinations: Combinations,
}

/// A name and what it stands for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    name: String,
    meaning: String,
}

/// One machine. `rule` is the one that a pair without an edge breaks, unless a refusal names a more telling one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) name: String,
    /// It stands in a record of its own, and in no combination.
    #[serde(default)]
    apart: bool,
    title: String,
    intro: String,
    meaning: String,
    source: String,
    pub(super) rule: String,
    initial: String,
    pub(super) states: Vec<State>,
    pub(super) events: Vec<Event>,
    edges: Vec<Edge>,
    #[serde(default)]
    refusals: Vec<Refusal>,
}

/// A state; terminal ones have no edge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    pub(super) name: String,
    meaning: String,
    #[serde(default)]
    terminal: bool,
}

/// An event and the parties that may cause it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    pub(super) name: String,
    meaning: String,
    by: Vec<String>,
}

/// From a state by an event to a state.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edge {
    from: String,
    event: String,
    pub(super) to: String,
    pub(super) rule: String,
    #[serde(default)]
    guards: Vec<String>,
}

/// Pairs without an edge for which a rule of their own says why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refusal {
    from: Vec<String>,
    events: Vec<String>,
    pub(super) rule: String,
}

/// The reason codes and which decision they go with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reasons {
    intro: String,
    pub(super) rule: String,
    pub(super) none_rule: String,
    pub(super) codes: Vec<String>,
    pub(super) by_decision: Vec<Reasoned>,
}

/// The reason codes of one decision state.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reasoned {
    pub(super) state: String,
    pub(super) codes: Vec<String>,
    default: Option<String>,
}

/// Which states of different machines cannot stand together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Combinations {
    intro: Vec<String>,
    pub(super) required: Vec<String>,
    pub(super) optional: Vec<String>,
    /// Machines that not every record has, and with which states of the others they are tried: all together would be too
    /// many.
    pub(super) groups: Vec<Group>,
    pub(super) rule: String,
    pub(super) forbidden: Vec<Forbidden>,
}

/// Machines whose states are combined, beside one state each of others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) pinned: Vec<(String, String)>,
    pub(super) machines: Vec<String>,
}

/// No state of `when` stands beside a state of `never`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forbidden {
    pub(super) rule: String,
    pub(super) when: Side,
    pub(super) never: Side,
    why: String,
}

/// Some states of one machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    pub(super) machine: String,
    pub(super) states: Vec<String>,
}

impl Table {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let table: Self = load(root, "spec/transitions.json")?;
        audit::audit(&table, &super::rules::ids(root)?)?;
        Ok(table)
    }

    pub(super) fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }
}

impl Machine {
    /// The names of its states, in order.
    pub(super) fn state_names(&self) -> Vec<&str> {
        self.states.iter().map(|state| state.name.as_str()).collect()
    }

    /// The edge of a pair.
    pub(super) fn edge(&self, state: &str, event: &str) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.from == state && edge.event == event)
    }

    /// The refusals that speak of an event, whatever the state.
    pub(super) fn refusals_of<'a>(&'a self, event: &str) -> impl Iterator<Item = &'a Refusal> {
        self.refusals.iter().filter(move |refusal| refusal.events.iter().any(|name| name == event))
    }

    /// The rule that a pair without an edge breaks.
    pub(super) fn refusing_rule(&self, state: &str, event: &str) -> &str {
        let refusal = self.refusals_of(event).find(|refusal| refusal.from.iter().any(|name| name == state));
        refusal.map_or(&self.rule, |refusal| &refusal.rule)
    }
}

impl Side {
    pub(super) fn holds(&self, state: &str) -> bool {
        self.states.iter().any(|name| name == state)
    }
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    let mut outputs = rust::outputs(&table)?;
    outputs.push(("spec/lifecycle.md".into(), prose::page(&table)?));
    Ok(outputs)
}

#[cfg(test)]
mod tests;
