//! Worker threads for calls that may hang. Knows nothing about adapters.
//!
//! A job runs on its worker's own thread, so an ordinary call costs no thread start. A watch thread notices a job that
//! overstays its allowance, marks it overdue and starts a spare worker in its place, so that hanging jobs do not eat the
//! pool; the worker that was replaced ends when its job does. Spares are bounded too.

mod lanes;

use lanes::{Group, Lanes};
use std::{
    collections::HashMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Something to run.
pub(super) trait Job: Send + 'static {
    /// What it is about; at most one job per key is in a pool.
    fn key(&self) -> &str;
    /// How long it may run from now; afterwards it is overdue.
    fn allowance(&self, now: Instant) -> Duration;
    /// On whose behalf it runs: lanes take turns. None where it is empty.
    fn lane(&self) -> &str {
        ""
    }
    /// What it may have to wait for. None where it is empty.
    fn source(&self) -> &str {
        ""
    }
}

/// Where a key stands in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Not here.
    Absent,
    /// Queued, or running within its allowance.
    Present,
    /// Running beyond its allowance.
    Overdue,
}

/// What a pool does.
pub(super) struct Work<J> {
    /// Runs a job.
    pub run: Box<dyn Fn(J) + Send + Sync>,
    /// Hears of a key that went overdue.
    pub overdue: Box<dyn Fn(&str) + Send + Sync>,
}

/// A bounded pool of workers.
pub(super) struct Pool<J: Job>(Arc<Shared<J>>);

struct Shared<J> {
    state: Mutex<State<J>>,
    /// For workers: a job came, or the pool closed.
    ready: Condvar,
    /// For the watch thread: a limit came that is nearer than the one it waits for, or the pool closed.
    nearer: Condvar,
    /// For whoever waits for the end of all jobs.
    idle: Condvar,
    work: Work<J>,
    name: &'static str,
    spares_max: usize,
}

struct State<J> {
    queue: Lanes<J>,
    /// Every key in the pool; `None` while it is queued.
    jobs: HashMap<String, Option<Running>>,
    /// The limit that the watch thread waits for.
    watched: Option<Instant>,
    spares: usize,
    closed: bool,
}

impl<J: Job> State<J> {
    /// Nothing yet, where a lane or a source may have `share` workers.
    fn new(share: usize) -> Self {
        State { queue: Lanes::new(share), jobs: HashMap::new(), watched: None, spares: 0, closed: false }
    }
}

impl<J> State<J> {
    fn running(&self) -> impl Iterator<Item = &Running> {
        self.jobs.values().flatten()
    }
}

struct Running {
    groups: Vec<Group>,
    limit: Instant,
    overdue: bool,
    replaced: bool,
}

impl<J: Job> Clone for Pool<J> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<J: Job> Pool<J> {
    /// Starts `workers` threads and a watch thread. A lane or a source has at most half of the workers. The error is that of
    /// the operating system.
    pub fn start(name: &'static str, workers: usize, spares_max: usize, work: Work<J>) -> io::Result<Self> {
        let state = Mutex::new(State::new(workers.div_ceil(2)));
        let (ready, nearer, idle) = (Condvar::new(), Condvar::new(), Condvar::new());
        let pool = Self(Arc::new(Shared { state, ready, nearer, idle, work, name, spares_max }));
        for _ in 0..workers.max(1) {
            pool.0.spawn_worker()?;
        }
        let watch = Arc::clone(&pool.0);
        thread::Builder::new().name(format!("{name}-watch")).spawn(move || watch.watch())?;
        Ok(pool)
    }

    /// A pool without threads, for [`Pool::run_one`].
    pub fn by_hand(name: &'static str, work: Work<J>) -> Self {
        let state = Mutex::new(State::new(usize::MAX));
        let (ready, nearer, idle) = (Condvar::new(), Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { state, ready, nearer, idle, work, name, spares_max: 0 }))
    }

    /// Runs the first job in line on this thread, at `now`; whether there was one. No lock is held meanwhile.
    pub fn run_one(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        let Some((job, groups)) = state.queue.pop() else { return false };
        let (key, _) = start(&mut state, &job, groups, now);
        drop(state);
        // As in a worker: a panic must not leave the key running for ever.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.0.work.run)(job)));
        self.0.finish(&key);
        true
    }

    /// Notices what is overdue at `now`, as the watch thread does.
    pub fn look(&self, now: Instant) {
        let late = mark_overdue(&mut self.0.lock(), now);
        late.iter().for_each(|key| (self.0.work.overdue)(key));
    }

    /// Queues a job; a closed pool gives it back.
    pub fn push(&self, job: J) -> Result<(), J> {
        let mut state = self.0.lock();
        if state.closed {
            return Err(job);
        }
        state.jobs.insert(job.key().to_owned(), None);
        state.queue.push(job);
        drop(state);
        self.0.ready.notify_one();
        Ok(())
    }

    /// Where the job of this key stands.
    pub fn place(&self, key: &str) -> Place {
        match self.0.lock().jobs.get(key) {
            Some(Some(running)) if running.overdue => Place::Overdue,
            Some(_) => Place::Present,
            None => Place::Absent,
        }
    }

    /// How many jobs wait, run, and run beyond their allowance.
    pub fn load(&self) -> (usize, usize, usize) {
        let state = self.0.lock();
        (state.queue.len(), state.running().count(), state.running().filter(|r| r.overdue).count())
    }

    /// Waits until nothing is queued or running, or until `until`. Whether it is so.
    pub fn wait_idle(&self, until: Instant) -> bool {
        let mut state = self.0.lock();
        loop {
            if state.jobs.is_empty() {
                return true;
            }
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return false;
            };
            state = wait(&self.0.idle, state, left);
        }
    }

    /// Takes no more jobs; the workers end when the queue is empty.
    pub fn close(&self) {
        self.0.lock().closed = true;
        self.0.ready.notify_all();
        self.0.nearer.notify_all();
    }
}

