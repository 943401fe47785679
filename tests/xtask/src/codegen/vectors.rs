//! `spec/transitions.json` → exhaustive conformance vectors: every pair of state and event, of decision and reason code,
//! and every combination of states.
//!
//! What a combination gives is worked out from the table of forbidden pairs; the guest has its invariants written out
//! as conditions. The two formulations check each other.

use super::{Output, transitions::Combinations, transitions::Forbidden, transitions::Machine, transitions::Table};
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, path::Path};

const FOLDER: &str = "spec/conformance/lifecycle";

#[derive(Serialize)]
struct Vector {
    name: String,
    rules: Vec<String>,
    function: &'static str,
    args: Value,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Ok(String),
    Error(Fault),
}

#[derive(Serialize)]
struct Fault {
    code: &'static str,
    pointer: String,
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    let steps: Vec<Vector> = table.machines.iter().flat_map(steps).collect();
    let mut outputs = vec![
        (format!("{FOLDER}/steps.json"), file(&steps)?),
        (format!("{FOLDER}/reasons.json"), file(&reasons(&table)?)?),
    ];
    for (name, vectors) in combinations(&table)? {
        outputs.push((format!("{FOLDER}/{name}.json"), file(&vectors)?));
    }
    Ok(outputs)
}

/// One vector a line, so that a change shows as the lines that it changes.
fn file(vectors: &[Vector]) -> Result<String> {
    let lines: Vec<String> = vectors.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!(
        "{{\n\"group\": \"lifecycle\",\n\"generated\": \"by cargo xtask codegen from spec/transitions.json\",\n\"vectors\": [\n{}\n]\n}}\n",
        lines.join(",\n")
    ))
}

fn steps(machine: &Machine) -> Vec<Vector> {
    let pairs = machine.states.iter().flat_map(|state| machine.events.iter().map(move |event| (state, event)));
    pairs
        .map(|(state, event)| {
            let (state, event) = (&state.name, &event.name);
            let (rules, expected) = match machine.edge(state, event) {
                Some(edge) => {
                    let others = machine.refusals_of(event).map(|refusal| refusal.rule.clone());
                    ([edge.rule.clone()].into_iter().chain(others).collect(), Expected::Ok(edge.to.clone()))
                }
                None => {
                    let fault = Fault { code: "transition-illegal", pointer: "/event".into() };
                    (vec![machine.refusing_rule(state, event).to_owned()], Expected::Error(fault))
                }
            };
            Vector {
                name: format!("{}: {event} in {state}", machine.name),
                rules,
                function: "step",
                args: json!({"machine": machine.name, "state": state, "event": event}),
                expected,
            }
        })
        .collect()
}

fn reasons(table: &Table) -> Result<Vec<Vector>> {
    let reasons = &table.reasons;
    // No reason at all, and one that is no reason code, go with the others.
    let all: Vec<String> =
        [String::new()].into_iter().chain(reasons.codes.iter().cloned()).chain(["because".into()]).collect();
    let mut vectors = Vec::new();
    for row in &reasons.by_decision {
        for reason in &all {
            let none = row.codes.is_empty();
            let rule = if none { &reasons.none_rule } else { &reasons.rule };
            let expected = if row.codes.contains(reason) || (none && reason.is_empty()) {
                Expected::Ok(reason.clone())
            } else {
                Expected::Error(Fault { code: "decision-reason-invalid", pointer: "/reason".into() })
            };
            let shown = if reason.is_empty() { "no reason" } else { reason };
            vectors.push(Vector {
                name: format!("{} with {shown}", row.state),
                rules: vec![rule.clone()],
                function: "check-reason",
                args: json!({"state": row.state, "reason": reason}),
                expected,
            });
        }
    }
    Ok(vectors)
}

/// A state of each machine, by machine; absent ones have none.
type States<'a> = Vec<(&'a str, &'a str)>;

/// The vectors by their files: of what every message has, and of each group beside it.
fn combinations(table: &Table) -> Result<Vec<(String, Vec<Vector>)>> {
    let rows = &table.combinations;
    let mut alone = BTreeSet::new();
    let mut files = vec![("combinations".to_owned(), judged(rows, &product(table, rows)?, &mut alone)?)];
    for group in &rows.groups {
        let pinned = group.pinned.iter().map(|(machine, state)| (machine.as_str(), state.as_str())).collect();
        let machines = group.machines.iter().map(|name| (name, false));
        let states = multiplied(table, vec![pinned], machines)?;
        files.push((format!("{}-combinations", group.name), judged(rows, &states, &mut alone)?));
    }
    for row in &rows.forbidden {
        ensure!(alone.contains(&row.rule), "no combination breaks {} alone, so that nothing shows it", row.rule);
    }
    Ok(files)
}

/// A vector of each combination; the rules that one breaks alone are noted.
fn judged<'a>(rows: &'a Combinations, product: &[States], alone: &mut BTreeSet<&'a String>) -> Result<Vec<Vector>> {
    let mut vectors = Vec::new();
    for (number, states) in product.iter().enumerate() {
        let broken: Vec<&Forbidden> = rows.forbidden.iter().filter(|row| both(row, states)).collect();
        if let [row] = broken.as_slice() {
            alone.insert(&row.rule);
        }
        let (rules, expected) = match broken.first() {
            None => (touched(rows, states), Expected::Ok("legal".into())),
            Some(row) => {
                let pointer = format!("/{}", row.when.machine);
                (vec![row.rule.clone()], Expected::Error(Fault { code: "combination-illegal", pointer }))
            }
        };
        let object: Map<String, Value> =
            states.iter().map(|(machine, state)| ((*machine).to_owned(), json!(state))).collect();
        let args = json!({"states": serde_json::to_string(&object)?});
        vectors.push(Vector { name: format!("c{number:04}"), rules, function: "check-combination", args, expected });
    }
    Ok(vectors)
}

fn product<'a>(table: &'a Table, rows: &'a Combinations) -> Result<Vec<States<'a>>> {
    let optional = rows.optional.iter().map(|name| (name, true));
    multiplied(table, vec![Vec::new()], rows.required.iter().map(|name| (name, false)).chain(optional))
}

/// Every combination of `product` with every state of each machine, and with none where it may lack.
fn multiplied<'a>(
    table: &'a Table,
    mut product: Vec<States<'a>>,
    machines: impl Iterator<Item = (&'a String, bool)>,
) -> Result<Vec<States<'a>>> {
    for (name, may_lack) in machines {
        let machine = table.machine(name).with_context(|| format!("no machine {name}"))?;
        let mut next = Vec::new();
        for states in product {
            if may_lack {
                next.push(states.clone());
            }
            for state in &machine.states {
                let mut longer = states.clone();
                longer.push((name, &state.name));
                next.push(longer);
            }
        }
        product = next;
    }
    Ok(product)
}

fn both(row: &Forbidden, states: &States) -> bool {
    [&row.when, &row.never]
        .iter()
        .all(|side| states.iter().any(|(machine, state)| *machine == side.machine && side.holds(state)))
}

/// The rules that a legal combination could have broken.
fn touched(rows: &Combinations, states: &States) -> Vec<String> {
    let spoken_of = rows
        .forbidden
        .iter()
        .filter(|row| states.iter().any(|(machine, state)| *machine == row.when.machine && row.when.holds(state)));
    let rules: BTreeSet<&String> = spoken_of.map(|row| &row.rule).collect();
    if rules.is_empty() { vec![rows.rule.clone()] } else { rules.into_iter().cloned().collect() }
}
