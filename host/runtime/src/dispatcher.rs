//! Performs committed calls, once, and settles what became of them.
//!
//! A `call` effect is performed by the process whose commit returned it, from memory; nothing here reads one from disk.
//! After a restart, and whenever a call ended without anybody knowing, the dispatcher only *asks* targets about attempts
//! (`dispatcher/resume.rs`). All facts go to the core as principal `host`; the core alone decides what they mean. The
//! words are in `spec/adapters.md`.

mod inquire;
mod perform;
mod pool;
mod record;
mod resume;
mod stats;

#[cfg(any(test, feature = "suite"))]
pub mod fake;

pub use stats::{Note, Stats};

use crate::{adapter::Profile, resolver::DeclaredResolver};
use inquire::Inquiry;
use perform::Order;
use pool::{Pool, Work};
use record::{Recorder, Refused};
use resume::{Ask, Backlog, Signal, Sweeper};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The core, as the dispatcher sees it.
pub trait Caller: Send + Sync {
    /// Runs operation `method` as principal `host` of `tenant`; the JSON text of its result.
    fn call(&self, tenant: &str, method: &str, params: &str) -> Result<String, Refusal>;
    /// `sha256:…` of the canonical form of a JSON text.
    fn digest(&self, text: &str) -> Result<String, Refusal>;
    /// The clock that the core is given, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// Why an operation was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Refusal {
    /// The core's error code, or one of the host's.
    pub code: String,
    /// A sentence.
    pub detail: String,
    /// Whether the same call may succeed later (store busy or down).
    pub retryable: bool,
}

/// Settings of a dispatcher.
#[derive(Clone)]
pub struct Config {
    /// Names this process in the records; must never be used by another, so make it new at each start.
    pub instance: String,
    /// The tenant under which profiles are declared and unresolved attempts listed.
    pub tenant: String,
    /// Threads for calls.
    pub workers: usize,
    /// Threads for queries.
    pub query_workers: usize,
    /// Threads for looking at evidence. One owner, and one source, has at most half of them at a time.
    pub look_workers: usize,
    /// Where is looked for evidence.
    pub resolvers: Vec<DeclaredResolver>,
    /// How many hanging calls (and how many hanging queries) get a spare thread.
    pub spares_max: usize,
    /// How long after its deadline an adapter may return before it counts as hanging.
    pub overrun: Duration,
    /// The pause between two sweeps over unresolved attempts.
    pub sweep: Duration,
    /// Called at named points, for kill tests; does nothing in the product.
    pub pause: Arc<dyn Fn(&'static str) + Send + Sync>,
    /// Takes notes for the log.
    pub note: Arc<dyn Fn(&Note) + Send + Sync>,
    /// Where time passes for this dispatcher.
    pub time: Arc<dyn Time>,
    /// Makes the idempotency keys of this dispatcher's records different from all others; random without it.
    pub nonce: Option<String>,
}

/// The monotonic time of a dispatcher. Simulations have their own.
pub trait Time: Send + Sync {
    /// This moment.
    fn now(&self) -> Instant;
    /// Lets time pass.
    fn sleep(&self, duration: Duration);
}

/// The time of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTime;

impl Time for SystemTime {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

impl Config {
    /// Ordinary settings for a process that calls itself `instance`, in tenant `default`.
    pub fn new(instance: impl Into<String>) -> Self {
        Self {
            instance: instance.into(),
            tenant: "default".into(),
            workers: 8,
            query_workers: 2,
            look_workers: 4,
            resolvers: Vec::new(),
            spares_max: 64,
            overrun: Duration::from_secs(5),
            sweep: Duration::from_secs(1),
            pause: Arc::new(|_| {}),
            note: Arc::new(|_| {}),
            time: Arc::new(SystemTime),
            nonce: None,
        }
    }
}

/// Why a dispatcher did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The core did not take a profile.
    #[error("profile {profile:?} was not accepted: {refusal}")]
    Declare {
        /// Its name.
        profile: String,
        /// Why.
        refusal: Refusal,
    },
    /// The core did not take a resolver.
    #[error("resolver {resolver:?} was not accepted: {refusal}")]
    DeclareResolver {
        /// Its name.
        resolver: String,
        /// Why.
        refusal: Refusal,
    },
    /// Two profiles, or two resolvers, have one name.
    #[error("two are called {0:?}")]
    Twice(String),
    /// No thread, or no randomness.
    #[error("the operating system refused: {0}")]
    System(#[from] io::Error),
}

/// A `call` effect, by value: it can be performed only once. Not `Clone` on purpose.
#[derive(Debug)]
pub struct CallEffect {
    /// What is to be done.
    pub name: String,
    /// The submission id.
    pub key: String,
    /// The JSON that `begin` put there.
    pub body: String,
}

/// Performs calls and resolves attempts. Dropping it stops it without waiting; see [`Dispatcher::stop`].
pub struct Dispatcher {
    core: Arc<Core>,
    calls: Pool<Order>,
    queries: Pool<Ask>,
    inquiries: Pool<Inquiry>,
    sweeping: Mutex<Option<JoinHandle<()>>>,
}

/// What all threads share.
struct Core {
    caller: Arc<dyn Caller>,
    profiles: BTreeMap<String, Arc<Profile>>,
    resolvers: BTreeMap<String, Arc<DeclaredResolver>>,
    config: Config,
    recorder: Recorder,
    stats: stats::Counters,
    /// Set once: calls that have not begun are not made any more.
    closing: AtomicBool,
    /// Effects seen, in flight or recent: a second one of the same submission is a fault of the host.
    seen: Mutex<Seen>,
    backlog: Mutex<Backlog>,
    /// Inquiries that are not for this host, and since when they are known.
    foreign: Mutex<HashMap<String, Instant>>,
    signal: Signal,
}

#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

/// The effect of a call; that of a look is [`inquire::ASK`].
const SUBMIT: &str = "adapter.submit";

/// The longest detail of a note: a target may say anything.
const NOTE_CHARS_MAX: usize = 4_000;

/// How many submissions are remembered as already taken.
const SEEN_MAX: usize = 65_536;

impl Dispatcher {
    /// Declares `profiles` to the core, starts the threads and begins with a sweep over the unresolved attempts.
    pub fn start(caller: Arc<dyn Caller>, profiles: Vec<Profile>, config: Config) -> Result<Self, StartError> {
        let core = Self::declared(caller, profiles, config)?;
        let calls = core.start_calls()?;
        let queries = core.start_queries()?;
        let inquiries = core.start_inquiries()?;
        let sweeper = Sweeper::new(Arc::clone(&core), calls.clone(), queries.clone(), inquiries.clone());
        let sweeping = Mutex::new(Some(sweeper.spawn()?));
        Ok(Self { core, calls, queries, inquiries, sweeping })
    }

