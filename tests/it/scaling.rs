//! What an operation reads does not grow with what is none of its business: rows are counted at the store.
//!
//! That the store finds them without looking at others is tested in its crate (`no_statement_of_the_store_scans`), and
//! `tests/bench` measures the times.

use crate::embedded::{Mesh, principal, reference};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use threadmesh_runtime::store::{
    Answer, Applied, ApplyError, Batch, Changes, EffectLease, Epoch, LeasedEffect, MemoryStore, Query, ReadSet, Scrub,
    Snapshot, Store, StoreError,
};
use threadmesh_runtime::wit::PrincipalKind;

/// A store that counts the rows that it answers with.
#[derive(Default)]
struct Counting {
    inner: MemoryStore,
    rows: Arc<AtomicUsize>,
}

struct CountingBatch<'a> {
    inner: Box<dyn Batch + 'a>,
    rows: Arc<AtomicUsize>,
}

struct CountingSnapshot<'a> {
    inner: Box<dyn Snapshot + 'a>,
    rows: &'a AtomicUsize,
}

impl Snapshot for CountingSnapshot<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.inner.read(queries).inspect(|answers| count(self.rows, answers))
    }
}

fn count(rows: &AtomicUsize, answers: &[Answer]) {
    rows.fetch_add(answers.iter().map(|answer| answer.rows.len()).sum(), SeqCst);
}

impl Store for Counting {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        let inner = self.inner.snapshot()?;
        Ok(Box::new(CountingSnapshot { inner, rows: &self.rows }))
    }

    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        let inner = self.inner.begin()?;
        Ok(Box::new(CountingBatch { inner, rows: Arc::clone(&self.rows) }))
    }

    fn last_time(&self) -> Result<i64, StoreError> {
        self.inner.last_time()
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.inner.changes()
    }

    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        self.inner.lease_effects(now, lease_ms, limit)
    }

    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.inner.complete_effect(lease)
    }

    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError> {
        self.inner.release_effect(lease, retry_at, failed)
    }

    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.inner.advance_effects(now)
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.inner.next_effect_due()
    }

    fn scrub(&self, wait: Duration) -> Result<Scrub, StoreError> {
        self.inner.scrub(wait)
    }
}

impl Batch for CountingBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.inner.read(queries).inspect(|answers| count(&self.rows, answers))
    }

    fn last_time(&mut self) -> Result<i64, StoreError> {
        self.inner.last_time()
    }

    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        self.inner.apply(reads, changes)
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.commit()
    }
}

/// How many rows each operation reads about the first pair while there are `backlog` messages of others.
fn rows(backlog: usize) -> BTreeMap<&'static str, usize> {
    let store = Counting::default();
    let counted = Arc::clone(&store.rows);
    let mut mesh = Mesh::over(Arc::new(store));
    let own = mesh.pair("alice", 0);
    (0..3).for_each(|message| mesh.send(&own, 0, message));
    for number in 1..=4 {
        // Some of the same owner, some of another.
        let other = mesh.pair(if number % 2 == 0 { "alice" } else { "bob" }, number);
        (0..backlog / 4).for_each(|message| mesh.send(&other, number, message));
    }
    let (source, target) = own;
    let message = json!({"senderIncarnationId": source.incarnation, "messageId": "msg_pair-0000-000001"});
    let at =
        json!({"senderIncarnationId": source.incarnation, "messageId": "msg_pair-0000-000001", "expectedRevision": 0});
    let (policy, alice) = (principal(PrincipalKind::Policy, "guard"), principal(PrincipalKind::User, "alice"));
    let calls = [
        ("mailbox.listPending", &target, json!({"receiver": reference(&target)})),
        ("audit.list", &source, message.clone()),
        ("messages.getDisposition", &source, message.clone()),
        ("inspector.snapshot", &source, message),
        ("tasks.wait", &source, json!({"task": reference(&source)})),
        ("maintenance.expireDue", &policy, json!({})),
        ("maintenance.expireDue", &alice, json!({})),
        ("mailbox.claim", &target, at),
    ];
    let mut read = BTreeMap::new();
    for (method, who, params) in calls {
        counted.store(0, SeqCst);
        mesh.call(who, method, params);
        *read.entry(method).or_insert(0) += counted.load(SeqCst);
    }
    read
}

#[test]
fn a_backlog_of_others_is_not_read() {
    let (few, many) = (rows(40), rows(2_000));
    println!("rows read: {few:?}");
    assert_eq!(few, many, "with 40 and with 2 000 messages of others");
    assert!(few["mailbox.listPending"] >= 3 && few["tasks.wait"] >= 3, "the count sees rows: {few:?}");
}
