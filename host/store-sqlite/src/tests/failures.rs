//! Full disks, failing writes, failing flushes.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use threadmesh_runtime::store::{Changes, ReadSet, Store, StoreError};

use super::processes::{child_arguments, in_child};
use super::{addition, commit, ids, open, place, row};
use crate::{OpenError, Options, SqliteStore};

#[test]
fn a_full_disk_rolls_back_and_passes() {
    let (_directory, path) = place();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    let limit = |pages: i64| {
        store.with_writer(|writer| {
            let conn = writer.conn(Instant::now()).unwrap();
            conn.raw.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0)).unwrap()
        })
    };
    limit(1);
    let large = addition("b", &"x".repeat(1 << 20));
    let mut batch = store.begin().unwrap();
    batch.apply(&ReadSet::default(), &Changes { writes: vec![row("small", 0, "")], ..Changes::default() }).unwrap();
    batch.apply(&ReadSet::default(), &large).unwrap();
    assert!(matches!(batch.commit(), Err(StoreError::Full { .. })));
    assert_eq!(ids(&store, "c"), ["a"]);
    limit(1 << 20);
    commit(&store, &large).unwrap();
    assert_eq!(ids(&store, "audit").len(), 2);
    store.check().unwrap();
}

#[test]
fn a_failed_flush_ends_all_writing() {
    let (_directory, path) = place();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    store.with_writer(|writer| writer.give_up("the disk did not answer".into()));
    assert_eq!(store.begin().err(), Some(StoreError::Broken { detail: "the disk did not answer".into() }));
    assert!(matches!(store.checkpoint_truncate(Default::default()), Err(StoreError::Broken { .. })));
    assert_eq!(ids(&store, "c"), ["a"], "reading goes on");
    let noted = || std::fs::read_to_string(path.with_file_name("store.db.lock")).unwrap().contains("flush");
    assert!(noted(), "whoever opens it next must know");
    let fails = Options { write_again: |_| Err(std::io::Error::other("not yet")), ..Options::default() };
    assert!(matches!(SqliteStore::open(&path, fails), Err(OpenError::Io { .. })));
    assert!(noted(), "nothing is built on a log that may not be there");
    let again = open(&path);
    assert!(!noted(), "the log was written again");
    commit(&again, &addition("b", "x")).unwrap();
    assert_eq!(ids(&store, "c"), ["a", "b"]);
}

#[test]
fn a_file_that_was_removed_or_replaced_takes_no_more() {
    let (_directory, path) = place();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    let away = path.with_file_name("away.db");
    std::fs::rename(&path, &away).unwrap();
    std::fs::copy(&away, &path).unwrap();
    assert!(
        matches!(commit(&store, &addition("b", "x")), Err(StoreError::Stopped { detail }) if detail.contains("replaced"))
    );
    std::fs::rename(&away, &path).unwrap();
    assert!(matches!(store.begin().err(), Some(StoreError::Stopped { .. })), "not trusted again");
    drop(store);
    assert_eq!(ids(&open(&path), "c"), ["a"]);
}

/// A child whose files may not grow over a limit: writes fail in the middle of a batch.
#[test]
fn a_failed_write_rolls_back_and_passes() {
    if let Some(path) = in_child("failed-write") {
        return write_until_it_fails(Path::new(&path));
    }
    let (_directory, path) = place();
    commit(&open(&path), &addition("a", "x")).unwrap();
    // A write over the limit is refused; the signal that would come with it is ignored.
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
    command.args(child_arguments("tests::failures::a_failed_write_rolls_back_and_passes"));
    let done = command.env("STORE_SQLITE_CHILD", format!("failed-write={}", path.display())).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let store = open(&path);
    store.check().unwrap();
    assert_eq!(ids(&store, "c"), ["a", "after"]);
}

fn write_until_it_fails(path: &Path) {
    let store = open(path);
    let error = commit(&store, &addition("large", &"x".repeat(2 << 20))).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. } | StoreError::Full { .. }), "{error:?}");
    assert_eq!(ids(&store, "c"), ["a"]);
    commit(&store, &addition("after", "x")).unwrap();
    assert_eq!(ids(&store, "c"), ["a", "after"]);
}
