//! A core and a store that count the time that is spent in them, and pass everything on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use threadmesh_runtime::store::{
    Answer as Found, Applied, ApplyError, Batch, Changes, EffectLease, Epoch, LeasedEffect, Query, ReadSet, Scrub,
    Snapshot, Store, StoreError,
};
use threadmesh_runtime::wit::{
    Answer, Checked, Error, Evaluated, Found as Brought, Frame, Operation, Principal, Request, Step, Verdict,
};
use threadmesh_runtime::{Core, CoreError, Outcome, Session};

/// A part of the way of an operation, as the host loop goes it.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The core is asked without facts.
    First,
    /// The core is asked with facts.
    Later,
    /// A transaction begins.
    Begin,
    /// Facts are read.
    Read,
    /// A decision is applied.
    Apply,
    /// The transaction becomes durable.
    Commit,
}

/// All of them with their names.
pub const PHASES: [(Phase, &str); 6] = [
    (Phase::First, "core, first round"),
    (Phase::Later, "core, later rounds"),
    (Phase::Begin, "begin"),
    (Phase::Read, "read"),
    (Phase::Apply, "apply"),
    (Phase::Commit, "commit"),
];

/// What was spent in a phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Time of processors.
    pub processor: u64,
    /// Time on the clock.
    pub wall: u64,
}

/// What was spent in all phases.
#[derive(Debug, Default)]
pub struct Clock([(AtomicU64, AtomicU64); PHASES.len()]);

impl Clock {
    /// What was spent so far.
    pub fn spent(&self, phase: Phase) -> Spent {
        let (processor, wall) = &self.0[phase as usize];
        Spent { processor: processor.load(Relaxed), wall: wall.load(Relaxed) }
    }

    fn time<T>(&self, phase: Phase, what: impl FnOnce() -> T) -> T {
        let (began, processor) = (Instant::now(), thread_time());
        let value = what();
        let spent = (thread_time().saturating_sub(processor), began.elapsed());
        self.0[phase as usize].0.fetch_add(nanos(spent.0), Relaxed);
        self.0[phase as usize].1.fetch_add(nanos(spent.1), Relaxed);
        value
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The time of processors that this thread has used.
fn thread_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// A core whose decisions are timed.
pub struct TimedCore {
    /// What decides.
    pub core: Arc<dyn Core>,
    /// Where it is counted.
    pub clock: Arc<Clock>,
}

impl Core for TimedCore {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        Ok(Box::new(TimedSession { session: self.core.session()?, clock: &self.clock }))
    }
}

struct TimedSession<'c> {
    session: Box<dyn Session + 'c>,
    clock: &'c Clock,
}

impl Session for TimedSession<'_> {
    fn describe(&mut self) -> Result<String, CoreError> {
        self.session.describe()
    }
    fn canonicalize(&mut self, text: &str) -> Outcome<String> {
        self.session.canonicalize(text)
    }
    fn digest(&mut self, text: &str) -> Outcome<String> {
        self.session.digest(text)
    }
    fn parse_time(&mut self, text: &str) -> Outcome<f64> {
        self.session.parse_time(text)
    }
    fn check(&mut self, kind: &str, text: &str) -> Outcome<Checked> {
        self.session.check(kind, text)
    }
    fn kinds(&mut self) -> Result<Vec<String>, CoreError> {
        self.session.kinds()
    }
    fn verify(&mut self, document: &str, anchors: &str, expected: &str, now: f64) -> Outcome<Verdict> {
        self.session.verify(document, anchors, expected, now)
    }
    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32> {
        self.session.check_anchors(anchors)
    }
    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>> {
        self.session.verify_disposition(document, anchors, now)
    }
    fn step(&mut self, machine: &str, state: &str, event: &str) -> Outcome<String> {
        self.session.step(machine, state, event)
    }
    fn check_reason(&mut self, state: &str, reason: &str) -> Outcome<String> {
        self.session.check_reason(state, reason)
    }
    fn check_combination(&mut self, states: &str) -> Outcome<String> {
        self.session.check_combination(states)
    }
    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step> {
        let phase = if answers.is_empty() && evaluated.is_empty() { Phase::First } else { Phase::Later };
        self.clock.time(phase, || self.session.decide(request, answers, evaluated, now, entropy))
    }
    fn resume(&mut self, entropy: &str, found: &[Brought], evaluated: &[Evaluated]) -> Outcome<Option<Step>> {
        self.clock.time(Phase::Later, || self.session.resume(entropy, found, evaluated))
    }
    fn check_principal(&mut self, principal: &Principal) -> Result<Option<Error>, CoreError> {
        self.session.check_principal(principal)
    }
    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        self.session.operations()
    }
    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        self.session.split(text)
    }
}

/// A store whose batches are timed.
pub struct TimedStore<S> {
    /// What stores.
    pub store: S,
    /// Where it is counted.
    pub clock: Arc<Clock>,
}

impl<S: Store> Store for TimedStore<S> {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        let snapshot = self.clock.time(Phase::Read, || self.store.snapshot())?;
        Ok(Box::new(TimedSnapshot { snapshot, clock: &self.clock }))
    }
    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        let batch = self.clock.time(Phase::Begin, || self.store.begin())?;
        Ok(Box::new(TimedBatch { batch, clock: &self.clock }))
    }
    fn last_time(&self) -> Result<i64, StoreError> {
        self.store.last_time()
    }
    fn changes(&self) -> Result<u64, StoreError> {
        self.store.changes()
    }
    fn wait_changes(&self, since: u64, limit: Duration) -> Result<u64, StoreError> {
        self.store.wait_changes(since, limit)
    }
    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        self.store.lease_effects(now, lease_ms, limit)
    }
    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.store.complete_effect(lease)
    }
    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError> {
        self.store.release_effect(lease, retry_at, failed)
    }
    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.store.advance_effects(now)
    }
    fn scrub(&self, wait: Duration) -> Result<Scrub, StoreError> {
        self.store.scrub(wait)
    }
    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.store.next_effect_due()
    }
}

struct TimedSnapshot<'s> {
    snapshot: Box<dyn Snapshot + 's>,
    clock: &'s Clock,
}

impl Snapshot for TimedSnapshot<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.clock.time(Phase::Read, || self.snapshot.read(queries))
    }
}

struct TimedBatch<'s> {
    batch: Box<dyn Batch + 's>,
    clock: &'s Clock,
}

impl Batch for TimedBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.clock.time(Phase::Read, || self.batch.read(queries))
    }
    fn last_time(&mut self) -> Result<i64, StoreError> {
        self.batch.last_time()
    }
    fn epoch(&self) -> Epoch {
        self.batch.epoch()
    }
    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        self.clock.time(Phase::Apply, || self.batch.apply(reads, changes))
    }
    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { batch, clock } = *self;
        clock.time(Phase::Commit, || batch.commit())
    }
}