    /// As [`Dispatcher::start`], but without any thread: nothing happens until [`Dispatcher::call_one`],
    /// [`Dispatcher::ask_one`], [`Dispatcher::look_one`] or [`Dispatcher::sweep`] is called, and then on that thread. For
    /// whoever decides himself what happens next, such as a simulation.
    pub fn by_hand(caller: Arc<dyn Caller>, profiles: Vec<Profile>, config: Config) -> Result<Self, StartError> {
        let core = Self::declared(caller, profiles, config)?;
        let calls = Pool::by_hand("adapter-call", core.calls_work());
        let queries = Pool::by_hand("adapter-query", core.queries_work());
        let inquiries = Pool::by_hand("inquiry", core.inquiries_work());
        Ok(Self { core, calls, queries, inquiries, sweeping: Mutex::new(None) })
    }

    /// Performs the call that has waited longest, to its end; whether there was one. An adapter may come back here while
    /// it performs one: the next call is another one.
    pub fn call_one(&self) -> bool {
        self.calls.run_one(self.core.config.time.now())
    }

    /// Asks the question that has waited longest; whether there was one.
    pub fn ask_one(&self) -> bool {
        self.queries.run_one(self.core.config.time.now())
    }

    /// Looks at the evidence whose turn it is; whether there was any to look at.
    pub fn look_one(&self) -> bool {
        self.inquiries.run_one(self.core.config.time.now())
    }

    /// One sweep over the unresolved attempts, over the inquiries that are due, and over the records that the store did not
    /// take.
    pub fn sweep(&self) {
        let now = self.core.config.time.now();
        self.calls.look(now);
        self.queries.look(now);
        self.inquiries.look(now);
        let (calls, queries, inquiries) = (self.calls.clone(), self.queries.clone(), self.inquiries.clone());
        Sweeper::new(Arc::clone(&self.core), calls, queries, inquiries).sweep_once();
    }

