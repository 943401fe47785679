//! The store as one host sees it: shared with the others, optimistic, and not always there.
//!
//! A batch of this store holds nothing while its facts are read, so that others may commit meanwhile; what was read is
//! validated in the transaction that writes. That is what the trait allows a store to do, and what a store over a network
//! does.

mod probes;

use crate::world::World;
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use threadmesh_runtime::store::{
    Answer, Applied, ApplyError, Batch, Changes, Conflict, EffectLease, Epoch, LeasedEffect, Query, ReadSet, Scrub,
    Snapshot, Store, StoreError,
};

/// A host's connection.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    world: Weak<World>,
    /// Which host process it belongs to.
    process: u64,
    alive: Arc<AtomicBool>,
    broken: AtomicBool,
    commits: AtomicU64,
    looks: AtomicU64,
}

impl FaultyStore {
    /// The connection of `process`, which works while that is `alive`.
    pub fn new(inner: Arc<dyn Store>, world: Weak<World>, process: u64, alive: Arc<AtomicBool>) -> Self {
        let (broken, commits, looks) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        Self { inner, world, process, alive, broken, commits, looks }
    }

    /// Id and content of every row of these collections, as committed.
    pub fn rows(&self, collections: &[&str]) -> Vec<(String, String)> {
        let all = |collection: &&str| Query {
            collection: (*collection).into(),
            index: String::new(),
            start: String::new(),
            end: Some("\u{7f}".into()),
            reverse: false,
            limit: u32::MAX,
            bytes: 0,
        };
        let queries: Vec<Query> = collections.iter().map(all).collect();
        let answers = self.inner.read(&queries).unwrap_or_default();
        answers.into_iter().flat_map(|answer| answer.rows).map(|row| (row.id, row.body)).collect()
    }

    /// The store without its faults.
    pub fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    /// Which process has this connection.
    pub fn process(&self) -> u64 {
        self.process
    }

    /// How many commits are durable that went this way.
    pub fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    /// How often the process looked at the facts.
    pub fn looks(&self) -> u64 {
        self.looks.load(Relaxed)
    }

    /// Whether it must be opened again.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    fn reach(&self) -> Result<(), StoreError> {
        if self.alive.load(Relaxed) { Ok(()) } else { Err(io("this process is dead")) }
    }

    fn fault(&self, kinds: &[&'static str]) -> Option<&'static str> {
        self.world.upgrade()?.store_fault(self.process, kinds)
    }

    /// What the store under this one answers. It has no fault, and nobody is in its way.
    fn sound<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(error), Some(world)) = (&result, self.world.upgrade()) {
            world.store_failed(error);
        }
        result
    }

    fn lost(&self) -> StoreError {
        self.broken.store(true, Relaxed);
        StoreError::Broken { detail: "the connection is lost".into() }
    }
}

fn io(detail: &str) -> StoreError {
    StoreError::Io { detail: detail.into() }
}

/// A snapshot that is taken when it is first read from.
struct Look<'s> {
    store: &'s FaultyStore,
    taken: Option<Box<dyn Snapshot + 's>>,
}

impl Snapshot for Look<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.store.reach()?;
        self.store.looks.fetch_add(1, Relaxed);
        if self.store.fault(&["store-read-failed"]).is_some() {
            return Err(io("the read failed"));
        }
        if let Some(world) = self.store.world.upgrade() {
            world.race_in_read(self.store);
        }
        let found = match &mut self.taken {
            Some(snapshot) => snapshot.read(queries),
            taken => self.store.inner.snapshot().and_then(|snapshot| taken.insert(snapshot).read(queries)),
        };
        self.store.sound(found)
    }
}

