//! Which rule has which conformance vectors.
//!
//! A vector is any object, at any depth of a file under `spec/conformance/`, that names `rules` and says what it expects:
//! `ok` accepts, `error` rejects; what an accepted step `records` as broken is rejected. So the steps of a scenario count like vectors of their own.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, fs, path::Path, path::PathBuf};

/// How many vectors speak of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Vectors that are accepted.
    pub accepting: usize,
    /// Vectors that are refused.
    pub rejecting: usize,
}

/// What the vectors cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// All vectors.
    pub vectors: Count,
    /// Every rule of `spec/rules/`, with its vectors.
    pub rules: BTreeMap<String, Count>,
    /// Rule ids in vectors that no table has, with the file.
    pub unknown: BTreeSet<(String, String)>,
    /// Names that stand twice in the `vectors` of one file, with the file.
    pub duplicates: BTreeSet<(String, String)>,
}

impl Coverage {
    /// The rules without an accepting vector.
    pub fn unaccepted(&self) -> Vec<&str> {
        self.lacking(|count| count.accepting)
    }

    /// The rules without a rejecting vector.
    pub fn unrejected(&self) -> Vec<&str> {
        self.lacking(|count| count.rejecting)
    }

    /// Whether every rule has both, every id is known, every name is unique, and rejecting vectors are in the majority.
    pub fn complete(&self) -> bool {
        let both = self.unaccepted().is_empty() && self.unrejected().is_empty();
        let clean = self.unknown.is_empty() && self.duplicates.is_empty();
        both && clean && self.vectors.rejecting > self.vectors.accepting
    }

    fn lacking(&self, count: impl Fn(&Count) -> usize) -> Vec<&str> {
        self.rules.iter().filter(|(_, counts)| count(counts) == 0).map(|(id, _)| id.as_str()).collect()
    }

    fn file(&mut self, name: &str, file: &Value) {
        let vectors = file.get("vectors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut names = BTreeSet::new();
        for vector in vectors.iter().filter_map(|vector| vector.get("name")?.as_str()) {
            if !names.insert(vector) {
                self.duplicates.insert((vector.into(), name.into()));
            }
        }
        let mut open: Vec<&Value> = vec![file];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(members) => {
                    self.vector(name, value);
                    open.extend(members.values());
                }
                _ => {}
            }
        }
    }

    fn vector(&mut self, file: &str, vector: &Value) {
        let Some(rules) = vector.get("rules").and_then(Value::as_array) else { return };
        let (accepts, rejects) = (vector.get("ok").is_some(), vector.get("error").is_some());
        let add = |count: &mut Count| {
            count.accepting += usize::from(accepts);
            count.rejecting += usize::from(rejects);
        };
        if accepts || rejects {
            add(&mut self.vectors);
        }
        let recorded: Vec<&Value> = vector.get("records").and_then(Value::as_array).into_iter().flatten().collect();
        for rule in rules.iter().filter_map(Value::as_str) {
            match self.rules.get_mut(rule) {
                Some(count) if recorded.iter().any(|known| known.as_str() == Some(rule)) => count.rejecting += 1,
                Some(count) => add(count),
                None => {
                    self.unknown.insert((rule.into(), file.into()));
                }
            }
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count { accepting, rejecting } = self.vectors;
        writeln!(out, "{} rules, {accepting} accepting and {rejecting} rejecting vectors", self.rules.len())?;
        for (kind, rules) in [("accepting", self.unaccepted()), ("rejecting", self.unrejected())] {
            if !rules.is_empty() {
                writeln!(out, "no {kind} vector: {}", rules.join(", "))?;
            }
        }
        for (rule, file) in &self.unknown {
            writeln!(out, "{file}: no rule {rule}")?;
        }
        for (name, file) in &self.duplicates {
            writeln!(out, "{file}: two vectors named {name:?}")?;
        }
        Ok(())
    }
}

/// Counts the vectors of the repository at `root`. Errors: a file that cannot be read or parsed.
pub fn coverage(root: &Path) -> Result<Coverage> {
    let rules = crate::codegen::rule_ids(root)?.into_iter().map(|id| (id, Count::default())).collect();
    let mut coverage = Coverage { rules, ..Coverage::default() };
    let files = json_files(&root.join("spec/conformance"))?;
    ensure!(!files.is_empty(), "no conformance vectors");
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let file = serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        coverage.file(&name, &file);
    }
    Ok(coverage)
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
