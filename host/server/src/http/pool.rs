//! How much runs at once: by kind, and of each kind by principal.

use super::HttpLimits;
use super::gate::Caller;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a request needs a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call that is answered as soon as may be.
    Call,
    /// A call that waits, or a stream: it may hold a thread for long.
    Wait,
}

/// Where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// This principal has too much under way.
    Caller,
    /// All together have.
    Server,
}

/// The places.
pub struct Pool {
    calls: Lane,
    waits: Lane,
}

struct Lane {
    all: Arc<Semaphore>,
    caller_max: usize,
    by_caller: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place; free again when it is dropped.
pub struct Place {
    caller: String,
    by_caller: Arc<Mutex<HashMap<String, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// As many places as `limits` has.
    pub fn new(limits: &HttpLimits) -> Self {
        let lane = |all, caller_max| Lane { all: Arc::new(Semaphore::new(all)), caller_max, by_caller: Arc::default() };
        Pool {
            calls: lane(limits.calls_max, limits.caller_calls_max),
            waits: lane(limits.waits_max, limits.caller_waits_max),
        }
    }

    /// A place for `caller`, at once or not at all: whoever is turned away knows when to come again.
    pub fn enter(&self, kind: Kind, caller: &Caller) -> Result<Place, Full> {
        let lane = match kind {
            Kind::Call => &self.calls,
            Kind::Wait => &self.waits,
        };
        let caller = caller.scope();
        let mut by_caller = lock(&lane.by_caller);
        let count = by_caller.get(&caller).copied().unwrap_or(0);
        if count >= lane.caller_max {
            return Err(Full::Caller);
        }
        let permit = Arc::clone(&lane.all).try_acquire_owned().map_err(|_| Full::Server)?;
        by_caller.insert(caller.clone(), count + 1);
        Ok(Place { caller, by_caller: Arc::clone(&lane.by_caller), _permit: permit })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_caller = lock(&self.by_caller);
        match by_caller.get_mut(&self.caller) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(by_caller.remove(&self.caller)),
        }
    }
}

fn lock(map: &Mutex<HashMap<String, usize>>) -> MutexGuard<'_, HashMap<String, usize>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
