//! Continuations: what a decision left to do, page after page, also when its caller is long gone.
//!
//! A continuation takes its turn among the other writers like any request, and waits for as long as what keeps it may
//! pass: a busy store, a clock that is behind. It lives in this process alone: what is left when that ends keeps its old
//! label until it expires. Nothing rests on the label: every gate looks at the grant, the incarnation and the objective.

use super::{Done, HostError, Inner, Job, wait::lock};
use crate::wit::Request;
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// The first pause before a page is tried again; each further one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What is left to do.
pub(super) struct Follow {
    state: Mutex<State>,
    idle: Condvar,
    closing: Condvar,
    by_hand: bool,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Request>,
    running: bool,
    closed: bool,
}

impl Inner {
    /// Runs `request` on from `cursor`, soon and on another thread.
    pub(super) fn follow_up(self: &Arc<Self>, request: Request, cursor: String) {
        self.later(Request { cursor: Some(cursor), ..request });
    }

    /// Runs `request` soon and on another thread.
    pub(super) fn later(self: &Arc<Self>, request: Request) {
        let mut state = lock(&self.follow.state);
        if state.closed {
            return;
        }
        state.queue.push_back(request);
        if !state.running && !self.follow.by_hand {
            let inner = Arc::clone(self);
            let thread = thread::Builder::new().name("threadmesh-follow".into());
            // Without a thread it stays in line until the next one comes.
            state.running = thread.spawn(move || inner.run_queue()).is_ok();
        }
    }

    fn run_queue(self: &Arc<Self>) {
        while let Some(request) = self.follow.next() {
            self.counters.continuations.fetch_add(1, Relaxed);
            self.run_page(request);
        }
    }

    /// See [`super::Host::follow_one`].
    pub(super) fn follow_one(self: &Arc<Self>) -> bool {
        let Some(request) = lock(&self.follow.state).queue.pop_front() else { return false };
        self.counters.continuations.fetch_add(1, Relaxed);
        if self.page(&request).is_err_and(|error| error.retryable()) {
            lock(&self.follow.state).queue.push_front(request);
        }
        true
    }

    /// One page; the next one is in line when this returns. Given up where it never can be run, and when nobody else has
    /// this host any more.
    fn run_page(self: &Arc<Self>, request: Request) {
        let mut pause = PAUSE;
        while self.page(&request).is_err_and(|error| error.retryable()) {
            if Arc::strong_count(self) == 1 || !self.follow.rest(pause) {
                return;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn page(self: &Arc<Self>, request: &Request) -> Result<(), HostError> {
        match self.write(Job { request: request.clone(), finished: Vec::new() })? {
            Done::Reply(reply) => self.sink(reply.calls),
            Done::Wait(..) => {}
        }
        Ok(())
    }
}

impl Follow {
    /// Nothing to do. `by_hand`: somebody else says when a page is run.
    pub fn new(by_hand: bool) -> Self {
        Self { state: Mutex::default(), idle: Condvar::new(), closing: Condvar::new(), by_hand }
    }

    fn next(&self) -> Option<Request> {
        let mut state = lock(&self.state);
        let next = state.queue.pop_front().filter(|_| !state.closed);
        if next.is_none() {
            state.running = false;
            self.idle.notify_all();
        }
        next
    }

    /// Takes no more, and drops what is in line.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.queue.clear();
        self.closing.notify_all();
    }

    /// Waits before the next try; false as soon as there will be none.
    fn rest(&self, limit: Duration) -> bool {
        let state = lock(&self.state);
        let waited = self.closing.wait_timeout_while(state, limit, |state| !state.closed);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// Waits until nothing is left to do, at most for `limit`; whether that is so.
    pub fn settle(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut state = lock(&self.state);
        while state.running {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return false };
            state = self.idle.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
