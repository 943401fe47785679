//! The records that cross between the host loop and a store; the same words as in `wit/world.wit`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::StoreError;

/// The collection that holds the audit records. Only [`Changes::audit`] adds to it, and nothing changes it.
pub const AUDIT: &str = "audit";

/// Rows of `collection` in the order of `index` (empty: by id) with `start <= key < end`; without `end`, those with
/// exactly the key `start`. At most `limit` rows, from the far end where `reverse` is set, and no row after the first with
/// which the texts would have more than `bytes` bytes together. See [the order](super).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    /// Which rows.
    pub collection: String,
    /// By which key; empty for the id.
    pub index: String,
    /// The least key, or the only one.
    pub start: String,
    /// The first key that is not meant.
    pub end: Option<String>,
    /// From the greatest key down.
    pub reverse: bool,
    /// How many rows at most; 0 finds nothing.
    pub limit: u32,
    /// How many bytes the texts may have together, after the first row; 0 for no bound.
    pub bytes: u32,
}

/// A stored row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Unique in its collection.
    pub id: String,
    /// The index key under which it was found (its id where the query had no index).
    pub key: String,
    /// 1 when it was made; one more at every write.
    pub revision: u32,
    /// The stored text, unchanged.
    pub body: String,
    /// Of no meaning to the guest: differs between a row and another one that was made under the same id after the
    /// first was removed, though both may have the same revision. Greater for a row that was made later.
    pub stamp: u64,
}

/// What a decision depends on in a row: changes whenever the row's text or key may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowIdentity {
    /// As in [`Row`].
    pub id: String,
    /// As in [`Row`].
    pub key: String,
    /// As in [`Row`].
    pub revision: u32,
    /// As in [`Row`].
    pub stamp: u64,
}

impl Row {
    /// What is compared when this row is part of a read set.
    pub fn identity(&self) -> RowIdentity {
        RowIdentity { id: self.id.clone(), key: self.key.clone(), revision: self.revision, stamp: self.stamp }
    }
}

/// What the store holds for one query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The rows, in the order that the query asked for.
    pub rows: Vec<Row>,
    /// Whether the range has more rows than the query's `limit` or `bytes` let through.
    pub more: bool,
}

/// What a decision depends on in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The rows.
    pub rows: Vec<RowIdentity>,
    /// As in [`Answer`].
    pub more: bool,
}

impl Answer {
    /// The answer to `query`, of whose range `rows` are the first ones: all of them, or at least one more than its limit.
    pub fn of(query: &Query, mut rows: Vec<Row>) -> Self {
        let limit = rows.len().min(query.limit as usize);
        let mut bytes = 0;
        let mut within = |row: &Row| {
            bytes += row.body.len();
            query.bytes == 0 || bytes <= query.bytes as usize
        };
        let fitting = rows.iter().take(limit).take_while(|row| within(row)).count().max(limit.min(1));
        let more = rows.len() > fitting;
        rows.truncate(fitting);
        Self { rows, more }
    }

    /// What is compared when this answer is part of a read set.
    pub fn seen(&self) -> Seen {
        Seen { rows: self.rows.iter().map(Row::identity).collect(), more: self.more }
    }
}

/// An index key of a row. A row may have several in one index; the same one twice counts once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The index; not empty.
    pub index: String,
    /// The key.
    pub key: String,
}

/// A row to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where; anything but [`AUDIT`].
    pub collection: String,
    /// Which row.
    pub id: String,
    /// The revision that the row must have now; 0: it must not exist. It gets the next one.
    pub expected: u32,
    /// The new text; without one, the row is removed.
    pub body: Option<String>,
    /// Replaces all index keys of the row. Nothing is kept of a removed row's.
    pub entries: Vec<Entry>,
}

/// An audit record to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The text.
    pub body: String,
    /// Index keys under which it is found in [`AUDIT`].
    pub entries: Vec<Entry>,
}

/// How often an effect may be performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// At most once, from memory, by the process that committed it. Never stored.
    Call,
    /// At least once, from the outbox.
    Repeatable,
}

/// Something to do outside after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Whether it is stored.
    pub kind: EffectKind,
    /// What to do.
    pub name: String,
    /// What it is about.
    pub key: String,
    /// Its JSON arguments.
    pub body: String,
}

