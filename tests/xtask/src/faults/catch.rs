//! Whether a fault in the scratch copy is caught.

use super::patch::{Catch, Patch};
use super::scratch::Scratch;
use anyhow::{Result, bail, ensure};
use std::process::Output;

/// How many failing vectors or tests are told.
const TOLD: usize = 3;

/// By what the fault is caught, a sentence for each way that its header names.
///
/// # Errors
/// Where it is not caught in one of them, or does not compile.
pub fn all(scratch: &Scratch, patch: &Patch) -> Result<Vec<String>> {
    patch.caught_by.iter().map(|catch| one(scratch, catch)).collect()
}

fn one(scratch: &Scratch, catch: &Catch) -> Result<String> {
    match catch {
        Catch::Vectors => vectors(scratch),
        Catch::Lives(seeds) => lives(scratch, seeds),
        Catch::Test(arguments) => test(scratch, arguments),
    }
}

fn vectors(scratch: &Scratch) -> Result<String> {
    compiled(&scratch.cargo(&["build", "--bin", "threadmesh-native"])?)?;
    let failing = told(&scratch.program("threadmesh-native", &["vectors"])?, "failed: ");
    ensure!(!failing.is_empty(), "all vectors pass");
    Ok(format!("{} vectors: {}", failing.len(), first(&failing)))
}

fn lives(scratch: &Scratch, seeds: &str) -> Result<String> {
    compiled(&scratch.cargo(&["build", "--bin", "threadmesh-sim"])?)?;
    let output = scratch.program("threadmesh-sim", &["--seeds", seeds])?;
    let failing = told(&output, "seed ");
    ensure!(!failing.is_empty() && !output.status.success(), "no life of {seeds} violates anything");
    Ok(format!("{} lives of {seeds}: {}", failing.len(), first(&failing)))
}

fn test(scratch: &Scratch, arguments: &[String]) -> Result<String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // What follows `--` is for the test program.
    let cargo = arguments.split(|word| *word == "--").next().unwrap_or_default();
    compiled(&scratch.cargo(&[&["test", "--no-run"], cargo].concat())?)?;
    let output = scratch.cargo(&[&["test", "--no-fail-fast"], arguments.as_slice()].concat())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let failing: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(Into::into))
        .collect();
    ensure!(!failing.is_empty(), "cargo test {}: nothing fails", arguments.join(" "));
    Ok(format!("{} tests: {}", failing.len(), first(&failing)))
}

/// A fault that does not compile shows nothing.
fn compiled(output: &Output) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let error: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("error")).take(6).collect();
    bail!("it does not compile: {}", error.join(" / "))
}

/// The rest of each line that starts with `start`.
fn told(output: &Output, start: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix(start)).map(Into::into).collect()
}

fn first(all: &[String]) -> String {
    const SHOWN_MAX: usize = 150;
    let short = |text: &String| text.chars().take(SHOWN_MAX).collect::<String>();
    all.iter().take(TOLD).map(short).collect::<Vec<_>>().join(" | ")
}
