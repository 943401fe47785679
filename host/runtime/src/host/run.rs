//! One operation: rounds of facts, a decision, and for readers the wait.

use super::{Cancel, Host, HostError, Reply, convert};
use crate::store::{self, ApplyError, Batch, ReadSet};
use crate::wit::{Answer, Decision, Request, Step, StepKind, Waiting};
use crate::{CoreError, Session};
use std::time::Duration;

/// How often the core may ask for facts (`rounds_max` of `spec/limits.json`).
const ROUNDS_MAX: usize = 3;
/// How often a decision is made again after a conflict.
const TRIES_MAX: usize = 8;
/// How often a waiter looks whether another process wrote.
const LOOK: Duration = Duration::from_millis(50);

/// What a request in a batch came to.
pub(super) struct Ran {
    /// The answer, to be given after the commit.
    pub reply: Reply,
    /// What was touched.
    pub topics: Vec<String>,
    /// How to go on in another commit.
    pub proceed: Option<String>,
    /// Whether it wrote.
    pub wrote: bool,
}

impl Host {
    /// Asks the core once; notes a trap.
    fn decide(
        &self,
        session: &mut dyn Session,
        request: &Request,
        answers: &[Answer],
        now: i64,
        entropy: &str,
    ) -> Result<Step, HostError> {
        #[allow(clippy::cast_precision_loss)] // Below 2^53 until the year 287396.
        match session.decide(request, answers, now as f64, entropy) {
            Ok(Ok(step)) => Ok(step),
            Ok(Err(error)) => Err(HostError::Misuse(error)),
            Err(error) => {
                self.trapped(request, answers, now, entropy, &error);
                Err(error.into())
            }
        }
    }

    /// Decides `request` inside a batch and applies the decision.
    pub(super) fn run(
        &self,
        session: &mut dyn Session,
        batch: &mut dyn Batch,
        request: &Request,
    ) -> Result<Ran, HostError> {
        for _ in 0..TRIES_MAX {
            let now = self.watch.now(&*self.clock, batch.last_time()?)?;
            let (mut decision, reads) = self.facts(session, batch, request, now)?;
            let changes = convert::changes(&mut decision, now);
            let wrote = !changes.is_empty();
            if wrote {
                match batch.apply(&reads, &changes) {
                    Ok(_) => {}
                    Err(ApplyError::Conflict(_)) => continue,
                    Err(ApplyError::Store(error)) => return Err(error.into()),
                }
            }
            return Ok(ran(decision, wrote));
        }
        Err(HostError::Conflict { tries: TRIES_MAX })
    }

    /// The rounds of one decision.
    fn facts(
        &self,
        session: &mut dyn Session,
        batch: &mut dyn Batch,
        request: &Request,
        now: i64,
    ) -> Result<(Decision, ReadSet), HostError> {
        let entropy = self.entropy.draw()?;
        let mut reads = ReadSet::at(batch.epoch());
        let mut answers = Vec::new();
        for _ in 0..=ROUNDS_MAX {
            let step = self.decide(session, request, &answers, now, &entropy)?;
            match (step.kind, step.decision) {
                (StepKind::Ready, Some(decision)) => return Ok((decision, reads)),
                (StepKind::Needs, _) => {
                    let queries: Vec<store::Query> = step.queries.into_iter().map(convert::query).collect();
                    let read = batch.read(&queries)?;
                    for (query, answer) in queries.into_iter().zip(read) {
                        reads.record(&query, &answer);
                        answers.push(convert::answer(query, answer));
                    }
                }
                _ => return Err(unfit("a writing operation neither needs facts nor is ready")),
            }
        }
        Err(HostError::Rounds { limit: ROUNDS_MAX })
    }

    /// Runs a read-only operation on snapshots; waits where the core says so.
    pub(super) fn read(&self, mut request: Request, cancel: &Cancel) -> Result<Reply, HostError> {
        let mut until = None;
        loop {
            let (topics, changes) = (self.topics.number(), self.store.changes()?);
            let now = self.now_ms()?;
            let waiting = match self.snapshot(&request, now)? {
                Ok(reply) => return Ok(reply),
                Err(waiting) => waiting,
            };
            #[allow(clippy::cast_possible_truncation)] // Whole milliseconds below 2^53.
            let end = *until.get_or_insert(waiting.until as i64);
            if now >= end {
                request.cursor = Some("timeout".into());
                continue;
            }
            self.wait(&waiting.topics, topics, changes, end, cancel)?;
        }
    }

    /// Waits until a topic is touched here, another process wrote, or the time is over.
    fn wait(&self, topics: &[String], since: u64, changes: u64, end: i64, cancel: &Cancel) -> Result<(), HostError> {
        loop {
            if cancel.is_set() {
                return Err(HostError::Cancelled);
            }
            let left = u64::try_from(end.saturating_sub(self.clock.wall_ms())).unwrap_or(0);
            if left == 0 || self.topics.wait(topics, since, LOOK.min(Duration::from_millis(left))) {
                return Ok(());
            }
            if self.store.changes()? != changes {
                return Ok(());
            }
        }
    }

    /// One decision of a read-only operation. Every round reads all facts so far in one snapshot, so that the last
    /// decision saw one state of the store and no mixture.
    fn snapshot(&self, request: &Request, now: i64) -> Result<Result<Reply, Waiting>, HostError> {
        let mut session = self.core.session()?;
        let entropy = self.entropy.draw()?;
        let mut queries: Vec<store::Query> = Vec::new();
        let mut answers = Vec::new();
        for _ in 0..=ROUNDS_MAX {
            let step = self.decide(&mut *session, request, &answers, now, &entropy)?;
            match (step.kind, step.decision, step.waiting) {
                (StepKind::Ready, Some(decision), _) => {
                    let clean = decision.writes.is_empty() && decision.audit.is_empty() && decision.effects.is_empty();
                    return if clean {
                        Ok(Ok(ran(decision, false).reply))
                    } else {
                        Err(unfit("a read-only operation writes"))
                    };
                }
                (StepKind::Wait, _, Some(waiting)) => return Ok(Err(waiting)),
                (StepKind::Needs, ..) => {
                    queries.extend(step.queries.into_iter().map(convert::query));
                    let read = self.store.read(&queries)?;
                    answers = queries
                        .iter()
                        .cloned()
                        .zip(read)
                        .map(|(query, answer)| convert::answer(query, answer))
                        .collect();
                }
                _ => return Err(unfit("a step without what its kind names")),
            }
        }
        Err(HostError::Rounds { limit: ROUNDS_MAX })
    }
}

/// A core that breaks the contract is as good as one that trapped.
fn unfit(detail: &str) -> HostError {
    HostError::Core(CoreError::Trap { function: "decide", detail: detail.into() })
}

fn ran(decision: Decision, wrote: bool) -> Ran {
    let Decision { status, response, problem, effects, topics, proceed, .. } = decision;
    Ran { reply: Reply { status, body: response, problem, calls: effects }, topics, proceed, wrote }
}
