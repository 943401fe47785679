//! The read path: no transaction, no lock, a session of its own.

use super::{
    Done, Due, HostError, Inner, Job, Outcome,
    clock::{BEHIND_MS_MAX, ClockError},
    convert::{self, Parts},
    decider::{Decided, Facts, Fault},
};
use crate::wit::Waiting;
use std::sync::Arc;

/// How often a read is decided again because it took too long.
const TRIES_MAX: usize = 3;

impl Inner {
    /// Decides `job`, which is not going to write. Where it wants to after all, it takes its turn among the writers.
    pub(super) fn read(self: &Arc<Self>, job: Job) -> Outcome {
        let (decision, now) = match self.decided_in_time(&job)? {
            (Decided::Ready(decision), now) => (decision, now),
            (Decided::Wait(waiting), now) => return Ok(Done::Wait(self.due(waiting, now), job.request)),
        };
        let Parts { changes, reply, goes_on: _ } = convert::split(decision, &job, now);
        if changes.is_empty() && reply.calls.is_empty() {
            return Ok(Done::Reply(reply));
        }
        self.write(job)
    }

    /// Decides at a time that the facts are not newer than, but for what a clock may be behind: a process can be stopped
    /// for long between the clock and the reading, and would judge by an hour that has gone what stands since.
    fn decided_in_time(&self, job: &Job) -> Result<(Decided, i64), HostError> {
        for _ in 0..TRIES_MAX {
            let now = self.time_for_reading()?;
            let entropy = self.entropy.draw()?;
            let facts = Facts::committed(self.store.as_ref());
            let decided = self.decider().decide(&job.request, now, &entropy, facts).map_err(|fault| match fault {
                Fault::Here(error) => error,
                Fault::Store(error) => error.into(),
            })?;
            if self.time_for_reading()?.saturating_sub(now) <= BEHIND_MS_MAX {
                return Ok((decided, now));
            }
        }
        Err(HostError::Conflict { tries: TRIES_MAX })
    }

    /// When a request is decided again that was told at `now` to wait. Times are whole milliseconds below 2^53; anything
    /// else only makes the wait longer or shorter.
    pub(super) fn due(&self, waiting: Waiting, now: i64) -> Due {
        let left = (waiting.until as i64).saturating_sub(now);
        Due { topics: waiting.topics, until_ms: self.watch.steady_ms().saturating_add(left) }
    }

    /// The time for a decision that does not write. Another process may have accepted the clock.
    pub(super) fn time_for_reading(&self) -> Result<i64, HostError> {
        let last = self.store.last_time()?;
        if let Err(ClockError::Behind { .. }) = self.watch.for_reading(last) {
            self.load_acceptance(&mut |queries| self.store.read(queries))?;
        }
        Ok(self.watch.for_reading(last)?)
    }
}
