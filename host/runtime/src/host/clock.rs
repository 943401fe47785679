//! The time that decisions are made at: the host's clock, never behind what was committed, and never across a jump.

use crate::store::StoreError;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// Within this the last committed time stands in for a clock that is behind it (`clock_behind_ms_max`).
const BEHIND_MS_MAX: i64 = 5_000;
/// Further than this the wall clock must not move against the monotonic one.
const JUMP_MS_MAX: i64 = 60_000;

/// Where the host reads time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn wall_ms(&self) -> i64;
    /// Milliseconds since some start, also while the machine sleeps; never set by anybody.
    fn steady_ms(&self) -> i64;
}

/// The clocks of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn steady_ms(&self) -> i64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
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

/// Watches a clock for jumps.
pub(super) struct Watch {
    start: Mutex<(i64, i64)>,
}

impl Watch {
    pub fn new(clock: &dyn Clock) -> Self {
        Self { start: Mutex::new((clock.wall_ms(), clock.steady_ms())) }
    }

    /// The time for a decision whose store was last written at `floor`.
    pub fn now(&self, clock: &dyn Clock, floor: i64) -> Result<i64, ClockError> {
        let (wall, steady) = (clock.wall_ms(), clock.steady_ms());
        let (wall_start, steady_start) = *self.start.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let moved_ms = (wall - wall_start) - (steady - steady_start);
        if moved_ms.abs() > JUMP_MS_MAX {
            return Err(ClockError::Jumped { moved_ms });
        }
        match floor.saturating_sub(wall) {
            ..=0 => Ok(wall),
            behind_ms if behind_ms <= BEHIND_MS_MAX => Ok(floor),
            behind_ms => Err(ClockError::Behind { behind_ms }),
        }
    }
}
