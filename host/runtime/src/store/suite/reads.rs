//! What queries find.

use super::Factory;
use super::help::*;
use crate::store::{AUDIT, Changes, Conflict, Query, Snapshot};

pub(super) fn new_store_is_empty(factory: Factory<'_>) {
    let store = factory();
    assert_eq!(one(&*store, &point("c", "a")), None);
    assert_eq!(ids(&*store, &range("c", "i", "", "z")), [""; 0]);
    assert_eq!(store.last_time(), Ok(0));
    assert_eq!(store.next_effect_due(), Ok(None));
    assert_eq!(store.lease_effects(i64::MAX / 2, 1, 10), Ok(vec![]));
    assert_eq!(store.read(&[]), Ok(vec![]));
}

pub(super) fn points_and_absences(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "a", 0, "{}", &[]), put("d", "a", 0, "[]", &[])]));
    let row = |body: &str| Some(("a".to_owned(), "a".to_owned(), 1, body.to_owned()));
    assert_eq!(one(&*store, &point("c", "a")), row("{}"));
    assert_eq!(one(&*store, &point("d", "a")), row("[]"), "collections are apart");
    for absent in ["", "A", "aa", "b", "a\0"] {
        assert_eq!(one(&*store, &point("c", absent)), None, "{absent:?}");
    }
    assert_eq!(one(&*store, &point("e", "a")), None);
    assert_eq!(one(&*store, &exact("c", "i", "a")), None, "an id is no key of an index");
    assert_eq!(one(&*store, &Query { limit: 0, ..point("c", "a") }), None);
}

pub(super) fn ranges_by_id(factory: Factory<'_>) {
    let store = factory();
    let rows = ["a", "b", "c", "d", "e"].map(|id| put("c", id, 0, id, &[]));
    commit(&*store, &writes(rows.into()));
    let found = |query: Query| ids(&*store, &query).concat();
    let all = range("c", "", "", "zz");
    assert_eq!(found(all.clone()), "abcde");
    assert_eq!(found(range("c", "", "b", "d")), "bc", "the end is exclusive, the start is not");
    assert_eq!(found(range("c", "", "b", "d\0")), "bcd");
    assert_eq!(found(range("c", "", "aa", "bb")), "b");
    assert_eq!(found(range("c", "", "b", "b")), "", "an empty range");
    assert_eq!(found(range("c", "", "d", "b")), "", "a range the wrong way round");
    assert_eq!(found(Query { limit: 2, ..all.clone() }), "ab");
    assert_eq!(found(Query { reverse: true, ..all.clone() }), "edcba");
    assert_eq!(found(Query { reverse: true, limit: 2, ..range("c", "", "b", "e") }), "dc");
    assert_eq!(found(Query { reverse: true, limit: 0, ..all }), "");
}

pub(super) fn ranges_by_index(factory: Factory<'_>) {
    let store = factory();
    let rows = vec![
        put("c", "1", 0, "", &[("i", "k3"), ("j", "x")]),
        put("c", "2", 0, "", &[("i", "k1")]),
        put("c", "3", 0, "", &[("i", "k2"), ("i", "k4")]),
        put("d", "4", 0, "", &[("i", "k2")]),
    ];
    commit(&*store, &writes(rows));
    let answer = read(&*store, &range("c", "i", "k1", "k9"));
    let pairs: Vec<_> = answer.rows.iter().map(|row| format!("{}={}", row.key, row.id)).collect();
    assert_eq!(pairs, ["k1=2", "k2=3", "k3=1", "k4=3"], "the key is the one under which the row was found");
    let query = Query { reverse: true, limit: 3, ..range("c", "i", "", "k4") };
    assert_eq!(ids(&*store, &query), ["1", "3", "2"]);
    assert_eq!(ids(&*store, &range("c", "j", "", "zz")), ["1"]);
    assert_eq!(ids(&*store, &range("d", "i", "", "zz")), ["4"]);
    assert_eq!(ids(&*store, &range("d", "j", "", "zz")), [""; 0]);
}

pub(super) fn exact_index_keys(factory: Factory<'_>) {
    let store = factory();
    let rows = ["3", "1", "2"].map(|id| put("c", id, 0, "", &[("i", "same"), ("i", "same"), ("i", id)]));
    commit(&*store, &writes(rows.into()));
    assert_eq!(ids(&*store, &exact("c", "i", "same")), ["3", "1", "2"], "rows of one key come as they were made");
    assert_eq!(ids(&*store, &Query { reverse: true, limit: 2, ..exact("c", "i", "same") }), ["2", "1"]);
    assert_eq!(ids(&*store, &Query { limit: 1, ..range("c", "i", "s", "t") }), ["3"]);
    assert_eq!(ids(&*store, &exact("c", "i", "sam")), [""; 0]);
    assert_eq!(ids(&*store, &exact("c", "i", "2")), ["2"]);
}