impl<J: Job> Shared<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn_worker(self: &Arc<Self>) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new().name(self.name.to_owned()).spawn(move || shared.serve()).map(drop)
    }

    fn serve(&self) {
        while let Some((key, job)) = self.next() {
            // A panic must neither lose the worker nor leave the key running for ever.
            let _ = catch_unwind(AssertUnwindSafe(|| (self.work.run)(job)));
            if self.finish(&key) {
                return;
            }
        }
    }

    fn next(&self) -> Option<(String, J)> {
        let mut state = self.lock();
        loop {
            if let Some((job, groups)) = state.queue.pop() {
                let (key, limit) = start(&mut state, &job, groups, Instant::now());
                if state.watched.is_none_or(|watched| limit < watched) {
                    state.watched = Some(limit);
                    self.nearer.notify_all();
                }
                return Some((key, job));
            }
            // What waits for its share is still to be done.
            if state.closed && state.queue.len() == 0 {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes the end of a job. Whether its worker has been replaced and must end.
    fn finish(&self, key: &str) -> bool {
        let mut state = self.lock();
        let ended = state.jobs.remove(key).flatten();
        let replaced = ended.as_ref().is_some_and(|running| running.replaced);
        if let Some(running) = ended
            && !running.groups.is_empty()
        {
            // A share is free: whoever waited for it, or for the end of the pool, must look again.
            state.queue.ended(&running.groups);
            self.ready.notify_all();
        }
        if replaced {
            state.spares = state.spares.saturating_sub(1);
        }
        if state.jobs.is_empty() {
            self.idle.notify_all();
            self.nearer.notify_all();
        }
        replaced
    }

    fn watch(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let late: Vec<String> = mark_overdue(&mut state, now);
            if !late.is_empty() {
                drop(state);
                late.iter().for_each(|key| self.replace(key));
                state = self.lock();
                continue;
            }
            if state.closed && state.jobs.is_empty() {
                return;
            }
            state.watched = state.running().filter(|r| !r.overdue).map(|r| r.limit).min();
            state = match state.watched {
                Some(limit) => wait(&self.nearer, state, limit.saturating_duration_since(now)),
                None => self.nearer.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Reports an overdue job and starts a spare worker for it, if one may be had.
    fn replace(self: &Arc<Self>, key: &str) {
        (self.work.overdue)(key);
        let mut state = self.lock();
        if state.spares >= self.spares_max {
            return;
        }
        let Some(Some(running)) = state.jobs.get_mut(key) else { return };
        if self.spawn_worker().is_ok() {
            running.replaced = true;
            state.spares += 1;
        }
    }
}

/// Notes that a job runs from `now` on; its key, and when it is overdue.
fn start<J: Job>(state: &mut State<J>, job: &J, groups: Vec<Group>, now: Instant) -> (String, Instant) {
    let key = job.key().to_owned();
    let limit = now + job.allowance(now);
    state.jobs.insert(key.clone(), Some(Running { groups, limit, overdue: false, replaced: false }));
    (key, limit)
}

fn mark_overdue<J>(state: &mut State<J>, now: Instant) -> Vec<String> {
    let running = state.jobs.iter_mut().filter_map(|(key, running)| running.as_mut().map(|running| (key, running)));
    let late = running.filter(|(_, running)| !running.overdue && running.limit <= now);
    late.map(|(key, running)| {
        running.overdue = true;
        key.clone()
    })
    .collect()
}

fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>, at_most: Duration) -> MutexGuard<'a, T> {
    changed.wait_timeout(guard, at_most).map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard)
}

#[cfg(test)]
mod tests;
