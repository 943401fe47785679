//! The limits of this disk in this run: raw syncs, and raw SQLite commits.

use anyhow::Result;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_millis(1_500);

/// `fdatasync` calls per second, each after an append of 4 KiB.
pub fn syncs(directory: &Path) -> Result<f64> {
    let mut file = File::create(directory.join("syncs"))?;
    per_second(|| {
        file.write_all(&[7; 4096])?;
        Ok(file.sync_data()?)
    })
}

/// Commits of one row per second, with a write-ahead log and synchronous=FULL.
pub fn commits(directory: &Path) -> Result<f64> {
    let db = rusqlite::Connection::open(directory.join("raw.db"))?;
    db.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (n INTEGER PRIMARY KEY, b BLOB)",
    )?;
    let mut insert = db.prepare("INSERT INTO t (b) VALUES (?1)")?;
    let row = [7_u8; 600];
    per_second(|| Ok(insert.execute([&row[..]]).map(|_| ())?))
}

fn per_second(mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < SPAN {
        step()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}