/// What is read later from a snapshot is as old as what was read first, over any number of commits.
pub(super) fn snapshots(factory: Factory<'_>) {
    let store = factory();
    let all = range("c", "i", "", "z");
    let rows = ["a", "b"].map(|id| put("c", id, 0, "old", &[("i", id)]));
    let old = Changes { audit: vec![audit("old", &[("of", "a")])], ..writes(rows.into()) };
    commit(&*store, &old);
    let (expected, records) = (read(&*store, &all), read(&*store, &exact(AUDIT, "of", "a")));
    let mut first = store.snapshot().expect("a snapshot");
    let seen = |snapshot: &mut dyn Snapshot| {
        let queries = [all.clone(), point("c", "b"), exact(AUDIT, "of", "a")];
        let [found, b, told] = snapshot.read(&queries).expect("answers").try_into().expect("three answers");
        assert_eq!((b.rows.len(), told), (1, records.clone()));
        found
    };
    assert_eq!(seen(&mut *first), expected);
    commit(&*store, &writes(vec![remove("c", "b", 1)]));
    for revision in 1..=40 {
        let write = put("c", "a", revision, "new", &[("i", &format!("m{revision}"))]);
        let more = put("c", &format!("n{revision}"), 0, "new", &[("i", "n")]);
        let changes = Changes { audit: vec![audit("new", &[("of", "a")])], ..writes(vec![write, more]) };
        commit(&*store, &changes);
        let mut now = store.snapshot().expect("another snapshot");
        let found = now.read(std::slice::from_ref(&all)).expect("answers").remove(0);
        assert_eq!(found.rows.len(), 1 + revision as usize);
        assert_eq!(found.rows[0].key, format!("m{revision}"));
        assert_eq!(read(&*store, &all), found, "a read is as new as a snapshot");
        assert_eq!(seen(&mut *first), expected, "after {revision} commits");
    }
    drop(first);
    assert_eq!(read(&*store, &all).rows.len(), 41);
}

/// A page ends at so many rows or bytes, whichever comes first, and says whether there is more.
pub(super) fn pages(factory: Factory<'_>) {
    let store = factory();
    let body = |id: &str| id.repeat(10);
    commit(
        &*store,
        &writes(["a", "b", "c", "d"].map(|id| put("c", id, 0, &body(id), &[("i", "k"), ("j", id)])).into()),
    );
    let all = range("c", "j", "", "z");
    let found = |limit: u32, bytes: u32, of: &Query| {
        let query = Query { limit, bytes, ..of.clone() };
        let answer = read(&*store, &query);
        let mut batch = begin(&*store);
        assert_eq!(read_in(&mut *batch, &query), answer, "a batch sees the same page");
        (ids_of(&answer).concat(), answer.more)
    };
    let page = |ids: &str, more: bool| (ids.to_owned(), more);
    assert_eq!(found(9, 0, &all), page("abcd", false));
    assert_eq!(found(4, 0, &all), page("abcd", false), "a full page may be the last one");
    assert_eq!(found(3, 0, &all), page("abc", true));
    assert_eq!(found(0, 0, &all), page("", true));
    assert_eq!(found(9, 40, &all), page("abcd", false));
    assert_eq!(found(9, 39, &all), page("abc", true));
    assert_eq!(found(2, 39, &all), page("ab", true));
    assert_eq!(found(9, 1, &all), page("a", true), "the first row always comes");
    assert_eq!(found(9, 25, &Query { reverse: true, ..all.clone() }), page("dc", true));
    assert_eq!(found(9, 10, &range("c", "j", "d", "z")), page("d", false));
    assert_eq!(found(9, 1, &range("c", "j", "e", "z")), page("", false));
    assert_eq!(found(1, 0, &exact("c", "i", "k")), page("a", true), "many rows may have one key");
    assert_eq!(found(1, 0, &exact("c", "j", "a")), page("a", false));
    assert_eq!(found(1, 1, &point("c", "a")), page("a", false));
    // Whether there is more is part of what was read.
    let seen = read_set(&*store, &[Query { limit: 4, ..all }]);
    let next = writes(vec![put("c", "e", 0, "", &[("j", "e")])]);
    commit(&*store, &next);
    assert_conflict(try_commit(&*store, &seen, &writes(vec![put("c", "f", 0, "", &[])])), Conflict::Read { query: 0 });
}

