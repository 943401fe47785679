//! The time that decisions are made at: the host's clock, never behind what was committed, and never across a jump.

use crate::store::StoreError;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Within this the last committed time stands in for a clock that is behind it (`clock_behind_ms_max`).
pub(super) const BEHIND_MS_MAX: i64 = 5_000;
/// Further than this the wall clock must not move against the monotonic one.
const JUMP_MS_MAX: i64 = 60_000;
/// The greatest time that crosses the boundary.
const TIME_MS_MAX: i64 = (1 << 53) - 1;

/// Where the host reads time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch; negative before it.
    fn wall_ms(&self) -> i64;
    /// Milliseconds since some start, also while the machine sleeps; never set by anybody.
    fn steady_ms(&self) -> i64;
    /// A call that waits goes to sleep for at most `limit`. True where this clock has let time pass itself, so that nobody
    /// has to sleep: that of a simulation, whose time passes only when it says so.
    fn passes(&self, limit: Duration) -> bool {
        let _ = limit;
        false
    }
}

/// The clocks of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        }
    }

    fn steady_ms(&self) -> i64 {
        // The clock that counts sleep too: with the plain monotonic one, every sleep would look like a jump.
        #[cfg(target_os = "linux")]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(clock);
        time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000)
    }
}

/// Why no decision can be made now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The clock is behind the last committed time.
    #[error(
        "the clock is {behind_ms} ms behind the last committed time; set it, or accept it with `threadmesh clock accept`"
    )]
    Behind {
        /// By how much.
        behind_ms: i64,
    },
    /// The wall clock moved against the monotonic clock while the host ran.
    #[error("the clock moved by {moved_ms} ms while the host ran; restart the host when it is right")]
    Jumped {
        /// By how much.
        moved_ms: i64,
    },
    /// The store does not say when it was last written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Watches a clock, and says at what time a decision is made (settled point 29).
pub(super) struct Watch {
    clock: Box<dyn Clock>,
    /// Wall minus steady at the start.
    base_ms: i64,
    /// The first jump that was seen; 0 while there was none.
    moved_ms: AtomicI64,
    /// Up to here, committed times were accepted as wrong.
    accepted: AtomicI64,
    /// The last time that was given out since.
    floor: AtomicI64,
}

impl Watch {
    /// Starts watching.
    pub fn new(clock: Box<dyn Clock>) -> Self {
        let base_ms = clock.wall_ms().saturating_sub(clock.steady_ms());
        Self { clock, base_ms, moved_ms: 0.into(), accepted: (-1).into(), floor: 0.into() }
    }

    /// The clock that nobody sets: for waiting.
    pub fn steady_ms(&self) -> i64 {
        self.clock.steady_ms()
    }

    /// The wall clock, unchecked: for counting by the minute, and for accepting it.
    pub fn wall_ms(&self) -> i64 {
        self.clock.wall_ms()
    }

    /// How much of a sleep of `limit` is left to the thread that wants to sleep.
    pub fn to_sleep(&self, limit: Duration) -> Duration {
        if !limit.is_zero() && self.clock.passes(limit) { Duration::ZERO } else { limit }
    }

    /// The time for a decision that may write, to a store that was last written at `last`. A jump that was seen once
    /// stops the writing for good.
    pub fn for_writing(&self, last: i64) -> Result<i64, ClockError> {
        let wall_ms = self.clock.wall_ms();
        let moved = wall_ms.saturating_sub(self.clock.steady_ms()).saturating_sub(self.base_ms);
        if moved.saturating_abs() > JUMP_MS_MAX {
            let _ = self.moved_ms.compare_exchange(0, moved, Relaxed, Relaxed);
        }
        match self.moved_ms.load(Relaxed) {
            0 => self.checked(wall_ms, last),
            moved_ms => Err(ClockError::Jumped { moved_ms }),
        }
    }

    /// The time for a decision that does not write.
    pub fn for_reading(&self, last: i64) -> Result<i64, ClockError> {
        self.checked(self.clock.wall_ms(), last)
    }

    fn checked(&self, wall_ms: i64, last: i64) -> Result<i64, ClockError> {
        // What was accepted as wrong does not count; what was given out since does.
        let accepted = self.accepted.load(Relaxed);
        let last = if last > accepted { last } else { self.floor.load(Relaxed) };
        let behind_ms = last.saturating_sub(wall_ms);
        if behind_ms > BEHIND_MS_MAX || wall_ms < 0 {
            return Err(ClockError::Behind { behind_ms });
        }
        let now = wall_ms.max(last).min(TIME_MS_MAX);
        if accepted >= 0 {
            self.floor.fetch_max(now, Relaxed);
        }
        Ok(now)
    }

    /// Takes the clock as right although `last` was committed; `floor` is the time from which it counts.
    pub fn accept(&self, last: i64, floor: i64) {
        self.floor.fetch_max(floor, Relaxed);
        self.accepted.fetch_max(last, Relaxed);
    }
}
