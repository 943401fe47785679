//! Whether there is room: a copy of the tree grows an operation, a record, a rule, a code, a state, a kind of document and an
//! adapter, by hand in no other places than ARCHITECTURE.md names, and the quick tests pass there.
//!
//! What is added stands in `tests/xtask/grow/`. A place is a file that somebody has to write in; what `cargo xtask codegen`
//! writes is none. The copy and what it builds stay in `target/copies/grow`.

mod edit;

use crate::copy::Copy;
use anyhow::{Context, Result, ensure};
use edit::Edit;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::{fs, path::Path, path::PathBuf, time::Instant};

const FOLDER: &str = "tests/xtask/grow";

/// What cargo is asked for in the copy, one after the other: the generators and the schemas, judged by an outside validator;
/// the unit tests of the rules; then, over the selection of packages for which `cargo test` has compiled everything, every
/// vector with each rule switched off in turn, the adapters, and whether what callers are told agrees with the vectors.
const STEPS: &[&str] = &[
    "xtask codegen",
    "test --quiet -p xtask",
    "test --quiet -p threadmesh-protocol --lib",
    "test --quiet --test toggles --test echo --test it -- disabling_any_rule echo:: contract:: generated:: uniform::",
];

/// Something that the tree grows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grown {
    /// What it is called in the report.
    kind: String,
    /// How many places it may take.
    most: usize,
    /// Files that show that it works, and count as none: its vectors.
    #[serde(default)]
    shown_in: Vec<Edit>,
    edits: Vec<Edit>,
}

/// Grows the copy, runs the quick tests there, and prints how many places each kind takes. An error says which kind takes
/// more than it may, or which step failed.
pub fn check(root: &Path) -> Result<()> {
    let start = Instant::now();
    let copy = Copy::new(root, "grow", |_, bytes| Ok(bytes))?;
    println!("{} s: copied", start.elapsed().as_secs());
    let all = grown(root)?;
    let mut report = Vec::new();
    for grown in &all {
        for edit in grown.edits.iter().chain(&grown.shown_in) {
            edit.apply(root, &copy.tree).with_context(|| format!("{}: {}", grown.kind, edit.file))?;
        }
        let places: BTreeSet<&str> = grown.edits.iter().map(|edit| edit.file.as_str()).collect();
        ensure!(places.len() <= grown.most, "{} takes {} places: {places:?}", grown.kind, places.len());
        report.push((grown, places));
    }
    for step in STEPS {
        run(&copy, step)?;
        println!("{} s: cargo {step}", start.elapsed().as_secs());
    }
    for (grown, places) in report {
        let vectors = if grown.shown_in.is_empty() { "" } else { ", and its vectors" };
        println!("{}: {} of at most {}{vectors}", grown.kind, places.len(), grown.most);
        places.iter().for_each(|place| println!("    {place}"));
    }
    Ok(())
}

/// What is to be grown, in the order of the files' names.
fn grown(root: &Path) -> Result<Vec<Grown>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root.join(FOLDER))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let read = |path: &PathBuf| -> Result<Grown> {
        let text = fs::read_to_string(path)?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    paths.iter().map(read).collect()
}

/// Runs cargo in the copy; an error has the end of what it said.
fn run(copy: &Copy, command: &str) -> Result<()> {
    let output = copy.cargo(&command.split(' ').collect::<Vec<_>>())?;
    let said = || {
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    };
    ensure!(output.status.success(), "cargo {command} failed in {}:\n{}", copy.tree.display(), said());
    Ok(())
}

#[cfg(test)]
mod tests;