/// Byte order, which differs from that of UTF-16 code units and from any collation.
pub(super) fn keys_compare_by_bytes(factory: Factory<'_>) {
    let store = factory();
    let mut keys =
        ["", "\0", "\n", " ", "%", "-", "/", "0", "10", "9", "A", "Z", "_", "a", "aB", "ab", "z", "\u{7f}"].to_vec();
    keys.extend(["\u{80}", "é", "e\u{301}", "\u{7ff}", "\u{fb33}", "\u{ffff}", "\u{10000}", "😀", "\u{10ffff}"]);
    let ids_now: Vec<String> = (0..keys.len()).map(|number| format!("{number:02}")).collect();
    let rows = keys.iter().zip(&ids_now).rev().map(|(key, id)| put("c", id, 0, key, &[("i", key)]));
    commit(&*store, &writes(rows.collect()));
    commit(&*store, &writes(keys.iter().map(|key| put("d", key, 0, "", &[])).collect()));
    keys.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let by_index = read(&*store, &range("c", "i", "", "\u{10ffff}\u{10ffff}")).rows;
    assert_eq!(by_index.iter().map(|row| &*row.key).collect::<Vec<_>>(), keys);
    assert!(by_index.iter().all(|row| row.key == row.body), "each key leads to its row");
    assert_eq!(ids(&*store, &range("d", "", "", "\u{10ffff}\u{10ffff}")), keys);
    let after_e = range("d", "", "e\u{301}\0", "\u{7ff}");
    assert_eq!(ids(&*store, &after_e), ["z", "\u{7f}", "\u{80}", "é"]);
}

pub(super) fn odd_keys_and_texts(factory: Factory<'_>) {
    let store = factory();
    let odd =
        ["", "/", "%", "%%s", "a/b", "a\0b", "a'b\"c", "--", "*", "null", "1e3", "0x10", " x ", "e\u{301}", "\u{feff}"];
    for (number, text) in odd.iter().enumerate() {
        let row = put("c/%\0é", text, 0, text, &[("i/%\0é", text)]);
        commit(&*store, &writes(vec![row]));
        let expected = Some(((*text).to_owned(), (*text).to_owned(), 1, (*text).to_owned()));
        assert_eq!(one(&*store, &point("c/%\0é", text)), expected);
        assert_eq!(one(&*store, &exact("c/%\0é", "i/%\0é", text)), expected);
        assert_eq!(ids(&*store, &range("c/%\0é", "i/%\0é", "", "\u{10ffff}")).len(), number + 1);
    }
    assert_eq!(one(&*store, &point("c/%", "/")), None);
    assert_eq!(one(&*store, &exact("c/%\0é", "i/%", "/")), None);
    let record = Changes { audit: vec![audit("a\0é😀", &[("i", "\0")])], ..Changes::default() };
    commit(&*store, &record);
    assert_eq!(read(&*store, &exact("audit", "i", "\0")).rows[0].body, "a\0é😀");
}

pub(super) fn large_texts(factory: Factory<'_>) {
    let store = factory();
    let large = "é".repeat(1 << 19);
    let key = "k".repeat(4096);
    commit(&*store, &writes(vec![put("c", "a", 0, &large, &[("i", &key)]), put("c", &key, 0, "", &[])]));
    assert_eq!(read(&*store, &exact("c", "i", &key)).rows[0].body, large);
    commit(&*store, &writes(vec![put("c", "a", 1, "small", &[("i", &key)])]));
    assert_eq!(one(&*store, &exact("c", "i", &key)), Some(("a".into(), key.clone(), 2, "small".into())));
    commit(&*store, &writes(vec![put("c", "a", 2, &large, &[])]));
    assert_eq!(read(&*store, &point("c", "a")).rows[0].body, large);
    assert_eq!(ids(&*store, &point("c", &key)), [key]);
}

pub(super) fn one_snapshot(factory: Factory<'_>) {
    let store = factory();
    let queries = [point("c", "a"), range("c", "i", "", "z"), point("c", "b")];
    commit(&*store, &writes(vec![put("c", "a", 0, "0", &[]), put("c", "b", 0, "0", &[("i", "k")])]));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for revision in 1..200 {
                let body = revision.to_string();
                let rows = vec![put("c", "a", revision, &body, &[]), put("c", "b", revision, &body, &[("i", "k")])];
                commit(&*store, &writes(rows));
            }
        });
        while !writer.is_finished() {
            let answers = store.read(&queries).expect("read");
            let bodies: Vec<_> = answers.iter().flat_map(|answer| &answer.rows).map(|row| &row.body).collect();
            assert_eq!(bodies.len(), 3);
            assert!(bodies.iter().all(|body| *body == bodies[0]), "three moments in one read: {bodies:?}");
        }
    });
    let answers = store.read(&queries).expect("read");
    assert_eq!(answers.len(), 3, "an answer for each query");
    assert_eq!(answers[2].rows[0].revision, 200);
}
