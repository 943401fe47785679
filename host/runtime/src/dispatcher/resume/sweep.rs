//! The thread that goes over the unresolved attempts, over the inquiries that are due, and over the records that the store
//! did not take.

use super::{Ask, Unresolved, each_unresolved, plan::Clocks, plan::Plan};
use crate::dispatcher::{
    Core,
    inquire::Inquiry,
    lock,
    perform::Order,
    pool::{Place, Pool},
};
use std::{
    collections::HashSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The shortest pause between two sweeps, however often somebody nudges.
const GAP: Duration = Duration::from_millis(50);

/// Wakes the sweeper.
#[derive(Default)]
pub(in crate::dispatcher) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    nudged: bool,
    ended: bool,
}

impl Signal {
    /// Sweep now.
    pub fn nudge(&self) {
        lock(&self.state).nudged = true;
        self.changed.notify_all();
    }

    /// End after the sweep that is going on.
    pub fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    fn ended(&self) -> bool {
        lock(&self.state).ended
    }

    /// Waits for the end of the interval, for a nudge (but not less than the gap), or for the end.
    fn pause(&self, interval: Duration) {
        let start = Instant::now();
        let mut state = lock(&self.state);
        while !state.ended {
            let limit = if state.nudged { GAP.min(interval) } else { interval };
            let left = (start + limit).saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        state.nudged = false;
    }
}

/// Sweeps at the start, at each interval, and when nudged.
pub(in crate::dispatcher) struct Sweeper {
    core: Arc<Core>,
    calls: Pool<Order>,
    queries: Pool<Ask>,
    inquiries: Pool<Inquiry>,
}

impl Sweeper {
    /// One that sweeps when it is told to.
    pub fn new(core: Arc<Core>, calls: Pool<Order>, queries: Pool<Ask>, inquiries: Pool<Inquiry>) -> Self {
        Self { core, calls, queries, inquiries }
    }

    /// Starts the thread.
    pub fn spawn(self) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name("adapter-sweep".into()).spawn(move || self.run())
    }

    fn run(&self) {
        while !self.core.signal.ended() {
            self.sweep_once();
            self.core.signal.pause(self.core.config.sweep);
        }
    }

    /// One sweep.
    pub fn sweep_once(&self) {
        // A faulty list must not end the sweeping for good.
        let _ = catch_unwind(AssertUnwindSafe(|| self.sweep()));
        let look = || self.core.sweep_inquiries(&self.inquiries, || self.core.signal.ended());
        let _ = catch_unwind(AssertUnwindSafe(look));
        self.core.stats.sweeps.add();
    }

    fn sweep(&self) {
        self.retry_held();
        let core = &self.core;
        let mut unresolved = HashSet::new();
        let listed = each_unresolved(&*core.caller, &core.config.tenant, |item| {
            unresolved.insert(item.submission_id.clone());
            self.consider(item);
            !core.signal.ended()
        });
        match listed {
            Ok(()) if !core.signal.ended() => {
                let busy = |id: &str| self.calls.place(id) != Place::Absent;
                lock(&core.backlog).keep_only(&unresolved, busy);
            }
            Ok(()) => {}
            Err(refusal) => core.note("sweep-failed", "", "", &refusal.code, &refusal.detail),
        }
    }

    fn retry_held(&self) {
        let core = &self.core;
        core.recorder.retry(&*core.caller, |record, result| match result {
            Ok(()) => {
                core.stats.count(record.label);
                core.note("record-landed", &record.submission_id, "", record.label, record.method);
            }
            Err(refusal) => {
                core.stats.refused.add();
                core.note("record-refused", &record.submission_id, "", &refusal.code, &refusal.detail);
                lock(&core.backlog).ended(&record.submission_id);
            }
        });
    }

    fn consider(&self, item: Unresolved) {
        let core = &self.core;
        let place = self.calls.place(&item.submission_id);
        if core.recorder.holds(&item.submission_id) {
            return;
        }
        let profile = core.profiles.get(&item.profile);
        let clocks = Clocks { now: core.config.time.now(), wall_ms: core.caller.now_ms() };
        let plan = lock(&core.backlog).plan(&item, profile.map(|profile| &**profile), place, clocks);
        match (plan, profile) {
            (Plan::Ask { .. }, Some(profile)) => {
                Ask::new(item, Arc::clone(profile), plan, place, core.config.overrun).queue(&self.queries);
            }
            (Plan::GiveUp, Some(profile)) => core.give_up(&item, profile, "no-query"),
            (Plan::Foreign, _) if lock(&core.backlog).tell_once(&item.submission_id) => {
                core.stats.foreign.add();
                let detail = "this host does not have the profile in the version that the attempt is pinned to";
                core.note("attempt-foreign", &item.submission_id, &item.profile, "profile-changed", detail);
            }
            _ => {}
        }
    }
}
