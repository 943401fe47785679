//! The host loop: load what the core asks for, let it decide, commit, and only then answer.
//!
//! Operations that never write read snapshots and disturb nobody (`host/read.rs`); all others share transactions
//! (`host/group.rs`, `host/commit.rs`). An answer leaves when everything that it rests on is on the disk. Not here:
//! transports, adapters, and what any document or state means.

mod accept;
mod builder;
mod clock;
mod commit;
mod convert;
mod decider;
mod denials;
mod effects;
mod error;
mod fault;
mod follow;
mod frames;
mod group;
mod others;
mod probe;
mod read;
mod replay;
#[cfg(test)]
mod tests;
mod wait;

pub use builder::Builder;
pub use clock::{Clock, ClockError, SystemClock};
pub use effects::{Performer, StuckSink, itself};
pub use error::HostError;
pub use fault::FaultSink;
pub use replay::ReplayFiles;
pub use wait::Cancel;

use crate::{
    Core, codes, pause,
    store::{EffectLease, Store},
    wit::{Effect, Error, Fact, Frame, Operation, Principal, Request, Status},
};
use clock::Watch;
use decider::{Decider, misuse};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use wait::lock;

/// How long a waiting call sleeps before it looks at the clock, which may have been set.
const GLANCE: Duration = Duration::from_secs(1);
/// The same where no thread looks for commits of other processes, so that the call has to.
const POLL: Duration = Duration::from_millis(50);
/// The cursor that tells the core that a wait is over.
const TIMEOUT: &str = "timeout";

/// How an operation went, when everything that it rests on is on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Whether it was done, had been done before, or was refused.
    pub status: Status,
    /// The JSON text of the JSON-RPC `result` (accepted, replayed) or `error` (refused).
    pub body: String,
    /// Why it was refused, in full: for the host's log and not for the caller.
    pub problem: Option<Error>,
    /// External calls that this very process may now perform, each at most once, from memory.
    pub calls: Vec<Effect>,
    /// What the commit touched.
    pub topics: Vec<String>,
    /// What it was about, for logs and traces: ids, codes and digests, never content.
    pub facts: Vec<Fact>,
}

/// An operation to be carried out, with all that can be said about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Invocation<'a> {
    /// Whom the transport authenticated.
    pub principal: Option<&'a Principal>,
    /// The operation.
    pub operation: &'a str,
    /// Its params as received.
    pub params: &'a str,
    /// Where the call belongs in a trace (`traceparent`, `tracestate`).
    pub context: &'a [Fact],
    /// Stored effects whose result this operation records: they leave the outbox with its commit, unless it is refused.
    pub finished: &'a [EffectLease],
}

/// Fresh randomness.
pub trait Entropy: Send + Sync {
    /// 64 hex digits that nobody saw before.
    fn draw(&self) -> Result<String, HostError>;

    /// So many of them, for decisions that follow each other at once. Each is used once or never.
    fn draw_many(&self, count: usize) -> Result<Vec<String>, HostError> {
        (0..count).map(|_| self.draw()).collect()
    }
}

/// The randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn draw(&self) -> Result<String, HostError> {
        let mut bytes = [0_u8; DRAW];
        fill(&mut bytes)?;
        Ok(hex(&bytes))
    }

    fn draw_many(&self, count: usize) -> Result<Vec<String>, HostError> {
        let mut bytes = vec![0_u8; count * DRAW];
        fill(&mut bytes)?;
        Ok(bytes.chunks(DRAW).map(hex).collect())
    }
}

/// Bytes of a draw.
const DRAW: usize = 32;

fn fill(bytes: &mut [u8]) -> Result<(), HostError> {
    getrandom::fill(bytes).map_err(|error| HostError::Entropy { detail: error.to_string() })
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half & 0xf)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// What a host counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commits, each with its fsync.
    pub commits: u64,
    /// Operations that were asked for.
    pub requests: u64,
    /// Times that the core stopped itself or was stopped.
    pub traps: u64,
    /// Transactions that were begun.
    pub batches: u64,
    /// Requests that were decided in them.
    pub shared: u64,
    /// Decisions that others were faster than.
    pub conflicts: u64,
    /// Pages of continuations that were run.
    pub continuations: u64,
}

/// [`Counters`] that count.
#[derive(Default)]
struct Counting {
    commits: AtomicU64,
    requests: AtomicU64,
    traps: AtomicU64,
    batches: AtomicU64,
    shared: AtomicU64,
    conflicts: AtomicU64,
    continuations: AtomicU64,
}

/// Takes calls whose caller is gone: those of continuations.
pub type CallSink = Arc<dyn Fn(Effect) + Send + Sync>;

