//! The state machines, as `spec/transitions.json` has them: read by the oracle itself, not generated for it.

use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The state that it leaves.
    pub from: String,
    /// What happens.
    pub event: String,
    /// The state that it enters.
    pub to: String,
}

/// One machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// All states.
    pub states: Vec<String>,
    /// The states that nothing leaves.
    pub terminal: BTreeSet<String>,
    /// All events.
    pub events: Vec<String>,
    /// All edges.
    pub edges: Vec<Edge>,
}

/// States of two machines that never stand in one record.
#[derive(Clone, Debug)]
pub struct Forbidden {
    /// The rule.
    pub rule: String,
    when: (String, BTreeSet<String>),
    never: (String, BTreeSet<String>),
}

/// All machines.
#[derive(Clone, Debug)]
pub struct Machines {
    all: Vec<Machine>,
    /// What never stands together.
    pub forbidden: Vec<Forbidden>,
}

impl Machines {
    /// Reads the table of this source tree.
    pub fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/transitions.json");
        let text = fs::read_to_string(&path).expect("spec/transitions.json");
        let table: Value = serde_json::from_str(&text).expect("JSON");
        let all = list(&table["machines"]).iter().map(machine).collect();
        let forbidden = list(&table["combinations"]["forbidden"]).iter().map(forbidden).collect();
        Self { all, forbidden }
    }

    /// All of them.
    pub fn all(&self) -> &[Machine] {
        &self.all
    }

    /// The one with this name.
    pub fn named(&self, name: &str) -> &Machine {
        self.all.iter().find(|machine| machine.name == name).expect("a machine of the table")
    }

    /// The first rule that the states of one record break. `state` gives the state of a machine, if it has one.
    pub fn broken<'a>(&self, state: impl Fn(&str) -> Option<&'a str>) -> Option<&str> {
        let in_set =
            |(machine, states): &(String, BTreeSet<String>)| state(machine).is_some_and(|s| states.contains(s));
        self.forbidden.iter().find(|row| in_set(&row.when) && in_set(&row.never)).map(|row| row.rule.as_str())
    }
}

impl Machine {
    /// Where `event` leads from `from`.
    pub fn next(&self, from: &str, event: &str) -> Option<&str> {
        self.edges.iter().find(|edge| edge.from == from && edge.event == event).map(|edge| edge.to.as_str())
    }

    /// The edges of a shortest way from one state to another one, along edges that `allowed` lets pass.
    pub fn way(&self, from: &str, to: &str, allowed: impl Fn(&Edge) -> bool) -> Option<Vec<&Edge>> {
        let mut ways: Vec<Vec<&Edge>> =
            self.edges.iter().filter(|edge| edge.from == from && allowed(edge)).map(|edge| vec![edge]).collect();
        for _ in 0..self.states.len() {
            if let Some(way) = ways.iter().find(|way| way.last().is_some_and(|edge| edge.to == to)) {
                return Some(way.clone());
            }
            ways = ways.iter().flat_map(|way| self.longer(way, &allowed)).collect();
        }
        None
    }

    fn longer<'a>(&'a self, way: &[&'a Edge], allowed: &impl Fn(&Edge) -> bool) -> Vec<Vec<&'a Edge>> {
        let Some(last) = way.last() else { return Vec::new() };
        let next = self.edges.iter().filter(|edge| edge.from == last.to && edge.from != edge.to && allowed(edge));
        next.map(|edge| way.iter().copied().chain([edge]).collect()).collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text of the table").to_owned()
}

fn machine(value: &Value) -> Machine {
    let states = list(&value["states"]);
    Machine {
        name: text(&value["name"]),
        states: states.iter().map(|state| text(&state["name"])).collect(),
        terminal: states.iter().filter(|state| state["terminal"] == true).map(|state| text(&state["name"])).collect(),
        events: list(&value["events"]).iter().map(|event| text(&event["name"])).collect(),
        edges: list(&value["edges"])
            .iter()
            .map(|edge| Edge { from: text(&edge["from"]), event: text(&edge["event"]), to: text(&edge["to"]) })
            .collect(),
    }
}

fn forbidden(value: &Value) -> Forbidden {
    let side = |value: &Value| (text(&value["machine"]), list(&value["states"]).iter().map(text).collect());
    Forbidden { rule: text(&value["rule"]), when: side(&value["when"]), never: side(&value["never"]) }
}
