//! The table of operations in `guest/protocol`.

use super::super::ordered::Json;
use super::super::{HEADER, Output, literal};
use super::{Operation, Table};
use anyhow::Result;
use std::fmt::Write;

/// What a caller can ask for, and the function behind each.
pub(super) fn table(table: &Table) -> Result<Output> {
    let mut out = String::from(HEADER);
    out += "//! The operations of `spec/operations.json`, sorted by name.\n\n";
    out += "use crate::kernel::{Operation, operation::Entry};\n\n";
    let count = table.operations.len();
    writeln!(out, "/// What is said of each.\npub static OPERATIONS: [Operation; {count}] = [")?;
    for operation in &table.operations {
        let Operation { name, keyed, internal, .. } = operation;
        writeln!(out, "    Operation {{")?;
        writeln!(out, "        name: {name:?}, read_only: {}, internal: {internal},", !keyed)?;
        writeln!(out, "        row: {},\n    }},", literal(&row(operation)))?;
    }
    out += "];\n\n/// How each is called, in the same order.\npub(crate) static TABLE: &[Entry] = &[\n";
    for (index, Operation { domain, run, by_worker, .. }) in table.operations.iter().enumerate() {
        // What others have a part in is handed to the domain by `registry`.
        let path = if run.starts_with("registry::") { run.clone() } else { format!("{domain}::{run}") };
        writeln!(out, "    Entry {{ operation: &OPERATIONS[{index}], by_worker: {by_worker}, run: crate::{path} }},")?;
    }
    out += "];\n";
    Ok(("guest/protocol/src/operations/table.rs".into(), out))
}

/// The row as hosts get it: without what is prose for readers of the specification.
fn row(operation: &Operation) -> String {
    let text = |text: &String| Json::from(text.as_str());
    let mut members = vec![
        ("name", text(&operation.name)),
        ("domain", text(&operation.domain)),
        ("summary", text(&operation.summary)),
        ("who", Json::List(operation.who.iter().map(text).collect())),
        ("keyed", Json::Bool(operation.keyed)),
    ];
    for (name, holds) in [("byWorker", operation.by_worker), ("internal", operation.internal)] {
        if holds {
            members.push((name, Json::Bool(true)));
        }
    }
    members.extend(operation.waits.iter().map(|member| ("waits", text(member))));
    Json::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).compact()
}