/// A running host: the rules, a store, a clock. Cheap to clone, and all clones are one; every method may be called from
/// any number of threads.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    core: Arc<dyn Core>,
    store: Arc<dyn Store>,
    watch: Watch,
    entropy: Box<dyn Entropy>,
    instance: String,
    operations: Vec<Operation>,
    read_only: HashMap<String, bool>,
    replay: Option<ReplayFiles>,
    calls: Mutex<Option<CallSink>>,
    stuck: Mutex<Option<StuckSink>>,
    faults: Mutex<Option<FaultSink>>,
    group: group::Group<Job, Outcome>,
    hub: wait::Hub,
    others: others::Others,
    follow: follow::Follow,
    denials: denials::Denials,
    counters: Counting,
}

/// A request on its way.
struct Job {
    request: Request,
    finished: Vec<EffectLease>,
}

/// What a decision came to. A request comes back when it has to wait.
enum Done {
    Reply(Reply),
    Wait(Due, Request),
}

/// When a request that waits is decided again: when one of the topics is touched, or at the end of its time.
struct Due {
    topics: Vec<String>,
    /// On the steady clock: a step of the wall clock makes no wait longer or shorter.
    until_ms: i64,
}

type Outcome = Result<Done, HostError>;

impl Host {
    /// Starts with the system's clock and randomness.
    pub fn builder(core: Arc<dyn Core>, store: Arc<dyn Store>) -> Builder {
        Builder::new(core, store)
    }

    /// Runs one operation for `principal` (absent: nobody was authenticated) and answers when it is durable.
    ///
    /// A refusal is a [`Reply`]. Errors: the store is down or busy ([`HostError::Store`]), the core gave no answer
    /// ([`HostError::Core`]), the clock is wrong ([`HostError::Clock`]); then nothing was changed, but for
    /// [`crate::store::StoreError::Broken`], after which it is not known.
    pub fn call(&self, principal: Option<&Principal>, operation: &str, params: &str) -> Result<Reply, HostError> {
        self.call_until(principal, operation, params, &Cancel::default())
    }

    /// As [`Host::call`]; a wait ends early when `cancel` says so ([`HostError::Cancelled`]).
    pub fn call_until(
        &self,
        principal: Option<&Principal>,
        operation: &str,
        params: &str,
        cancel: &Cancel,
    ) -> Result<Reply, HostError> {
        self.run(Invocation { principal, operation, params, ..Invocation::default() }, cancel)
    }

    /// As [`Host::call`], for a call that belongs to a trace: `context` goes with a message that it sends.
    pub fn call_with(
        &self,
        principal: Option<&Principal>,
        operation: &str,
        params: &str,
        context: &[Fact],
    ) -> Result<Reply, HostError> {
        let invocation = Invocation { principal, operation, params, context, ..Invocation::default() };
        self.run(invocation, &Cancel::default())
    }

    /// As [`Host::call_until`], with all that can be said.
    pub fn run(&self, invocation: Invocation<'_>, cancel: &Cancel) -> Result<Reply, HostError> {
        let reply = self.reply(invocation, cancel);
        if let Err(error) = &reply {
            self.tell_fault(error);
        }
        reply
    }

    fn reply(&self, invocation: Invocation<'_>, cancel: &Cancel) -> Result<Reply, HostError> {
        let Invocation { principal, operation, params, context, finished } = invocation;
        let request = Request {
            operation: operation.into(),
            principal: principal.cloned(),
            params: params.into(),
            instance: self.0.instance.clone(),
            cursor: None,
            context: context.to_vec(),
        };
        self.0.counters.requests.fetch_add(1, Relaxed);
        self.0.record_due_denials();
        let reply = match self.0.decide(Job { request, finished: finished.to_vec() })? {
            Done::Reply(reply) => reply,
            Done::Wait(due, request) => self.0.wait(due, request, finished, cancel)?,
        };
        if !reply.calls.is_empty() {
            pause::point("after-commit-before-call");
        }
        // Of whom the core does not take as a caller there is no account either.
        if let (Some(principal), Some(problem)) = (principal, &reply.problem)
            && problem.code != codes::AUTHENTICATION_REQUIRED.name
        {
            self.0.denials.count(principal, &problem.code, self.0.watch.wall_ms());
        }
        Ok(reply)
    }

    /// Cuts a JSON-RPC frame into its calls. Errors: the core gave no answer.
    pub fn split(&self, text: &str) -> Result<Frame, HostError> {
        let mut session = self.0.core.session()?;
        session.split(text).map_err(|fault| {
            let now = self.0.watch.wall_ms();
            self.0.decider().note(&fault, now, "split", || json!({ "text": text }));
            fault.into()
        })
    }

