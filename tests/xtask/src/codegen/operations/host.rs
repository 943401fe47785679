//! What hosts and clients know of the operations without asking a core.

use super::super::{HEADER, Output, literal, pascal};
use super::{Operation, Table, Tool, Usual};
use anyhow::Result;
use std::fmt::Write;

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

/// What the tools of the MCP server say of themselves.
pub(super) fn tools(table: &Table) -> Result<Output> {
    let mut out = String::from(HEADER);
    out += "//! The tools of `spec/operations.json`, in its order.\n\nuse super::tools::{Effect, Told};\n\n";
    out += "/// All of them.\npub const TOOLS: &[Told] = &[\n";
    for Tool { name, effect, title, told, .. } in &table.tools {
        writeln!(out, "    Told {{\n        name: {name:?}, effect: Effect::{}, title: {title:?},", pascal(effect))?;
        writeln!(out, "        told: {},\n    }},", literal(told))?;
    }
    out += "];\n";
    Ok(("host/server/src/mcp/generated.rs".into(), out))
}
