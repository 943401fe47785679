//! A copy of the tree in which faults are made, with its own builds.

use super::patch::{self, Patch};
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script that builds the component, and the line in it that names what the component is made of.
const BUILD: &str = "guest/artifact/build.rs";
/// What the component is made of.
const GUEST: [&str; 3] = ["guest/", "wit/", "Cargo."];

/// The copy.
pub struct Scratch {
    root: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// Brings the copy up to date with what git tracks at `root`. Files that are as they were keep their times, so that
    /// nothing is compiled again for them.
    ///
    /// # Errors
    /// Where files cannot be listed, read or written.
    pub fn new(root: &Path) -> Result<Self> {
        let root = &root.canonicalize()?;
        let place = root.join("target/faults");
        let scratch = Self { root: place.join("tree"), target: place.join("target") };
        let names = tracked(root)?;
        let mut guest = Sha256::new();
        for name in &names {
            let bytes = fs::read(root.join(name))?;
            if GUEST.iter().any(|start| name.starts_with(start)) {
                guest.update(&bytes);
            }
            if name != BUILD {
                update(&scratch.root.join(name), &bytes)?;
            }
        }
        let script = fs::read_to_string(root.join(BUILD))?;
        update(&scratch.root.join(BUILD), once(&script, &guest.finalize())?.as_bytes())?;
        scratch.forget(&names)?;
        Ok(scratch)
    }

    /// Removes what the tree has no longer: modules and tests of an earlier copy.
    fn forget(&self, names: &BTreeSet<String>) -> Result<()> {
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let name = path.strip_prefix(&self.root)?.display().to_string();
                if path.is_dir() {
                    folders.push(path);
                } else if !names.contains(&name) {
                    fs::remove_file(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Runs `what` while the fault is in the copy.
    ///
    /// # Errors
    /// Where the patch does not apply, and those of `what`.
    pub fn with<T>(&self, fault: &Patch, what: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(why) = patch::apply(&self.root, fault, &[])? {
            bail!("it does not apply: {why}");
        }
        let result = what();
        let undone = patch::apply(&self.root, fault, &["--reverse"])?;
        ensure!(undone.is_none(), "it cannot be taken back: {}", undone.unwrap_or_default());
        result
    }

    /// Runs cargo in the copy.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn cargo(&self, arguments: &[&str]) -> Result<Output> {
        let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command.output().context("cargo")
    }

    /// Runs a program that was built in the copy.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn program(&self, name: &str, arguments: &[&str]) -> Result<Output> {
        let program = self.target.join("debug").join(name);
        Command::new(&program).args(arguments).current_dir(&self.root).output().with_context(|| name.to_owned())
    }
}

/// Names of the files that git tracks and that are there.
fn tracked(root: &Path) -> Result<BTreeSet<String>> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    ensure!(listed.status.success(), "not a git checkout");
    let text = String::from_utf8(listed.stdout)?;
    Ok(text.split('\0').filter(|name| root.join(name).is_file()).map(Into::into).collect())
}

/// Writes a file unless it is as it should be.
fn update(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    Ok(fs::write(path, bytes)?)
}

/// The script that builds the component, so that it does so once: faults in the rules are looked for without the sandbox,
/// and a component for each of them would take longer than all the rest. `guest` is the digest of what it is made of.
fn once(script: &str, guest: &[u8]) -> Result<String> {
    let line = "for source in SOURCES {";
    ensure!(script.contains(line), "{BUILD} has no line {line:?}");
    let mut text = String::from("// The component of the sources with the digest ");
    for byte in guest {
        write!(text, "{byte:02x}")?;
    }
    text.push('\n');
    text.push_str(&script.replacen(line, "for source in [\"guest/artifact/build.rs\"] {\n        let _ = SOURCES;", 1));
    // Doc comments of a file come first.
    Ok(text.replacen("\n//! ", "\n// ", usize::MAX))
}
