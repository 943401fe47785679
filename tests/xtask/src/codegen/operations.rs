//! `spec/operations.json`: the table of operations, and what is generated from it alone. What callers see of params and
//! answers is made in `contract`.

mod guest;
mod host;
mod pages;

use super::{Output, load, ordered::Json};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::{fs, path::Path};

const FILE: &str = "spec/operations.json";
const PARAMS: &str = "spec/schema/params";
const RESULTS: &str = "spec/schema/results";

/// Kinds of principals, as the contract has them.
const PRINCIPALS: &[&str] = &["user", "policy", "task", "operator", "host"];

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    columns: Vec<Column>,
    endings: Endings,
    /// All operations, sorted by name.
    pub(super) operations: Vec<Operation>,
    tools: Vec<Tool>,
}

/// A tool of the MCP server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    /// What a call does to the record: `reads`, `adds` or `settles`.
    effect: String,
    title: String,
    told: String,
    operations: Vec<String>,
    /// Its cell of `spec/mcp.md`.
    page: String,
}

/// What a member of a row means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    meaning: String,
}

/// How operations end, beside their own codes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endings {
    title: String,
    intro: Vec<String>,
    always: Vec<String>,
    keyed: Vec<String>,
}

/// A row. `columns` of the file says what its members mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Operation {
    pub(super) name: String,
    domain: String,
    run: String,
    pub(super) summary: String,
    who: Vec<String>,
    pub(super) keyed: bool,
    #[serde(default)]
    by_worker: bool,
    waits: Option<String>,
    #[serde(default)]
    pub(super) internal: bool,
    #[serde(default)]
    draft: bool,
    nameless: Option<String>,
    #[serde(default)]
    usual: Vec<Usual>,
    codes: Vec<String>,
    pub(super) example: Json,
}

/// What clients write into a message of an intent where nobody says otherwise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Usual {
    intent: String,
    delivery_mode: String,
    message_type: String,
    expires_in_seconds: u64,
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    table.audit(root)?;
    table.audit_tools()?;
    let mut outputs = vec![guest::table(&table)?, host::list(&table)?, host::tools(root, &table)?];
    outputs.extend(pages::generate(root, &table)?);
    Ok(outputs)
}

impl Table {
    /// Reads the table. An error names the row that is out of order, or that is written otherwise than this module reads.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let table: Self = load(root, FILE)?;
        for pair in table.operations.windows(2) {
            let (left, right) = (&pair[0].name, &pair[1].name);
            ensure!(left < right, "{FILE}: {right} does not stand in the order of names");
        }
        Ok(table)
    }

    /// The operations that a transport takes.
    pub(super) fn public(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| !operation.internal)
    }

    /// Every code that an operation can be refused with, sorted.
    pub(super) fn codes(&self, operation: &Operation) -> Vec<String> {
        let keyed = self.endings.keyed.iter().filter(|_| operation.keyed);
        let all: BTreeSet<&String> = self.endings.always.iter().chain(keyed).chain(&operation.codes).collect();
        all.into_iter().cloned().collect()
    }

    /// Checks that each tool is made of operations.
    fn audit_tools(&self) -> Result<()> {
        for Tool { name, effect, operations, .. } in &self.tools {
            ensure!(["reads", "adds", "settles"].contains(&effect.as_str()), "{FILE}: {name} has the effect {effect}");
            for used in operations {
                let known = self.public().find(|operation| operation.name == *used);
                let known = known.with_context(|| format!("{FILE}: {name} uses {used}, which is no operation"))?;
                ensure!(effect != "reads" || !known.keyed, "{FILE}: {name} reads, and {used} writes");
            }
        }
        Ok(())
    }

    /// Checks every row against the codes and the schemas.
    fn audit(&self, root: &Path) -> Result<()> {
        let known: serde_json::Value = load(root, "spec/errors.json")?;
        let known: BTreeSet<&str> =
            known["codes"].as_array().into_iter().flatten().filter_map(|code| code["code"].as_str()).collect();
        for operation in &self.operations {
            operation.audit(root).with_context(|| format!("{FILE}: {}", operation.name))?;
        }
        let named = self.operations.iter().flat_map(|operation| &operation.codes);
        for code in named.chain(&self.endings.always).chain(&self.endings.keyed) {
            ensure!(known.contains(code.as_str()), "{FILE}: there is no code {code}");
        }
        for folder in [PARAMS, RESULTS] {
            for entry in fs::read_dir(root.join(folder))? {
                let file = entry?.file_name().to_string_lossy().into_owned();
                let name = file.trim_end_matches(".schema.json");
                let shared = folder == RESULTS && name == "common";
                let listed = self.operations.iter().any(|operation| operation.name == name);
                ensure!(shared || listed, "{folder}/{file} is of no operation of {FILE}");
            }
        }
        Ok(())
    }
}

impl Operation {
    /// The schema of its params, from the root.
    pub(super) fn params(&self) -> String {
        format!("{PARAMS}/{}.schema.json", self.name)
    }

    /// The schema of what it answers, from the root.
    pub(super) fn result(&self) -> String {
        format!("{RESULTS}/{}.schema.json", self.name)
    }

    /// Whether there is a schema of what it answers; `tests/it/contract.rs` asks for it.
    pub(super) fn answers(&self, root: &Path) -> bool {
        root.join(self.result()).is_file()
    }

    fn audit(&self, root: &Path) -> Result<()> {
        ensure!(self.summary.ends_with('.'), "the summary is a sentence");
        ensure!(self.codes.is_sorted(), "the codes are sorted");
        ensure!(!self.who.is_empty(), "somebody may call it");
        ensure!(self.nameless.as_deref() != Some(""), "why it names nothing is said");
        for kind in &self.who {
            ensure!(PRINCIPALS.contains(&kind.as_str()), "{kind} is no kind of principal");
        }
        ensure!(!self.internal || self.who == ["host"], "what is internal is the host's alone");
        ensure!(!self.by_worker || self.keyed, "the worker is part of a key's scope");
        let params = Json::load(&root.join(self.params()))?;
        let takes = |member: &str| params.get("properties").and_then(|all| all.get(member)).is_some();
        ensure!(
            takes("idempotencyKey") == self.keyed,
            "its schema takes an idempotencyKey, or the row says keyed: false"
        );
        if let Some(member) = &self.waits {
            ensure!(takes(member), "it waits by {member}, which its schema does not take");
        }
        Ok(())
    }
}
