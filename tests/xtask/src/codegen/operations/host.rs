//! What hosts and clients know of the operations without asking a core.

use super::super::{HEADER, Output, literal, load, pascal};
use super::{Operation, Table, Tool, Usual};
use anyhow::Result;
use std::fmt::Write;
use std::path::Path;

/// The list for `host/runtime`: all operations that a transport takes, and what clients usually write.
pub(super) fn list(table: &Table) -> Result<Output> {
    let mut out = String::from(HEADER);
    out += "//! The operations that a transport takes, sorted by name, and what messages are unless somebody says otherwise.\n\n";
    out += "use crate::client::operations::{Operation, Usual};\n\n";
    out += "/// All of them.\npub const OPERATIONS: &[Operation] = &[\n";
    for operation in table.public() {
        let Operation { name, summary, keyed, waits, .. } = operation;
        writeln!(
            out,
            "    Operation {{ name: {name:?}, keyed: {keyed}, waits: {waits:?}, summary: {} }},",
            literal(summary)
        )?;
    }
    out += "];\n\n/// By intent, the weakest first.\npub const USUAL: &[Usual] = &[\n";
    for usual in table.operations.iter().flat_map(|operation| &operation.usual) {
        let Usual { intent, delivery_mode, message_type, expires_in_seconds } = usual;
        writeln!(
            out,
            "    Usual {{ intent: {intent:?}, delivery_mode: {delivery_mode:?}, message_type: {message_type:?}, \
             expires_in_seconds: {expires_in_seconds} }},"
        )?;
    }
    out += "];\n";
    Ok(("host/runtime/src/client/generated/operations.rs".into(), out))
}

/// What the tools of the MCP server say of themselves, and what they say to do about a code.
pub(super) fn tools(root: &Path, table: &Table) -> Result<Output> {
    let mut out = String::from(HEADER);
    out += "//! The tools of `spec/operations.json`, in its order.\n\nuse super::tools::{Effect, Told};\n\n";
    out += "/// All of them.\npub const TOOLS: &[Told] = &[\n";
    for Tool { name, effect, title, told, .. } in &table.tools {
        writeln!(out, "    Told {{\n        name: {name:?}, effect: Effect::{}, title: {title:?},", pascal(effect))?;
        writeln!(out, "        told: {},\n    }},", literal(told))?;
    }
    out += "];\n\n/// What a model can do about a code with these tools, where that is not plain.\n";
    out += "pub fn next(code: &str) -> Option<&'static str> {\n    Some(match code {\n";
    let errors: serde_json::Value = load(root, "spec/errors.json")?;
    for row in errors["codes"].as_array().into_iter().flatten() {
        if let (Some(code), Some(next)) = (row["code"].as_str(), row["tool"].as_str()) {
            writeln!(out, "        {code:?} => {next:?},")?;
        }
    }
    out += "        _ => return None,\n    })\n}\n";
    Ok(("host/server/src/mcp/generated.rs".into(), out))
}
