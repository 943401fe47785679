//! Whether there is room: a copy of the tree grows an operation, a record, a rule, a code, a state, a kind of document and an
//! adapter, by hand in no other places than ARCHITECTURE.md names, and the quick tests pass there.
//!
//! What is added stands in `tests/xtask/grow/`. A place is a file that somebody has to write in; what `cargo xtask codegen`
//! writes is none.

mod edit;

use anyhow::{Context, Result, ensure};
use edit::Edit;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::{env, fs, path::Path, path::PathBuf, process::Command, time::Instant};

const FOLDER: &str = "tests/xtask/grow";
/// Where the copy has what it builds.
const BUILT: &str = "target";

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
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let tree = target.join("grow");
    copy(root, &tree)?;
    let all = grown(root)?;
    let mut report = Vec::new();
    for grown in &all {
        for edit in grown.edits.iter().chain(&grown.shown_in) {
            edit.apply(root, &tree).with_context(|| format!("{}: {}", grown.kind, edit.file))?;
        }
        let places: BTreeSet<&str> = grown.edits.iter().map(|edit| edit.file.as_str()).collect();
        ensure!(places.len() <= grown.most, "{} takes {} places: {places:?}", grown.kind, places.len());
        report.push((grown, places));
    }
    for step in STEPS {
        run(&tree, &target, step)?;
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

/// Makes `tree` a copy of what belongs to the project under `root`. A file that is the same already is left as it is, so
/// that a second run builds no more than it must.
fn copy(root: &Path, tree: &Path) -> Result<()> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .context("git lists the files")?;
    ensure!(listed.status.success(), "git cannot list the files of {}", root.display());
    let names = String::from_utf8(listed.stdout)?;
    let names: BTreeSet<&str> = names.split_terminator('\0').filter(|name| root.join(name).is_file()).collect();
    for name in &names {
        let bytes = fs::read(root.join(name))?;
        let to = tree.join(name);
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::write(to, bytes)?;
        }
    }
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(tree)?.to_string_lossy().into_owned();
            match path.is_dir() {
                true if name == BUILT => {}
                true => folders.push(path),
                false if names.contains(name.as_str()) => {}
                false => fs::remove_file(path)?,
            }
        }
    }
    Ok(())
}

/// Runs cargo in the copy. What is built on the way is shared with the tree itself, so that crates of others are not built
/// again; what comes out (programs have the same names) stays in the copy.
fn run(tree: &Path, target: &Path, command: &str) -> Result<()> {
    let output = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(command.split(' '))
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", tree.join(BUILT))
        .env("CARGO_BUILD_BUILD_DIR", target)
        .output()?;
    let said = || {
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    };
    ensure!(output.status.success(), "cargo {command} failed in {}:\n{}", tree.display(), said());
    Ok(())
}

#[cfg(test)]
mod tests;
