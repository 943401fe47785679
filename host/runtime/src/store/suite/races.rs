//! What may have changed between a decision's reads and its commit (settled point 37), and many threads at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Factory;
use super::help::*;
use crate::store::{ApplyError, Changes, Conflict, Query, ReadSet, Store};

pub(super) fn revoked_between_read_and_commit(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("grant", "g", 0, "active", &[("pair", "a>b")])]));
    let by_id = read_set(&*store, &[point("grant", "g")]);
    let by_pair = read_set(&*store, &[point("grant", "none"), exact("grant", "pair", "a>b")]);
    commit(&*store, &writes(vec![put("grant", "g", 1, "revoked", &[("pair", "a>b")])]));
    let send = writes(vec![put("message", "m", 0, "", &[])]);
    assert_conflict(try_commit(&*store, &by_id, &send), Conflict::Read { query: 0 });
    assert_conflict(try_commit(&*store, &by_pair, &send), Conflict::Read { query: 1 });
    let nothing = Changes::default();
    assert_conflict(try_commit(&*store, &by_id, &nothing), Conflict::Read { query: 0 });
    assert_eq!(one(&*store, &point("message", "m")), None);
    try_commit(&*store, &read_set(&*store, &[point("grant", "g")]), &send).expect("what is read now holds");
}

pub(super) fn insertion_into_an_empty_range(factory: Factory<'_>) {
    let store = factory();
    let queries = [range("claim", "of", "m/", "m0"), point("claim", "x")];
    let [range_read, point_read] = queries.map(|query| read_set(&*store, &[query]));
    commit(&*store, &writes(vec![put("claim", "x", 0, "", &[("of", "m/1")])]));
    let claim = writes(vec![put("claim", "y", 0, "", &[("of", "m/2")])]);
    assert_conflict(try_commit(&*store, &range_read, &claim), Conflict::Read { query: 0 });
    assert_conflict(try_commit(&*store, &point_read, &claim), Conflict::Read { query: 0 });
    assert_eq!(ids(&*store, &range("claim", "of", "", "zz")), ["x"]);
}

pub(super) fn two_sends_for_the_last_slot(factory: Factory<'_>) {
    let store = factory();
    let slots = Query { limit: 3, ..range("mail", "to", "b/", "b0") };
    let send = |id: &str| writes(vec![put("mail", id, 0, "", &[("to", &format!("b/{id}"))])]);
    commit(&*store, &send("1"));
    commit(&*store, &send("2"));
    let seen = read_set(&*store, std::slice::from_ref(&slots));
    assert_eq!(seen.reads[0].1.rows.len(), 2, "both see one free slot");
    try_commit(&*store, &seen, &send("3")).expect("the first one gets it");
    assert_conflict(try_commit(&*store, &seen, &send("4")), Conflict::Read { query: 0 });
    // The same in one batch: the second one's reads are from before the first one's apply.
    let store = factory();
    commit(&*store, &send("1"));
    commit(&*store, &send("2"));
    let mut batch = begin(&*store);
    let mut reads = ReadSet::at(batch.epoch());
    reads.record(&slots, &read_in(&mut *batch, &slots));
    batch.apply(&reads, &send("3")).expect("first");
    assert_conflict(batch.apply(&reads, &send("4")), Conflict::Read { query: 0 });
    batch.commit().expect("commit");
    assert_eq!(ids(&*store, &range("mail", "to", "", "zz")), ["1", "2", "3"]);
}

pub(super) fn removal_inside_a_limited_range(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(["1", "2", "3", "4", "5"].map(|id| put("c", id, 0, "", &[("i", id)])).into()));
    let first_three = Query { limit: 3, ..range("c", "i", "", "z") };
    let last_two = Query { reverse: true, limit: 2, ..range("c", "i", "", "z") };
    let first = read_set(&*store, &[first_three]);
    let last = read_set(&*store, &[last_two]);
    commit(&*store, &writes(vec![remove("c", "2", 1)]));
    let mark = |id| writes(vec![put("mark", id, 0, "", &[])]);
    assert_conflict(try_commit(&*store, &first, &mark("a")), Conflict::Read { query: 0 });
    try_commit(&*store, &last, &mark("b")).expect("the other end is as it was");
    commit(&*store, &writes(vec![put("c", "5", 1, "", &[("i", "0")])]));
    assert_conflict(try_commit(&*store, &last, &mark("c")), Conflict::Read { query: 0 });
}

/// The same revision number is not the same row.
pub(super) fn removed_and_made_again(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "a", 0, "first", &[("i", "k")])]));
    let seen = [point("c", "a"), exact("c", "i", "k")].map(|query| read_set(&*store, &[query]));
    commit(&*store, &writes(vec![remove("c", "a", 1)]));
    commit(&*store, &writes(vec![put("c", "a", 0, "second", &[("i", "k")])]));
    for reads in &seen {
        let result = try_commit(&*store, reads, &writes(vec![put("c", "a", 1, "third", &[])]));
        assert_conflict(result, Conflict::Read { query: 0 });
    }
    assert_eq!(one(&*store, &point("c", "a")).map(|row| row.3), Some("second".into()));
}