    /// Where calls go whose caller did not wait for them: those of continuations. Must return at once. Without it they
    /// are dropped, so that such attempts end as unknown.
    pub fn set_call_sink(&self, sink: CallSink) {
        *lock(&self.0.calls) = Some(sink);
    }

    /// The name of this instance.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    /// The operations table, as the core lists it.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.0.operations.iter()
    }

    /// Why no operation takes `principal` as its caller, if that is so. Errors: the core gave no answer.
    pub fn check_principal(&self, principal: &Principal) -> Result<Option<Error>, HostError> {
        Ok(self.0.core.session()?.check_principal(principal)?)
    }

    /// The rules, for their pure functions.
    pub fn core(&self) -> &dyn Core {
        &*self.0.core
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    /// The time for a decision now, in milliseconds since the Unix epoch. Errors: the clock is behind, or the store does
    /// not answer.
    pub fn now_ms(&self) -> Result<i64, HostError> {
        self.0.time_for_reading()
    }

    /// Takes the clock as right although a later time was committed, and records who said so.
    ///
    /// False where the clock is not behind. [`HostError::Misuse`] where `principal` is not an operator, or is taken by no
    /// rule as a caller.
    pub fn accept_clock(&self, principal: &Principal) -> Result<bool, HostError> {
        self.0.accept_clock(principal)
    }

    /// Waits until this process has nothing left to do after its commits, at most for `limit`; whether that is so. What
    /// it had to put off is stored, and falls due again for whoever is there then.
    pub fn settle(&self, limit: Duration) -> bool {
        self.0.follow.settle(limit)
    }

    /// Ends all waiting, leaves to others what commits left to do, and records what was refused. Calls that come later are
    /// still answered.
    pub fn close(&self) {
        self.record_denials();
        self.0.follow.close();
        self.0.hub.cancel_all();
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let Counting { commits, requests, traps, batches, shared, conflicts, continuations } = &self.0.counters;
        let load = |count: &AtomicU64| count.load(Relaxed);
        Counters {
            commits: load(commits),
            requests: load(requests),
            traps: load(traps),
            batches: load(batches),
            shared: load(shared),
            conflicts: load(conflicts),
            continuations: load(continuations),
        }
    }
}

impl Inner {
    fn decide(self: &Arc<Self>, job: Job) -> Outcome {
        // What is not in the table is refused by the core, which needs no facts and no lock for that.
        match self.read_only.get(&job.request.operation) {
            Some(false) => self.write(job),
            _ => self.read(job),
        }
    }

    fn decider(&self) -> Decider<'_> {
        Decider::new(self.core.as_ref(), self.replay.as_ref(), &self.counters.traps)
    }

    /// Decides again and again, until there is an answer. The time that the first decision named counts; after it, the
    /// core is told so.
    fn wait(
        self: &Arc<Self>,
        due: Due,
        mut request: Request,
        finished: &[EffectLease],
        cancel: &Cancel,
    ) -> Result<Reply, HostError> {
        let Due { mut topics, until_ms } = due;
        let mut listening = self.hub.listen(topics, cancel);
        loop {
            // INVARIANT: whatever is committed from here on either is seen by the decision or touches the topics.
            listening.forget();
            let seen = self.store.changes()?;
            let over = self.watch.steady_ms() >= until_ms;
            request.cursor = over.then(|| TIMEOUT.into());
            match self.decide(Job { request, finished: finished.to_vec() })? {
                Done::Reply(reply) => return Ok(reply),
                Done::Wait(..) if over => return Err(misuse("the core waits longer than it said")),
                Done::Wait(again, back) => (topics, request) = (again.topics, back),
            }
            if listening.is_for(&topics) {
                self.sleep(&listening, seen, until_ms)?;
            } else {
                listening = self.hub.listen(topics, cancel);
            }
        }
    }

    /// Sleeps until there is a reason to decide again.
    fn sleep(self: &Arc<Self>, listening: &wait::Listening<'_>, seen: u64, until_ms: i64) -> Result<(), HostError> {
        let watched = self.watch_others()?;
        // INVARIANT: what is committed after this look, and by others, is seen by the thread that looks for it.
        if self.store.changes()? != seen {
            return Ok(());
        }
        loop {
            let left = until_ms.saturating_sub(self.watch.steady_ms());
            let most = if watched { GLANCE } else { POLL };
            let limit = Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(most);
            let alert = listening.wait(self.watch.to_sleep(limit));
            if alert.cancelled {
                return Err(HostError::Cancelled);
            }
            if alert.touched || left <= 0 || (!watched && self.store.changes()? != seen) {
                return Ok(());
            }
        }
    }

    fn sink(&self, calls: Vec<Effect>) {
        let sink = lock(&self.calls).clone();
        if let Some(sink) = sink {
            calls.into_iter().for_each(|call| sink(call));
        }
    }
}
