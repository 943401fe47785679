//! What the host loop needs of a store: consistent reads, an exclusive write batch, an outbox, a clock floor.
//!
//! A store knows collections, ids, revisions, texts and index keys, and nothing of what a document means. The types
//! mirror the records of `wit/world.wit`; the conversions are the host loop's. Not here: which facts are read, what is
//! decided, and how often a conflict is tried again.
//!
//! # How a read set is validated
//!
//! Settled point 37 asks that a commit validates what the decision read: revisions, absences, and the head of each
//! range. A store of this trait does it by **reading again**: inside the write batch the queries of the read set are
//! run once more and what they find ([`Seen`]) is compared. That is exactly what the decision depended on: an
//! absence is an empty list, an insertion into or a removal from a range (also inside its limit) changes the list, and a
//! change elsewhere in the index does not. So there are no false conflicts, and no head counters that every writer of a
//! collection would have to update. Where the answers came from this very batch and nothing was applied since, they
//! cannot have changed, and reading again is skipped: see [`Epoch`].
//!
//! # Order
//!
//! Keys and ids compare by their UTF-8 bytes. Rows with the same key come in the order in which they were made.
//!
//! # What is cheap
//!
//! A point read or an exact key costs two look-ups, a range one more per row. Writing a row costs one look-up and one
//! insertion per *changed* key: keys that stay the same are not touched. Keys and ids that grow (times, positions) or that
//! share a long-lived prefix stay together on few pages; random ones (digests) cost a page of the log each.

mod error;
mod memory;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod turn;
mod types;

#[cfg(test)]
mod tests;

pub use error::{ApplyError, Conflict, StoreError};
pub use memory::MemoryStore;
pub use turn::{Turn, TurnGuard};
pub use types::{
    AUDIT, Answer, Applied, AuditRecord, Changes, Effect, EffectKind, EffectLease, Entry, Epoch, LeasedEffect, Query,
    ReadSet, Row, RowIdentity, Scrub, Seen, Write, audit_id, check_changes,
};

use std::time::{Duration, Instant};

/// A place where facts are kept. Shared by all threads of a host; possibly by other processes too.
pub trait Store: Send + Sync {
    /// What is committed at this moment, to be read from any number of times: whatever is committed later, the answers stay
    /// as they are. Does not wait for a batch, and does not see what an open batch has applied. A store may have few places
    /// for snapshots: whoever has one drops it soon, and asks the store for nothing else until then.
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// The answers to `queries`, in their order and from a [`Store::snapshot`] of their own.
    fn read(&self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.snapshot()?.read(queries)
    }

    /// The exclusive write batch: one transaction. Waits for its turn, in the order of arrival within the process and
    /// without starving between processes, and gives up with [`StoreError::Busy`] after the store's limit.
    /// A thread that holds a batch must not begin another one.
    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError>;

    /// The greatest time that a committed change carried, in milliseconds since the Unix epoch; 0 in a new store.
    /// A host's clock is never behind it (settled point 29).
    fn last_time(&self) -> Result<i64, StoreError>;

    /// A number that is different after somebody, in this process or another, has committed something. It is compared
    /// with an earlier number from the same store value only; it says nothing else.
    fn changes(&self) -> Result<u64, StoreError>;

    /// Waits until [`Store::changes`] differs from `since`, at most for `limit`; the number then. One that differs may come
    /// early or late, but not later than `limit`. As it comes it asks for the number twenty times a second: a store that
    /// hears of commits waits for one.
    fn wait_changes(&self, since: u64, limit: Duration) -> Result<u64, StoreError> {
        const PAUSE: Duration = Duration::from_millis(50);
        let start = Instant::now();
        loop {
            let now = self.changes()?;
            let left = limit.saturating_sub(start.elapsed());
            if now != since || left.is_zero() {
                return Ok(now);
            }
            std::thread::sleep(left.min(PAUSE));
        }
    }

    /// Takes up to `limit` stored effects that are due at `now` and in nobody's lease, until `now + lease_ms`
    /// (milliseconds). They come in the order in which they fell due. Each has a fence that proves the lease, and that
    /// is greater at every lease of the same effect.
    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError>;

    /// Removes an effect that was performed. False, and nothing happens, where somebody else holds the effect by now
    /// or it is gone. To record its result in the same transaction, use [`Changes::finished`] instead.
    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError>;

    /// Gives a leased effect back, to be due again at `retry_at`. `failed` says why nobody can perform it as things are;
    /// a store that people can look into keeps that until the next time. False, and nothing happens, where somebody else
    /// holds the effect by now or it is gone.
    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError>;

    /// Lets every stored effect that falls due after `now` be due then, whoever holds it: for a clock that was set back,
    /// by which all of them would have to wait.
    fn advance_effects(&self, now: i64) -> Result<(), StoreError>;

    /// Empties what the store keeps beside the rows (logs, free space), so that nothing is left anywhere of texts that
    /// were removed or replaced before the call. Holds up writers for `wait` at most; may be called any number of times.
    fn scrub(&self, wait: Duration) -> Result<Scrub, StoreError>;

    /// When the next stored effect falls due (or its lease ends), in milliseconds; nothing where there is none.
    fn next_effect_due(&self) -> Result<Option<i64>, StoreError>;
}

/// A consistent view of what was committed when it was taken.
pub trait Snapshot {
    /// The answers to `queries`, in their order.
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError>;
}

/// An exclusive write transaction. Dropping it without [`Batch::commit`] leaves no trace.
///
/// After a [`StoreError`] other than [`StoreError::Misuse`] the batch is of no more use: drop it.
pub trait Batch {
    /// The answers to `queries`, with everything that this batch has applied.
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError>;

    /// As [`Store::last_time`], with everything that this batch has applied. A decision in the batch must not use an
    /// earlier time.
    fn last_time(&mut self) -> Result<i64, StoreError>;

    /// Where this batch stands; goes into [`ReadSet::at`] before the reads of a decision.
    fn epoch(&self) -> Epoch;

    /// Validates `reads` (see the [module](self)) and the expected revisions, then writes `changes`: all or nothing,
    /// and without effect on what was applied before. Writes are applied in turn, so that a second write of the same
    /// row expects the revision that the first one gave it. Changes that hold nothing move nothing, the time included.
    ///
    /// [`ApplyError::Conflict`] where a read, an expected revision or a lease no longer holds; the batch stays usable.
    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError>;

    /// [`Batch::apply`] for a group of decisions, in turn: each is validated against what those before it left, and one that
    /// is not applied keeps none of the others from it. The results in the same order; for stores where a group costs one
    /// round trip.
    fn apply_all(&mut self, group: &[(ReadSet, Changes)]) -> Vec<Result<Applied, ApplyError>> {
        group.iter().map(|(reads, changes)| self.apply(reads, changes)).collect()
    }

    /// Makes everything that was applied durable and visible; it is on the disk when this returns.
    ///
    /// After [`StoreError::Broken`] it is not known whether the batch is durable; after any other error it is not.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}
