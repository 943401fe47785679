//! What an operation reads does not grow with what is none of its business: rows are counted at the store.
//!
//! That the store finds them without looking at others is tested in its crate (`no_statement_of_the_store_scans`), and
//! `tests/bench` measures the times.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use threadmesh_native::NativeCore;
use threadmesh_runtime::Host;
use threadmesh_runtime::host::Clock;
use threadmesh_runtime::store::{
    Answer, Applied, ApplyError, Batch, Changes, EffectLease, Epoch, LeasedEffect, MemoryStore, Query, ReadSet, Store,
    StoreError,
};
use threadmesh_runtime::wit::{Principal, PrincipalKind, Status};

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

fn count(rows: &AtomicUsize, answers: &[Answer]) {
    rows.fetch_add(answers.iter().map(|answer| answer.rows.len()).sum(), SeqCst);
}

impl Store for Counting {
    fn read(&self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.inner.read(queries).inspect(|answers| count(&self.rows, answers))
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

    fn release_effect(&self, lease: EffectLease, retry_at: i64) -> Result<bool, StoreError> {
        self.inner.release_effect(lease, retry_at)
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.inner.next_effect_due()
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

/// 2026-05-04T08:00:00Z, always.
struct Still;

impl Clock for Still {
    fn wall_ms(&self) -> i64 {
        1_777_881_600_000
    }

    fn steady_ms(&self) -> i64 {
        0
    }
}

/// A host over a store that counts.
struct Mesh {
    host: Host,
    rows: Arc<AtomicUsize>,
    calls: usize,
}

fn principal(kind: PrincipalKind, id: &str) -> Principal {
    Principal {
        tenant: "default".into(),
        kind,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_scaling".into(),
    }
}

fn task(owner: &str, id: &str) -> Principal {
    Principal {
        incarnation: Some(format!("inc_{id}-0001")),
        owner: Some(format!("user:{owner}")),
        ..principal(PrincipalKind::Task, id)
    }
}

fn reference(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation})
}

impl Mesh {
    fn new() -> Self {
        let store = Counting::default();
        let rows = Arc::clone(&store.rows);
        let host = Host::builder(Arc::new(NativeCore), Arc::new(store)).clock(Still).build().expect("a host");
        Self { host, rows, calls: 0 }
    }

    /// The value of a call that must be accepted, and how many rows were read for it.
    fn call(&mut self, who: &Principal, method: &str, mut params: Value) -> (Value, usize) {
        self.calls += 1;
        let reads = ["tasks.wait", "audit.list", "mailbox.listPending", "messages.getDisposition"];
        if !reads.contains(&method) {
            params["idempotencyKey"] = format!("idem_call-{:06}", self.calls).into();
        }
        self.rows.store(0, SeqCst);
        let reply = self.host.call(Some(who), method, &params.to_string()).expect("an answer");
        assert_eq!(reply.status, Status::Accepted, "{method}: {}", reply.body);
        (serde_json::from_str(&reply.body).expect("JSON"), self.rows.load(SeqCst))
    }

    /// Two tasks of `owner` with a grant between them.
    fn pair(&mut self, owner: &str, number: usize) -> (Principal, Principal) {
        let ends = (task(owner, &format!("source-{number}")), task(owner, &format!("target-{number}")));
        let user = principal(PrincipalKind::User, owner);
        for task in [&ends.0, &ends.1] {
            let input = json!({"taskId": task.id, "incarnationId": task.incarnation, "harness": "test"});
            self.call(&user, "tasks.register", json!({"task": input}));
        }
        let draft = json!({
            "specVersion": "0.0-draft", "grantId": format!("grant_pair-{number:04}"), "grantVersion": 1,
            "relationshipId": format!("rel_pair-{number:04}"), "relationshipType": "peer",
            "source": reference(&ends.0), "target": reference(&ends.1), "allowedIntents": ["suggest"],
            "allowedDeliveryModes": ["checkpoint-offer"], "summaryVisibility": "none",
            "structuredGateResponses": false, "createdAt": "2026-01-01T00:00:00Z",
        });
        let decision = json!({"decisionId": "decision_scaling"});
        self.call(&user, "relationships.grant", json!({"grant": draft, "decision": decision}));
        ends
    }

    fn send(&mut self, ends: &(Principal, Principal), number: usize, message: usize) {
        let envelope = json!({
            "specVersion": "0.0-draft", "messageId": format!("msg_pair-{number:04}-{message:06}"),
            "messageType": "suggestion", "intent": "suggest", "claimStatus": "unverified",
            "sender": {"taskId": ends.0.id, "incarnationId": ends.0.incarnation, "actorType": "agent", "harness": "test"},
            "target": reference(&ends.1), "relationshipId": format!("rel_pair-{number:04}"),
            "content": "A backlog.", "reason": "To be counted.",
            "delivery": {"requestedMode": "checkpoint-offer", "requiresDisposition": true},
            "createdAt": "2026-05-04T08:00:00Z", "expiresAt": "2026-05-05T08:00:00Z",
        });
        self.call(&ends.0.clone(), "messages.send", json!({"envelope": envelope}));
    }
}

/// How many rows each operation reads about the first pair while there are `backlog` messages of others.
fn rows(backlog: usize) -> BTreeMap<&'static str, usize> {
    let mut mesh = Mesh::new();
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
        ("messages.getDisposition", &source, message),
        ("tasks.wait", &source, json!({"task": reference(&source)})),
        ("maintenance.expireDue", &policy, json!({})),
        ("maintenance.expireDue", &alice, json!({})),
        ("mailbox.claim", &target, at),
    ];
    let mut read = BTreeMap::new();
    for (method, who, params) in calls {
        let (_, rows) = mesh.call(who, method, params);
        *read.entry(method).or_insert(0) += rows;
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