    /// What all threads share, with the profiles declared to the core.
    fn declared(caller: Arc<dyn Caller>, profiles: Vec<Profile>, config: Config) -> Result<Arc<Core>, StartError> {
        let mut by_name = BTreeMap::new();
        for profile in profiles {
            if let Some(twice) = by_name.insert(profile.name.clone(), Arc::new(profile)) {
                return Err(StartError::Twice(twice.name.clone()));
            }
        }
        let mut resolvers = BTreeMap::new();
        for resolver in &config.resolvers {
            if resolvers.insert(resolver.name.clone(), Arc::new(resolver.clone())).is_some() {
                return Err(StartError::Twice(resolver.name.clone()));
            }
        }
        let recorder = Recorder::new(config.nonce.clone(), Arc::clone(&config.time))?;
        let core = Arc::new(Core {
            caller,
            profiles: by_name,
            resolvers,
            config,
            recorder,
            stats: stats::Counters::default(),
            closing: AtomicBool::new(false),
            seen: Mutex::default(),
            backlog: Mutex::default(),
            foreign: Mutex::default(),
            signal: Signal::default(),
        });
        core.declare()?;
        core.declare_resolvers()?;
        Ok(core)
    }

    /// Takes a `call` effect that a commit of this process just returned, and performs it on a worker thread. After
    /// [`Dispatcher::stop`] the call is not made, and recorded as not made.
    ///
    /// Effects are routed by name. One of an unknown name, or one that cannot be read, is neither performed nor settled: the
    /// record says that nobody knows, another version may know how to ask, and the log says why.
    pub fn perform(&self, effect: CallEffect) {
        if effect.name == inquire::ASK {
            // A pool that is closed, or that has it already: the row is due again in any case.
            if let Some(inquiry) = self.core.inquiry(&effect)
                && self.inquiries.place(pool::Job::key(&inquiry)) == pool::Place::Absent
            {
                let _ = self.inquiries.push(inquiry);
            }
            return;
        }
        if effect.name != SUBMIT {
            self.core.stats.unperformed.add();
            let detail = format!("this host does not know how to perform {:?}", effect.name);
            self.core.note("effect-not-performed", &effect.key, "", "effect-unknown", &detail);
            return;
        }
        if !self.core.first_time(&effect.key) {
            self.core.stats.duplicates.add();
            self.core.note("effect-twice", &effect.key, "", "duplicate", "an effect came twice and was ignored");
            return;
        }
        let Some(order) = self.core.order(effect) else { return };
        if let Err(order) = self.calls.push(order) {
            self.core.perform(order);
        }
    }

    /// Sweeps over the unresolved attempts now, not at the next interval.
    pub fn nudge(&self) {
        self.core.signal.nudge();
    }

    /// Waits until every call taken so far has ended and is on record, at most until `patience` is over. Whether it is.
    pub fn drain(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        if !self.calls.wait_idle(until) {
            return false;
        }
        if self.core.recorder.held() > 0 {
            self.core.signal.nudge();
        }
        self.core.recorder.wait_empty(until)
    }

    /// Stops: calls not yet begun are recorded as not made, calls in flight are waited for, at most until `patience` is
    /// over. Whether all of them ended and are on record; what is not stays outcome-unknown and is asked about later.
    pub fn stop(&self, patience: Duration) -> bool {
        self.core.closing.store(true, Ordering::SeqCst);
        let done = self.drain(patience);
        self.end();
        if done && let Some(thread) = lock(&self.sweeping).take() {
            let _ = thread.join();
        }
        done
    }

    /// What was done so far and what is in hand.
    pub fn stats(&self) -> Stats {
        let (queued, running, overdue) = self.calls.load();
        let mut stats = self.core.stats.snapshot();
        (stats.queued, stats.running, stats.overdue) = (queued as u64, running as u64, overdue as u64);
        stats.held = self.core.recorder.held() as u64;
        stats
    }

