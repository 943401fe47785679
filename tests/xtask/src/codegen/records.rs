//! `spec/records.json` → the stored records as Rust (structs, reader and writer), `spec/records.md`, and what a purge makes
//! of every member.

mod fates;
mod order;
mod pages;
mod rust;

use super::{Output, load};
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::path::Path;

pub use fates::{Fate, fates};
pub use order::Rows;

/// What may become of a member.
const FATES: &[&str] = &["kept", "removed", "digest", "tombstone", "ends"];
const FILE: &str = "spec/records.json";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    intro: Vec<String>,
    notes: Vec<String>,
    /// What several collections hold.
    structs: Vec<Struct>,
    collections: Vec<Collection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Struct {
    name: String,
    what: String,
    members: Vec<Member>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Collection {
    name: String,
    /// The parts of its keys, or in words.
    id: Vec<String>,
    holds: String,
    /// The type; none for rows that are not written in the order of a table.
    #[serde(rename = "struct")]
    record: Option<String>,
    what: Option<String>,
    /// What is written instead, where there is no type.
    written: Option<String>,
    /// What becomes of every member that says nothing else.
    purge: Option<String>,
    note: Option<String>,
    indexes: Vec<Index>,
    #[serde(default)]
    structs: Vec<Struct>,
    members: Vec<Member>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    name: String,
    key: Vec<String>,
    /// When there is an entry; always, where it does not say.
    when: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Text,
    Integer,
    Flag,
    Document,
    Machine,
    Struct,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    name: String,
    /// Its name in Rust, where that is not the same in snake case.
    field: Option<String>,
    kind: Kind,
    /// The machine or the struct.
    of: Option<String>,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    optional: bool,
    /// The members of the struct stand among those of the record.
    #[serde(default)]
    flat: bool,
    /// Written once, and changed by a purge alone.
    #[serde(default)]
    fixed: bool,
    what: String,
    purge: Option<String>,
    note: Option<String>,
    /// What a purge makes of what a document holds.
    #[serde(default)]
    inside: Vec<Inside>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inside {
    path: String,
    purge: String,
    note: Option<String>,
}

impl Table {
    fn load(root: &Path) -> Result<Self> {
        let table: Self = load(root, FILE)?;
        for collection in &table.collections {
            table.check(collection)?;
        }
        Ok(table)
    }

    /// The struct of that name, of a collection or of several.
    fn find<'a>(&'a self, collection: &'a Collection, name: &str) -> Option<&'a Struct> {
        collection.structs.iter().chain(&self.structs).find(|known| known.name == name)
    }

    fn check(&self, collection: &Collection) -> Result<()> {
        let name = &collection.name;
        ensure!(
            collection.record.is_some() == collection.what.is_some()
                && collection.record.is_some() != collection.written.is_some(),
            "{FILE}: {name} has a struct and what it is, or says what is written instead"
        );
        let fixed = collection.members.iter().map(|member| member.fixed);
        ensure!(fixed.is_sorted_by(|left, right| left >= right), "{FILE}: {name}: fixed members come first");
        for member in collection.structs.iter().flat_map(|known| &known.members).chain(&collection.members) {
            let (at, of) = (&member.name, member.of.as_deref().unwrap_or_default());
            let known = match member.kind {
                Kind::Struct => self.find(collection, of).is_some(),
                Kind::Machine => !of.is_empty(),
                _ => of.is_empty(),
            };
            ensure!(known, "{FILE}: {name}: {at} is of {of:?}?");
            let listed = matches!(member.kind, Kind::Struct | Kind::Text);
            ensure!(!member.list || (listed && !member.optional), "{FILE}: {name}: {at} is a list of what?");
            let word = member.kind == Kind::Machine && member.optional;
            ensure!(!word, "{FILE}: {name}: {at}: a state is always there");
            let flat = member.kind == Kind::Struct && !member.list && !member.optional;
            ensure!(!member.flat || flat, "{FILE}: {name}: {at} cannot stand flat");
        }
        Ok(())
    }
}

impl Member {
    fn field(&self) -> String {
        let snake = |name: &str| {
            let mut out = String::new();
            for char in name.chars() {
                if char.is_ascii_uppercase() {
                    out.push('_');
                }
                out.push(char.to_ascii_lowercase());
            }
            out
        };
        self.field.clone().unwrap_or_else(|| snake(&self.name))
    }
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    let mut outputs = rust::outputs(&table)?;
    outputs.push(("spec/records.md".into(), pages::page(&table)?));
    Ok(outputs)
}
