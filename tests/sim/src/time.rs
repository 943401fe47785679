//! Time that only the simulation moves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use threadmesh_runtime::{dispatcher, host};

/// 2026-05-04T08:00:00Z, in milliseconds: when every life starts.
pub const START: i64 = 1_777_881_600_000;

/// The true time. All clones are one.
#[derive(Clone, Debug)]
pub struct Time {
    now: Arc<AtomicI64>,
    anchor: Instant,
}

impl Time {
    /// At [`START`].
    pub fn new() -> Self {
        Self { now: Arc::new(AtomicI64::new(START)), anchor: Instant::now() }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        self.now.load(Relaxed)
    }

    /// Lets time pass.
    pub fn pass(&self, ms: i64) {
        self.now.fetch_add(ms.max(0), Relaxed);
    }

    /// A clock of one host, which may be wrong by `skew`. `sleeps` is what happens while a call of that host waits.
    pub fn clock(&self, skew: Arc<AtomicI64>, sleeps: impl Fn(Duration) + Send + Sync + 'static) -> HostClock {
        HostClock { time: self.clone(), skew, sleeps: Box::new(sleeps) }
    }
}

impl Default for Time {
    fn default() -> Self {
        Self::new()
    }
}

impl dispatcher::Time for Time {
    fn now(&self) -> Instant {
        // Never negative: time only passes.
        self.anchor + Duration::from_millis((self.now.load(Relaxed) - START) as u64)
    }

    fn sleep(&self, duration: Duration) {
        self.pass(duration.as_millis() as i64);
    }
}

/// The clocks of a host: the wall clock is wrong by the skew, the steady one is not.
pub struct HostClock {
    time: Time,
    skew: Arc<AtomicI64>,
    sleeps: Box<dyn Fn(Duration) + Send + Sync>,
}

impl host::Clock for HostClock {
    fn wall_ms(&self) -> i64 {
        self.time.now() + self.skew.load(Relaxed)
    }

    fn steady_ms(&self) -> i64 {
        self.time.now()
    }

    fn passes(&self, limit: Duration) -> bool {
        (self.sleeps)(limit);
        true
    }
}
