//! `spec/errors.json` → the `Code` enum, the WIT enum and the table of the prose.

use super::{HEADER, Output, literal, load, pascal, rules};
use anyhow::Result;
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write, path::Path};

#[derive(Deserialize)]
struct Table {
    groups: BTreeMap<String, String>,
    codes: Vec<Code>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
    group: String,
    public: String,
    rpc: i32,
    retryable: bool,
    meaning: String,
    /// What a caller can do about it, where that is not plain.
    #[serde(default)]
    next: String,
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table: Table = load(root, "spec/errors.json")?;
    Ok(vec![
        ("guest/protocol/src/generated/errors.rs".into(), rust(&table)?),
        ("wit/errors.wit".into(), wit(&table)?),
        ("spec/errors.md".into(), prose(&table)?),
        ("guest/component/src/codes.rs".into(), mapping(&table)?),
        ("host/runtime/src/codes.rs".into(), names(&table, &rules::next_steps(root)?)?),
    ])
}

fn rust(table: &Table) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! The error codes of `spec/errors.json`, in order of precedence.\n\n";
    out += "/// What kind of fault. The order is the precedence: of two faults the earlier code is reported.\n";
    out += "#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub enum Code {\n";
    for code in &table.codes {
        writeln!(out, "    /// {}\n    {},", code.meaning, pascal(&code.code))?;
    }
    out += "}\n\n/// All codes, in order.\npub const ALL: &[Code] = &[\n";
    for code in &table.codes {
        writeln!(out, "    Code::{},", pascal(&code.code))?;
    }
    out += "];\n\nimpl Code {\n";
    let field = |out: &mut String, doc: &str, name: &str, kind: &str, value: &dyn Fn(&Code) -> String| {
        *out += &format!("    /// {doc}\n    pub const fn {name}(self) -> {kind} {{\n        match self {{\n");
        for code in &table.codes {
            *out += &format!("            Self::{} => {},\n", pascal(&code.code), value(code));
        }
        *out += "        }\n    }\n";
    };
    field(&mut out, "The code as text.", "name", "&'static str", &|code| literal(&code.code));
    field(&mut out, "The code that callers of the draft's binding see.", "public", "&'static str", &|code| {
        literal(&code.public)
    });
    field(&mut out, "The JSON-RPC error number.", "rpc", "i32", &|code| code.rpc.to_string());
    field(&mut out, "Whether trying again later can help.", "retryable", "bool", &|code| code.retryable.to_string());
    field(&mut out, "Whether it says that the caller may not do this.", "denial", "bool", &|code| {
        (code.group == "denied").to_string()
    });
    out += "}\n";
    Ok(out)
}

/// A match from one enum of codes to another.
fn mapping(table: &Table) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! Error codes across the boundary, one to one.\n\nuse crate::Code;\nuse crate::ErrorCode;\n\n";
    out += "/// The code as the boundary names it.\npub fn code(code: Code) -> ErrorCode {\n    match code {\n";
    for Code { code, .. } in &table.codes {
        writeln!(out, "        Code::{0} => ErrorCode::{0},", pascal(code))?;
    }
    out += "    }\n}\n";
    Ok(out)
}

/// What hosts say about the codes.
fn names(table: &Table, rules: &[(String, String)]) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! Error codes for people and for JSON-RPC.\n\nuse crate::wit::ErrorCode;\n";
    let mut function = |doc: &str, name: &str, kind: &str, value: &dyn Fn(&Code) -> String| {
        out += &format!("\n/// {doc}\npub const fn {name}(code: ErrorCode) -> {kind} {{\n    match code {{\n");
        for code in &table.codes {
            out += &format!("        ErrorCode::{} => {},\n", pascal(&code.code), value(code));
        }
        out += "    }\n}\n";
    };
    function("The code's name, as in spec/errors.md.", "name", "&'static str", &|code| literal(&code.code));
    function("The code that callers of the draft's binding see.", "public", "&'static str", &|code| {
        literal(&code.public)
    });
    function("The JSON-RPC error number.", "rpc", "i32", &|code| code.rpc.to_string());
    function("Whether trying again later can help.", "retryable", "bool", &|code| code.retryable.to_string());
    function("The code in one sentence.", "meaning", "&'static str", &|code| literal(&code.meaning));
    out += "\n/// What to do about a refusal: by the rule that its sentence begins with, or else by its code; empty where that is plain.\n";
    out += "pub fn next(code: &str, detail: &str) -> &'static str {\n    match detail.split(':').next().unwrap_or_default() {\n";
    for (rule, next) in rules {
        writeln!(out, "        {} => {},", literal(rule), literal(next))?;
    }
    out += "        _ => match code {\n";
    for Code { code, next, .. } in table.codes.iter().filter(|code| !code.next.is_empty()) {
        writeln!(out, "            {} => {},", literal(code), literal(next))?;
    }
    out += "            _ => \"\",\n        },\n    }\n}\n";
    Ok(out)
}

fn wit(table: &Table) -> Result<String> {
    // No comment stands before the package: it would be a second documentation of it.
    let mut out = String::from("package threadmesh:core@0.1.0;\n\n");
    out += "/// The error codes. Generated by `cargo xtask codegen` from spec/errors.json; do not edit.\n";
    out += "interface errors {\n";
    out += "    /// What kind of fault; see spec/errors.md.\n    enum error-code {\n";
    for code in &table.codes {
        writeln!(out, "        /// {}\n        {},", code.meaning, code.code)?;
    }
    out += "    }\n}\n";
    Ok(out)
}

fn prose(table: &Table) -> Result<String> {
    let mut out = String::from("<!-- Generated by `cargo xtask codegen` from spec/errors.json. Do not edit. -->\n");
    out += "# Error codes\n\nOf two faults the one that stands earlier here is reported.\n\n";
    out += "| group | what it says |\n|---|---|\n";
    for (group, meaning) in &table.groups {
        writeln!(out, "| {group} | {meaning} |")?;
    }
    out +=
        "\n| code | group | public code | JSON-RPC | retry | meaning | what to do |\n|---|---|---|---|---|---|---|\n";
    for code in &table.codes {
        let retry = if code.retryable { "yes" } else { "no" };
        let Code { code, group, public, rpc, meaning, next, .. } = code;
        writeln!(out, "| `{code}` | {group} | `{public}` | {rpc} | {retry} | {meaning} | {next} |")?;
    }
    Ok(out)
}
