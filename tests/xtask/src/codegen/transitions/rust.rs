//! The machines as Rust: one file of `guest/protocol/src/generated/machines/` each.

use super::super::{HEADER, Output, literal, pascal};
use super::{Machine, Reasons, Table, Word};
use anyhow::Result;
use std::fmt::Write;

const FOLDER: &str = "guest/protocol/src/generated/machines";

pub(super) fn outputs(table: &Table) -> Result<Vec<Output>> {
    let mut outputs = vec![(format!("{FOLDER}.rs"), index(table)?)];
    for machine in &table.machines {
        outputs.push((format!("{FOLDER}/{}.rs", machine.name), file(machine)?));
    }
    outputs.push((format!("{FOLDER}/reason.rs"), reasons(&table.reasons)?));
    Ok(outputs)
}

fn index(table: &Table) -> Result<String> {
    let mut out = format!("{HEADER}//! The state machines of `spec/transitions.json`.\n\n");
    for machine in &table.machines {
        writeln!(out, "pub mod {};", machine.name)?;
    }
    out += "pub mod reason;\n\n";
    for machine in &table.machines {
        let (module, state) = (&machine.name, pascal(&machine.name));
        writeln!(out, "pub use {module}::{{{state}, {state}Event}};")?;
    }
    out += "pub use reason::Reason;\n\n/// The names of all machines.\npub const MACHINES: &[&str] = &[";
    let names: Vec<String> = table.machines.iter().map(|machine| literal(&machine.name)).collect();
    writeln!(out, "{}];\n", names.join(", "))?;
    let words: Vec<Named> = table.parties.iter().map(Named::from).collect();
    enumeration(&mut out, "Party", "Who may cause an event.", &words)?;
    Ok(out)
}

/// A variant to be: its name as text, and what it means.
struct Named<'a>(&'a str, &'a str);

impl<'a> From<&'a Word> for Named<'a> {
    fn from(word: &'a Word) -> Self {
        Self(&word.name, &word.meaning)
    }
}

/// An enum with `ALL`, `name` and `parse`.
fn enumeration(out: &mut String, kind: &str, doc: &str, words: &[Named]) -> Result<()> {
    writeln!(
        out,
        "/// {doc}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub enum {kind} {{"
    )?;
    for Named(name, meaning) in words {
        writeln!(out, "    /// {meaning}\n    {},", pascal(name))?;
    }
    writeln!(
        out,
        "}}\n\nimpl {kind} {{\n    /// All of them, in the order of the table.\n    pub const ALL: &'static [Self] = &["
    )?;
    for Named(name, _) in words {
        writeln!(out, "        Self::{},", pascal(name))?;
    }
    *out +=
        "    ];\n\n    /// The name as text.\n    pub const fn name(self) -> &'static str {\n        match self {\n";
    for Named(name, _) in words {
        writeln!(out, "            Self::{} => {},", pascal(name), literal(name))?;
    }
    *out += "        }\n    }\n\n    /// The one with exactly this name.\n    pub fn parse(name: &str) -> Option<Self> {\n        Some(match name {\n";
    for Named(name, _) in words {
        writeln!(out, "            {} => Self::{},", literal(name), pascal(name))?;
    }
    *out += "            _ => return None,\n        })\n    }\n}\n";
    Ok(())
}

fn file(machine: &Machine) -> Result<String> {
    let state = pascal(&machine.name);
    let mut out = format!("{HEADER}//! The machine `{}` of `spec/transitions.json`.\n\n", machine.name);
    out += "use super::Party;\nuse crate::Rule;\n\n";
    let states: Vec<Named> = machine.states.iter().map(|state| Named(&state.name, &state.meaning)).collect();
    enumeration(&mut out, &state, &machine.meaning, &states)?;
    out += "\n";
    let events: Vec<Named> = machine.events.iter().map(|event| Named(&event.name, &event.meaning)).collect();
    enumeration(&mut out, &format!("{state}Event"), &format!("What moves `{}`.", machine.name), &events)?;
    out += "\n";
    steps(&mut out, machine, &state)?;
    out += "\n";
    parties(&mut out, machine, &state)?;
    Ok(out)
}

