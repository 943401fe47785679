//! `spec/errors.json` → the `Code` enum of the rules, the constants of hosts and the table of the prose.

use super::{HEADER, Output, literal, load, ordered::Json, pascal, rules};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::{fmt::Write, path::Path};

#[derive(Deserialize)]
struct Table {
    codes: Vec<Code>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
    /// By whose fault: `group` of wit/world.wit.
    group: String,
    /// Whether it says that the caller may not do this, and so is recorded as a denial.
    #[serde(default)]
    denial: bool,
    /// Whether hosts give it themselves.
    #[serde(default)]
    host: bool,
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
    let groups = groups(root)?;
    if let Some(code) = table.codes.iter().find(|code| groups.iter().all(|(name, _)| *name != code.group)) {
        anyhow::bail!("spec/errors.json has no group {} (of {})", code.group, code.code);
    }
    Ok(vec![
        ("guest/protocol/src/generated/errors.rs".into(), rust(&table, &groups)?),
        ("spec/errors.md".into(), prose(&table, &groups)?),
        ("host/runtime/src/codes.rs".into(), constants(&table, &rules::next_steps(root)?)?),
    ])
}

/// The groups and what they say, in order.
fn groups(root: &Path) -> Result<Vec<(String, String)>> {
    let table = Json::load(&root.join("spec/errors.json"))?;
    let groups = table.get("groups").context("spec/errors.json has groups")?;
    let said = |(name, meaning): &(String, Json)| Some((name.clone(), meaning.text()?.to_owned()));
    groups.members().iter().map(|group| said(group).context("a group says what it means")).collect()
}

fn rust(table: &Table, groups: &[(String, String)]) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! The error codes of `spec/errors.json`, in order of precedence.\n\n";
    out += "/// By whose fault something was not done.\n";
    out += "#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum Group {\n";
    for (name, meaning) in groups {
        writeln!(out, "    /// {meaning}\n    {},", pascal(name))?;
    }
    out += "}\n\nimpl Group {\n    /// The group as text.\n    pub const fn name(self) -> &'static str {\n        match self {\n";
    for (name, _) in groups {
        writeln!(out, "            Self::{} => {},", pascal(name), literal(name))?;
    }
    out += "        }\n    }\n}\n\n";
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
    field(&mut out, "By whose fault.", "group", "Group", &|code| format!("Group::{}", pascal(&code.group)));
    field(&mut out, "The code that callers of the draft's binding see.", "public", "&'static str", &|code| {
        literal(&code.public)
    });
    field(&mut out, "The JSON-RPC error number.", "rpc", "i32", &|code| code.rpc.to_string());
    field(&mut out, "Whether trying again later can help.", "retryable", "bool", &|code| code.retryable.to_string());
    field(&mut out, "Whether it says that the caller may not do this.", "denial", "bool", &|code| {
        code.denial.to_string()
    });
    out += "}\n";
    Ok(out)
}

/// The codes that hosts give themselves, and what hosts say about codes.
fn constants(table: &Table, rules: &[(String, String)]) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! The error codes that hosts give themselves. Those of the core cross the boundary as text, and a host takes each of\n";
    out += "//! them by its group: see [`crate::wit::Error`].\n\n";
    out += "use crate::wit::{Error, Group};\n\n";
    out += KNOWN;
    for code in table.codes.iter().filter(|code| code.host) {
        let Code { code, group, public, rpc, retryable, meaning, .. } = code;
        let name = code.to_uppercase().replace('-', "_");
        writeln!(out, "\n/// {meaning}\npub const {name}: Known = Known {{")?;
        writeln!(out, "    name: {},\n    group: Group::{},", literal(code), pascal(group))?;
        writeln!(out, "    public: {},\n    rpc: {rpc},\n    retryable: {retryable},", literal(public))?;
        writeln!(out, "    meaning: {},\n}};", literal(meaning))?;
    }
    out += "\n/// All of them.\npub const KNOWN: &[Known] = &[\n";
    for code in table.codes.iter().filter(|code| code.host) {
        writeln!(out, "    {},", code.code.to_uppercase().replace('-', "_"))?;
    }
    out += "];\n";
    out += "\n/// The code that callers of the draft's binding see, and the JSON-RPC error number, of every code of spec/errors.md.\n";
    out += "pub fn wire(code: &str) -> Option<(&'static str, i32)> {\n    Some(match code {\n";
    for Code { code, public, rpc, .. } in &table.codes {
        writeln!(out, "        {} => ({}, {rpc}),", literal(code), literal(public))?;
    }
    out += "        _ => return None,\n    })\n}\n";
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

const KNOWN: &str = r#"/// What a host knows of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The code, as in spec/errors.md.
    pub name: &'static str,
    /// By whose fault.
    pub group: Group,
    /// The code that callers of the draft's binding see.
    pub public: &'static str,
    /// The JSON-RPC error number.
    pub rpc: i32,
    /// Whether trying again later can help.
    pub retryable: bool,
    /// The code in one sentence.
    pub meaning: &'static str,
}

impl Known {
    /// An error of this code that says `detail` of all of the input.
    pub fn error(&self, detail: impl Into<String>) -> Error {
        let (code, retryable, pointer) = (self.name.into(), self.retryable, String::new());
        Error { group: self.group, code, retryable, pointer, detail: detail.into() }
    }
}

/// What this host knows of `code`; nothing where only the core gives it.
pub fn known(code: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == code)
}
"#;

fn prose(table: &Table, groups: &[(String, String)]) -> Result<String> {
    let mut out = String::from("<!-- Generated by `cargo xtask codegen` from spec/errors.json. Do not edit. -->\n");
    out += "# Error codes\n\nOf two faults the one that stands earlier here is reported. An error has a group, which says by whose fault it is, and a\ncode. There may be other codes than these: whoever meets one goes by its group and by whether it may be retried.\n\n";
    out += "| group | what it says |\n|---|---|\n";
    for (group, meaning) in groups {
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
