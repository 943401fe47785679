//! What is done after a commit and on another thread: what a decision left to do, and counts of refusals.
//!
//! A decision that says `proceed` goes on in another commit. That is stored with it as an effect, so that it is done also
//! when this process ends first: by the thread here, soon, or by whoever performs stored effects then. Every page takes its
//! turn among the other writers like any request, as the principal who began, and is decided anew.

use super::{Done, Host, HostError, Inner, Job, wait::lock};
use crate::{
    driver,
    store::{Effect, EffectKind},
    wit::Request,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The effect by which an operation goes on. Its body is the request, as conformance drivers take it.
pub(super) const GO_ON: &str = "operation.proceed";
/// The first pause before something is tried again; each further one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long something is tried again before it is left to others. One try may take longer, and the lease of an effect be
/// over by then: whoever does it later has a greater fence.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is reported that no effect can be had.
const TELL: Duration = Duration::from_secs(3_600);

/// What is left to do in this process.
pub(super) struct Follow {
    state: Mutex<State>,
    idle: Condvar,
    closing: Condvar,
    by_hand: bool,
}

#[derive(Default)]
struct State {
    /// Requests of the host's own.
    writes: VecDeque<Request>,
    /// Whether to look for stored effects that are due.
    stored: bool,
    running: bool,
    closed: bool,
    /// When it was last reported that no effect can be had.
    told: Option<Instant>,
}

/// One thing to do.
enum Work {
    Write(Box<Request>),
    Stored,
}

/// The effect by which `request` goes on from `cursor`. It belongs to no trace any more.
pub(super) fn left(request: &Request, cursor: String) -> Effect {
    let next = Request { cursor: Some(cursor), context: Vec::new(), ..request.clone() };
    let body = driver::request_json(&next).to_string();
    Effect { kind: EffectKind::Repeatable, name: GO_ON.into(), key: next.operation, body }
}

/// The request in such an effect, for the host `instance`. Error: what this version does not understand in it.
pub(super) fn request(body: &str, instance: &str) -> Result<Request, String> {
    let body = serde_json::from_str(body).map_err(|error| error.to_string())?;
    Ok(Request { instance: instance.into(), ..driver::request_from(&body)? })
}

impl Inner {
    /// Performs what commits left to do and is due, soon and on another thread.
    pub(super) fn go_on(self: &Arc<Self>) {
        self.follow_up(|state| state.stored = true);
    }

    /// Decides `requests` soon and on another thread.
    pub(super) fn write_soon(self: &Arc<Self>, requests: Vec<Request>) {
        self.follow_up(|state| state.writes.extend(requests));
    }

    fn follow_up(self: &Arc<Self>, add: impl FnOnce(&mut State)) {
        let mut state = lock(&self.follow.state);
        if state.closed || self.follow.by_hand {
            return;
        }
        add(&mut state);
        if !state.running {
            let host = Host(Arc::clone(self));
            let thread = thread::Builder::new().name("threadmesh-follow".into());
            // Without a thread it stays in line until the next one comes.
            state.running = thread.spawn(move || host.run_queue()).is_ok();
        }
    }
}

impl Host {
    fn run_queue(&self) {
        let _running = Running(&self.0.follow);
        while let Some(work) = self.0.follow.next() {
            match work {
                Work::Write(request) => {
                    // There is nobody to tell: only counts of refusals are lost.
                    let _ = self.patiently(|| {
                        let job = Job { request: Request::clone(&request), finished: Vec::new() };
                        self.0.write(job).map(|_: Done| ())
                    });
                }
                Work::Stored => self.perform_due(),
            }
        }
    }

    /// Performs stored effects until none is due.
    pub(super) fn perform_due(&self) {
        while !self.0.follow.is_closed() {
            let leased = match self.patiently(|| self.lease_due()) {
                Ok(leased) => leased,
                Err(error) => {
                    if !error.retryable() && self.0.follow.tells_again() {
                        self.tell_stuck(None, &error);
                    }
                    return;
                }
            };
            if leased.is_empty() {
                return;
            }
            // What failed was put off, and reported where that is worth it.
            let _ = self.perform_each(leased, |one| {
                (!self.0.follow.is_closed()).then(|| self.patiently(|| self.perform_one(one)))
            });
        }
    }

    /// Does `work` again while what keeps it may pass. Given up after a while, and when nobody else has this host any more.
    fn patiently<T>(&self, work: impl Fn() -> Result<T, HostError>) -> Result<T, HostError> {
        let (began, mut pause) = (Instant::now(), PAUSE);
        loop {
            let result = work();
            let passes = result.as_ref().is_err_and(HostError::retryable) && began.elapsed() < PATIENCE;
            if !passes || Arc::strong_count(&self.0) == 1 || !self.0.follow.rest(pause) {
                return result;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// Says that the thread is gone, also where it panicked.
struct Running<'f>(&'f Follow);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.ended(&mut lock(&self.0.state));
        }
    }
}

impl Follow {
    /// Nothing to do. `by_hand`: somebody else says when something is done.
    pub fn new(by_hand: bool) -> Self {
        Self { state: Mutex::default(), idle: Condvar::new(), closing: Condvar::new(), by_hand }
    }

    /// Whether nothing is done by itself.
    pub fn by_hand(&self) -> bool {
        self.by_hand
    }

    fn next(&self) -> Option<Work> {
        let mut state = lock(&self.state);
        let next = match state.writes.pop_front() {
            Some(request) => Some(Work::Write(request.into())),
            None => std::mem::take(&mut state.stored).then_some(Work::Stored),
        };
        if next.is_none() {
            self.ended(&mut state);
        }
        next
    }

    /// Whether that no effect can be had is worth a report again.
    fn tells_again(&self) -> bool {
        let mut state = lock(&self.state);
        let again = state.told.is_none_or(|told| told.elapsed() >= TELL);
        if again {
            state.told = Some(Instant::now());
        }
        again
    }

    fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    fn ended(&self, state: &mut State) {
        state.running = false;
        self.idle.notify_all();
    }

    /// Takes no more, and drops what is in line.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.writes.clear();
        state.stored = false;
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
