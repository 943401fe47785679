//! The deliberate faults of `tests/faults/patches`: each is applied to a scratch copy of the tree, built, and must be caught
//! by what its header names.
//!
//! ```text
//! cargo xtask faults [--only NN,…] [--list] [--check]
//! ```
//!
//! `--check` only looks whether every patch applies. The scratch copy and its builds stay in `target/copies/faults`, so that a
//! fault costs the compilation of the crate that it is in. `README.md` beside the patches describes their form.

mod catch;
mod patch;
mod scratch;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail, ensure};
pub use patch::{Patch, all};
use scratch::Scratch;
use std::path::Path;
use std::time::Instant;

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Wanted {
    only: Vec<u32>,
    list: bool,
    check: bool,
}

impl Wanted {
    /// From the arguments after `faults`.
    ///
    /// # Errors
    /// Where an argument is none of those.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--only" => {
                    let numbers = rest.next().copied().unwrap_or_default().split(',');
                    wanted.only = numbers.map(str::parse).collect::<Result<_, _>>()?;
                }
                "--list" => wanted.list = true,
                "--check" => wanted.check = true,
                other => bail!("there is no option {other}"),
            }
        }
        Ok(wanted)
    }
}

/// Lists the faults, or checks that they apply, or shows that each is caught.
///
/// # Errors
/// Where a patch is not readable, does not apply, or is not caught.
pub fn run(root: &Path, wanted: &Wanted) -> Result<()> {
    let mut patches = all(root)?;
    if !wanted.only.is_empty() {
        patches.retain(|patch| wanted.only.contains(&patch.number));
        ensure!(patches.len() == wanted.only.len(), "not every number is there");
    }
    if wanted.list {
        patches.iter().for_each(|patch| println!("{patch}"));
        return Ok(());
    }
    let unfit = patch::unfit(root, &patches)?;
    unfit.iter().for_each(|fault| println!("DOES NOT APPLY  {fault}"));
    if wanted.check {
        println!("{} patches, {} of them apply", patches.len(), patches.len() - unfit.len());
        ensure!(unfit.is_empty(), "not every patch applies");
        return Ok(());
    }
    let (begun, scratch) = (Instant::now(), Scratch::new(root)?);
    let mut caught = 0;
    for patch in &patches {
        let started = Instant::now();
        let found = scratch.with(patch, || catch::all(&scratch, patch));
        let seconds = started.elapsed().as_secs();
        match found {
            Ok(how) => {
                caught += 1;
                println!("caught      {:02} {} ({seconds} s)", patch.number, patch.name);
                how.iter().for_each(|how| println!("            by {how}"));
            }
            Err(why) => println!("NOT CAUGHT  {:02} {} ({seconds} s): {why:#}", patch.number, patch.name),
        }
    }
    println!("{caught} of {} faults caught in {} s", patches.len(), begun.elapsed().as_secs());
    ensure!(caught == patches.len(), "not every fault is caught");
    Ok(())
}
