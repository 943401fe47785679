//! The loop around the rules: read what they ask for, let them decide, commit, answer.
//!
//! Operations that write go through [group commit](group): callers queue, one of them leads, decides up to 64 requests
//! inside one transaction, and no answer leaves before the fsync. Read-only operations run on a snapshot beside it. What
//! a document or a state means is unknown here.

mod clock;
mod convert;
mod error;
mod frames;
mod group;
mod replay;
mod run;
mod topics;

#[cfg(test)]
mod tests;

pub use clock::{Clock, ClockError, SystemClock};
pub use error::HostError;
pub use frames::error_response;
pub use replay::ReplayFiles;

use crate::store::Store;
use crate::wit::{Effect, Operation, Principal, Request, Status};
use crate::{Core, CoreError};
use group::Group;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use topics::Topics;

/// How an operation went, for its caller.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Whether it was done, had been done before, or was refused.
    pub status: Status,
    /// The JSON text of the JSON-RPC `result` (accepted, replayed) or `error` (refused).
    pub body: String,
    /// Why it was refused, in full: for the host's log and not for the caller.
    pub problem: Option<crate::wit::Error>,
    /// External calls that this very process may now perform, each at most once, from memory.
    pub calls: Vec<Effect>,
}

/// Fresh randomness.
pub trait Entropy: Send + Sync {
    /// 64 hex digits that nobody saw before.
    fn draw(&self) -> Result<String, HostError>;
}

/// The randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn draw(&self) -> Result<String, HostError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| HostError::Entropy { detail: error.to_string() })?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Ends a wait from outside.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Whoever waits with this gets [`HostError::Cancelled`], within a twentieth of a second.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What a host counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commits, each with its fsync.
    pub commits: u64,
    /// Requests that went through them.
    pub requests: u64,
    /// Times that the core stopped itself or was stopped.
    pub traps: u64,
}

/// A running host: the rules, a store, a clock. Cheap to share behind an [`Arc`]; every method may be called from any
/// number of threads.
pub struct Host {
    core: Arc<dyn Core>,
    store: Arc<dyn Store>,
    clock: Box<dyn Clock>,
    entropy: Box<dyn Entropy>,
    instance: String,
    operations: HashMap<String, Operation>,
    watch: clock::Watch,
    group: Group,
    topics: Topics,
    replay: Option<ReplayFiles>,
    calls: Mutex<Option<CallSink>>,
    commits: AtomicU64,
    requests: AtomicU64,
    traps: AtomicU64,
}

/// Takes calls whose caller is gone, and those of continuations.
pub type CallSink = Arc<dyn Fn(Effect) + Send + Sync>;

/// Makes a [`Host`].
pub struct Builder {
    core: Arc<dyn Core>,
    store: Arc<dyn Store>,
    clock: Box<dyn Clock>,
    entropy: Box<dyn Entropy>,
    instance: Option<String>,
    replay: Option<ReplayFiles>,
}

impl Builder {
    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Another source of randomness; for tests.
    #[must_use]
    pub fn entropy(mut self, entropy: impl Entropy + 'static) -> Self {
        self.entropy = Box::new(entropy);
        self
    }

    /// The name of this instance, which must be nobody else's; random without it.
    #[must_use]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some(name.into());
        self
    }

    /// Where the arguments of a trapped call are kept.
    #[must_use]
    pub fn replay_files(mut self, files: ReplayFiles) -> Self {
        self.replay = Some(files);
        self
    }

    /// The host. Errors: the core cannot be run, or there is no randomness for the instance's name.
    pub fn build(self) -> Result<Host, HostError> {
        let listed = self.core.session()?.operations()?;
        let instance = match self.instance {
            Some(name) => name,
            None => format!("host-{}", &self.entropy.draw()?[..16]),
        };
        Ok(Host {
            watch: clock::Watch::new(&*self.clock),
            core: self.core,
            store: self.store,
            clock: self.clock,
            entropy: self.entropy,
            instance,
            operations: listed.into_iter().map(|operation| (operation.name.clone(), operation)).collect(),
            group: Group::default(),
            topics: Topics::default(),
            replay: self.replay,
            calls: Mutex::new(None),
            commits: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            traps: AtomicU64::new(0),
        })
    }
}

impl Host {
    /// Starts with the system's clock and randomness.
    pub fn builder(core: Arc<dyn Core>, store: Arc<dyn Store>) -> Builder {
        let (clock, entropy) = (Box::new(SystemClock), Box::new(SystemEntropy));
        Builder { core, store, clock, entropy, instance: None, replay: None }
    }

    /// Runs one operation for `principal` (absent: nobody was authenticated) and answers when it is durable.
    ///
    /// A refusal is a [`Reply`]. Errors: the store is down or busy ([`HostError::Store`]), the core gave no answer
    /// ([`HostError::Core`]), the clock is wrong ([`HostError::Clock`]); then nothing was changed, but for
    /// [`crate::store::StoreError::Broken`], after which it is not known.
    pub fn call(&self, principal: Option<&Principal>, operation: &str, params: &str) -> Result<Reply, HostError> {
        self.call_until(principal, operation, params, &Cancel::default())
    }

    /// As [`Host::call`]; a wait ends early when `cancel` says so.
    pub fn call_until(
        &self,
        principal: Option<&Principal>,
        operation: &str,
        params: &str,
        cancel: &Cancel,
    ) -> Result<Reply, HostError> {
        let request = Request {
            operation: operation.into(),
            principal: principal.cloned(),
            params: params.into(),
            instance: self.instance.clone(),
            cursor: None,
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        // An operation that is not in the table is refused by the core, which needs no commit.
        let reads = self.operations.get(operation).is_none_or(|operation| operation.read_only);
        if reads { self.read(request, cancel) } else { self.write(request) }
    }

    /// Where calls go whose caller did not wait for them, and those of continuations.
    pub fn set_call_sink(&self, sink: CallSink) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = Some(sink);
    }

    fn sink(&self, calls: Vec<Effect>) {
        let sink = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            calls.into_iter().for_each(|call| sink(call));
        }
    }

    /// The name of this instance.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The operations table, as the core lists it.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values()
    }

    /// The rules, for their pure functions.
    pub fn core(&self) -> &dyn Core {
        &*self.core
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The time for a decision now.
    pub fn now_ms(&self) -> Result<i64, HostError> {
        Ok(self.watch.now(&*self.clock, self.store.last_time()?)?)
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        Counters {
            commits: self.commits.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            traps: self.traps.load(Ordering::Relaxed),
        }
    }

    /// Notes that the core gave no answer to `request`.
    fn trapped(&self, request: &Request, answers: &[crate::wit::Answer], now: i64, entropy: &str, error: &CoreError) {
        self.traps.fetch_add(1, Ordering::Relaxed);
        if let Some(files) = &self.replay {
            files.write(request, answers, now, entropy, error);
        }
    }
}
