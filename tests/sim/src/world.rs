//! Everything that a life is made of, and the way to make something happen in it.
//!
//! One thread moves; whatever is called may come back here while it is at work (an adapter that hangs, a store under
//! which somebody else commits), so that no lock is held across a call.

mod probes;
mod waits;

use crate::{
    actions,
    backing::Backing,
    cast::{self, Cast},
    coverage::Stats,
    moment,
    node::{self, Node, Start},
    oracle::{Context, Oracle, attempts},
    outside::{self, Outside, Truth},
    plan::{PAUSES, Plan},
    random::Random,
    scenario::Recorded,
    store::FaultyStore,
    time::Time,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use threadmesh_runtime::{
    Core, HostError, Reply,
    dispatcher::CallEffect,
    host::{Host, Invocation},
    store::Changes,
    wit::{Fact, Principal, Request, Status},
};

/// How much older than what it reads the time of a decision may be; `clock_behind_ms_max`.
const BEHIND_MS: i64 = 5_000;
/// How deep actions may stand inside each other.
const DEPTH_MAX: usize = 3;

/// A place where a host process runs, or not at the moment.
#[derive(Default)]
struct Slot {
    node: Option<Arc<Node>>,
    skew: i64,
    skewed: bool,
}

/// A life's world.
pub struct World {
    me: Weak<World>,
    /// The true time.
    pub time: Time,
    core: Arc<dyn Core>,
    backing: Backing,
    slots: Mutex<Vec<Slot>>,
    outside: Mutex<Outside>,
    oracle: Mutex<Oracle>,
    cast: Mutex<Cast>,
    plans: Mutex<Vec<Plan>>,
    contexts: Mutex<Vec<Arc<Context>>>,
    /// What reads would have answered around a commit in the middle of them, by how deep they stand.
    moments: Mutex<BTreeMap<usize, Option<[String; 2]>>>,
    /// Calls that wait, by how deep they stand.
    waits: Mutex<BTreeMap<usize, waits::Wait>>,
    stats: Mutex<Stats>,
    trace: Option<Mutex<Vec<String>>>,
    recorded: Option<Mutex<Vec<Recorded>>>,
    seed: u64,
    drawn: AtomicU64,
    processes: AtomicU64,
    commits: AtomicU64,
}

/// How a world is made.
pub struct Setup {
    /// Where its randomness comes from.
    pub seed: u64,
    /// How many hosts share the store.
    pub hosts: usize,
    /// Whether to keep a line for everything that happens.
    pub trace: bool,
    /// Whether to keep every call.
    pub record: bool,
    /// Whether the facts are kept in a file.
    pub file: bool,
}

/// What is asked of a host: the params as they are sent, and as they read.
pub struct Asked<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The params' text.
    pub text: &'a str,
    /// The same, parsed.
    pub params: Value,
    /// Where the call belongs in a trace.
    pub facts: &'a [Fact],
}

/// What a caller gets.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The operation's value.
    Ok(Value),
    /// The error's `data`.
    Refused(Value),
    /// No answer: the host could not run it, or is gone.
    Lost,
}

