//! One operation after the other, decided: asks the core, and brings the facts that it needs.
//!
//! Not here: what becomes of the decision.

use super::{HostError, convert, replay::ReplayFiles};
use crate::{
    Core, CoreError, Rounds, Session, codes, driver,
    store::{self, Batch, Snapshot, Store, StoreError},
    wit::{self, Decision, Evaluated, Query, Request, StepKind, Waiting},
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often one operation may ask for facts; `rounds_max` of `spec/limits.json`.
pub(super) const ROUNDS_MAX: usize = 3;

/// How a decision ended.
#[allow(clippy::large_enum_variant, reason = "moved once for each operation, where a box would be an allocation")]
pub(super) enum Decided {
    /// To be committed and answered.
    Ready(Decision),
    /// Nothing to answer yet.
    Wait(Waiting),
}

/// Why there is no decision.
pub(super) enum Fault {
    /// It concerns this operation only.
    Here(HostError),
    /// The store gave no facts.
    Store(StoreError),
}

impl<E: Into<HostError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Here(error.into())
    }
}

/// Where facts come from.
pub(super) enum Facts<'r> {
    /// From an open batch, in which nothing moves between two rounds.
    Batch(&'r mut dyn Batch),
    /// From one snapshot for all rounds, taken at the first question: what others commit meanwhile raises no new ones.
    Snapshot(&'r dyn Store, Option<Box<dyn Snapshot + 'r>>),
}

impl<'r> Facts<'r> {
    /// What is committed in `store`.
    pub fn committed(store: &'r dyn Store) -> Self {
        Self::Snapshot(store, None)
    }

    /// Brings the answers to `queries`, and what became of evaluations.
    fn read(
        &mut self,
        queries: Vec<Query>,
        evaluated: impl Iterator<Item = Evaluated>,
        rounds: &mut Rounds<'_>,
    ) -> Result<(), Fault> {
        let asked: Vec<store::Query> = queries.into_iter().map(convert::query).collect();
        let found = match self {
            Self::Batch(batch) => batch.read(&asked),
            Self::Snapshot(_, Some(snapshot)) => snapshot.read(&asked),
            Self::Snapshot(store, taken) => store.snapshot().and_then(|snapshot| taken.insert(snapshot).read(&asked)),
        };
        let found = found.map_err(Fault::Store)?;
        if found.len() != asked.len() {
            return Err(misuse("the store answered another number of queries").into());
        }
        let queries = asked.into_iter().map(convert::asked).collect();
        rounds.bring(queries, found.into_iter().map(convert::found).collect(), evaluated);
        Ok(())
    }
}

/// A session that is replaced after a fault.
pub(super) struct Decider<'h> {
    core: &'h dyn Core,
    replay: Option<&'h ReplayFiles>,
    traps: &'h AtomicU64,
    session: Option<Box<dyn Session + 'h>>,
}

impl<'h> Decider<'h> {
    /// Makes a session when the first one is needed.
    pub fn new(core: &'h dyn Core, replay: Option<&'h ReplayFiles>, traps: &'h AtomicU64) -> Self {
        Self { core, replay, traps, session: None }
    }

    /// Decides `request` at `now` with `facts`.
    pub fn decide(
        &mut self,
        request: &Request,
        now: i64,
        entropy: &str,
        mut facts: Facts<'_>,
    ) -> Result<Decided, Fault> {
        // Exact: the clock gives no greater time than a double holds.
        let mut rounds = Rounds::new(request, now as f64, entropy, Vec::new());
        for _ in 0..=ROUNDS_MAX {
            let step = match rounds.step(self.session()?) {
                Ok(step) => step.map_err(HostError::Misuse)?,
                Err(fault) => return Err(self.faulted(fault, &rounds, request, now, entropy).into()),
            };
            match (step.kind, step.decision, step.waiting) {
                (StepKind::Needs, None, None) => {
                    let evaluated = step.evaluations.into_iter().map(wit::unavailable);
                    facts.read(step.queries, evaluated, &mut rounds)?;
                }
                (StepKind::Ready, Some(decision), None) => return Ok(Decided::Ready(decision)),
                (StepKind::Wait, None, Some(waiting)) => return Ok(Decided::Wait(waiting)),
                _ => return Err(misuse("the core's step has the wrong shape").into()),
            }
        }
        Err(HostError::Rounds { limit: ROUNDS_MAX }.into())
    }

    /// After a fault the session is gone, and what it was asked goes into a replay file: everything, in one call.
    fn faulted(
        &mut self,
        fault: CoreError,
        rounds: &Rounds<'_>,
        request: &Request,
        now: i64,
        entropy: &str,
    ) -> HostError {
        self.session = None;
        self.note(&fault, now, "decide", || {
            driver::decide_args(request, rounds.answers(), rounds.evaluated(), now as f64, entropy)
        });
        fault.into()
    }

    /// Counts a fault and writes its replay file.
    pub fn note(&self, fault: &CoreError, now: i64, function: &str, args: impl Fn() -> serde_json::Value) {
        self.traps.fetch_add(1, Relaxed);
        if let Some(files) = self.replay {
            files.write(function, args(), fault, now);
        }
    }

    fn session(&mut self) -> Result<&mut (dyn Session + 'h), HostError> {
        if self.session.is_none() {
            self.session = Some(self.core.session()?);
        }
        self.session.as_deref_mut().ok_or_else(|| misuse("there is no session"))
    }
}

/// This host, or the core, broke the contract between them.
pub(super) fn misuse(detail: impl Into<String>) -> HostError {
    HostError::Misuse(codes::HOST_MISUSE.error(detail))
}
