//! `spec/behaviours.json`: which vectors and tests show what the public draft's own tests check, what they leave out, and
//! what the draft does badly.
//!
//! [`faults`] says what is wrong with the map: an id that is missing, a vector or a test that does not exist, and one that
//! could not fail.

use crate::codegen::load;
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path, path::PathBuf};

/// How many behaviours the draft's tests have, and how many entries each list beside them; `T` are the statements of the
/// seed of cross-thread events.
const NUMBERED: usize = 245;
const LETTERED: [(char, usize); 4] = [('G', 17), ('A', 10), ('B', 18), ('T', 59)];
const SINGLE: [&str; 3] = ["C1", "C2", "C3"];

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// The title of the table.
    pub title: String,
    /// Paragraphs before the table.
    pub intro: Vec<String>,
    /// Everything, in the order of the ids.
    pub behaviours: Vec<Behaviour>,
}

/// A behaviour, and what shows it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// A number, or a letter and a number.
    pub id: String,
    /// What is so here.
    pub says: String,
    /// Rules that refuse what it forbids: with any of them off, a vector of this behaviour fails.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Rules that let pass what it allows: if any of them refused everything, a vector of this behaviour would fail.
    #[serde(default)]
    pub passes: Vec<String>,
    /// Vectors, as `group/file: name`: each misses one of the rules, where there are any.
    #[serde(default)]
    pub vectors: Vec<String>,
    /// Vectors beside them in which the behaviour is what is answered, whatever the rules.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Names of Rust tests.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why nothing here shows it.
    #[serde(default)]
    pub outside: Option<String>,
}

/// Reads the map of the repository at `root`.
pub fn map(root: &Path) -> Result<Map> {
    load(root, "spec/behaviours.json")
}

/// Every id, in order.
fn ids() -> Vec<String> {
    let numbered = (1..=NUMBERED).map(|number| number.to_string());
    let lettered =
        LETTERED.iter().flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number}")));
    numbered.chain(lettered).chain(SINGLE.map(Into::into)).collect()
}

/// Everything that is wrong with the map, a line each. Errors: a file that cannot be read.
pub fn faults(root: &Path) -> Result<Vec<String>> {
    let map = map(root)?;
    let mut faults = Vec::new();
    let (listed, expected): (Vec<String>, Vec<String>) =
        (map.behaviours.iter().map(|behaviour| behaviour.id.clone()).collect(), ids());
    if listed != expected {
        let missing: Vec<_> = expected.iter().filter(|id| !listed.contains(id)).collect();
        faults.push(format!("the ids are not those of the lists, each once and in order; missing: {missing:?}"));
    }
    let rules: BTreeSet<String> = crate::codegen::rule_ids(root)?.into_iter().collect();
    let known = Known { rules, vectors: vectors(root)?, tests: tests(root)? };
    for behaviour in &map.behaviours {
        faults.extend(known.faults(behaviour).into_iter().map(|fault| format!("{}: {fault}", behaviour.id)));
    }
    Ok(faults)
}

/// What is wrong with `names`, a line each: that one is neither a test nor a vector (`group/file: name`), or cannot fail.
/// Errors: a file that cannot be read.
pub fn unshown(root: &Path, names: &[String]) -> Result<Vec<String>> {
    let (vectors, tests) = (vectors(root)?, tests(root)?);
    let fault = |name: &String| match vectors.get(name).or_else(|| tests.get(name)) {
        Some(true) => None,
        Some(false) => Some(format!("{name:?} cannot fail")),
        None => Some(format!("there is no {name:?}")),
    };
    Ok(names.iter().filter_map(fault).collect())
}

/// What there is to be named.
struct Known {
    rules: BTreeSet<String>,
    /// With whether it expects something.
    vectors: BTreeMap<String, bool>,
    /// With whether its body can end in a failure.
    tests: BTreeMap<String, bool>,
}

impl Known {
    fn faults(&self, behaviour: &Behaviour) -> Vec<String> {
        let Behaviour { id: _, says, rules, passes, vectors, answers, tests, outside } = behaviour;
        let mut faults = Vec::new();
        if says.is_empty() {
            faults.push("nothing is said".into());
        }
        if outside.is_some() != [vectors, answers, tests].iter().all(|names| names.is_empty()) {
            faults.push("either something shows it, or it says why nothing does".into());
        }
        if vectors.is_empty() && !(rules.is_empty() && passes.is_empty()) {
            faults.push("rules are named, and no vector that misses them".into());
        }
        let unknown = rules.iter().chain(passes).filter(|rule| !self.rules.contains(*rule));
        faults.extend(unknown.map(|rule| format!("there is no rule {rule}")));
        let named = vectors.iter().chain(answers).map(|name| (name, &self.vectors));
        let named = named.chain(tests.iter().map(|name| (name, &self.tests)));
        for (name, known) in named {
            match known.get(name) {
                Some(true) => {}
                Some(false) => faults.push(format!("{name:?} cannot fail")),
                None => faults.push(format!("there is no {name:?}")),
            }
        }
        faults
    }
}

/// All conformance vectors as `group/file: name`, with whether they expect something.
fn vectors(root: &Path) -> Result<BTreeMap<String, bool>> {
    let folder = root.join("spec/conformance");
    let mut all = BTreeMap::new();
    for path in files(&folder, "json")? {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let file: Value = serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
        let place = path.strip_prefix(&folder)?.with_extension("").to_string_lossy().replace('\\', "/");
        for vector in file["vectors"].as_array().into_iter().flatten() {
            let name = vector["name"].as_str().unwrap_or_default();
            all.insert(format!("{place}: {name}"), expects(vector));
        }
    }
    Ok(all)
}

/// Whether a vector says what must come back: of a scenario, at least one of its steps.
fn expects(vector: &Value) -> bool {
    let empty = serde_json::json!({"value": {}});
    let says = |value: &Value| {
        value.get("error").is_some() || value.get("has").is_some() || value.get("ok").is_some_and(|ok| *ok != empty)
    };
    match vector["args"]["steps"].as_array() {
        Some(steps) if vector["function"] == "scenario" => steps.iter().any(says),
        _ => says(vector),
    }
}

/// The names of all functions that are tests, with whether their text has anything that can fail.
fn tests(root: &Path) -> Result<BTreeMap<String, bool>> {
    let mut all = BTreeMap::new();
    for folder in ["guest", "host", "tests"] {
        for path in files(&root.join(folder), "rs")? {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            functions(&text, &mut all);
        }
    }
    Ok(all)
}

/// Adds the tests in the source `text`. A test is a function below an attribute `test`; rustfmt ends it by a brace as far
/// from the margin as its attribute.
fn functions(text: &str, all: &mut BTreeMap<String, bool>) {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let attribute = line.trim_start();
        if !(attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test")) {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - attribute.len()]);
        let mut body = Vec::new();
        for line in lines.by_ref() {
            body.push(line);
            if line == end || line.ends_with("{}") {
                break;
            }
        }
        let name = body.iter().find_map(|line| line.trim_start().trim_start_matches("async ").strip_prefix("fn "));
        if let Some((name, _)) = name.and_then(|rest| rest.split_once('(')) {
            let fails = |line: &&str| {
                // A helper of the test's own may be what asserts.
                ["assert", "expect(", "unwrap", "panic!", "();", ");"].iter().any(|mark| line.contains(mark))
            };
            all.insert(name.to_owned(), body.iter().skip(1).any(fails));
        }
    }
}

/// All files below `folder` with this ending, in order; nothing of a build.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != "target" && name != "node_modules" {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
