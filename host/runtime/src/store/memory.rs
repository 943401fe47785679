//! A store in memory: for tests, for embedding without durability, and as the model that other stores are compared with.
//!
//! Committed facts stand in ordered maps behind a read-write lock. A batch keeps what it changed in a layer of its own
//! (`memory/layer.rs`), so that readers never wait for it and dropping it costs nothing.

mod layer;
mod tables;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use self::layer::Layer;
use self::tables::{Outbox, Tables, View};
use super::{
    Answer, Applied, ApplyError, Batch, Changes, EffectLease, Epoch, LeasedEffect, Query, ReadSet, Scrub, Snapshot,
    Store, StoreError, Turn, TurnGuard,
};

/// How long a batch waits for its turn.
const WAIT: Duration = Duration::from_secs(60);

/// A store that is gone when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    turn: Turn,
    tables: RwLock<Arc<Tables>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn committed(&self) -> Arc<Tables> {
        Arc::clone(&self.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is committed; whoever looks at it meanwhile goes on seeing it as it was.
    fn change<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut tables))
    }

    /// Changes the outbox in a transaction of its own.
    fn change_outbox<T>(&self, change: impl FnOnce(&mut Outbox) -> T) -> Result<T, StoreError> {
        let _turn = self.turn.take(WAIT)?;
        Ok(self.change(|tables| {
            tables.commits += 1;
            change(&mut tables.outbox)
        }))
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(MemorySnapshot(self.committed())))
    }

    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        let turn = self.turn.take(WAIT)?;
        let layer = Layer::over(&self.committed());
        Ok(Box::new(MemoryBatch { store: self, _turn: turn, layer, epoch: Epoch::of_new_batch(), changed: false }))
    }

    fn last_time(&self) -> Result<i64, StoreError> {
        Ok(self.committed().counters.last_time)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        Ok(self.committed().commits)
    }

    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        if self.next_effect_due()?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        self.change_outbox(|outbox| outbox.lease(now, lease_ms, limit))
    }

    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.change_outbox(|outbox| outbox.complete(lease))
    }

    fn release_effect(&self, lease: EffectLease, retry_at: i64, _: Option<&str>) -> Result<bool, StoreError> {
        self.change_outbox(|outbox| outbox.release(lease, retry_at))
    }

    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.change_outbox(|outbox| outbox.advance(now))
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.committed().outbox.next_due())
    }

    /// There is nothing beside the rows.
    fn scrub(&self, _: Duration) -> Result<Scrub, StoreError> {
        Ok(Scrub::Clean)
    }
}

/// The tables as they were.
struct MemorySnapshot(Arc<Tables>);

impl Snapshot for MemorySnapshot {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        Ok(queries.iter().map(|query| View { base: &self.0, layer: None }.answer(query)).collect())
    }
}

/// A batch of a [`MemoryStore`].
struct MemoryBatch<'a> {
    store: &'a MemoryStore,
    _turn: TurnGuard<'a>,
    layer: Layer,
    epoch: Epoch,
    changed: bool,
}

impl Batch for MemoryBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let tables = self.store.committed();
        let view = View { base: &tables, layer: Some(&self.layer) };
        Ok(queries.iter().map(|query| view.answer(query)).collect())
    }

    fn last_time(&mut self) -> Result<i64, StoreError> {
        Ok(self.layer.counters.last_time)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        super::check_changes(changes)?;
        let tables = self.store.committed();
        if reads.epoch != Some(self.epoch) {
            View { base: &tables, layer: Some(&self.layer) }.validate(reads)?;
        }
        if changes.is_empty() {
            return Ok(Applied::default());
        }
        let applied = self.layer.apply(&tables, changes)?;
        self.epoch.advance();
        self.changed = true;
        Ok(applied)
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.changed {
            self.store.change(|tables| {
                tables.commits += 1;
                self.layer.merge_into(tables);
            });
        }
        Ok(())
    }
}
