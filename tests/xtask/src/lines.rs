//! How many lines were written by hand, for each crate and each part of the tests.
//!
//! ```text
//! cargo xtask lines [OTHER]
//! ```
//!
//! Lines of Rust that git tracks and that are neither generated nor blank; with `OTHER`, another checkout, those there and
//! the difference too. Tests are counted apart: what stands under `tests`, in files and folders of that name, and in
//! modules under `#[cfg(test)]` at the end of a file.

use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Lines of the product and of tests, by crate.
type Counts = BTreeMap<String, (i64, i64)>;

/// Prints the table.
///
/// # Errors
/// Where a checkout cannot be read.
pub fn run(root: &Path, other: Option<&Path>) -> Result<()> {
    let now = counts(root)?;
    let Some(other) = other else {
        println!("{:<24} {:>8} {:>8}", "lines by hand", "product", "tests");
        now.iter().for_each(|(name, (product, tests))| println!("{name:<24} {product:>8} {tests:>8}"));
        return Ok(());
    };
    let before = counts(other)?;
    println!("{:<24} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}", "lines by hand", "before", "now", "", "tests", "now", "");
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name).copied().unwrap_or_default(), now.get(name).copied().unwrap_or_default());
        row(name, old, new);
    }
    row("all", sum(&before), sum(&now));
    Ok(())
}

fn row(name: &str, old: (i64, i64), new: (i64, i64)) {
    let (product, tests) = (new.0 - old.0, new.1 - old.1);
    println!("{name:<24} {:>8} {:>8} {product:>+8}   {:>8} {:>8} {tests:>+8}", old.0, new.0, old.1, new.1);
}

fn sum(counts: &Counts) -> (i64, i64) {
    counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
}

fn counts(root: &Path) -> Result<Counts> {
    let listed = Command::new("git").args(["ls-files", "-z", "*.rs"]).current_dir(root).output()?;
    ensure!(listed.status.success(), "{} is no git checkout", root.display());
    let mut counts = Counts::new();
    for name in String::from_utf8(listed.stdout)?.split('\0').filter(|name| !name.is_empty()) {
        let path = root.join(name);
        if name.contains("/generated/") || name.ends_with("/generated.rs") || !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(path)?;
        let is_test =
            name.starts_with("tests/") || name.split('/').skip(2).any(|part| matches!(part, "tests" | "tests.rs"));
        let (product, tests) = if is_test { ("", text.as_str()) } else { split(&text) };
        let part = name.split('/').take(2).collect::<Vec<_>>().join("/");
        let count = counts.entry(part).or_default();
        *count = (count.0 + lines(product), count.1 + lines(tests));
    }
    Ok(counts)
}

/// The product, and the module of tests behind it.
fn split(text: &str) -> (&str, &str) {
    text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""))
}

fn lines(text: &str) -> i64 {
    text.lines().filter(|line| !line.trim().is_empty()).count().try_into().unwrap_or(i64::MAX)
}
