//! Tests of what the suite cannot see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use threadmesh_runtime::store::{MemoryStore, suite};

use crate::{Options, SqliteStore};

#[test]
fn passes_the_suite() {
    let directory = TempDir::new().unwrap();
    let number = AtomicUsize::new(0);
    suite::run(&|| {
        let name = format!("{}.db", number.fetch_add(1, Ordering::Relaxed));
        Arc::new(SqliteStore::open(directory.path().join(name), Options::default()).unwrap())
    });
}

#[test]
fn agrees_with_the_memory_store_over_random_logs() {
    let directory = TempDir::new().unwrap();
    for seed in 0..8 {
        let path = directory.path().join(format!("{seed}.db"));
        let store = SqliteStore::open(&path, Options::default()).unwrap();
        let seen = suite::compare(&store, &MemoryStore::new(), seed, 200);
        assert!(seen.applied > 30 && seen.conflicts > 30 && seen.rows > 30 && seen.leases > 3, "seed {seed}: {seen:?}");
        store.check().unwrap();
    }
}
