//! One operation after the other, decided: asks the core, and brings the facts that it needs.
//!
//! Not here: what becomes of the decision.

use super::{HostError, convert, replay::ReplayFiles};
use crate::{
    Core, CoreError, Session, codes, driver,
    store::{self, Batch, Snapshot, Store, StoreError},
    wit::{self, Answer, Decision, Evaluated, Query, Request, Step, StepKind, Waiting},
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

    /// Answers `queries`.
    fn read(&mut self, queries: Vec<Query>, answers: &mut Vec<Answer>) -> Result<(), Fault> {
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
        answers.extend(asked.into_iter().zip(found).map(|(query, answer)| convert::answer(query, answer)));
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
        let (mut answers, mut evaluated) = (Vec::new(), Vec::new());
        for _ in 0..=ROUNDS_MAX {
            let step = self.step(request, &answers, &evaluated, now, entropy)?;
            match (step.kind, step.decision, step.waiting) {
                (StepKind::Needs, None, None) => {
                    evaluated.extend(step.evaluations.into_iter().map(wit::unavailable));
                    facts.read(step.queries, &mut answers)?;
                }
                (StepKind::Ready, Some(decision), None) => return Ok(Decided::Ready(decision)),
                (StepKind::Wait, None, Some(waiting)) => return Ok(Decided::Wait(waiting)),
                _ => return Err(misuse("the core's step has the wrong shape").into()),
            }
        }
        Err(HostError::Rounds { limit: ROUNDS_MAX }.into())
    }

    /// One step. After a fault the session is gone, and what it was asked goes into a replay file.
    fn step(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: i64,
        entropy: &str,
    ) -> Result<Step, HostError> {
        // Exact: the clock gives no greater time than a double holds.
        let time = now as f64;
        match self.session()?.decide(request, answers, evaluated, time, entropy) {
            Ok(Ok(step)) => Ok(step),
            Ok(Err(error)) => Err(HostError::Misuse(error)),
            Err(fault) => {
                self.session = None;
                self.note(&fault, now, "decide", || driver::decide_args(request, answers, evaluated, time, entropy));
                Err(fault.into())
            }
        }
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
