//! What was acknowledged and is gone when the file is opened again.

use std::fs;
use std::path::Path;

use threadmesh_runtime::store::Store;

use super::{addition, commit, files, ids, open, place};
use crate::{OpenError, Options, SqliteStore, Synchronous};

/// Copies what a process that is killed would leave.
fn left_behind(from: &Path, to: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        let beside = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(beside(from), beside(to)).unwrap();
    }
}

fn lost(path: &Path) -> (i64, i64) {
    let before = files(path.parent().unwrap());
    let refused = |opened: Result<(), OpenError>| match opened {
        Err(OpenError::Lost { found, missing, .. }) => (found, missing),
        other => panic!("{other:?}"),
    };
    let by_doctor = refused(SqliteStore::examine(path, &Options::default()));
    let by_opening = refused(SqliteStore::open(path, Options::default()).map(|_| ()));
    assert_eq!(by_doctor, by_opening);
    let after = files(path.parent().unwrap());
    assert_eq!(after["store.db"], before["store.db"]);
    assert_eq!(after.get("store.db-wal").filter(|log| !log.is_empty()), before.get("store.db-wal"));
    by_opening
}

#[test]
fn a_log_that_was_removed_or_cut_short_is_missed() {
    let (_first, path) = place();
    let store = open(&path);
    for number in 0..12 {
        commit(&store, &addition(&format!("{number:02}"), "x")).unwrap();
    }
    let (_whole, copy) = place();
    left_behind(&path, &copy, &["", "-wal", ".lock"]);
    assert_eq!(ids(&open(&copy), "c").len(), 12, "with its log the file is whole");

    let (_removed, copy) = place();
    left_behind(&path, &copy, &["", ".lock"]);
    assert_eq!(lost(&copy), (0, 12));

    let log = fs::read(path.with_file_name("store.db-wal")).unwrap();
    for cut in [log.len() - 1, log.len() / 2, 31] {
        let (_cut, copy) = place();
        left_behind(&path, &copy, &["", ".lock"]);
        fs::write(copy.with_file_name("store.db-wal"), &log[..cut]).unwrap();
        let (found, missing) = lost(&copy);
        assert!(found + missing == 12 && missing > 0, "cut at {cut}: {found} and {missing}");
    }
    // Whoever knows and wants to go on says so.
    let (_accepted, copy) = place();
    left_behind(&path, &copy, &["", ".lock"]);
    lost(&copy);
    fs::remove_file(copy.with_file_name("store.db.lock")).unwrap();
    let store = open(&copy);
    assert_eq!(ids(&store, "c").len(), 0);
    commit(&store, &addition("next", "x")).unwrap();
    drop(store);
    open(&copy).check().unwrap();
}

#[test]
fn an_older_copy_in_place_of_the_file_is_seen() {
    let (_first, path) = place();
    commit(&open(&path), &addition("a", "x")).unwrap();
    let copy = fs::read(&path).unwrap();
    commit(&open(&path), &addition("b", "x")).unwrap();
    fs::write(&path, copy).unwrap();
    assert_eq!(lost(&path), (1, 1));
    // A new file under the name is nobody's older copy.
    fs::remove_file(&path).unwrap();
    commit(&open(&path), &addition("c", "x")).unwrap();
    assert_eq!(ids(&open(&path), "c"), ["c"]);
}

/// What only a test leaves unflushed may be lost with the power, and nothing is promised.
#[test]
fn only_what_is_on_the_disk_is_promised() {
    let (_first, path) = place();
    let store = SqliteStore::open(&path, Options { synchronous: Synchronous::Normal, ..Options::default() }).unwrap();
    commit(&store, &addition("a", "x")).unwrap();
    let (_copied, copy) = place();
    left_behind(&path, &copy, &["", ".lock"]);
    assert_eq!(ids(&open(&copy), "c").len(), 0);
}

#[test]
fn of_several_that_commit_the_greatest_number_stays() {
    let (_first, path) = place();
    let (one, two) = (open(&path), open(&path));
    for number in 0..6 {
        let store = if number % 2 == 0 { &one } else { &two };
        commit(store, &addition(&format!("{number}"), "x")).unwrap();
    }
    let said = fs::read_to_string(path.with_file_name("store.db.lock")).unwrap();
    assert!(said.starts_with("commits 0000000000000006 "), "{said}");
    assert_eq!(one.last_time(), Ok(1));
}
