//! Short ways to say what the cases need.

use crate::store::{
    Answer, Applied, ApplyError, AuditRecord, Batch, Changes, Conflict, Effect, EffectKind, Entry, Query, ReadSet, Row,
    Store, Write,
};

/// The one row with `id`.
pub(super) fn point(collection: &str, id: &str) -> Query {
    exact(collection, "", id)
}

/// The rows with exactly `key`.
pub(super) fn exact(collection: &str, index: &str, key: &str) -> Query {
    let (collection, index, start) = (collection.to_owned(), index.to_owned(), key.to_owned());
    Query { collection, index, start, end: None, reverse: false, limit: 100, bytes: 0 }
}

/// The rows from `start` up to `end`.
pub(super) fn range(collection: &str, index: &str, start: &str, end: &str) -> Query {
    Query { end: Some(end.to_owned()), ..exact(collection, index, start) }
}

/// A row to write.
pub(super) fn put(collection: &str, id: &str, expected: u32, body: &str, keys: &[(&str, &str)]) -> Write {
    Write {
        collection: collection.to_owned(),
        id: id.to_owned(),
        expected,
        body: Some(body.to_owned()),
        entries: entries(keys),
    }
}

/// A row to remove.
pub(super) fn remove(collection: &str, id: &str, expected: u32) -> Write {
    Write { body: None, ..put(collection, id, expected, "", &[]) }
}

/// Pairs of index and key.
pub(super) fn entries(keys: &[(&str, &str)]) -> Vec<Entry> {
    keys.iter().map(|(index, key)| Entry { index: (*index).to_owned(), key: (*key).to_owned() }).collect()
}

/// An audit record.
pub(super) fn audit(body: &str, keys: &[(&str, &str)]) -> AuditRecord {
    AuditRecord { body: body.to_owned(), entries: entries(keys) }
}

/// A stored effect.
pub(super) fn effect(name: &str) -> Effect {
    let (name, key, body) = (name.to_owned(), format!("key of {name}"), format!("body of {name}"));
    Effect { kind: EffectKind::Repeatable, name, key, body }
}

/// Changes that write rows.
pub(super) fn writes(writes: Vec<Write>) -> Changes {
    Changes { time: 1, writes, ..Changes::default() }
}

/// Begins a batch.
pub(super) fn begin(store: &dyn Store) -> Box<dyn Batch + '_> {
    store.begin().expect("begin")
}

/// Commits `changes` in a batch of their own.
pub(super) fn commit(store: &dyn Store, changes: &Changes) -> Applied {
    try_commit(store, &ReadSet::default(), changes).expect("apply")
}

/// Validates `reads` and commits `changes` in a batch of their own.
pub(super) fn try_commit(store: &dyn Store, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
    let mut batch = begin(store);
    let applied = batch.apply(reads, changes)?;
    batch.commit()?;
    Ok(applied)
}

/// Reads one query outside any batch.
pub(super) fn read(store: &dyn Store, query: &Query) -> Answer {
    store.read(std::slice::from_ref(query)).expect("read").remove(0)
}

/// Reads one query in a batch.
pub(super) fn read_in(batch: &mut dyn Batch, query: &Query) -> Answer {
    batch.read(std::slice::from_ref(query)).expect("read").remove(0)
}

/// Reads queries outside any batch, as a read set.
pub(super) fn read_set(store: &dyn Store, queries: &[Query]) -> ReadSet {
    let mut reads = ReadSet::default();
    for (query, answer) in queries.iter().zip(store.read(queries).expect("read")) {
        reads.record(query, &answer);
    }
    reads
}

/// The ids that a query finds, in order.
pub(super) fn ids(store: &dyn Store, query: &Query) -> Vec<String> {
    ids_of(&read(store, query))
}

/// The ids of an answer, in order.
pub(super) fn ids_of(answer: &Answer) -> Vec<String> {
    answer.rows.iter().map(|row| row.id.clone()).collect()
}

/// The row that a query finds, without its stamp.
pub(super) fn one(store: &dyn Store, query: &Query) -> Option<(String, String, u32, String)> {
    let mut rows = read(store, query).rows;
    assert!(rows.len() <= 1, "one row for {query:?}, found {}", rows.len());
    rows.pop().map(|Row { id, key, revision, body, .. }| (id, key, revision, body))
}

/// Asserts that nothing was applied because of `conflict`.
pub(super) fn assert_conflict(result: Result<Applied, ApplyError>, conflict: Conflict) {
    assert_eq!(result, Err(ApplyError::Conflict(conflict)));
}
