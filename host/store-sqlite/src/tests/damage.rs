//! Damage stops the store, and stays as it is for whoever looks into it.

use std::fs;
use std::path::Path;

use rusqlite::config::DbConfig;
use threadmesh_runtime::store::{ApplyError, Changes, Effect, EffectKind, ReadSet, Store, StoreError};

use super::{addition, all, commit, files, ids, open, open_tables, place, raw};
use crate::{OpenError, Options, SqliteStore};

/// A closed store with some hundred rows.
fn filled(path: &Path) -> Vec<u8> {
    let store = open_tables(path);
    for number in 0..60 {
        commit(&store, &addition(&format!("row {number}"), &"text ".repeat(number * 20))).unwrap();
    }
    drop(store);
    fs::read(path).unwrap()
}

fn refused(path: &Path, options: Options) -> String {
    let directory = path.parent().unwrap();
    let before = files(directory);
    match SqliteStore::open(path, options) {
        Err(OpenError::Damaged { detail, .. }) => {
            let (after, name) = (files(directory), path.file_name().unwrap().to_str().unwrap());
            for suffix in ["", "-wal", "-journal"] {
                let name = format!("{name}{suffix}");
                assert_eq!(after.get(&name), before.get(&name), "{name} must stay: {detail}");
            }
            detail
        }
        other => panic!("{:?}", other.map(|store| store.path().to_owned())),
    }
}

#[test]
fn every_damaged_page_is_seen_and_left() {
    let (_directory, path) = place();
    let good = filled(&path);
    let quick_check = Options { quick_check: true, ..Options::default() };
    let pages = good.len() / 4096;
    assert!(pages > 10, "{pages} pages");
    for page in 0..pages {
        for (what, byte) in [("noise", 0xaa), ("nothing", 0)] {
            let mut bad = good.clone();
            bad[page * 4096..][..4096].fill(byte);
            fs::write(&path, &bad).unwrap();
            let overflow = match SqliteStore::open(&path, quick_check.clone()) {
                Err(OpenError::Damaged { .. }) => false,
                // The text of a large row has no structure that could be wrong, but a sum.
                Ok(store) => {
                    assert!(store.check().is_err(), "{what} in page {page} of {pages}");
                    true
                }
                Err(error) => panic!("{error}"),
            };
            assert!(!overflow || is_overflow(&good, page), "{what} in page {page} of {pages}");
            if !overflow {
                assert_eq!(fs::read(&path).unwrap(), bad, "{what} in page {page}");
            }
        }
    }
}

/// Whether a page holds nothing but the rest of a large text.
fn is_overflow(file: &[u8], page: usize) -> bool {
    !matches!(file[page * 4096], 2 | 5 | 10 | 13) && page > 0
}

#[test]
fn cut_files_are_refused() {
    let (_directory, path) = place();
    let good = filled(&path);
    for length in [1, 15, 16, 99, 100, 511, 4095] {
        fs::write(&path, &good[..length]).unwrap();
        refused(&path, Options::default());
    }
    for length in [4096, 8192, good.len() / 2, good.len() - 1] {
        fs::write(&path, &good[..length]).unwrap();
        refused(&path, Options { quick_check: true, ..Options::default() });
    }
    fs::write(&path, "").unwrap();
    assert!(refused(&path, Options::default()).contains("empty"), "an empty file is not taken for a new store");
    fs::write(path.with_file_name("store.db-wal"), [7; 5000]).unwrap();
    assert!(refused(&path, Options::default()).contains("log is not"));
    fs::remove_file(&path).unwrap();
    assert!(refused(&path, Options::default()).contains("gone"), "a new file would swallow the old log");
    fs::remove_file(path.with_file_name("store.db-wal")).unwrap();
    fs::write(&path, &good).unwrap();
    fs::write(path.with_file_name("store.db-journal"), [7; 5000]).unwrap();
    assert!(refused(&path, Options::default()).contains("rollback journal"));
    fs::remove_file(path.with_file_name("store.db-journal")).unwrap();
    assert_eq!(ids(&open(&path), "c").len(), 60);
}

