//! In whose name calls are made, and whether that still counts: asked before every call and again after every wait.
//!
//! While a call waits, one thread of the process looks twice a second whether its credential has ended, and then ends the
//! wait.

use crate::service::Service;
use crate::tokens::Entry;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{self, Answer};
use threadmesh_runtime::wit::Fact;

/// How often it is looked whether the credential of a waiting call has ended.
const PULSE: Duration = Duration::from_millis(500);

/// Says whether a credential would be let in now. Asked often, and by any thread.
pub type Holds = Arc<dyn Fn() -> bool + Send + Sync>;

/// A caller who was let in.
#[derive(Clone)]
pub struct Standing {
    entry: Entry,
    holds: Holds,
}

impl Standing {
    /// The caller of `entry`, for as long as `holds` says so.
    pub fn new(entry: Entry, holds: Holds) -> Self {
        Standing { entry, holds }
    }

    /// Who is calling.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether the credential counts now.
    pub fn holds(&self) -> bool {
        (self.holds)()
    }

    /// Runs one call, which belongs to a trace by `context` (see [`Service::call_with`]). What waits ends when `cancel` says so or the credential ends. The answer is an
    /// `authentication-required` error where the credential had ended before the call, or before what a wait brought
    /// could be told.
    pub fn call(&self, service: &dyn Service, method: &str, params: &str, context: &[Fact], cancel: &Cancel) -> Answer {
        if !self.holds() {
            return ended();
        }
        if !service.waits(method, params) {
            return service.call_with(&self.entry, method, params, context, cancel);
        }
        let own = cancel.child();
        let watched = KEEPER.watch(own.clone(), Arc::clone(&self.holds));
        let answer = service.call_with(&self.entry, method, params, context, &own);
        drop(watched);
        if self.holds() { answer } else { ended() }
    }
}

fn ended() -> Answer {
    Answer::Error(rpc::error("authentication-required", "the credential of this call is no longer valid"))
}

/// Looks after the credentials of the calls that wait in this process.
static KEEPER: Keeper = Keeper { watched: Mutex::new(None) };

struct Keeper {
    watched: Mutex<Option<Watched>>,
}

#[derive(Default)]
struct Watched {
    next: u64,
    calls: HashMap<u64, (Cancel, Holds)>,
    /// Whether the thread runs. It ends when nothing waits.
    running: bool,
}

/// A call that waits; looked after until it is dropped.
struct Watch(u64);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watched) = KEEPER.lock().as_mut() {
            watched.calls.remove(&self.0);
        }
    }
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, Option<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&'static self, cancel: Cancel, holds: Holds) -> Watch {
        let mut watched = self.lock();
        let watched = watched.get_or_insert_default();
        let number = watched.next;
        watched.next += 1;
        watched.calls.insert(number, (cancel, holds));
        if !watched.running {
            // Without a thread the wait takes its full time, and is refused then.
            let thread = std::thread::Builder::new().name("credentials".to_owned());
            watched.running = thread.spawn(|| self.look()).is_ok();
        }
        Watch(number)
    }

    fn look(&self) {
        loop {
            std::thread::sleep(PULSE);
            let calls: Vec<(Cancel, Holds)> = {
                let mut watched = self.lock();
                let Some(watched) = watched.as_mut() else { return };
                if watched.calls.is_empty() {
                    watched.running = false;
                    return;
                }
                watched.calls.values().cloned().collect()
            };
            calls.iter().filter(|(_, holds)| !holds()).for_each(|(cancel, _)| cancel.cancel());
        }
    }
}