/// The proof that a dispatcher holds a stored effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EffectLease {
    /// The effect; never used again for another one.
    pub id: u64,
    /// Greater at every lease of the effect.
    pub fence: u32,
}

/// A stored effect that the caller holds until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedEffect {
    /// The proof; `fence` also counts how often the effect was leased.
    pub lease: EffectLease,
    /// What to do; its kind is [`EffectKind::Repeatable`].
    pub effect: Effect,
    /// The end of the lease, in milliseconds since the Unix epoch.
    pub lease_until: i64,
}

/// What one decision commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The time of the decision, in milliseconds since the Unix epoch. Moves [`super::Store::last_time`] up, never down.
    pub time: i64,
    /// Rows to write, in turn.
    pub writes: Vec<Write>,
    /// Audit records, in turn.
    pub audit: Vec<AuditRecord>,
    /// Effects to store; all of them [`EffectKind::Repeatable`]. They are due at `time`.
    pub effects: Vec<Effect>,
    /// Leased effects whose result these changes record: they leave the outbox with them.
    pub finished: Vec<EffectLease>,
}

impl Changes {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.audit.is_empty() && self.effects.is_empty() && self.finished.is_empty()
    }
}

/// What an apply made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// The positions of the audit records, in turn: dense from 1 over the whole store, and in the order in which they
    /// become visible. Void if the batch is not committed.
    pub audit: Vec<u64>,
}

/// What emptying a store came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrub {
    /// Nothing is left.
    Clean,
    /// Somebody, in this process or another, holds an old snapshot: what was removed may still be there.
    Held,
}

/// What a decision read, for validation at commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSet {
    /// Set where all reads were answered by one batch at this epoch.
    pub epoch: Option<Epoch>,
    /// Each query with what it found.
    pub reads: Vec<(Query, Seen)>,
}

impl ReadSet {
    /// For reads that a batch is going to answer, all of them before its next apply.
    pub fn at(epoch: Epoch) -> Self {
        Self { epoch: Some(epoch), reads: Vec::new() }
    }

    /// Adds a query and its answer.
    pub fn record(&mut self, query: &Query, answer: &Answer) {
        self.reads.push((query.clone(), answer.seen()));
    }
}

/// A moment in the life of one batch: until its next successful apply, and only in this process, nothing that the batch
/// would answer can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    batch: u64,
    applied: u64,
}

impl Epoch {
    /// The first moment of a batch that is none of the earlier ones.
    pub fn of_new_batch() -> Self {
        static BATCHES: AtomicU64 = AtomicU64::new(0);
        Self { batch: BATCHES.fetch_add(1, Ordering::Relaxed), applied: 0 }
    }

    /// To be called by the batch whenever it has changed something.
    pub fn advance(&mut self) {
        self.applied += 1;
    }
}

/// The id in [`AUDIT`] of the record at `position`: 16 decimal digits, so that the order of ids is that of positions.
pub fn audit_id(position: u64) -> String {
    format!("{position:016}")
}

/// Whether `changes` are such as the trait allows; every store asks this first.
///
/// [`StoreError::Misuse`] for a write to [`AUDIT`], an entry with an empty index name, an effect that must not be
/// stored, a revision that cannot be counted up, a removal of what must not exist, or a negative time.
pub fn check_changes(changes: &Changes) -> Result<(), StoreError> {
    let entries = changes.writes.iter().flat_map(|w| &w.entries).chain(changes.audit.iter().flat_map(|a| &a.entries));
    for entry in entries {
        if entry.index.is_empty() {
            return Err(StoreError::misuse("an entry needs the name of an index"));
        }
    }
    for write in &changes.writes {
        if write.collection == AUDIT {
            return Err(StoreError::misuse("audit records are only added, and only as such"));
        }
        if write.expected == u32::MAX {
            return Err(StoreError::misuse(format!("row {} of {} is out of revisions", write.id, write.collection)));
        }
        if write.body.is_none() && write.expected == 0 {
            return Err(StoreError::misuse("a row that must not exist cannot be removed"));
        }
    }
    if changes.effects.iter().any(|effect| effect.kind == EffectKind::Call) {
        return Err(StoreError::misuse("a call is performed from memory and never stored"));
    }
    if changes.time < 0 {
        return Err(StoreError::misuse("a time before the epoch"));
    }
    Ok(())
}
