//! Measurements, side by side in one run, since machines differ and are shared: read the ratios.
//!
//! `cargo run --release --package threadmesh-bench -- [core|life|load|scale] [--dir DIR]`; without a name, all of them.
//! `core`: the component on a reused instance beside native code. `life`: writes and syncs of one message life.
//! `load`: durable operations at 1, 16 and 64 callers beside raw SQLite commits and raw syncs on the same disk, and beside
//! what other systems do in the same units. `scale`: questions about one task while the mailboxes of others fill.

mod core;
mod life;
mod load;
mod peers;
mod raw;
mod scale;
mod world;

use anyhow::{Result, bail};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut names = Vec::new();
    let mut directory = std::env::temp_dir();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--dir" => directory = arguments.next().map(PathBuf::from).unwrap_or(directory),
            "core" | "life" | "load" | "scale" => names.push(argument),
            other => bail!("unknown argument {other}: core, life, load, scale or --dir DIR"),
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
        load::run(&directory)?;
    }
    if wanted("scale") {
        scale::run(&directory)?;
    }
    Ok(())
}
