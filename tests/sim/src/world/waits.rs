//! Calls that wait: while their host sleeps, others act and time passes.
//!
//! Whoever waits is answered as soon as there is an answer, whichever process's commit made it one. So a host must not go
//! to sleep again without having looked, where somebody committed while it slept and the rules would answer now.

use super::{DEPTH_MAX, World, lock};
use crate::{moment, random::Random};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};

/// During so many sleeps of one wait others may act.
const STIRRED: i64 = 3;
/// How probably they do, in percent.
const STIRS: usize = 60;

/// A call that waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    /// How often its host slept.
    slept: i64,
    /// There has been an answer since its host had looked so often.
    due: Option<u64>,
}

impl World {
    /// The host `process`, one of whose calls waits, goes to sleep for at most `limit`.
    pub fn sleeps(&self, process: u64, limit: Duration) {
        let place = lock(&self.contexts).len();
        let (Some(node), true) = (self.running(process), self.runs(process)) else {
            return self.time.pass(limit.as_millis() as i64);
        };
        let mut wait = lock(&self.waits).get(&place).copied().unwrap_or_default();
        if wait.due == Some(node.store.looks()) {
            let asked = lock(&self.contexts).last().map(|context| (context.operation.clone(), context.params.clone()));
            self.oracle(|oracle| oracle.violation(format!("host {process} sleeps over what {asked:?} waits for")));
        }
        wait.slept += 1;
        lock(&self.waits).insert(place, wait);
        let commits = self.commits.load(Relaxed);
        self.stir(wait.slept);
        // Longer and longer: what waits until the end does not have to be looked at often.
        self.time.pass(limit.as_millis() as i64 * wait.slept);
        let answered = || {
            let (request, now) = self.asked_for(process)?;
            moment::answer(self.core.as_ref(), node.store.inner(), &request, now)
        };
        let due = self.commits.load(Relaxed) > commits && answered().is_some();
        if due {
            self.count("woken");
        }
        wait.due = due.then(|| node.store.looks());
        lock(&self.waits).insert(place, wait);
    }

    /// Somebody else acts, perhaps, while a host sleeps for the `slept`th time.
    fn stir(&self, slept: i64) {
        if slept > STIRRED || lock(&self.plans).len() >= DEPTH_MAX || self.idle().is_empty() {
            return;
        }
        let mut random = Random::new(self.meanwhile_salt() ^ slept.cast_unsigned());
        if random.chance(STIRS) {
            self.inside(random.draw());
        }
    }

    /// Whether the call that runs has slept. How often it looks from then on is for the store to say, which notices more or
    /// less of what others do: nothing that is drawn depends on it.
    pub(super) fn has_slept(&self) -> bool {
        let place = lock(&self.contexts).len();
        lock(&self.waits).contains_key(&place)
    }
}
