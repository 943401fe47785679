//! A copy of the tree in which faults are made, with its own builds.

use super::patch::{self, Patch};
use crate::copy::{self, Copy};
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The script that builds the component, and the line in it that names what the component is made of.
const BUILD: &str = "guest/artifact/build.rs";
/// What the component is made of.
const GUEST: [&str; 3] = ["guest/", "wit/", "Cargo."];

/// The copy.
pub struct Scratch(Copy);

impl Scratch {
    /// Brings the copy up to date with the project at `root`. Files that are as they were keep their times, so that
    /// nothing is compiled again for them.
    ///
    /// # Errors
    /// Where files cannot be listed, read or written.
    pub fn new(root: &Path) -> Result<Self> {
        let root = &root.canonicalize()?;
        let mut guest = Sha256::new();
        for name in copy::names(root)?.iter().filter(|name| GUEST.iter().any(|start| name.starts_with(start))) {
            guest.update(fs::read(root.join(name))?);
        }
        let guest = guest.finalize();
        let copy = Copy::new(root, "faults", |name, bytes| match name {
            BUILD => Ok(once(&String::from_utf8(bytes)?, &guest)?.into_bytes()),
            _ => Ok(bytes),
        })?;
        Ok(Self(copy))
    }

    /// Runs `what` while the fault is in the copy.
    ///
    /// # Errors
    /// Where the patch does not apply, and those of `what`.
    pub fn with<T>(&self, fault: &Patch, what: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(why) = patch::apply(&self.0.tree, fault, &[])? {
            bail!("it does not apply: {why}");
        }
        let result = what();
        let undone = patch::apply(&self.0.tree, fault, &["--reverse"])?;
        ensure!(undone.is_none(), "it cannot be taken back: {}", undone.unwrap_or_default());
        result
    }

    /// Runs cargo in the copy.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn cargo(&self, arguments: &[&str]) -> Result<Output> {
        self.0.cargo(arguments)
    }

    /// Runs a program that was built in the copy.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn program(&self, name: &str, arguments: &[&str]) -> Result<Output> {
        let program = self.0.built.join("debug").join(name);
        Command::new(&program).args(arguments).current_dir(&self.0.tree).output().with_context(|| name.to_owned())
    }
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
