//! The journal: what it hides from readers, and what damage to it does.

use threadmesh_runtime::store::{Changes, Query, Store, StoreError, Write};

use super::{addition, all, commit, ids, open, place, raw, row};
use crate::{OpenError, Options, SqliteStore};

/// Never carries its journal over by itself.
fn keeping(path: &std::path::Path) -> SqliteStore {
    SqliteStore::open(path, Options { journal_pages: 100_000, ..Options::default() }).unwrap()
}

fn count(path: &std::path::Path, sql: &str) -> i64 {
    raw(path).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_full_half_is_carried_over_in_slices() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path, Options { journal_pages: 4, ..Options::default() }).unwrap();
    let rows = |sql: &str| count(&path, sql);
    for number in 0..4 {
        commit(&store, &addition(&format!("{number}"), "x")).unwrap();
        assert_eq!(rows("SELECT count(*) FROM facts"), 0);
        assert_eq!(rows("SELECT count(*) FROM journal"), number + 1);
    }
    commit(&store, &addition("4", "x")).unwrap();
    assert_eq!(rows("SELECT count(*) FROM facts"), 0, "it goes on in the other half");
    assert_eq!(rows("SELECT before FROM counters"), 4);
    commit(&store, &addition("5", "x")).unwrap();
    let part = (rows("SELECT count(*) FROM facts"), rows("SELECT count(*) FROM entries"));
    assert!(part.0 == 4 && part.1 < 8, "a part of it: {part:?}");
    let other = open(&path);
    for each in [&store, &other] {
        assert_eq!(ids(each, "c"), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(ids(each, "audit").len(), 6);
        each.check().unwrap();
    }
    commit(&store, &addition("6", "x")).unwrap();
    assert_eq!(rows("SELECT before FROM counters"), 0, "all of it, when the other one is half full");
    assert_eq!(rows("SELECT count(*) FROM facts"), 4);
    for number in 7..9 {
        commit(&store, &addition(&format!("{number}"), "x")).unwrap();
    }
    assert_eq!(rows("SELECT count(*) FROM journal"), 8, "slots are used again");
    for each in [&store, &other] {
        assert_eq!(ids(each, "c").len(), 9);
        each.check().unwrap();
    }
}

/// Rows that are made, changed, moved to other keys and removed, while halves are carried over in slices of every size and by
/// two processes in turn: at each moment everybody sees what a store without slices shows, and the file is sound.
#[test]
fn slices_show_nothing_of_themselves() {
    for half in [2, 3, 5, 9] {
        let (_directory, path) = place();
        let (_plain, plain) = place();
        let options = Options { journal_pages: half, ..Options::default() };
        let small = [0, 1].map(|_| SqliteStore::open(&path, options.clone()).unwrap());
        let whole = keeping(&plain);
        let mut revisions = [0_u32; 7];
        for step in 0..90_usize {
            let which = step * 5 % 7;
            let id = format!("{which}");
            let mut write = row(&id, revisions[which], &format!("{step}"));
            if revisions[which] > 0 && step % 4 == 3 {
                write.body = None;
                revisions[which] = 0;
            } else {
                write.entries[0].key = format!("{}", step * 3 % 11);
                revisions[which] += 1;
            }
            let audit = addition("unused", "x").audit;
            let changes = Changes { time: step as i64, writes: vec![write], audit, ..Changes::default() };
            commit(&whole, &changes).unwrap();
            commit(&small[step % 3 % 2], &changes).unwrap();
            let ask = |store: &SqliteStore, collection: &str, index: &str, reverse: bool, limit: u32| -> Vec<String> {
                let query = Query { index: index.into(), reverse, limit, ..all(collection) };
                let answer = store.read(&[query]).unwrap().remove(0);
                answer
                    .rows
                    .into_iter()
                    .map(|row| format!("{} {} {} {}", row.key, row.id, row.revision, row.body))
                    .collect()
            };
            for store in &small {
                for (collection, index) in [("c", ""), ("c", "i"), ("audit", "")] {
                    for (reverse, limit) in [(false, 2), (true, 3), (false, 100)] {
                        let (seen, right) = (
                            ask(store, collection, index, reverse, limit),
                            ask(&whole, collection, index, reverse, limit),
                        );
                        assert_eq!(seen, right, "half {half}, step {step}, {collection} {index} {reverse} {limit}");
                    }
                }
            }
            SqliteStore::check(&small[1]).unwrap_or_else(|error| panic!("half {half}, step {step}: {error}"));
            if step % 7 == 0 {
                // As whoever comes after a kill.
                let fresh = SqliteStore::open(&path, Options { read_only: true, ..Options::default() }).unwrap();
                assert_eq!(ask(&fresh, "c", "i", false, 100), ask(&whole, "c", "i", false, 100), "step {step}");
            }
        }
        small[0].checkpoint_truncate(std::time::Duration::from_secs(5)).unwrap();
        small[1].check().unwrap();
        assert_eq!(count(&path, "SELECT count(*) FROM journal"), 0);
    }
}

