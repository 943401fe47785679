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

/// As above, where it is the log that was carried over beside the commits.
#[test]
fn a_flush_that_fails_beside_the_commits_ends_all_writing() {
    let (_directory, path) = place();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    let fail = store.with_writer(|writer| writer.failing_checkpointer());
    let mut batch = store.begin().unwrap();
    batch.apply(&ReadSet::default(), &addition("b", "x")).unwrap();
    fail("the disk did not answer");
    assert_eq!(batch.commit(), Err(StoreError::Broken { detail: "the disk did not answer".into() }));
    assert_eq!(store.begin().err(), Some(StoreError::Broken { detail: "the disk did not answer".into() }));
    let noted = || std::fs::read_to_string(path.with_file_name("store.db.lock")).unwrap().contains("flush");
    assert!(noted(), "whoever opens it next must know");
    drop(store);
    assert!(std::fs::metadata(path.with_file_name("store.db-wal")).unwrap().len() > 0, "closing leaves the log");
    assert_eq!(ids(&open(&path), "c"), ["a"], "nothing was written after it");
    assert!(!noted(), "the log was written again");

    let store = open(&path);
    commit(&store, &addition("c", "x")).unwrap();
    store.with_writer(|writer| writer.failing_checkpointer())("the disk did not answer");
    drop(store);
    assert!(
        noted() && std::fs::metadata(path.with_file_name("store.db-wal")).unwrap().len() > 0,
        "also without a commit"
    );
    assert_eq!(ids(&open(&path), "c"), ["a", "c"]);
}

/// Under a load without a pause, and with readers of old snapshots, the log begins again and again.
#[test]
fn the_log_stays_bounded() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path, Options { checkpoint_pages: 100, ..Options::default() }).unwrap();
    let log = || std::fs::metadata(path.with_file_name("store.db-wal")).unwrap().len();
    let (mut longest, mut written) = (0, 0);
    for number in 0..400 {
        commit(&store, &addition(&format!("{number:04}"), &"x".repeat(40_000))).unwrap();
        written += 40_000;
        longest = longest.max(log());
        if number % 50 == 0 {
            assert_eq!(ids(&store, "c").len(), number + 1);
        }
    }
    // Three times what may wait and a half, and what two commits add with what they carry over.
    assert!(longest < 600 * 4_120 && written > 2 * longest, "{longest} bytes at {written} written");
    store.check().unwrap();
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
