//! Writes and syncs of one message life alone, counted by a VFS.

use crate::world;
use anyhow::Result;
use std::path::Path;
use threadmesh_faults::vfs;
use threadmesh_store_sqlite::Options;

const LIVES: usize = 50;

/// Prints the figures per step of a life.
pub fn run(directory: &Path) -> Result<()> {
    vfs::register();
    let folder = tempfile::tempdir_in(directory)?;
    let host = world::host(folder.path(), Options { vfs: Some(vfs::NAME.into()), ..Options::default() })?;
    world::declare(&host)?;
    let pair = world::pair(&host, 0)?;
    let mut steps = [(0, 0); 4];
    for number in 0..LIVES {
        let mut last = vfs::counters();
        let mut count = |step: usize| {
            let now = vfs::counters();
            steps[step].0 += now.0 - last.0;
            steps[step].1 += now.1 - last.1;
            last = now;
        };
        let (now, expires) = crate::load::times();
        let params: serde_json::Value = serde_json::from_str(&pair.message(&now, &expires, number))?;
        world::done(&host, &pair.sender, "messages.send", &params)?;
        count(0);
        let token = pair.claim(&host, number)?;
        count(1);
        let submission = pair.begin(&host, number, &token)?;
        count(2);
        pair.receipt(&host, &submission)?;
        count(3);
    }
    println!("one message life alone, mean of {LIVES} (writes / syncs by the VFS, checkpoints included):");
    let names = ["send", "claim", "accept+prepare+begin", "receipt"];
    let mut sum = (0, 0);
    for (name, (writes, syncs)) in names.iter().zip(steps) {
        println!("  {name:<22} {:>6.2} / {:.2}", mean(writes), mean(syncs));
        sum = (sum.0 + writes, sum.1 + syncs);
    }
    println!("  {:<22} {:>6.2} / {:.2}", "whole life", mean(sum.0), mean(sum.1));
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // Small counts.
fn mean(sum: u64) -> f64 {
    sum as f64 / LIVES as f64
}