#[test]
fn limits_and_order_hold_across_tables_and_journal() {
    let (_directory, path) = place();
    let store = keeping(&path);
    for number in 0..10 {
        commit(&store, &addition(&format!("{number}"), "x")).unwrap();
    }
    store.checkpoint_truncate(std::time::Duration::from_secs(5)).unwrap();
    // Rows of the tables go and change, and new ones come between them.
    for number in [1, 2, 3, 8] {
        let write = Write { body: None, ..row(&format!("{number}"), 1, "") };
        commit(&store, &Changes { writes: vec![write], ..Changes::default() }).unwrap();
    }
    commit(&store, &addition("05", "x")).unwrap();
    let mut moved = row("6", 1, "moved");
    moved.entries[0].key = "00".into();
    commit(&store, &Changes { writes: vec![moved], ..Changes::default() }).unwrap();
    let ask = |store: &SqliteStore, index: &str, reverse: bool, limit: u32| -> Vec<String> {
        let query = Query { index: index.into(), reverse, limit, ..all("c") };
        store.read(&[query]).unwrap().remove(0).rows.into_iter().map(|row| row.id + &row.body).collect()
    };
    for store in
        [&store, &keeping(&path), &SqliteStore::open(&path, Options { read_only: true, ..Options::default() }).unwrap()]
    {
        assert_eq!(ask(store, "", false, 4), ["0x", "05x", "4x", "5x"]);
        assert_eq!(ask(store, "", true, 3), ["9x", "7x", "6moved"]);
        assert_eq!(ask(store, "i", false, 3), ["0x", "6moved", "05x"]);
        assert_eq!(ask(store, "i", true, 2), ["9x", "7x"]);
        assert_eq!(ask(store, "i", true, 100).len(), 7);
        assert_eq!(ask(store, "i", false, 0), [""; 0]);
        store.check().unwrap();
    }
}

#[test]
fn a_damaged_journal_is_loud() {
    let damages = [
        "DELETE FROM journal WHERE slot = 2",
        "DELETE FROM journal WHERE slot = 3",
        "UPDATE journal SET chunk = zeroblob(4000) WHERE slot = 1",
        "UPDATE journal SET chunk = zeroblob(10) WHERE slot = 2",
        "UPDATE journal SET chunk = CAST(substr(chunk, 1, 16) || zeroblob(3984) AS BLOB) WHERE slot = 3",
        "UPDATE counters SET slots = 4",
        "UPDATE counters SET settled = settled + 1",
    ];
    for damage in damages {
        let (_directory, path) = place();
        let store = keeping(&path);
        for number in 0..3 {
            commit(&store, &addition(&format!("{number}"), "x")).unwrap();
        }
        drop(store);
        raw(&path).execute_batch(damage).unwrap();
        let options = Options { journal_pages: 100_000, ..Options::default() };
        let store = match SqliteStore::open(&path, options) {
            Ok(store) => store,
            Err(error) => {
                assert!(matches!(error, OpenError::Damaged { .. }) && damage.contains("counters"), "{damage}: {error}");
                continue;
            }
        };
        assert!(matches!(store.read(&[all("c")]), Err(StoreError::Damaged { .. })), "{damage}");
        assert!(matches!(store.check(), Err(StoreError::Damaged { .. })), "{damage}");
        assert!(matches!(commit(&store, &addition("4", "x")), Err(StoreError::Damaged { .. })), "{damage}");
    }
}