    fn end(&self) {
        self.core.closing.store(true, Ordering::SeqCst);
        self.calls.close();
        self.queries.close();
        self.inquiries.close();
        self.core.signal.end();
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.end();
    }
}

impl Core {
    /// Tells the core every profile. The keys are new each time: going back to an older profile must take effect too.
    fn declare(&self) -> Result<(), StartError> {
        for profile in self.profiles.values() {
            let refused = |refusal| StartError::Declare { profile: profile.name.clone(), refusal };
            let capabilities: serde_json::Value = serde_json::from_str(&profile.capabilities)
                .map_err(|e| refused(Refusal { code: "profile".into(), detail: e.to_string(), retryable: false }))?;
            let mut params = json!({
                "profile": profile.name,
                "digest": profile.digest,
                "executor": if profile.adapter.is_some() { "host" } else { "caller" },
                "capabilities": capabilities,
                "deadlineMs": millis(profile.deadline),
                "settleMs": millis(profile.settle),
                "canQuery": profile.can_query,
                "absentFinal": profile.absent_final,
                "idempotencyKey": self.recorder.new_key(),
            });
            if let Some(admission) = &profile.admission {
                params["contextAdmission"] = json!({"evidence": admission.evidence});
                if let Some(digest) = &admission.snapshot_digest {
                    params["contextAdmission"]["snapshotDigest"] = json!(digest);
                }
            }
            self.caller.call(&self.config.tenant, "adapters.declare", &params.to_string()).map_err(refused)?;
        }
        Ok(())
    }

    fn start_calls(self: &Arc<Self>) -> io::Result<Pool<Order>> {
        Pool::start("adapter-call", self.config.workers, self.config.spares_max, self.calls_work())
    }

    fn start_queries(self: &Arc<Self>) -> io::Result<Pool<Ask>> {
        Pool::start("adapter-query", self.config.query_workers, self.config.spares_max, self.queries_work())
    }

    fn start_inquiries(self: &Arc<Self>) -> io::Result<Pool<Inquiry>> {
        Pool::start("inquiry", self.config.look_workers, self.config.spares_max, self.inquiries_work())
    }

    fn calls_work(self: &Arc<Self>) -> Work<Order> {
        let (run, late) = (Arc::clone(self), Arc::clone(self));
        Work {
            run: Box::new(move |order| run.perform(order)),
            overdue: Box::new(move |key| {
                late.note("call-overdue", key, "", "deadline", "the adapter has not returned after its deadline");
            }),
        }
    }

    fn queries_work(self: &Arc<Self>) -> Work<Ask> {
        let (run, late) = (Arc::clone(self), Arc::clone(self));
        Work {
            run: Box::new(move |ask| run.ask(ask)),
            overdue: Box::new(move |key| {
                late.note("query-overdue", key, "", "deadline", "the adapter has not answered after its deadline");
            }),
        }
    }

    fn inquiries_work(self: &Arc<Self>) -> Work<Inquiry> {
        let (run, late) = (Arc::clone(self), Arc::clone(self));
        Work {
            run: Box::new(move |inquiry| run.inquire(inquiry)),
            overdue: Box::new(move |key| {
                late.note("look-overdue", key, "", "deadline", "the resolver has not answered after its deadline");
            }),
        }
    }

    fn first_time(&self, id: &str) -> bool {
        let mut seen = lock(&self.seen);
        if !seen.ids.insert(id.to_owned()) {
            return false;
        }
        seen.order.push_back(id.to_owned());
        if seen.order.len() > SEEN_MAX
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.ids.remove(&oldest);
        }
        true
    }

    /// Hands a fact to the core; what the store does not take now is kept and tried again by the sweeper.
    fn record(&self, record: record::Record) -> Result<(), Refused> {
        let (id, method, label) = (record.submission_id.clone(), record.method, record.label);
        let result = self.recorder.record(&*self.caller, record);
        match &result {
            Err(Refused::Held) => {
                self.note("record-held", &id, "", "unavailable", &format!("{method} will be tried again"));
            }
            Err(Refused::Core(refusal)) => {
                self.stats.refused.add();
                self.note("record-refused", &id, "", &refusal.code, &format!("{method}: {}", refusal.detail));
            }
            Ok(()) => self.stats.count(label),
        }
        result
    }

    fn note(&self, event: &'static str, submission_id: &str, profile: &str, code: &str, detail: &str) {
        (self.config.note)(&Note {
            event,
            submission_id: submission_id.to_owned(),
            profile: profile.to_owned(),
            code: code.to_owned(),
            detail: detail.chars().take(NOTE_CHARS_MAX).collect(),
        });
    }

    fn closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A mutex whose data is valid after a panic elsewhere: every critical section here leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