impl Store for FaultyStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(Look { store: self, taken: None }))
    }

    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        self.reach()?;
        if self.broken.load(Relaxed) {
            return Err(self.lost());
        }
        match self.fault(&["store-busy", "store-full"]) {
            Some("store-busy") => return Err(StoreError::Busy { waited_ms: 5_000 }),
            Some(_) => return Err(StoreError::Full { detail: "no space left".into() }),
            None => {}
        }
        Ok(Box::new(Optimistic {
            store: self,
            open: None,
            reads: ReadSet::default(),
            epoch: Epoch::of_new_batch(),
            applied: Vec::new(),
            last_time: None,
        }))
    }

    fn last_time(&self) -> Result<i64, StoreError> {
        self.reach()?;
        self.sound(self.inner.last_time())
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.reach()?;
        self.sound(self.inner.changes())
    }

    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        self.reach()?;
        let leased = self.sound(self.inner.lease_effects(now, lease_ms, limit))?;
        if let (Some(first), Some(world)) = (leased.first(), self.world.upgrade()) {
            world.leased(self, first.lease);
        }
        Ok(leased)
    }

    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.reach()?;
        self.sound(self.inner.complete_effect(lease))
    }

    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError> {
        self.reach()?;
        self.sound(self.inner.release_effect(lease, retry_at, failed))
    }

    fn scrub(&self, wait: Duration) -> Result<Scrub, StoreError> {
        self.reach()?;
        match self.world.upgrade().and_then(|world| world.next_scrub()) {
            Some("scrub-held") => Ok(Scrub::Held),
            Some(_) => Err(io("the log could not be emptied")),
            None => self.sound(self.inner.scrub(wait)),
        }
    }

    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.reach()?;
        self.sound(self.inner.advance_effects(now))
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.reach()?;
        self.sound(self.inner.next_effect_due())
    }
}

/// What can happen to a commit.
const COMMITS: &[&str] =
    &["commit-failed", "commit-lost-before", "commit-lost-after", "crash-before-commit", "crash-after-commit"];

/// A batch that holds the store only from its first write on.
struct Optimistic<'s> {
    store: &'s FaultyStore,
    open: Option<Box<dyn Batch + 's>>,
    /// Everything that was read since the last write: what the next one depends on.
    reads: ReadSet,
    epoch: Epoch,
    applied: Vec<Changes>,
    /// The last time that the host was told: its decision is at no earlier one.
    last_time: Option<i64>,
}

impl Batch for Optimistic<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        self.store.reach()?;
        if self.store.fault(&["store-read-failed"]).is_some() {
            return Err(io("the read failed"));
        }
        let answers = match &mut self.open {
            Some(open) => open.read(queries),
            None => self.store.inner.read(queries),
        };
        let answers = self.store.sound(answers)?;
        queries.iter().zip(&answers).for_each(|(query, answer)| self.reads.record(query, answer));
        Ok(answers)
    }

    fn last_time(&mut self) -> Result<i64, StoreError> {
        self.store.reach()?;
        let last = match &mut self.open {
            Some(open) => open.last_time(),
            None => self.store.inner.last_time(),
        };
        let last = self.store.sound(last)?;
        self.last_time = Some(last);
        Ok(last)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        self.store.reach()?;
        let mine = std::mem::take(&mut self.reads);
        // What this batch answered itself is validated from its own record of it.
        let validated = if reads.epoch == Some(self.epoch) { &mine } else { reads };
        if self.open.is_none() {
            if let Some(world) = self.store.world.upgrade() {
                world.race(self.store.process);
            }
            self.store.reach()?;
            let mut open = self.store.sound(self.store.inner.begin())?;
            // The last time is a fact that the decision rests on like any other.
            if self.last_time.is_some_and(|last| open.last_time().is_ok_and(|now| now > last)) {
                return Err(ApplyError::Conflict(Conflict::Read { query: 0 }));
            }
            self.open = Some(open);
        }
        let Some(open) = &mut self.open else { return Err(io("there is no transaction").into()) };
        match open.apply(validated, changes) {
            Ok(applied) => {
                if !changes.is_empty() {
                    self.epoch.advance();
                    self.applied.push(changes.clone());
                }
                Ok(applied)
            }
            Err(error) => {
                if let ApplyError::Store(error) = &error {
                    let _ = self.store.sound(Err::<(), _>(error.clone()));
                }
                if self.applied.is_empty() {
                    // Let others move on while this one decides again.
                    self.open = None;
                }
                Err(error)
            }
        }
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, open, applied, .. } = *self;
        store.reach()?;
        let Some(open) = open else { return Ok(()) };
        let fault = store.fault(COMMITS);
        match fault {
            Some("commit-failed") => return Err(io("the commit failed")),
            Some("commit-lost-before") => return Err(store.lost()),
            Some("crash-before-commit") => return Err(io("this process died")),
            _ => {}
        }
        store.sound(open.commit())?;
        if !applied.is_empty() {
            store.commits.fetch_add(1, Relaxed);
            if let Some(world) = store.world.upgrade() {
                world.committed(store, &applied);
            }
        }
        match fault {
            Some("commit-lost-after") => Err(store.lost()),
            Some("crash-after-commit") => Err(io("this process died")),
            _ => Ok(()),
        }
    }
}
