//! Audit records by position: as any rows, wherever they are.

use threadmesh_runtime::store::{AUDIT, AuditRecord, Changes, Entry, Query, Store, StoreError, audit_id};

use super::{commit, open_tables, place, raw};
use crate::{Options, SqliteStore};

fn record(number: u32) -> AuditRecord {
    let entries = vec![
        Entry { index: "stream".into(), key: format!("s/{}", number % 3) },
        Entry { index: "all".into(), key: "a".into() },
    ];
    AuditRecord { body: format!("record {number}"), entries }
}

fn ask(store: &SqliteStore, index: &str, range: (&str, Option<&str>), reverse: bool, limit: u32) -> Vec<(u64, String)> {
    let (start, end) = (range.0.into(), range.1.map(Into::into));
    let query = Query { collection: AUDIT.into(), index: index.into(), start, end, reverse, limit, bytes: 0 };
    let rows = store.read(&[query]).unwrap().remove(0).rows;
    for row in &rows {
        assert_eq!((row.revision, &row.id), (1, &audit_id(row.stamp)));
        assert!(!index.is_empty() || row.key == row.id);
    }
    rows.into_iter().map(|row| (row.stamp, row.body)).collect()
}

/// Ten records, the first five in the table and the others in the journal.
fn ten(path: &std::path::Path) -> SqliteStore {
    let store = SqliteStore::open(path, Options { journal_pages: 1_000, ..Options::default() }).unwrap();
    for number in 1..=10 {
        commit(&store, &Changes { audit: vec![record(number)], ..Changes::default() }).unwrap();
        if number == 5 {
            store.checkpoint_truncate(std::time::Duration::from_secs(5)).unwrap();
        }
    }
    store
}

#[test]
fn records_are_found_by_id_and_by_key_in_table_and_journal() {
    let (_directory, path) = place();
    let store = ten(&path);
    let counts = "SELECT (SELECT count(*) FROM audit) || ' ' || (SELECT count(*) FROM entries) || ' ' || (SELECT count(*) FROM facts)";
    let counts: String = raw(&path).query_row(counts, [], |row| row.get(0)).unwrap();
    assert_eq!(counts, "5 10 0", "an id costs no entry");
    let positions = |found: Vec<(u64, String)>| found.into_iter().map(|(position, _)| position).collect::<Vec<_>>();
    let everything = ("", Some("\u{10ffff}"));
    for store in [&store, &open_tables(&path)] {
        assert_eq!(ask(store, "", ("0000000000000004", None), false, 9), [(4, "record 4".to_owned())]);
        assert_eq!(ask(store, "", ("0000000000000009", None), true, 1), [(9, "record 9".to_owned())]);
        for absent in ["0000000000000011", "0000000000000000", "4", "", "00000000000000041"] {
            assert_eq!(ask(store, "", (absent, None), false, 9), [], "{absent:?}");
        }
        for limit in [0, 1, 4, 5, 6, 10, 100] {
            let first: Vec<u64> = (1..=10).take(limit as usize).collect();
            let last: Vec<u64> = (1..=10).rev().take(limit as usize).collect();
            assert_eq!(positions(ask(store, "", everything, false, limit)), first);
            assert_eq!(positions(ask(store, "", everything, true, limit)), last);
            assert_eq!(positions(ask(store, "all", ("a", None), false, limit)), first);
            assert_eq!(positions(ask(store, "all", ("a", None), true, limit)), last);
        }
        let some = ("0000000000000004", Some("0000000000000008"));
        assert_eq!(positions(ask(store, "", some, false, 9)), [4, 5, 6, 7]);
        assert_eq!(positions(ask(store, "", some, true, 3)), [7, 6, 5]);
        assert_eq!(positions(ask(store, "stream", ("s/1", None), false, 9)), [1, 4, 7, 10]);
        assert_eq!(positions(ask(store, "stream", ("s/1", Some("s/3")), true, 3)), [8, 5, 2]);
        store.check().unwrap();
    }
}

#[test]
fn a_damaged_or_missing_record_is_seen() {
    for damage in [
        "UPDATE audit SET body = 'record 9' WHERE position = 2",
        "UPDATE audit SET keys = x'' WHERE position = 2",
        "UPDATE audit SET position = 12 WHERE position = 2",
        "DELETE FROM audit WHERE position = 2; DELETE FROM entries WHERE stamp = 2",
        "DELETE FROM audit WHERE position = 5; DELETE FROM entries WHERE stamp = 5",
        "DELETE FROM entries WHERE stamp = 2 AND key = 'a'",
        "INSERT INTO entries VALUES (1, 's/x', 77)",
        "DELETE FROM audit; DELETE FROM entries",
    ] {
        let (_directory, path) = place();
        let store = ten(&path);
        drop(store);
        raw(&path).execute_batch(damage).unwrap();
        assert!(matches!(open_tables(&path).check(), Err(StoreError::Damaged { .. })), "{damage}");
    }
}

/// A page that ends by bytes ends at the same row as one that was read whole, and reads no further than it must.
#[test]
fn pages_end_by_bytes_wherever_rows_are() {
    let (_directory, path) = place();
    let store = ten(&path);
    let bytes_of = |store: &SqliteStore, index: &str, reverse: bool, bytes: u32| {
        let (start, end) = (String::new(), Some("\u{10ffff}".into()));
        let query = Query { collection: AUDIT.into(), index: index.into(), start, end, reverse, limit: 8, bytes };
        store.read(&[query]).unwrap().remove(0)
    };
    for store in [&store, &open_tables(&path)] {
        for index in ["", "all", "stream"] {
            for reverse in [false, true] {
                let whole = bytes_of(store, index, reverse, 0);
                assert!(whole.rows.len() == 8 && whole.more);
                for bytes in 1..90 {
                    let page = bytes_of(store, index, reverse, bytes);
                    let mut left = bytes as usize;
                    let fits = |row: &&threadmesh_runtime::store::Row| {
                        let fits = row.body.len() <= left;
                        left = left.saturating_sub(row.body.len());
                        fits
                    };
                    let fitting = whole.rows.iter().take_while(fits).count().max(1);
                    assert_eq!(
                        (&page.rows[..], page.more),
                        (&whole.rows[..fitting], true),
                        "{index} {reverse} {bytes}"
                    );
                }
            }
        }
    }
}
