//! The write path: a batch of requests, one transaction, one wait for the disk.

use super::{
    Done, HostError, Inner, Job, Outcome,
    clock::ClockError,
    convert::{self, Parts},
    decider::{Decided, Decider, Facts, Fault, misuse},
    group::{Leadership, Lost, Turn},
};
use crate::{
    pause,
    store::{ApplyError, Batch, ReadSet, StoreError},
};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How many requests share a transaction.
const MEMBERS_MAX: usize = 64;
/// After this time a batch takes no more members, so that the first one does not wait for all of them.
const GATHER_MAX: Duration = Duration::from_millis(100);
/// How many decisions of a batch share a draw of randomness.
const DRAWS: usize = 16;
/// How often a request is decided again because others were faster.
const TRIES_MAX: usize = 8;

impl Lost for Outcome {
    fn lost() -> Self {
        Err(StoreError::Broken { detail: "the thread that committed for others failed".into() }.into())
    }
}

/// A request of a batch that was decided.
struct Member {
    outcome: Outcome,
    /// Whether the outcome rests on what the batch holds, so that it is void if the batch is.
    bound: bool,
    /// Whether something is left to do after the commit.
    goes_on: bool,
}

/// The open transaction and what goes with it.
struct Open<'b> {
    batch: Box<dyn Batch + 'b>,
    last_time: i64,
    applied: bool,
    /// Randomness that no decision was given yet.
    entropy: Vec<String>,
    drawn: usize,
}

impl Inner {
    /// Decides and commits `job`, with others or alone.
    pub(super) fn write(self: &Arc<Self>, job: Job) -> Outcome {
        match self.group.enter(job) {
            Turn::Done(outcome) => outcome,
            Turn::Lead(job, leadership) => self.lead(job, leadership),
        }
    }

    fn lead(self: &Arc<Self>, own: Job, mut leadership: Leadership<'_, Job, Outcome>) -> Outcome {
        let (members, committed) = self.batch(own, &mut leadership);
        if committed.is_ok() {
            self.hub.touch(members.iter().flat_map(|member| topics(&member.outcome)));
        }
        let mut outcomes = members.into_iter().map(|member| self.outcome(member, &committed));
        let own = outcomes.next().unwrap_or_else(Outcome::lost);
        leadership.finish(outcomes);
        own
    }

    /// Runs one batch. The members come in the order in which they were taken, `own` first.
    fn batch(&self, own: Job, leadership: &mut Leadership<'_, Job, Outcome>) -> (Vec<Member>, Result<(), HostError>) {
        self.counters.batches.fetch_add(1, Relaxed);
        let begun = self.store.begin().and_then(|mut batch| {
            let last_time = batch.last_time()?;
            Ok(Open { batch, last_time, applied: false, entropy: Vec::new(), drawn: 0 })
        });
        let mut open = match begun {
            Ok(open) => open,
            Err(error) => return (refuse_all(own, leadership), Err(error.into())),
        };
        pause::point("after-begin");
        let started = Instant::now();
        let mut decider = self.decider();
        let mut members = Vec::new();
        let mut next = Some(own);
        while let Some(job) = next {
            let (member, failed) = self.member(&job, &mut open, &mut decider);
            members.push(member);
            if let Some(error) = failed {
                return (members, Err(error.into()));
            }
            let more = members.len() < MEMBERS_MAX && started.elapsed() < GATHER_MAX;
            next = if more { leadership.next() } else { None };
        }
        self.counters.shared.fetch_add(members.len() as u64, Relaxed);
        (members, self.commit(open))
    }

    fn commit(&self, open: Open<'_>) -> Result<(), HostError> {
        if !open.applied {
            return Ok(());
        }
        pause::point("before-commit");
        self.counters.commits.fetch_add(1, Relaxed);
        open.batch.commit()?;
        pause::point("after-commit");
        Ok(())
    }

