//! A process with a host, a dispatcher and a scripted load, made to be killed.

use crate::lines::{Line, Try, say};
use crate::mesh::{self, Mesh, Opening};
use crate::random::Random;
use crate::script;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use threadmesh_runtime::dispatcher::Dispatcher;

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The database.
    pub opening: Opening,
    /// The profile file.
    pub profiles: PathBuf,
    /// Of the load.
    pub seed: u64,
    /// Part of all names, so that no two workers make the same.
    pub run: u64,
    /// How many threads.
    pub threads: u64,
    /// Messages per thread; nothing: until it is killed.
    pub messages: Option<u64>,
    /// What an earlier worker tried and nobody answered: it is tried again first.
    pub retries: Vec<Try>,
    /// Ends only when no attempt is unresolved, at most after so many milliseconds.
    pub settle_ms: u64,
}

/// The most calls in hand before the load waits.
pub const CALLS_MAX: u64 = 8;
/// The first kind of message that comes to a call.
const CALLS_FROM: u64 = 4;

struct Worker {
    mesh: Mesh,
    dispatcher: Arc<Dispatcher>,
    numbers: AtomicU64,
    orders: Orders,
}

/// Is the worker.
pub fn main(orders: &str) -> Result<(), String> {
    let orders: Orders = serde_json::from_str(orders).map_err(|error| error.to_string())?;
    let core = mesh::core();
    say(&Line::Loaded);
    let mesh = Mesh::open(core, &orders.opening)?;
    say(&Line::Open { unresolved: mesh.unresolved().map_err(|fault| format!("{fault:?}"))? });
    let recorded = |submission: &str, what: &str| {
        say(&Line::Recorded { submission: submission.into(), what: what.into() });
    };
    let note = |note: &threadmesh_runtime::dispatcher::Note| {
        let detail = format!("{}: {}", note.code, note.detail);
        say(&Line::Note { event: note.event.into(), submission: note.submission_id.clone(), detail });
    };
    let dispatcher = mesh.dispatch(&orders.profiles, recorded, note)?;
    say(&Line::Ready);
    let worker = Worker { mesh, dispatcher, numbers: AtomicU64::new(0), orders };
    worker.work();
    worker.settle();
    worker.dispatcher.stop(Duration::from_secs(60));
    let unresolved = worker.mesh.unresolved().map_err(|fault| format!("{fault:?}"))?.len();
    let stats = worker.dispatcher.stats();
    say(&Line::Done { calls: stats.calls, queries: stats.queries, unresolved });
    Ok(())
}

/// What a thread of a run draws from.
fn of_thread(seed: u64, run: u64, thread: u64) -> Random {
    Random::new(seed, run * 1_000 + thread)
}

/// How far a message gets; from [`CALLS_FROM`] on, to a call.
fn kind(random: &mut Random) -> u64 {
    random.below(8)
}

/// How many of its first `messages` the first thread of the first run makes calls of.
pub fn calls(seed: u64, messages: u64) -> u64 {
    let mut random = of_thread(seed, 0, 0);
    (0..messages).map(|_| u64::from(kind(&mut random) >= CALLS_FROM)).sum()
}

impl Worker {
    fn work(&self) {
        for again in self.orders.retries.clone() {
            self.act(again.task.as_deref(), &again.operation, again.params);
        }
        std::thread::scope(|scope| {
            for thread in 0..self.orders.threads {
                scope.spawn(move || self.load(thread));
            }
        });
    }

    /// Waits until nothing is unresolved.
    fn settle(&self) {
        let until = Instant::now() + Duration::from_millis(self.orders.settle_ms);
        while Instant::now() < until && self.mesh.unresolved().is_ok_and(|left| !left.is_empty()) {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// One thread: a pair of tasks of its own, and messages from one to the other.
    fn load(&self, thread: u64) {
        let run = self.orders.run;
        let mut random = of_thread(self.orders.seed, run, thread);
        let (source, target) = (format!("s{run:04}-{thread}"), format!("t{run:04}-{thread}"));
        let profile = script::PROFILES[usize::try_from((run + thread) % 3).expect("small")];
        for task in [&source, &target] {
            self.act(None, "tasks.register", script::register(task, profile));
        }
        self.act(None, "relationships.grant", script::grant(&source, &target));
        let mut message = 0;
        while self.orders.messages.is_none_or(|most| message < most) {
            let id = format!("msg_{run:04}-{thread}-{message:05}");
            self.life(&mut random, &source, &target, &id);
            message += 1;
        }
    }

    /// A message, as far as chance takes it. Whatever is refused ends it, and is told.
    fn life(&self, random: &mut Random, source: &str, target: &str, id: &str) -> Option<()> {
        self.act(Some(source), "messages.send", script::send(source, target, id, script::now_ms()))?;
        let kind = kind(random);
        if kind == 0 {
            return None;
        }
        let on = |step: &str, revision: &Value| script::on(source, id, step, revision);
        let claim = self.act(Some(target), "mailbox.claim", on("claim", &json!(0)))?;
        let token = json!({"claimToken": claim["claimToken"]});
        let accepted = script::with(token.clone(), json!({"decision": "accepted"}));
        let rejected = script::with(token.clone(), json!({"decision": "rejected", "reasonCode": "receiver-rejected"}));
        match kind {
            1 => {}
            2 => {
                self.act(Some(target), "mailbox.ack", script::with(on("ack", &json!(0)), rejected))?;
            }
            3 => {
                self.act(Some(target), "mailbox.ack", script::with(on("ack", &json!(0)), accepted))?;
            }
            4 => {
                self.act(Some(target), "mailbox.ack", script::with(on("ack", &json!(0)), accepted))?;
                let prepared = self.act(Some(target), "adapter.prepareSubmission", on("prepare", &json!(1)))?;
                self.wait_for_room();
                let begin = json!({
                    "submissionId": prepared["submission"]["submissionId"], "expectedRevision": 1,
                    "idempotencyKey": format!("idem_begin-{id}"),
                });
                self.act(Some(target), "adapter.beginSubmission", begin)?;
            }
            _ => {
                self.wait_for_room();
                let params = script::with(on("begin", &json!(0)), token);
                self.act(Some(target), "adapter.acceptAndBegin", params)?;
            }
        }
        Some(())
    }

    fn wait_for_room(&self) {
        loop {
            let stats = self.dispatcher.stats();
            if stats.queued + stats.running < CALLS_MAX {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Tells, calls, tells again, and hands calls to the dispatcher. The value, if it was not refused.
    fn act(&self, task: Option<&str>, operation: &str, params: Value) -> Option<Value> {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let who = task.map_or_else(script::user, script::task);
        say(&Line::Try(Try {
            number,
            task: task.map(Into::into),
            operation: operation.into(),
            params: params.clone(),
        }));
        match self.mesh.call(&who, operation, &params) {
            Ok(done) => {
                say(&Line::Ack { number, replayed: done.replayed, value: done.value.clone() });
                done.calls.into_iter().for_each(|call| self.dispatcher.perform(call));
                Some(done.value)
            }
            Err(fault) => {
                say(&Line::Fault { number, code: fault.code, detail: fault.detail });
                None
            }
        }
    }
}
