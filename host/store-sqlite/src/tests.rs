//! Tests of what the suite cannot see.

mod audit;
mod damage;
mod failures;
mod formats;
mod journal;
mod lost;
mod opening;
mod plans;
mod processes;
mod sharing;
mod watching;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use threadmesh_runtime::store::{
    AuditRecord, Changes, Entry, MemoryStore, Query, ReadSet, Store, StoreError, Write, suite,
};

use crate::{Options, SqliteStore};

#[test]
fn passes_the_suite() {
    // Everything stays in the journal, is carried over at every commit, or at some of them.
    for journal_pages in [1_000, 0, 2] {
        let directory = TempDir::new().unwrap();
        let number = AtomicUsize::new(0);
        suite::run(&|| {
            let name = format!("{}.db", number.fetch_add(1, Ordering::Relaxed));
            let options = Options { journal_pages, ..Options::default() };
            Arc::new(SqliteStore::open(directory.path().join(name), options).unwrap())
        });
    }
}

#[test]
fn agrees_with_the_memory_store_over_random_logs() {
    let directory = TempDir::new().unwrap();
    for (seed, journal_pages) in (0..12).zip([1_000, 0, 1, 2, 5, 40].into_iter().cycle()) {
        let path = directory.path().join(format!("{seed}.db"));
        let store = SqliteStore::open(&path, Options { journal_pages, ..Options::default() }).unwrap();
        let seen = suite::compare(&store, &MemoryStore::new(), seed, 200);
        assert!(seen.applied > 30 && seen.conflicts > 30 && seen.rows > 30 && seen.leases > 3, "seed {seed}: {seen:?}");
        store.check().unwrap();
    }
}

/// A directory of its own with the path of a store in it.
fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().canonicalize().unwrap().join("store.db");
    (directory, path)
}

/// With a journal that is carried over often.
fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options { journal_pages: 3, ..Options::default() }).unwrap()
}

/// Without a journal: everything is in the tables, where a test can do something to it.
fn open_tables(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options { journal_pages: 0, ..Options::default() }).unwrap()
}

/// A row of collection `c`, found in index `i` by its id.
fn row(id: &str, expected: u32, body: &str) -> Write {
    Write {
        collection: "c".into(),
        id: id.into(),
        expected,
        body: Some(body.into()),
        entries: vec![Entry { index: "i".into(), key: id.into() }],
    }
}

/// A new row and an audit record.
fn addition(id: &str, body: &str) -> Changes {
    let audit = vec![AuditRecord { body: id.into(), entries: vec![] }];
    Changes { time: 1, writes: vec![row(id, 0, body)], audit, ..Changes::default() }
}

fn commit(store: &SqliteStore, changes: &Changes) -> Result<(), StoreError> {
    let mut batch = store.begin()?;
    batch.apply(&ReadSet::default(), changes).map_err(|error| match error {
        threadmesh_runtime::store::ApplyError::Store(error) => error,
        other => panic!("{other}"),
    })?;
    batch.commit()
}

fn all(collection: &str) -> Query {
    let (index, start, end) = (String::new(), String::new(), Some("\u{10ffff}".into()));
    Query { collection: collection.into(), index, start, end, reverse: false, limit: u32::MAX, bytes: 0 }
}

fn ids(store: &SqliteStore, collection: &str) -> Vec<String> {
    let answer = store.read(&[all(collection)]).unwrap().remove(0);
    answer.rows.into_iter().map(|row| row.id).collect()
}

/// Every file of a directory with its content; nothing may differ.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.path().is_file());
    let read =
        |entry: std::fs::DirEntry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    entries.map(read).collect()
}

/// The driver's own view of a file, for doing to it what a store would not.
fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}