    /// Decides one request in the batch. Where the store fails, the batch does too.
    fn member(&self, job: &Job, open: &mut Open<'_>, decider: &mut Decider<'_>) -> (Member, Option<StoreError>) {
        let free = |error| Member { outcome: Err(error), bound: false, goes_on: false };
        match self.decided(job, open, decider) {
            Ok((done, goes_on)) => (Member { outcome: Ok(done), bound: true, goes_on }, None),
            Err(Fault::Here(error)) => (free(error), None),
            Err(Fault::Store(error)) => (free(error.clone().into()), Some(error)),
        }
    }

    /// Decides and applies; again where others were faster. Whether the operation goes on after the commit.
    fn decided(&self, job: &Job, open: &mut Open<'_>, decider: &mut Decider<'_>) -> Result<(Done, bool), Fault> {
        let now = self.time_for(open)?;
        for _ in 0..TRIES_MAX {
            let entropy = self.entropy_for(open)?;
            let at = open.batch.epoch();
            let facts = Facts::Batch(open.batch.as_mut());
            let decision = match decider.decide(&job.request, now, &entropy, facts)? {
                Decided::Ready(decision) => decision,
                Decided::Wait(waiting) => {
                    return Ok((Done::Wait(self.due(waiting, now), job.request.clone()), false));
                }
            };
            let Parts { changes, reply, goes_on } = convert::split(decision, job, now);
            if changes.is_empty() {
                return Ok((Done::Reply(reply), goes_on));
            }
            // Everything was read from this batch, and nothing was applied since: there is nothing to read again.
            match open.batch.apply(&ReadSet::at(at), &changes) {
                Ok(_) => {
                    open.applied = true;
                    open.last_time = open.last_time.max(now);
                    return Ok((Done::Reply(reply), goes_on));
                }
                Err(ApplyError::Conflict(_)) => self.counters.conflicts.fetch_add(1, Relaxed),
                Err(ApplyError::Store(StoreError::Misuse { detail })) => return Err(misuse(detail).into()),
                Err(ApplyError::Store(error)) => return Err(Fault::Store(error)),
            };
        }
        Err(HostError::Conflict { tries: TRIES_MAX }.into())
    }

    /// Randomness for the next decision. Whoever is alone draws for himself only; in a batch of many a call of the system is
    /// made for some of them together.
    fn entropy_for(&self, open: &mut Open<'_>) -> Result<String, HostError> {
        if open.entropy.is_empty() {
            let count = if open.drawn == 0 { 1 } else { DRAWS };
            open.drawn += count;
            open.entropy = self.entropy.draw_many(count)?;
        }
        open.entropy.pop().ok_or_else(|| misuse("there is no randomness"))
    }

    /// The time for the next decision. Another process may have accepted the clock.
    fn time_for(&self, open: &mut Open<'_>) -> Result<i64, Fault> {
        if let Err(ClockError::Behind { .. }) = self.watch.for_writing(open.last_time) {
            self.load_acceptance(&mut |queries| open.batch.read(queries)).map_err(Fault::Store)?;
        }
        Ok(self.watch.for_writing(open.last_time)?)
    }

    /// What a member is told after the commit, or after what kept it from happening.
    fn outcome(self: &Arc<Self>, member: Member, committed: &Result<(), HostError>) -> Outcome {
        let Member { outcome, bound, goes_on } = member;
        match committed {
            Err(error) if bound => return Err(error.clone()),
            Err(_) => return outcome,
            Ok(()) => {}
        }
        if goes_on {
            self.go_on();
        }
        outcome
    }
}

/// Takes as many as a batch would, so that all who waited for a store that gives no turn learn of it at once.
fn refuse_all(own: Job, leadership: &mut Leadership<'_, Job, Outcome>) -> Vec<Member> {
    let queued = std::iter::from_fn(|| leadership.next());
    let jobs = std::iter::once(own).chain(queued.take(MEMBERS_MAX - 1));
    jobs.map(|_| Member { outcome: Outcome::lost(), bound: true, goes_on: false }).collect()
}

fn topics(outcome: &Outcome) -> &[String] {
    match outcome {
        Ok(Done::Reply(reply)) => &reply.topics,
        _ => &[],
    }
}
