//! Files that lose their names, or get others, while a store is open.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use threadmesh_runtime::store::{Store, StoreError};

use super::{addition, all, commit, ids, open, place};
use crate::{OpenError, Options, SqliteStore};

fn beside(path: &Path, suffix: &str) -> PathBuf {
    path.with_file_name(format!("store.db{suffix}"))
}

fn with_one_commit(path: &Path) -> SqliteStore {
    let store = open(path);
    commit(&store, &addition("a", "x")).unwrap();
    store
}

/// Neither writes nor reads; what it says.
fn stopped(store: &SqliteStore) -> String {
    let Err(StoreError::Stopped { detail }) = commit(store, &addition("b", "x")) else { panic!("it writes") };
    assert!(matches!(store.read(&[all("c")]), Err(StoreError::Stopped { .. })));
    assert!(matches!(store.changes(), Err(StoreError::Stopped { .. })));
    assert!(matches!(store.begin().err(), Some(StoreError::Stopped { .. })));
    detail
}

#[test]
fn a_log_that_is_removed_is_carried_over_before_the_end() {
    let (_directory, path) = place();
    let store = with_one_commit(&path);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    let said = stopped(&store);
    assert!(said.contains("its log was removed") && said.contains("carried over"), "{said}");
    // As after a kill: what was acknowledged is in the file.
    let (_other, copy) = place();
    fs::copy(&path, &copy).unwrap();
    fs::copy(beside(&path, ".lock"), beside(&copy, ".lock")).unwrap();
    assert_eq!(ids(&open(&copy), "c"), ["a"]);
    drop(store);
    assert_eq!(ids(&open(&path), "c"), ["a"]);
}

#[test]
fn who_only_reads_sees_and_saves_it_too() {
    let (_directory, path) = place();
    let store = with_one_commit(&path);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    // Those who read look now and then.
    let error = loop {
        match store.read(&[all("c")]) {
            Ok(_) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, StoreError::Stopped { detail } if detail.contains("removed")), "{error}");
    drop(store);
    fs::remove_file(beside(&path, "-shm")).ok();
    assert_eq!(ids(&open(&path), "c"), ["a"]);
}

/// During a batch nobody has looked.
#[test]
fn a_batch_whose_log_is_removed_is_saved_or_of_unknown_outcome() {
    let (_directory, path) = place();
    let store = with_one_commit(&path);
    let mut batch = store.begin().unwrap();
    batch.apply(&threadmesh_runtime::store::ReadSet::default(), &addition("b", "x")).unwrap();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    assert_eq!(batch.commit(), Ok(()), "it was carried over");
    stopped(&store);
    drop(store);
    assert_eq!(ids(&open(&path), "c"), ["a", "b"]);

    let (_directory, path) = place();
    let store = with_one_commit(&path);
    let mut batch = store.begin().unwrap();
    batch.apply(&threadmesh_runtime::store::ReadSet::default(), &addition("b", "x")).unwrap();
    fs::rename(beside(&path, "-wal"), beside(&path, "-away")).unwrap();
    fs::write(beside(&path, "-wal"), [7; 100]).unwrap();
    assert!(matches!(batch.commit(), Err(StoreError::Broken { detail }) if detail.contains("replaced")));
    stopped(&store);
}

#[test]
fn a_log_or_its_memory_that_is_replaced_ends_all_writing() {
    for (suffix, what) in [("-wal", "its log was replaced"), ("-shm", "shared memory"), ("", "removed or replaced")] {
        let (_directory, path) = place();
        let store = with_one_commit(&path);
        let content = fs::read(beside(&path, suffix)).unwrap();
        fs::rename(beside(&path, suffix), beside(&path, "-away")).unwrap();
        fs::write(beside(&path, suffix), content).unwrap();
        let said = stopped(&store);
        assert!(said.contains(what), "{suffix}: {said}");
    }
    let (_directory, path) = place();
    let store = with_one_commit(&path);
    fs::remove_file(beside(&path, "-shm")).unwrap();
    assert!(stopped(&store).contains("shared memory"));
}

#[test]
fn a_log_that_is_cut_short_ends_all_writing() {
    for kept in [0, 32, 4_000] {
        let (_directory, path) = place();
        let store = with_one_commit(&path);
        let log = fs::File::options().write(true).open(beside(&path, "-wal")).unwrap();
        log.set_len(kept).unwrap();
        let error = commit(&store, &addition("b", "x")).unwrap_err();
        assert!(matches!(&error, StoreError::Stopped { detail } if detail.contains("cut short")), "{kept}: {error}");
        assert!(matches!(store.begin().err(), Some(StoreError::Stopped { .. })));
    }
}

#[test]
fn a_second_name_is_refused() {
    let (_directory, path) = place();
    let store = with_one_commit(&path);
    let other = path.with_file_name("other.db");
    fs::hard_link(&path, &other).unwrap();
    assert!(stopped(&store).contains("a second name"));
    for name in [&path, &other] {
        let error = SqliteStore::open(name, Options::default()).unwrap_err();
        assert!(matches!(&error, OpenError::Linked { links: 2, .. }), "{error}");
        assert!(matches!(SqliteStore::examine(name, &Options::default()), Err(OpenError::Linked { .. })));
    }
    drop(store);
    fs::remove_file(other).unwrap();
    assert_eq!(ids(&open(&path), "c"), ["a"]);
}

/// Logs are emptied by others all the time, which is no damage.
#[test]
fn a_log_that_others_empty_is_no_trouble() {
    let (_directory, path) = place();
    let options = Options { checkpoint_pages: 4, journal_pages: 2, ..Options::default() };
    let open = || SqliteStore::open(&path, options.clone()).unwrap();
    let (one, two) = (open(), open());
    std::thread::scope(|scope| {
        for (name, store) in [("one", &one), ("two", &two)] {
            scope.spawn(move || {
                for number in 0..150 {
                    commit(store, &addition(&format!("{name} {number}"), "x")).unwrap();
                    if number % 3 == 0 {
                        store.checkpoint_truncate(Duration::from_millis(20)).map_or_else(busy, |_| ());
                    }
                }
            });
        }
    });
    assert_eq!(ids(&one, "c").len(), 300);
    two.check().unwrap();
}

/// Takes nothing but that somebody was in the way.
fn busy(error: StoreError) {
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
}
