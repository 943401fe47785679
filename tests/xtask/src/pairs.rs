//! Measurements of two builds, alternating in one run: machines differ and are shared, so that only ratios say something.
//!
//! ```text
//! cargo xtask bench-pairs OLD NEW [--pairs 9] [--dir DIR] [core|life|load]…
//! ```
//!
//! `OLD` and `NEW` are programs `threadmesh-bench`. Each is run as often as there are pairs, in turn, the one that begins
//! changing from pair to pair. Of every measurement that both print, the median of the ratios of all pairs is told; what
//! is more than 5 % worse is marked. One JSON object a measurement goes to standard output, the table to standard error.

mod read;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, bail, ensure};
use read::{Better, Figure};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// From here on a ratio is worse.
const WORSE: f64 = 1.05;

/// What the command line asks for.
#[derive(Debug)]
pub struct Wanted {
    old: PathBuf,
    new: PathBuf,
    pairs: usize,
    directory: Option<String>,
    names: Vec<String>,
}

impl Wanted {
    /// From the arguments after `bench-pairs`.
    ///
    /// # Errors
    /// Where an argument is none of those.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let [old, new, rest @ ..] = arguments else { bail!("name two programs") };
        let mut wanted = Self { old: old.into(), new: new.into(), pairs: 9, directory: None, names: Vec::new() };
        let mut rest = rest.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--pairs" => wanted.pairs = rest.next().context("--pairs NUMBER")?.parse()?,
                "--dir" => wanted.directory = Some((*rest.next().context("--dir DIR")?).to_owned()),
                "core" | "life" | "load" => wanted.names.push((*argument).to_owned()),
                other => bail!("{other} is no measurement and no option"),
            }
        }
        if wanted.names.is_empty() {
            wanted.names = ["core", "life", "load"].map(Into::into).into();
        }
        ensure!(wanted.pairs > 0, "there is nothing to do");
        Ok(wanted)
    }
}

/// What one measurement came to in all pairs: old and new.
type Pairs = BTreeMap<String, (Better, Vec<(f64, f64)>)>;

/// Measures, and prints lines and table.
///
/// # Errors
/// Where a program fails, or both have no measurement in common.
pub fn run(wanted: &Wanted) -> Result<()> {
    let mut all = Pairs::new();
    let sizes = [component(&wanted.old), component(&wanted.new)];
    if let [Some(old), Some(new)] = sizes {
        all.insert("component bytes".into(), (Better::Less, vec![(old, new)]));
    }
    for pair in 0..wanted.pairs {
        for name in &wanted.names {
            let (old, new) = if pair % 2 == 0 {
                let old = measure(&wanted.old, name, wanted)?;
                (old, measure(&wanted.new, name, wanted)?)
            } else {
                let new = measure(&wanted.new, name, wanted)?;
                (measure(&wanted.old, name, wanted)?, new)
            };
            for (what, figure) in old {
                let Some(other) = new.get(&what) else { continue };
                let known = all.entry(what).or_insert_with(|| (figure.better, Vec::new()));
                known.1.push((figure.value, other.value));
            }
        }
        eprintln!("pair {} of {}", pair + 1, wanted.pairs);
    }
    ensure!(!all.is_empty(), "the programs have no measurement in common");
    report(&all);
    Ok(())
}

fn measure(program: &Path, name: &str, wanted: &Wanted) -> Result<BTreeMap<String, Figure>> {
    let mut command = Command::new(program);
    command.arg(name);
    if let Some(directory) = &wanted.directory {
        command.args(["--dir", directory]);
    }
    let output = command.output().with_context(|| program.display().to_string())?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} {name}: {told}", program.display());
    Ok(read::figures(&String::from_utf8_lossy(&output.stdout)))
}

/// The size of the component that was built with a program: the newest one beside it.
fn component(program: &Path) -> Option<f64> {
    let build = program.parent()?.join("build");
    let files = fs::read_dir(build).ok()?.flatten().map(|entry| entry.path().join("out/core.wasm"));
    let known = files.filter_map(|file| file.metadata().ok());
    let newest = known.max_by_key(|known| known.modified().ok())?;
    u32::try_from(newest.len()).ok().map(f64::from)
}

fn report(all: &Pairs) {
    eprintln!("{:<44} {:>12} {:>12} {:>9}", "", "old", "new", "new/old");
    for (what, (better, pairs)) in all {
        let side = |of: fn(&(f64, f64)) -> f64| median(pairs.iter().map(of).collect());
        let (old, new, ratio) = (side(|pair| pair.0), side(|pair| pair.1), side(|pair| pair.1 / pair.0));
        let slower = match better {
            Better::Less => ratio > WORSE,
            Better::More => ratio * WORSE < 1.0,
        };
        println!(
            "{}",
            json!({"what": what, "old": old, "new": new, "ratio": ratio, "pairs": pairs.len(), "worse": slower})
        );
        let mark = if slower { " WORSE" } else { "" };
        eprintln!("{what:<44} {old:>12.2} {new:>12.2} {ratio:>8.3}x{mark}");
    }
}

/// The middle one; of an even number the lower.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}
