//! Schemas under one name each: whole files, and the definitions in them.

use super::super::ordered::Json;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A schema: its file from the root, and the definition in it; the whole file where that is empty.
pub(super) type Place = (String, String);

/// Reads schema files, and names what they hold.
pub(super) struct Catalogue {
    root: PathBuf,
    files: BTreeMap<String, Json>,
    names: BTreeMap<String, Place>,
}

impl Catalogue {
    /// Of the files under `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// The schema at `place`.
    pub(super) fn schema(&mut self, (file, name): &Place) -> Result<Json> {
        if !self.files.contains_key(file) {
            self.files.insert(file.clone(), Json::load(&self.root.join(file))?);
        }
        let whole = &self.files[file];
        match name.as_str() {
            "" => Ok(whole.clone()),
            name => {
                let found = whole.get("$defs").and_then(|all| all.get(name));
                found.cloned().with_context(|| format!("{file} has no definition {name}"))
            }
        }
    }

    /// Where `reference` leads from `file`.
    pub(super) fn follow(file: &str, reference: &str) -> Place {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut target: Vec<&str> = file.split('/').collect();
        if !path.is_empty() {
            target.pop();
            for part in path.split('/') {
                match part {
                    ".." => drop(target.pop()),
                    part => target.push(part),
                }
            }
        }
        (target.join("/"), fragment.trim_start_matches("/$defs/").to_owned())
    }

    /// The one name of the schema at `place`: shared definitions and documents have their own, what belongs to one
    /// operation has the operation's before it.
    pub(super) fn name(&mut self, place: &Place) -> Result<String> {
        let (file, definition) = place;
        let path = file.trim_start_matches("spec/schema/").trim_end_matches(".schema.json");
        let shared = path == "common" || path == "results/common";
        let name = match (shared, definition.as_str()) {
            (true, definition) => definition.to_owned(),
            (false, "") => path.replace('/', "."),
            (false, definition) => format!("{}.{definition}", path.replace('/', ".")),
        };
        let known = self.names.entry(name.clone()).or_insert_with(|| place.clone());
        ensure!(known == place, "{name} is the name of two schemas: {known:?} and {place:?}");
        Ok(name)
    }
}
