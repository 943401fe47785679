//! The thread that lets time pass for the engine, so that a call which takes too long is stopped.
//!
//! It sleeps while there is no session, so that an idle host does not wake the processor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{Builder, JoinHandle, park, park_timeout},
    time::Duration,
};
use wasmtime::Engine;

/// How many ticks a deadline has: more make it more exact, fewer wake the processor less often.
const TICKS: u32 = 40;
/// How long it goes on ticking without a session: starting and stopping it is dearer than a few ticks.
const IDLE_TICKS: u32 = 20;

struct Shared {
    sessions: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// The thread; it ends when this is dropped.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts ticking for `engine`, often enough to enforce `deadline`.
    pub fn start(engine: &Engine, deadline: Duration) -> std::io::Result<Self> {
        let shared =
            Arc::new(Shared { sessions: 0.into(), asleep: AtomicBool::new(false), stop: AtomicBool::new(false) });
        let period = (deadline / TICKS).max(Duration::from_millis(1));
        let (ours, engine) = (Arc::clone(&shared), engine.clone());
        let thread = Builder::new().name("threadmesh-ticker".into()).spawn(move || run(&ours, &engine, period))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The epochs after which a call is stopped: at least the whole deadline, at most one period more.
    pub fn epochs(deadline: Duration) -> u64 {
        let period = (deadline / TICKS).max(Duration::from_millis(1));
        u64::try_from(deadline.as_nanos().div_ceil(period.as_nanos())).unwrap_or(u64::MAX - 1) + 1
    }

    /// A session begins: time must pass.
    pub fn enter(&self) {
        self.shared.sessions.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.wake();
        }
    }

    /// A session ended.
    pub fn leave(&self) {
        self.shared.sessions.fetch_sub(1, SeqCst);
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, engine: &Engine, period: Duration) {
    let mut idle = 0;
    while !shared.stop.load(SeqCst) {
        idle = if shared.sessions.load(SeqCst) == 0 { idle + 1 } else { 0 };
        if idle > IDLE_TICKS {
            // INVARIANT: whoever enters raises the count before it looks whether we sleep; we say so before we count.
            shared.asleep.store(true, SeqCst);
            if shared.sessions.load(SeqCst) == 0 && !shared.stop.load(SeqCst) {
                park();
            }
            shared.asleep.store(false, SeqCst);
            idle = 0;
        } else {
            park_timeout(period);
        }
        engine.increment_epoch();
    }
}
