//! The read path: no transaction, no lock, a session of its own.

use super::{
    Done, HostError, Inner, Job, Outcome,
    clock::ClockError,
    convert::{self, Parts},
    decider::{Decided, Facts, Fault},
};
use std::sync::Arc;

impl Inner {
    /// Decides `job`, which is not going to write. Where it wants to after all, it takes its turn among the writers.
    pub(super) fn read(self: &Arc<Self>, job: Job) -> Outcome {
        let now = self.time_for_reading()?;
        let entropy = self.entropy.draw()?;
        let facts = Facts::Snapshots(self.store.as_ref());
        let decision = match self.decider().decide(&job.request, now, &entropy, facts) {
            Ok(Decided::Ready(decision)) => decision,
            Ok(Decided::Wait(waiting)) => return Ok(Done::Wait(waiting, job.request)),
            Err(Fault::Here(error)) => return Err(error),
            Err(Fault::Store(error)) => return Err(error.into()),
        };
        let Parts { changes, reply, proceed } = convert::split(decision, now, &job.finished);
        if changes.is_empty() && reply.calls.is_empty() && proceed.is_none() {
            return Ok(Done::Reply(reply));
        }
        self.write(job)
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