/// Only what was read counts: neighbours in the same collection, index and batch may change.
pub(super) fn no_false_conflicts(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(["1", "2", "3", "4"].map(|id| put("c", id, 0, "", &[("i", id), ("j", id)])).into()));
    let queries =
        [point("c", "1"), point("c", "0"), range("c", "i", "2", "3"), Query { limit: 2, ..range("c", "i", "", "z") }];
    let seen = read_set(&*store, &queries);
    let mut batch = begin(&*store);
    let elsewhere = vec![
        put("c", "00", 0, "", &[("j", "00")]),
        put("c", "5", 0, "", &[("i", "5")]),
        put("c", "3", 1, "", &[("i", "30")]),
        remove("c", "4", 1),
    ];
    batch.apply(&ReadSet::default(), &writes(elsewhere)).expect("elsewhere");
    batch.apply(&seen, &writes(vec![put("mark", "a", 0, "", &[])])).expect("nothing that was read has changed");
    batch.commit().expect("commit");
}

/// The epoch saves validation only as long as nothing is applied, and only in its own batch.
pub(super) fn reads_of_a_batch(factory: Factory<'_>) {
    let store = factory();
    let query = range("c", "", "", "zz");
    let mut batch = begin(&*store);
    let mut old = ReadSet::at(batch.epoch());
    old.record(&query, &read_in(&mut *batch, &query));
    batch.apply(&old, &writes(vec![put("c", "a", 0, "", &[])])).expect("first");
    let mut new = ReadSet::at(batch.epoch());
    new.record(&query, &read_in(&mut *batch, &query));
    assert_conflict(batch.apply(&old, &writes(vec![put("c", "b", 0, "", &[])])), Conflict::Read { query: 0 });
    batch.apply(&new, &writes(vec![put("c", "b", 0, "", &[])])).expect("second");
    assert_conflict(batch.apply(&new, &writes(vec![put("c", "d", 0, "", &[])])), Conflict::Read { query: 0 });
    drop(batch);
    let mut batch = begin(&*store);
    assert_conflict(batch.apply(&new, &writes(vec![put("c", "b", 0, "", &[])])), Conflict::Read { query: 0 });
    batch.apply(&old, &writes(vec![put("c", "b", 0, "", &[])])).expect("an absence that holds again");
}

/// Increments of one counter by optimistic threads, and others that read and decide in the batch: nothing is lost.
pub(super) fn many_threads(factory: Factory<'_>) {
    const THREADS: u32 = 4;
    const EACH: u32 = 25;
    let store = factory();
    let conflicts = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, conflicts) = (&*store, &conflicts);
            scope.spawn(move || {
                for number in 0..EACH {
                    let id = format!("{thread}/{number}");
                    if thread % 2 == 0 {
                        increment_optimistically(store, &id, conflicts)
                    } else {
                        increment_in_batch(store, &id)
                    }
                }
            });
        }
    });
    let total = THREADS * EACH;
    assert_eq!(one(&*store, &point("counter", "n")).map(|row| (row.2, row.3)), Some((total, total.to_string())));
    let everything = Query { limit: 1_000, ..range("audit", "", "", "zz") };
    let positions: Vec<_> = ids(&*store, &everything);
    assert_eq!(positions, (1..=u64::from(total)).map(crate::store::audit_id).collect::<Vec<_>>());
    let bodies: BTreeSet<_> = read(&*store, &everything).rows.into_iter().map(|row| row.body).collect();
    assert_eq!(bodies.len() as u32, total, "every increment left its record");
    println!("store suite: {} conflicts among {total} increments", conflicts.load(Ordering::Relaxed));
}

fn increment_optimistically(store: &dyn Store, id: &str, conflicts: &AtomicUsize) {
    for _ in 0..10_000 {
        let query = point("counter", "n");
        let answer = read(store, &query);
        let mut reads = ReadSet::default();
        reads.record(&query, &answer);
        match try_commit(store, &reads, &increment(answer.rows.first().map_or(0, |row| row.revision), id)) {
            Ok(_) => return,
            Err(ApplyError::Conflict(_)) => conflicts.fetch_add(1, Ordering::Relaxed),
            Err(error) => panic!("{error}"),
        };
    }
    panic!("{id} never got through");
}

fn increment_in_batch(store: &dyn Store, id: &str) {
    let mut batch = begin(store);
    let query = point("counter", "n");
    let mut reads = ReadSet::at(batch.epoch());
    let answer = read_in(&mut *batch, &query);
    reads.record(&query, &answer);
    batch.apply(&reads, &increment(answer.rows.first().map_or(0, |row| row.revision), id)).expect("nobody interferes");
    batch.commit().expect("commit");
}

fn increment(revision: u32, id: &str) -> Changes {
    let write = put("counter", "n", revision, &(revision + 1).to_string(), &[]);
    Changes { time: 1, writes: vec![write], audit: vec![audit(id, &[])], ..Changes::default() }
}
