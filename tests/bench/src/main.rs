//! Measurements, side by side in one run, since machines differ and are shared: read the ratios.
//!
//! `cargo run --release --package threadmesh-bench -- [core|life|load|phases|mixed|hot|scale] [--dir DIR] [--json FILE]`;
//! without a name, all of them. `README.md` beside this says what each measures.

mod core;
mod life;
mod load;
mod mixed;
mod output;
mod peers;
mod phases;
mod raw;
mod scale;
mod world;

use anyhow::{Context, Result, bail};
use output::Output;
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut names = Vec::new();
    let mut directory = std::env::temp_dir();
    let mut output = Output::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--dir" => directory = arguments.next().map(PathBuf::from).unwrap_or(directory),
            "--json" => output = Output::to(&arguments.next().context("--json FILE")?.into())?,
            "core" | "life" | "load" | "phases" | "mixed" | "hot" | "scale" => names.push(argument),
            other => {
                bail!("unknown argument {other}: core, life, load, phases, mixed, hot, scale, --dir DIR or --json FILE")
            }
        }
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    if wanted("core") {
        core::run()?;
    }
    if wanted("life") {
        life::run(&directory)?;
    }
    if wanted("load") {
        load::run(&directory, &output)?;
    }
    if wanted("phases") {
        phases::run(&directory, &output)?;
    }
    if wanted("mixed") {
        mixed::run(&directory, &output)?;
    }
    if wanted("hot") {
        mixed::hot(&directory, &output)?;
    }
    if wanted("scale") {
        scale::run(&directory)?;
    }
    Ok(())
}