#[test]
fn damage_below_a_running_store_is_loud() {
    let (_directory, path) = place();
    filled(&path);
    let tear = raw(&path);
    tear.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM facts WHERE stamp % 7 = 3").unwrap();
    drop(tear);
    let store = open_tables(&path);
    assert!(matches!(store.read(&[all("c")]), Err(StoreError::Damaged { .. })), "no row is left out silently");
    assert!(matches!(store.check(), Err(StoreError::Damaged { detail }) if detail == "a key leads to no row"));
    drop(store);
    raw(&path)
        .execute_batch("DELETE FROM entries WHERE stamp % 7 = 3; DELETE FROM entries WHERE key = 'row 5'")
        .unwrap();
    let store = open_tables(&path);
    assert!(matches!(store.check(), Err(StoreError::Damaged { .. })));
    let again = row_again("row 5");
    assert_eq!(commit(&store, &again), Ok(()), "without its keys a row is not there");
    drop(store);
    raw(&path).execute_batch("UPDATE facts SET keys = x'ff' WHERE id = 'row 6'").unwrap();
    let store = open_tables(&path);
    let mut changes = row_again("row 6");
    changes.writes[0].expected = 1;
    let mut batch = store.begin().unwrap();
    let error = batch.apply(&ReadSet::default(), &changes).unwrap_err();
    assert!(matches!(error, ApplyError::Store(StoreError::Damaged { .. })), "{error}");
    let again = batch.apply(&ReadSet::default(), &row_again("row 61")).unwrap_err();
    assert!(matches!(again, ApplyError::Store(StoreError::Misuse { .. })), "a failed batch is dead: {again}");
    assert!(matches!(batch.commit(), Err(StoreError::Misuse { .. })), "and is never committed");
    assert_eq!(commit(&store, &row_again("row 61")), Ok(()), "the failed batch is rolled back and the store works");
}

fn row_again(id: &str) -> Changes {
    Changes { audit: vec![], ..addition(id, "again") }
}

/// The log of a process that was killed, cut at many places: what was committed before the cut is there, and the next
/// commits work.
#[test]
fn a_torn_log_loses_only_its_end() {
    let (_first, path) = place();
    let store = open(&path);
    for number in 0..12 {
        commit(&store, &addition(&format!("{number:02}"), "x")).unwrap();
    }
    let (file, log) = (fs::read(&path).unwrap(), fs::read(path.with_file_name("store.db-wal")).unwrap());
    let used = log.len();
    let mut last = usize::MAX;
    for cut in (0..=used).rev().step_by(1111).chain([used - 1, 32, 31, 1, 0]) {
        let (_second, copy) = place();
        fs::write(&copy, &file).unwrap();
        fs::write(copy.with_file_name("store.db-wal"), &log[..cut]).unwrap();
        let store = open(&copy);
        let found = ids(&store, "c");
        assert!(found.iter().enumerate().all(|(number, id)| *id == format!("{number:02}")), "a gap at {cut}");
        last = if cut == used { found.len() } else { last };
        commit(&store, &addition("next", "x")).unwrap();
        assert_eq!(ids(&store, "audit").len(), found.len() + 1, "cut at {cut}");
        store.check().unwrap();
    }
    assert_eq!(last, 12, "the whole log has everything");
}

#[test]
fn defensive_mode_is_on() {
    let (_directory, path) = place();
    let store = open(&path);
    store.with_writer(|writer| {
        let conn = writer.conn(std::time::Instant::now()).unwrap();
        assert!(conn.raw.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE).unwrap());
        let number = |sql: &str| conn.raw.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("PRAGMA secure_delete"), number("PRAGMA synchronous")), (1, 2), "ON and FULL");
    });
}

/// The log begins anew again and again while others open the file and look through it.
#[test]
fn a_log_in_use_is_not_taken_for_damaged() {
    let (_directory, path) = place();
    let options = Options { checkpoint_pages: 6, ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut opened = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let log = path.with_file_name("store.db-wal");
                // As if SQLite used none of it: everything is looked at.
                assert!(!crate::log::is_damaged(&log, 0).unwrap(), "after {opened} looks");
                opened += 1;
                if opened % 8 == 0 {
                    drop(open(&path));
                }
            }
            opened
        });
        for number in 0..400 {
            commit(&store, &addition(&format!("{number:04}"), &"x".repeat(number * 37 % 9_000))).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        println!("{} looks", looking.join().unwrap());
    });
    store.check().unwrap();
}

/// What is left to do is damaged: that is an error for whoever wants to do it, and the check finds it.
#[test]
fn a_damaged_effect_is_seen() {
    let effect =
        |body: &str| Effect { kind: EffectKind::Repeatable, name: "n".into(), key: "k".into(), body: body.into() };
    let changes = Changes { time: 1, effects: vec![effect("{}"), effect("[]")], ..Changes::default() };
    for damage in [
        "due = 0",
        "fence = 1",
        "fence = -1",
        "fence = 4294967296",
        "name = 'm'",
        "key = 'kk'",
        "body = '{ }'",
        "failed = ''",
        "sum = sum + 1",
        "id = 7",
    ] {
        let (_directory, path) = place();
        let store = open(&path);
        commit(&store, &changes).unwrap();
        store.check().unwrap();
        raw(&path).execute_batch(&format!("UPDATE outbox SET {damage} WHERE id = 1")).unwrap();
        assert!(matches!(store.lease_effects(1, 1, 9), Err(StoreError::Damaged { .. })), "{damage}");
        assert!(matches!(store.check(), Err(StoreError::Damaged { .. })), "{damage}");
    }
}
