//! Two stores on one file, as two processes have them; what is removed leaves no trace.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use threadmesh_runtime::store::{Changes, ReadSet, Store, StoreError, Write};

use super::{addition, commit, files, ids, open, place, raw, row};
use crate::{Options, SqliteStore};

fn impatient(path: &Path, busy_limit: Duration) -> SqliteStore {
    SqliteStore::open(path, Options { busy_limit, ..Options::default() }).unwrap()
}

#[test]
fn a_busy_store_says_so_after_the_limit_and_works_again() {
    let (_directory, path) = place();
    let (one, other) = (open(&path), impatient(&path, Duration::from_millis(80)));
    for round in 0..3 {
        let mut batch = one.begin().unwrap();
        batch.apply(&ReadSet::default(), &addition(&format!("one {round}"), "x")).unwrap();
        let began = Instant::now();
        let error = other.begin().err();
        assert!(matches!(error, Some(StoreError::Busy { waited_ms: 70.. })), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(ids(&other, "c").len(), 2 * round, "reading does not wait");
        batch.commit().unwrap();
        commit(&other, &addition(&format!("other {round}"), "x")).unwrap();
    }
    assert_eq!(ids(&one, "c").len(), 6);
}

/// A program that does not know the queue, and one that was stopped in it.
#[test]
fn waits_for_those_outside_the_queue_and_in_it() {
    let (_directory, path) = place();
    let store = impatient(&path, Duration::from_millis(80));
    let outside = raw(&path);
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.begin().err(), Some(StoreError::Busy { .. })));
    outside.execute_batch("ROLLBACK").unwrap();
    let stopped = fs::File::open(path.with_file_name("store.db.lock")).unwrap();
    stopped.lock().unwrap();
    for round in 0..3 {
        let error = store.begin().err();
        assert!(matches!(error, Some(StoreError::Busy { .. })), "round {round}: {error:?}");
    }
    stopped.unlock().unwrap();
    for round in 0..20 {
        // Those who gave up still stand in the system's queue, and let go at once when their turn comes.
        commit(&store, &addition(&format!("{round}"), "x")).unwrap();
    }
    let limit = Duration::from_millis(300);
    let patient = impatient(&path, limit);
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| commit(&patient, &addition("late", "x")));
        std::thread::sleep(limit / 3);
        outside.execute_batch("ROLLBACK").unwrap();
        assert_eq!(writer.join().unwrap(), Ok(()));
    });
}

/// A writer that comes back at once, many times, does not keep another one waiting.
#[test]
fn a_greedy_writer_does_not_starve_another() {
    let (_directory, path) = place();
    let (greedy, modest) = (open(&path), open(&path));
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut turns = 0;
    std::thread::scope(|scope| {
        let greedy_turns = scope.spawn(|| {
            let mut turns = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                commit(&greedy, &addition(&format!("greedy {turns}"), "x")).unwrap();
                turns += 1;
            }
            turns
        });
        for turn in 0..50 {
            commit(&modest, &addition(&format!("modest {turn}"), "x")).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        turns = greedy_turns.join().unwrap();
    });
    assert!(turns < 500, "{turns} turns while the other one had 50");
}

#[test]
fn each_sees_what_the_other_committed() {
    let (_directory, path) = place();
    let (one, other) = (open(&path), open(&path));
    let before = (one.changes().unwrap(), other.changes().unwrap());
    commit(&one, &addition("a", "x")).unwrap();
    assert_ne!((one.changes().unwrap(), other.changes().unwrap()), before);
    assert_ne!(one.changes().unwrap(), before.0);
    assert_ne!(other.changes().unwrap(), before.1);
    assert_eq!(ids(&other, "c"), ["a"]);
    let mut batch = other.begin().unwrap();
    assert_eq!(batch.last_time(), Ok(1));
    let applied = batch.apply(&ReadSet::default(), &addition("b", "x")).unwrap();
    assert_eq!(applied.audit, [2], "positions go on where the other one stopped");
    batch.commit().unwrap();
    assert_eq!(one.read(&[super::all("c"), super::all("audit")]).unwrap().len(), 2);
    assert_eq!(ids(&one, "audit").len(), 2);
}

#[test]
fn what_is_removed_leaves_no_trace() {
    let (directory, path) = place();
    let store = open(&path);
    let secret = |number: u32| format!("planted-secret-{number}-{}", "x".repeat(number as usize * 700));
    let keyed = |expected, text: &str| {
        let mut write = row(text, expected, text);
        write.entries[0].key = text.to_owned();
        Changes { writes: vec![write], ..Changes::default() }
    };
    let mut holds = row("holds", 0, &secret(1));
    commit(&store, &Changes { writes: vec![holds.clone()], ..Changes::default() }).unwrap();
    for number in 2..30 {
        commit(&store, &keyed(0, &secret(number))).unwrap();
    }
    assert!(traces(directory.path()) > 0, "planted");
    (holds.expected, holds.body) = (1, Some("gone".into()));
    commit(&store, &Changes { writes: vec![holds], ..Changes::default() }).unwrap();
    for number in 2..30 {
        let write = Write { body: None, ..row(&secret(number), 1, "") };
        commit(&store, &Changes { writes: vec![write], ..Changes::default() }).unwrap();
    }
    let reader = raw(&path);
    reader.execute_batch("BEGIN; SELECT count(*) FROM facts").unwrap();
    let checkpoint = store.checkpoint_truncate(Duration::from_millis(50)).unwrap();
    assert!(checkpoint.busy, "somebody reads what the log holds: {checkpoint:?}");
    reader.execute_batch("ROLLBACK").unwrap();
    let checkpoint = store.checkpoint_truncate(Duration::from_secs(5)).unwrap();
    assert!(!checkpoint.busy, "{checkpoint:?}");
    assert_eq!(fs::metadata(path.with_file_name("store.db-wal")).unwrap().len(), 0);
    assert_eq!(traces(directory.path()), 0);
    store.check().unwrap();
}

fn traces(directory: &Path) -> usize {
    let needle = b"planted-secret-";
    let count = |content: Vec<u8>| content.windows(needle.len()).filter(|window| window == needle).count();
    files(directory).into_values().map(count).sum()
}
