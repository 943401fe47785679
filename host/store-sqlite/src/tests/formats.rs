//! Files in another form than this program writes: refused by name, and left as they are.

use std::collections::BTreeMap;
use std::path::Path;

use threadmesh_runtime::store::{Store, StoreError};

use super::{addition, all, commit, files, open, place, raw};
use crate::counters::{Counters, Format};
use crate::{OpenError, Options, Records, SqliteStore};

const FACTS: &str = include_str!("layouts/0001-facts.sql");
const FAILED_EFFECTS: &str = include_str!("layouts/0002-failed-effects.sql");

/// Every file of a directory, but for what SQLite needs to read a file and leaves where it may only read.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = files(directory);
    all.retain(|name, bytes| !(name.ends_with("-shm") || name.ends_with("-wal") && bytes.is_empty()));
    all
}

/// A file as earlier programs made it: with a row, in a log or without one.
fn make(path: &Path, layout: i64) {
    let conn = raw(path);
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    conn.execute_batch(FACTS).unwrap();
    if layout == 2 {
        conn.execute_batch(FAILED_EFFECTS).unwrap();
    }
    conn.execute_batch(&format!(
        "INSERT INTO about VALUES ('minimum-core', '0.1.0');
         INSERT INTO migrations VALUES (1, 'facts', '0123456789abcdef');
         INSERT INTO names VALUES (1, 'message', '');
         INSERT INTO facts VALUES (1, 1, 1, 'a message', x'', 0, 0, '{{}}');
         INSERT INTO entries VALUES (1, 'a message', 1);
         PRAGMA application_id = 1414361960; PRAGMA user_version = {layout};"
    ))
    .unwrap();
}

#[test]
fn files_of_earlier_builds_are_refused_and_left() {
    for layout in [1, 2] {
        let (directory, path) = place();
        make(&path, layout);
        let before = content(directory.path());
        for read_only in [false, true] {
            let error = SqliteStore::open(&path, Options { read_only, ..Options::default() }).unwrap_err();
            assert!(matches!(error, OpenError::Older { .. }), "{error}");
            let said = error.to_string();
            assert!(said.contains(&format!("layout {layout}, and this program knows layout 3")), "{said}");
            assert!(said.contains("keep that program to read it, and begin a new file"), "{said}");
        }
        let error = SqliteStore::examine(&path, &Options::default()).unwrap_err();
        assert!(matches!(error, OpenError::Older { .. }), "{error}");
        assert_eq!(content(directory.path()), before, "no byte and no file differs");
    }
}

/// The earlier program was killed, and its log is still there.
#[test]
fn logs_of_earlier_builds_are_left_as_well() {
    let (_first, original) = place();
    make(&original, 2);
    let conn = raw(&original);
    conn.execute_batch("UPDATE facts SET revision = 2").unwrap();
    let (directory, path) = place();
    for suffix in ["", "-wal"] {
        let beside = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(beside(&original), beside(&path)).unwrap();
    }
    let before = content(directory.path());
    let error = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Older { .. }), "{error}");
    let after = content(directory.path());
    assert_eq!((&after["store.db"], &after["store.db-wal"]), (&before["store.db"], &before["store.db-wal"]));
    assert!(!after.contains_key("store.db.lock"), "no lock file is made");
}

/// An earlier program sees that the file is not for it: by its layout, and a row of a table that it knows.
#[test]
fn earlier_programs_find_what_they_look_for() {
    let (_directory, path) = place();
    drop(open(&path));
    let conn = raw(&path);
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((number("PRAGMA application_id"), number("PRAGMA user_version")), (1_414_361_960, 3));
    let sql = "SELECT value FROM about WHERE name = 'minimum-core'";
    let minimum: String = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(minimum, "0.2.0");
}

fn with(writes: u32, reads: &[u32]) -> Options {
    Options { records: Records { writes, reads: reads.to_vec() }, ..Options::default() }
}

#[test]
fn records_of_another_form_are_refused_and_left() {
    let (directory, path) = place();
    drop(SqliteStore::open(&path, with(4, &[4])).unwrap());
    drop(SqliteStore::open(&path, with(4, &[3, 4])).unwrap());
    let before = content(directory.path());
    let newer = SqliteStore::open(&path, with(3, &[3])).unwrap_err();
    assert!(matches!(newer, OpenError::Newer { .. }), "{newer}");
    assert!(newer.to_string().contains("records 4, and this program writes records 3"), "{newer}");
    let older = SqliteStore::open(&path, with(5, &[4, 5])).unwrap_err();
    assert!(matches!(older, OpenError::Older { .. }), "{older}");
    assert!(matches!(SqliteStore::examine(&path, &with(3, &[3])), Err(OpenError::Newer { .. })));
    let reading = |writes, reads: &[u32]| Options { read_only: true, ..with(writes, reads) };
    assert!(matches!(SqliteStore::open(&path, reading(3, &[3])), Err(OpenError::Newer { .. })));
    assert!(matches!(SqliteStore::open(&path, reading(5, &[5])), Err(OpenError::Older { .. })));
    assert_eq!(content(directory.path()), before, "no byte and no file differs");
    SqliteStore::open(&path, reading(5, &[4, 5])).unwrap().read(&[all("c")]).unwrap();
}

/// Another process upgrades the file while this one has it open.
#[test]
fn a_store_that_meets_another_number_stops() {
    for format in [Format { layout: 3, records: 2 }, Format { layout: 4, records: 1 }] {
        let (_directory, path) = place();
        let (store, other) = (open(&path), open(&path));
        commit(&store, &addition("a", "x")).unwrap();
        commit(&other, &addition("b", "x")).unwrap();
        let conn = raw(&path);
        let counters = Counters::load(&conn).unwrap();
        Counters { format, ..counters }.save(&conn).unwrap();
        for store in [&store, &other] {
            let stopped = |error: Option<StoreError>| {
                let Some(StoreError::Stopped { detail }) = error else { panic!("{error:?}") };
                let now = format!("layout {} and records {} now", format.layout, format.records);
                assert!(detail.contains("opened with layout 3 and records 1") && detail.contains(&now), "{detail}");
                assert!(detail.contains("end this process"), "{detail}");
            };
            stopped(store.read(&[all("c")]).err());
            stopped(commit(store, &addition("c", "x")).err());
            stopped(store.last_time().err());
            stopped(store.advance_effects(0).err());
            stopped(store.check().err());
        }
        assert_eq!(Counters::load(&conn).unwrap(), Counters { format, ..counters }, "nothing was written");
    }
}
