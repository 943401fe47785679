//! `spec/documents.json`: the kinds of documents → the enum and the dispatch of `guest/protocol`, and the table of the prose.

use super::{HEADER, Output, load, page, pascal};
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::{fmt::Write, path::Path};

const FILE: &str = "spec/documents.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kinds: Vec<Kind>,
}

/// A kind of document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    name: String,
    meaning: String,
    /// The code of one that is refused.
    code: String,
    /// Whether there are rules beyond its shape: then its module has a function `rules`.
    check: bool,
    /// Which rules these are, for readers.
    #[serde(default)]
    rules: String,
}

/// A kind as other generators need it.
pub(super) struct Named {
    /// Its name, and that of its schema.
    pub(super) name: String,
    /// The code of one that is refused.
    pub(super) code: String,
}

/// The kinds, in the order in which `check` lists them.
pub(super) fn kinds(root: &Path) -> Result<Vec<Named>> {
    let table: Table = load(root, FILE)?;
    Ok(table.kinds.into_iter().map(|kind| Named { name: kind.name, code: kind.code }).collect())
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table: Table = load(root, FILE)?;
    let known: serde_json::Value = load(root, "spec/errors.json")?;
    for Kind { name, code, .. } in &table.kinds {
        let codes = known["codes"].as_array().into_iter().flatten();
        ensure!(codes.into_iter().any(|known| known["code"] == *code), "{FILE}: {name}: there is no code {code}");
    }
    Ok(vec![
        ("guest/protocol/src/documents/kinds.rs".into(), rust(&table)?),
        page(root, "spec/documents.md", &[("kinds", prose(&table)?)])?,
    ])
}

fn rust(table: &Table) -> Result<String> {
    let mut out = String::from(HEADER);
    out += "//! The kinds of `spec/documents.json`.\n\nuse super::{Entry, Part};\nuse crate::generated::shapes;\n";
    out += "use crate::{Code, Error};\n\n/// A kind of document.\n";
    out += "#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum Kind {\n";
    for Kind { name, meaning, .. } in &table.kinds {
        writeln!(out, "    /// {meaning}\n    {},", pascal(name))?;
    }
    out += "}\n\n/// All of them.\npub(super) const TABLE: &[Entry] = &[\n";
    for Kind { name, code, .. } in &table.kinds {
        let shape = name.replace('-', "_").to_uppercase();
        writeln!(out, "    Entry(Kind::{0}, {name:?}, Code::{1}, shapes::{shape}),", pascal(name), pascal(code))?;
    }
    out += "];\n\n/// The rules of a kind beyond its shape.\n";
    out += "pub(super) fn rules(kind: Kind, part: Part<'_>) -> Result<(), Error> {\n    match kind {\n";
    for Kind { name, .. } in table.kinds.iter().filter(|kind| kind.check) {
        writeln!(out, "        Kind::{} => super::{}::rules(part),", pascal(name), name.replace('-', "_"))?;
    }
    let plain: Vec<String> =
        table.kinds.iter().filter(|kind| !kind.check).map(|kind| format!("Kind::{}", pascal(&kind.name))).collect();
    if !plain.is_empty() {
        writeln!(out, "        {} => Ok(()),", plain.join(" | "))?;
    }
    out += "    }\n}\n";
    Ok(out)
}

fn prose(table: &Table) -> Result<String> {
    let mut out = String::from("| kind | what it is | rules | refused with |\n|---|---|---|---|\n");
    for Kind { name, meaning, code, rules, .. } in &table.kinds {
        writeln!(out, "| `{name}` | {meaning} | {rules} | `{code}` |")?;
    }
    Ok(out)
}
