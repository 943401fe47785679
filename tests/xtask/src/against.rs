//! Compares the conformance vectors of another checkout with those of this one, and the answers of its driver with those
//! of another driver: what a change of format, of contract or of structure left as it was, and what it did not.
//!
//! ```text
//! cargo xtask vectors-against DIR [--allow CLASS,…] [--drivers OLD NEW] [--verbose]
//! ```
//!
//! Of every vector in `DIR/spec/conformance` there must be one of the same file and name here, with the same function and
//! rules, and the same verdict: accepted or refused, and the code, pointer and rule of the refusal, of each step too where
//! it is a scenario. What else may differ are arguments and answers that hold what is stored, and only in the classes
//! ([`Class`]) that are allowed by name; all of it is counted and told by its path.
//!
//! With `--drivers`, both commands (see `spec/conformance/README.md`) are asked all vectors of `DIR` that hold no stored
//! rows, and their answers are compared whole, every member of every answer and effect of every step of every scenario.
//!
//! Forms of errors are mapped by [`mapping::old_form`], and nothing else is.

mod answers;
mod classes;
pub mod mapping;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, bail};
pub use classes::Class;
use classes::{Difference, Tally};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Wanted {
    /// The other checkout.
    other: PathBuf,
    /// What may differ.
    allowed: Vec<Class>,
    /// The commands of the driver of the other checkout and of this one.
    drivers: Option<(String, String)>,
    /// Whether every difference is printed.
    verbose: bool,
}

impl Wanted {
    /// From the arguments after `vectors-against`.
    ///
    /// # Errors
    /// Where an argument is none of those, or names no class.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let [other, rest @ ..] = arguments else { bail!("name the other checkout") };
        let mut wanted = Self { other: other.into(), ..Self::default() };
        let mut rest = rest.iter().copied();
        while let Some(argument) = rest.next() {
            match argument {
                "--allow" => {
                    let names = rest.next().context("--allow CLASS,…")?;
                    wanted.allowed = names.split(',').map(Class::parse).collect::<Result<_>>()?;
                }
                "--drivers" => {
                    let pair = (rest.next(), rest.next());
                    let (Some(old), Some(new)) = pair else { bail!("--drivers OLD NEW") };
                    wanted.drivers = Some((old.into(), new.into()));
                }
                "--verbose" => wanted.verbose = true,
                other => bail!("there is no option {other}"),
            }
        }
        Ok(wanted)
    }
}

/// A vector's file below `spec/conformance`, and its name.
type Name = (String, String);

/// The vectors of a checkout by their names.
fn vectors(root: &Path) -> Result<BTreeMap<Name, Value>> {
    let folder = root.join("spec/conformance");
    let mut all = BTreeMap::new();
    for group in entries(&folder)?.iter().filter(|path| path.is_dir()) {
        for path in entries(group)?.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let file = path.strip_prefix(&folder)?.display().to_string();
            let text = fs::read_to_string(path)?;
            let read: Value = serde_json::from_str(&text).with_context(|| file.clone())?;
            for vector in read["vectors"].as_array().with_context(|| format!("{file} has no vectors"))? {
                let name = vector["name"].as_str().with_context(|| format!("{file}: a vector without a name"))?;
                all.insert((file.clone(), name.to_owned()), vector.clone());
            }
        }
    }
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Compares, prints what differs, and fails where something does that is not allowed.
///
/// # Errors
/// Where a vector is missing or differs in what is not allowed, and where files or drivers cannot be read.
pub fn run(root: &Path, wanted: &Wanted) -> Result<()> {
    let (before, after) = (vectors(&wanted.other)?, vectors(root)?);
    let mut tally = Tally::new(&wanted.allowed, wanted.verbose);
    let (mut missing, mut equal) = (Vec::new(), 0);
    for (name, old) in &before {
        let Some(new) = after.get(name) else {
            missing.push(format!("{}: {}", name.0, name.1));
            continue;
        };
        let found = compare(old, new);
        equal += usize::from(found.is_empty());
        tally.add(name, found);
    }
    let added = after.keys().filter(|name| !before.contains_key(*name)).count();
    println!("{} vectors before, {equal} of them equal, {} missing; {added} more", before.len(), missing.len());
    missing.iter().for_each(|name| println!("missing: {name}"));
    let mut failed = !missing.is_empty();
    failed |= tally.report("vectors");
    if let Some((old, new)) = &wanted.drivers {
        let mut tally = Tally::new(&wanted.allowed, wanted.verbose);
        answers::compare(&before, old, new, &mut tally)?;
        failed |= tally.report("answers");
    }
    if failed { bail!("something differs that is not allowed") } else { Ok(()) }
}

/// Where two vectors differ, after their errors were brought to one form.
fn compare(old: &Value, new: &Value) -> Vec<Difference> {
    classes::differences(old, &mapping::old_form(old, new))
}
