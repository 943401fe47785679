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
fn commits_stay_in_the_journal_until_it_is_full() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path, Options { journal_pages: 4, ..Options::default() }).unwrap();
    let rows = |sql: &str| count(&path, sql);
    for number in 0..4 {
        commit(&store, &addition(&format!("{number}"), "x")).unwrap();
        assert_eq!(rows("SELECT count(*) FROM facts"), 0);
        assert_eq!(rows("SELECT count(*) FROM journal"), number + 1);
    }
    commit(&store, &addition("4", "x")).unwrap();
    assert_eq!(rows("SELECT count(*) FROM facts"), 5, "with what filled it");
    assert_eq!(rows("SELECT slots FROM counters"), 0);
    commit(&store, &addition("5", "x")).unwrap();
    assert_eq!(rows("SELECT count(*) FROM journal"), 4, "slots are used again");
    let other = open(&path);
    for each in [&store, &other] {
        assert_eq!(ids(each, "c"), ["0", "1", "2", "3", "4", "5"]);
        each.check().unwrap();
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