impl Answer {
    /// The value, if there is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Ok(value) => Some(value),
            Self::Refused(_) | Self::Lost => None,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// An empty world, without a running host.
    pub fn new(core: Arc<dyn Core>, setup: &Setup) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            time: Time::new(),
            core,
            backing: Backing::new(setup.file).unwrap_or_else(|error| panic!("no directory for a file: {error}")),
            slots: Mutex::new((0..setup.hosts).map(|_| Slot::default()).collect()),
            outside: Mutex::default(),
            oracle: Mutex::new(Oracle::new()),
            cast: Mutex::default(),
            plans: Mutex::default(),
            contexts: Mutex::default(),
            moments: Mutex::default(),
            waits: Mutex::default(),
            stats: Mutex::default(),
            trace: setup.trace.then(Mutex::default),
            recorded: setup.record.then(Mutex::default),
            seed: setup.seed,
            drawn: AtomicU64::new(0),
            processes: AtomicU64::new(0),
            commits: AtomicU64::new(0),
        })
    }

    /// Works with the outside.
    pub fn outside<T>(&self, work: impl FnOnce(&mut Outside) -> T) -> T {
        work(&mut lock(&self.outside))
    }

    /// Works with the oracle.
    pub fn oracle<T>(&self, work: impl FnOnce(&mut Oracle) -> T) -> T {
        work(&mut lock(&self.oracle))
    }

    /// Works with the cast.
    pub fn cast<T>(&self, work: impl FnOnce(&mut Cast) -> T) -> T {
        work(&mut lock(&self.cast))
    }

    /// Works with what is counted.
    pub fn stats<T>(&self, work: impl FnOnce(&mut Stats) -> T) -> T {
        work(&mut lock(&self.stats))
    }

    /// Counts a fault.
    pub fn count(&self, kind: &'static str) {
        self.stats(|stats| *stats.faults.entry(kind).or_default() += 1);
        self.note(|| format!("  ! {kind}"));
    }

    /// Adds a line to the trace.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let at = (self.time.now() - crate::time::START) as f64 / 1000.0;
            lock(trace).push(format!("{at:>10.3} {}", line()));
        }
    }

    /// The trace, and every call that was kept.
    pub fn told(&self) -> (Vec<String>, Vec<Recorded>) {
        let take = |trace: &Mutex<Vec<String>>| std::mem::take(&mut *lock(trace));
        let recorded = self.recorded.as_ref().map(|recorded| std::mem::take(&mut *lock(recorded)));
        (self.trace.as_ref().map(take).unwrap_or_default(), recorded.unwrap_or_default())
    }

    /// 64 hex digits that were never drawn before.
    pub fn entropy(&self) -> String {
        let number = self.drawn.fetch_add(1, Relaxed);
        let mut random = Random::new(self.seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        (0..4).map(|_| format!("{:016x}", random.draw())).collect()
    }

    /// How many hosts there may be.
    pub fn slots(&self) -> usize {
        lock(&self.slots).len()
    }

    /// The process in a slot, if one runs.
    pub fn node(&self, slot: usize) -> Option<Arc<Node>> {
        let mut slots = lock(&self.slots);
        let slot = slots.get_mut(slot)?;
        if slot.node.as_ref().is_some_and(|node| !node.alive.load(Relaxed)) {
            slot.node = None;
        }
        slot.node.clone()
    }

    /// The node of a process, as long as its slot has it: it may have ended, where its operation is not over yet.
    fn running(&self, process: u64) -> Option<Arc<Node>> {
        lock(&self.slots).iter().filter_map(|slot| slot.node.clone()).find(|node| node.process == process)
    }

    /// The slots whose process runs and is not in the middle of an operation.
    pub fn idle(&self) -> Vec<usize> {
        let busy: BTreeSet<u64> = lock(&self.contexts).iter().map(|context| context.process).collect();
        (0..self.slots()).filter(|slot| self.node(*slot).is_some_and(|node| !busy.contains(&node.process))).collect()
    }

    /// Starts a process in a slot that has none.
    pub fn start(&self, slot: usize) {
        if self.node(slot).is_some() {
            return;
        }
        let skew = lock(&self.slots).get(slot).map_or(0, |slot| slot.skew);
        let store = match self.backing.connect() {
            Ok(store) => store,
            Err(error) => return self.oracle(|oracle| oracle.violation(format!("the store does not open: {error}"))),
        };
        let start = Start {
            world: self.me.clone(),
            core: Arc::clone(&self.core),
            store,
            process: self.processes.fetch_add(1, Relaxed) + 1,
            skew,
            profiles: self.cast(|cast| cast.profiles),
        };
        self.note(|| format!("host {} starts in place {slot}", start.process));
        // One that cannot declare its profiles goes on without a dispatcher, as a program for single operations does.
        node::start(start, |node| {
            if let Some(slot) = lock(&self.slots).get_mut(slot) {
                slot.node = Some(Arc::clone(node));
            }
        });
    }

    /// What is true of an attempt: what the outside knows, and whether its call is still waiting in a host.
    pub fn truth(&self, attempt: &Value) -> Truth {
        let text = |name: &str| attempt[name].as_str().unwrap_or_default();
        let truth = self.outside(|outside| outside.truth(text("key")));
        let waits = attempt["hosted"] == true
            && self
                .oracle(|oracle| oracle.waits_in(text("id")))
                .and_then(|process| self.running(process))
                .is_some_and(|node| node.alive.load(Relaxed));
        if truth == Truth::Never && waits { Truth::Open } else { truth }
    }

    /// Ends the process of a slot.
    pub fn end(&self, slot: usize) {
        if let Some(node) = self.node(slot) {
            self.kill(node.process);
        }
        self.node(slot);
    }

    /// Ends a process, wherever it is.
    pub fn kill(&self, process: u64) {
        if let Some(node) = self.running(process)
            && node.alive.swap(false, Relaxed)
        {
            self.stats(|stats| stats.crashes += 1);
            self.note(|| format!("host {process} ends"));
        }
    }

    /// Sets how wrong the clock of a slot is.
    pub fn set_skew(&self, slot: usize, skew: i64) {
        if let Some(slot) = lock(&self.slots).get_mut(slot) {
            slot.skew = skew;
            slot.skewed |= skew != 0;
            slot.node.iter().for_each(|node| node.skew.store(skew, Relaxed));
        }
    }

    /// Whether the clock of a slot ever was wrong.
    pub fn was_skewed(&self, slot: usize) -> bool {
        lock(&self.slots).get(slot).is_some_and(|slot| slot.skewed)
    }

    /// How wrong the clock of a slot is.
    pub fn skew(&self, slot: usize) -> i64 {
        lock(&self.slots).get(slot).map_or(0, |slot| slot.skew)
    }

    /// Calls an operation through the host in `slot`.
    pub fn call(&self, slot: usize, who: &Principal, operation: &str, params: &Value) -> Answer {
        self.call_with(slot, who, operation, params, &[])
    }

    /// The same, for a call that belongs to a trace by `facts`.
    pub fn call_with(&self, slot: usize, who: &Principal, operation: &str, params: &Value, facts: &[Fact]) -> Answer {
        let Some(node) = self.node(slot) else { return Answer::Lost };
        let asked = Asked { operation, text: &params.to_string(), params: params.clone(), facts };
        let Ok((reply, body)) = self.invoke(&node, who, asked) else { return Answer::Lost };
        for effect in reply.calls {
            if self.spend(|plan| plan.pause.take_if(|point| *point == "after-commit-before-call")).is_some() {
                self.kill(node.process);
                self.count("crash-before-call");
            }
            if node.alive.load(Relaxed)
                && let Some(dispatcher) = node.dispatcher.get()
            {
                let again = self.spend(|plan| std::mem::take(&mut plan.again).then_some(())).is_some();
                let twice = again.then(|| CallEffect {
                    name: effect.name.clone(),
                    key: effect.key.clone(),
                    body: effect.body.clone(),
                });
                dispatcher.perform(CallEffect { name: effect.name, key: effect.key, body: effect.body });
                if let Some(twice) = twice {
                    self.count("call-handed-twice");
                    dispatcher.perform(twice);
                }
            }
        }
        match reply.status {
            Status::Refused => Answer::Refused(body["data"].clone()),
            status => {
                let value = &body["value"];
                let wrapped = value.get("operationReplay").is_some();
                let value = if wrapped { &value["value"] } else { value };
                if status == Status::Accepted {
                    self.counted(operation, value);
                }
                Answer::Ok(value.clone())
            }
        }
    }

    /// Counts what changes under the feet of others.
    fn counted(&self, operation: &str, value: &Value) {
        let some = |name: &str| value[name].as_array().is_some_and(|items| !items.is_empty());
        match operation {
            "relationships.revoke" => self.count("revoked"),
            "tasks.rotateIncarnation" => self.count("rotated"),
            "maintenance.expireDue" if some("expired") => self.count("expired"),
            "maintenance.purgeContent" if some("messages") => self.count("purged"),
            _ => {}
        }
    }

    /// A host does what commits asked to be done at least once, in any process: empties its store of what was purged,
    /// and goes on with operations. How much it did.
    pub fn perform(&self, slot: usize) -> usize {
        let Some(node) = self.node(slot) else { return 0 };
        let pages = || node.host.counters().continuations;
        let before = pages();
        let (done, commits) = self.by_itself(&node, "stored effects", |host| host.perform_stored().unwrap_or(0));
        if commits > pages() - before {
            self.accepted("maintenance.recordScrub");
        }
        done
    }

    /// A host records what it refused.
    pub fn record_denials(&self, slot: usize) {
        let Some(node) = self.node(slot) else { return };
        let operation = "audit.recordDenials";
        let ((), commits) = self.by_itself(&node, operation, Host::record_denials);
        if commits > 0 {
            self.accepted(operation);
        }
    }

    /// A host does something that nobody asked for; with how many commits.
    fn by_itself<T>(&self, node: &Node, operation: &str, work: impl FnOnce(&Host) -> T) -> (T, u64) {
        let context =
            Context { process: node.process, who: cast::host(), operation: operation.into(), params: Value::Null };
        let before = node.store.commits();
        lock(&self.contexts).push(Arc::new(context));
        let done = work(&node.host);
        lock(&self.contexts).pop();
        let committed = node.store.commits() - before;
        self.note(|| format!("  host {} by itself: {operation}, {committed} commits", node.process));
        (done, committed)
    }

    fn accepted(&self, operation: &str) {
        self.stats(|stats| *stats.accepted.entry(operation.into()).or_default() += 1);
    }

    /// Runs an operation, and shows the oracle everything about it.
    pub fn invoke(&self, node: &Node, who: &Principal, asked: Asked<'_>) -> Result<(Reply, Value), HostError> {
        let Asked { operation, text, params, facts } = asked;
        let context = Context { process: node.process, who: who.clone(), operation: operation.into(), params };
        let context = Arc::new(context);
        self.oracle(|oracle| oracle.attempted(&context, self.time.now()));
        lock(&self.contexts).push(Arc::clone(&context));
        let before = node.store.commits();
        let at = self.time.now() + node.skew.load(Relaxed);
        let invocation =
            Invocation { principal: Some(who), operation, params: text, context: facts, ..Invocation::default() };
        let result = node.host.run(invocation, &threadmesh_runtime::host::Cancel::default());
        lock(&self.waits).remove(&lock(&self.contexts).len());
        lock(&self.contexts).pop();
        let moments = lock(&self.moments).remove(&lock(&self.contexts).len());
        self.stats(|stats| stats.operation(who, operation, &result));
        self.note(|| told(node.process, who, operation, &context.params, &result));
        if let Some(recorded) = &self.recorded {
            lock(recorded).push(Recorded::new(node.process, at, &context, facts, &result));
        }
        if !node.alive.load(Relaxed) {
            // Whatever it found out, nobody learns of it.
            let detail = "this process is dead".into();
            return Err(HostError::Store(threadmesh_runtime::store::StoreError::Io { detail }));
        }
        let reply = result?;
        if let Some(Some(moments)) = &moments {
            self.oracle(|oracle| oracle.read_at_one_moment(operation, &reply.body, moments));
        }
        let committed = node.store.commits() - before;
        let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        self.oracle(|oracle| {
            oracle.slack = if moments.is_some() { BEHIND_MS } else { 0 };
            oracle.answered(&context, &reply, &body, committed);
            oracle.slack = 0;
        });
        Ok((reply, body))
    }

    /// `store` has taken `applied` from its process.
    pub fn committed(&self, store: &FaultyStore, applied: &[Changes]) {
        let process = store.process();
        self.commits.fetch_add(1, Relaxed);
        let context = lock(&self.contexts).last().filter(|context| context.process == process).cloned();
        let truth = lock(&self.outside);
        self.oracle(|oracle| applied.iter().for_each(|changes| oracle.committed(context.as_deref(), changes, &truth)));
        drop(truth);
        self.look_at(store, applied);
    }

    /// Takes something from the plan of the action that runs.
    fn spend<T>(&self, take: impl FnOnce(&mut Plan) -> Option<T>) -> Option<T> {
        take(lock(&self.plans).last_mut()?)
    }

    fn runs(&self, process: u64) -> bool {
        lock(&self.contexts).last().is_some_and(|context| context.process == process)
    }

    /// What happens to the store, of `kinds`, under the operation that `process` runs.
    pub fn store_fault(&self, process: u64, kinds: &[&'static str]) -> Option<&'static str> {
        if !self.runs(process) || self.has_slept() {
            return None;
        }
        let kind = self.spend(|plan| {
            let (kind, left) = plan.store.as_mut().filter(|(kind, _)| kinds.contains(kind))?;
            if *left > 0 {
                *left -= 1;
                return None;
            }
            let kind = *kind;
            plan.store = None;
            Some(kind)
        })?;
        self.count(kind);
        if kind.starts_with("crash") {
            self.kill(process);
        }
        Some(kind)
    }

    /// Lets somebody else commit while `process` is in the middle of an operation, if that is planned.
    pub fn race(&self, process: u64) {
        if !self.runs(process) || lock(&self.plans).len() >= DEPTH_MAX || self.idle().is_empty() {
            return;
        }
        if let Some(salt) = self.spend(|plan| plan.race.take()) {
            self.count("race");
            self.inside(salt);
        }
    }

    /// Lets somebody else commit between two readings of one decision, if that is planned. Around it, what a read would
    /// have answered is noted.
    pub fn race_in_read(&self, store: &FaultyStore) {
        let process = store.process();
        let alone = lock(&self.plans).len() >= DEPTH_MAX || self.idle().is_empty();
        if !self.runs(process) || self.has_slept() || alone {
            return;
        }
        let salt = self.spend(|plan| {
            let (salt, left) = plan.race_in_read?;
            plan.race_in_read = left.checked_sub(1).map(|left| (salt, left));
            (left == 0).then_some(salt)
        });
        let Some(salt) = salt else { return };
        self.count("race-in-read");
        let request = self.asked_for(process);
        let answer = || {
            let (request, now) = request.as_ref()?;
            moment::answer(self.core.as_ref(), store.inner(), request, *now)
        };
        let before = answer();
        self.inside(salt);
        // A host that has lost much time, or whose clock was set, decides again at a time of its own.
        let now = request.as_ref().map_or(0, |(_, now)| *now);
        let wall = self.time.now() + self.skew_of(process);
        let in_time = store.inner().last_time().is_ok_and(|last| last.max(wall) <= now + BEHIND_MS);
        let moments = before.zip(answer()).filter(|_| in_time).map(|(before, after)| [before, after]);
        let depth = lock(&self.contexts).len().saturating_sub(1);
        lock(&self.moments).insert(depth, moments);
    }

    /// What `process` is asked for now and at what time, unless its clock is behind.
    fn asked_for(&self, process: u64) -> Option<(Request, i64)> {
        let context = lock(&self.contexts).last().cloned()?;
        let node = self.running(process)?;
        let now = self.time.now() + node.skew.load(Relaxed);
        let request = Request {
            operation: context.operation.clone(),
            principal: Some(context.who.clone()),
            params: context.params.to_string(),
            instance: node.host.instance().into(),
            cursor: None,
            context: Vec::new(),
        };
        (node.store.inner().last_time().ok()? <= now).then_some((request, now))
    }

    /// A process asks a target about an attempt.
    pub fn asked(&self, submission: &str, process: u64) {
        let wall = self.time.now() + self.skew_of(process);
        self.oracle(|oracle| oracle.asked(submission, process, wall));
    }

    fn skew_of(&self, process: u64) -> i64 {
        self.running(process).map_or(0, |node| node.skew.load(Relaxed))
    }

    /// A process asks its own host for something: if that is to record that a call never comes, it must know.
    pub fn vouched(&self, process: u64, operation: &str, params: &Value) {
        if operation != "adapter.recordQuery" || params["result"] != "absent-final" {
            return;
        }
        let submission = params["submissionId"].as_str().unwrap_or_default();
        let attempt = self.oracle(|oracle| {
            let (_, life) = oracle.life_of(submission)?;
            attempts(life).find(|attempt| attempt["id"] == submission).cloned()
        });
        let text = |name: &str| attempt.as_ref().and_then(|attempt| attempt[name].as_str()).unwrap_or_default();
        let flies = self.outside(|outside| outside.flies(text("key")));
        let keeps = outside::keeps_word(text("profile"));
        self.oracle(|oracle| oracle.absent_for_good(submission, process, keeps, flies));
    }

    /// The dispatcher of `process` passes a point.
    pub fn pause(&self, process: u64, point: &'static str) {
        if self.spend(|plan| plan.pause.take_if(|planned| *planned == point)).is_some() {
            if let Some((_, kind)) = PAUSES.iter().find(|(known, _)| *known == point) {
                self.count(kind);
            }
            self.kill(process);
        }
    }

    /// What an adapter does with a call, if it is not what was asked of it.
    pub fn next_submit(&self) -> Option<&'static str> {
        self.spend(|plan| plan.submit.take())
    }

    /// What a target does with a question, if it is not what was asked of it.
    pub fn next_query(&self) -> Option<&'static str> {
        self.spend(|plan| plan.query.take())
    }

    /// What keeps a host from emptying its store, if anything does.
    pub fn next_scrub(&self) -> Option<&'static str> {
        let kind = self.spend(|plan| plan.scrub.take())?;
        self.count(kind);
        Some(kind)
    }

    /// A number of the action that runs.
    pub fn meanwhile_salt(&self) -> u64 {
        lock(&self.plans).last().map_or(0, |plan| plan.meanwhile)
    }

    /// Lets others move while an adapter of `process` is at work, and time pass.
    pub fn meanwhile(&self, process: u64) {
        let mut random = Random::new(self.meanwhile_salt());
        if lock(&self.plans).len() < DEPTH_MAX {
            for _ in 0..=random.below(3) {
                self.inside(random.draw());
            }
        }
        self.time.pass(random.below(40_000) as i64);
        self.tick();
        if random.chance(40) {
            self.look_after(process);
        }
    }

    /// The process sees to what is unresolved, also while one of its own calls hangs.
    fn look_after(&self, process: u64) {
        let Some(node) = self.running(process).filter(|node| node.alive.load(Relaxed)) else { return };
        if let Some(dispatcher) = node.dispatcher.get() {
            dispatcher.sweep();
            while dispatcher.ask_one() {}
        }
    }

    /// An action in the middle of another one.
    fn inside(&self, salt: u64) {
        let mut random = Random::new(salt);
        let row = actions::draw(&mut random, None);
        let calm = random.chance(60);
        self.act(row, random.draw(), calm);
    }

    /// Performs an action.
    pub fn act(&self, row: &'static actions::Row, salt: u64, calm: bool) {
        let mut random = Random::new(salt);
        let plan = Plan::draw(&mut random, calm);
        self.note(|| format!("{} ({salt:#x}{})", row.name, if calm { ", calm" } else { "" }));
        lock(&self.plans).push(plan);
        (row.run)(self, &mut random);
        lock(&self.plans).pop();
        self.tick();
    }
}

fn told(process: u64, who: &Principal, operation: &str, params: &Value, result: &Result<Reply, HostError>) -> String {
    let end = match result {
        Ok(reply) => match &reply.problem {
            Some(problem) => problem.detail.clone(),
            None => format!("{:?}", reply.status).to_lowercase(),
        },
        Err(error) => format!("no answer: {error}"),
    };
    let mut short = params.to_string();
    if short.len() > 260 {
        short.truncate((0..=260).rev().find(|at| short.is_char_boundary(*at)).unwrap_or(0));
        short.push('…');
    }
    format!("  host {process}: {} {operation} {short} -> {end}", cast::name(who))
}