fn steps(out: &mut String, machine: &Machine, state: &str) -> Result<()> {
    let initial = pascal(&machine.initial);
    let ends: Vec<String> = machine
        .states
        .iter()
        .filter(|state| state.terminal)
        .map(|state| format!("Self::{}", pascal(&state.name)))
        .collect();
    writeln!(
        out,
        r#"impl {state} {{
    /// The machine's name.
    pub const MACHINE: &'static str = {name};

    /// Where it starts.
    pub const INITIAL: Self = Self::{initial};

    /// Whether nothing leads out of it.
    pub const fn terminal(self) -> bool {{
        matches!(self, {ends})
    }}

    /// The state after `event`, if there is such an edge. Guards are the caller's to check.
    pub const fn step(self, event: {state}Event) -> Option<Self> {{
        Some(match (self, event) {{"#,
        name = literal(&machine.name),
        ends = ends.join(" | "),
    )?;
    for edge in &machine.edges {
        let (from, event, to) = (pascal(&edge.from), pascal(&edge.event), pascal(&edge.to));
        writeln!(out, "            (Self::{from}, {state}Event::{event}) => Self::{to},")?;
    }
    *out += "            _ => return None,\n        })\n    }\n\n";
    *out += "    /// The rule that refuses `event` where there is no edge.\n";
    if machine.refusals.is_empty() {
        writeln!(
            out,
            "    pub const fn refusal(self, _event: {state}Event) -> Rule {{\n        Rule::{}\n    }}\n}}",
            pascal(&machine.rule)
        )?;
        return Ok(());
    }
    writeln!(out, "    pub const fn refusal(self, event: {state}Event) -> Rule {{\n        match (self, event) {{")?;
    for refusal in &machine.refusals {
        let join = |prefix: &str, names: &[String]| {
            names.iter().map(|name| format!("{prefix}::{}", pascal(name))).collect::<Vec<_>>().join(" | ")
        };
        let (from, events) = (join("Self", &refusal.from), join(&format!("{state}Event"), &refusal.events));
        writeln!(out, "            ({from}, {events}) => Rule::{},", pascal(&refusal.rule))?;
    }
    writeln!(out, "            _ => Rule::{},\n        }}\n    }}\n}}", pascal(&machine.rule))?;
    Ok(())
}

fn parties(out: &mut String, machine: &Machine, state: &str) -> Result<()> {
    writeln!(
        out,
        "impl {state}Event {{\n    /// Who may cause it.\n    pub const fn parties(self) -> &'static [Party] {{\n        match self {{"
    )?;
    for event in &machine.events {
        let by: Vec<String> = event.by.iter().map(|name| format!("Party::{}", pascal(name))).collect();
        writeln!(out, "            Self::{} => &[{}],", pascal(&event.name), by.join(", "))?;
    }
    *out += "        }\n    }\n}\n";
    Ok(())
}

fn reasons(reasons: &Reasons) -> Result<String> {
    let mut out = format!("{HEADER}//! The reason codes of `spec/transitions.json`.\n\nuse super::Decision;\n\n");
    let meanings: Vec<String> = reasons.codes.iter().map(|code| goes_with(reasons, code)).collect();
    let words: Vec<Named> = reasons.codes.iter().zip(&meanings).map(|(code, meaning)| Named(code, meaning)).collect();
    enumeration(&mut out, "Reason", "Why a receiver decided as it did.", &words)?;
    out += "\nimpl Decision {\n    /// The reason codes that go with it.\n    pub const fn reasons(self) -> &'static [Reason] {\n        match self {\n";
    for row in &reasons.by_decision {
        let codes: Vec<String> = row.codes.iter().map(|code| format!("Reason::{}", pascal(code))).collect();
        writeln!(out, "            Self::{} => &[{}],", pascal(&row.state), codes.join(", "))?;
    }
    out += "        }\n    }\n\n    /// The reason code where the caller names none; `pending` has no reason.\n    pub const fn default_reason(self) -> Option<Reason> {\n        match self {\n";
    for row in &reasons.by_decision {
        let value = row.default.as_ref().map_or("None".into(), |code| format!("Some(Reason::{})", pascal(code)));
        writeln!(out, "            Self::{} => {value},", pascal(&row.state))?;
    }
    out += "        }\n    }\n}\n";
    Ok(out)
}

fn goes_with(reasons: &Reasons, code: &String) -> String {
    let states: Vec<String> = reasons
        .by_decision
        .iter()
        .filter(|row| row.codes.contains(code))
        .map(|row| format!("`{}`", row.state))
        .collect();
    if states.is_empty() { "Goes with no decision.".into() } else { format!("Goes with {}.", states.join(", ")) }
}
