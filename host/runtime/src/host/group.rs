//! Group commit: callers queue, one leads, one transaction and one fsync serve all of them.
//!
//! The leader is one of the callers: a lone caller pays no change of threads. It takes what is waiting, at most
//! [`BATCH_MAX`], decides each in turn (each seeing the writes of those before), commits once, hands the answers out and
//! passes the lead on to the first who waits. A trap or a conflict concerns one request; a failed commit all of them.

use super::run::Ran;
use super::{Host, HostError, Reply};
use crate::wit::Request;
use crate::{Session, pause};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How many requests one commit serves.
const BATCH_MAX: usize = 64;
/// When an instance of the component is given up for a fresh one.
const GROWTH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Callers that wait for their turn.
#[derive(Default)]
pub(super) struct Group {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Arc<Slot>>,
    led: bool,
}

/// A request in the queue.
struct Slot {
    request: Request,
    /// Nobody waits for it: the continuation of an operation that was answered.
    detached: bool,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Waiting,
    Lead,
    Done(Result<Reply, HostError>),
    Taken,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    fn new(request: Request, detached: bool) -> Arc<Self> {
        Arc::new(Self { request, detached, state: Mutex::new(State::Waiting), changed: Condvar::new() })
    }

    fn set(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_one();
    }

    /// Waits for the answer, or for the lead (`None`).
    fn wait(&self) -> Option<Result<Reply, HostError>> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Done(answer) => return Some(answer),
                State::Lead => return None,
                State::Waiting => *state = State::Waiting,
                State::Taken => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Group {
    /// Queues a request; whether its caller leads.
    fn enter(&self, slot: &Arc<Slot>) -> bool {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(Arc::clone(slot));
        !std::mem::replace(&mut queue.led, true)
    }

    fn take(&self) -> Vec<Arc<Slot>> {
        let mut queue = lock(&self.queue);
        let count = queue.waiting.len().min(BATCH_MAX);
        queue.waiting.drain(..count).collect()
    }

    /// Passes the lead to the first caller who waits. Continuations cannot lead: the present leader runs them.
    fn pass(&self) -> bool {
        let mut queue = lock(&self.queue);
        if let Some(next) = queue.waiting.iter().find(|slot| !slot.detached) {
            next.set(State::Lead);
            return true;
        }
        queue.led = !queue.waiting.is_empty();
        !queue.led
    }
}

impl Host {
    /// Runs a writing operation; answers when it is durable.
    pub(super) fn write(&self, request: Request) -> Result<Reply, HostError> {
        let slot = Slot::new(request, false);
        if self.group.enter(&slot) {
            self.lead();
        }
        loop {
            match slot.wait() {
                Some(answer) => return answer,
                None => self.lead(),
            }
        }
    }

    /// Serves one batch, and further ones while only continuations wait.
    fn lead(&self) {
        loop {
            let slots = self.group.take();
            let guard = Lead { group: &self.group, slots: &slots };
            self.serve(&slots);
            std::mem::forget(guard);
            if self.group.pass() {
                return;
            }
        }
    }

    /// Decides, commits, answers.
    fn serve(&self, slots: &[Arc<Slot>]) {
        let (answers, committed) = self.batch(slots);
        let mut touched = Vec::new();
        for (slot, answer) in slots.iter().zip(answers) {
            let answer = match (&committed, answer) {
                (Err(error), Ok(_)) => Err(error.clone()),
                (_, answer) => answer,
            };
            match answer {
                Ok(ran) => {
                    touched.extend(ran.topics);
                    self.proceed(slot, ran.proceed);
                    if slot.detached { self.sink(ran.reply.calls) } else { slot.set(State::Done(Ok(ran.reply))) }
                }
                Err(error) => slot.set(State::Done(Err(error))),
            }
        }
        if !touched.is_empty() {
            self.topics.touch(touched);
        }
    }

    /// Queues the continuation of an operation.
    fn proceed(&self, slot: &Slot, cursor: Option<String>) {
        if cursor.is_some() {
            let request = Request { cursor, ..slot.request.clone() };
            lock(&self.group.queue).waiting.push_back(Slot::new(request, true));
        }
    }

    /// One transaction. The second part says whether it is durable; without it, no answer of the first part counts.
    fn batch(&self, slots: &[Arc<Slot>]) -> (Vec<Result<Ran, HostError>>, Result<(), HostError>) {
        let mut batch = match self.store.begin() {
            Ok(batch) => batch,
            Err(error) => return (slots.iter().map(|_| Err(error.clone().into())).collect(), Ok(())),
        };
        let mut session: Option<Box<dyn Session + '_>> = None;
        let mut answers = Vec::with_capacity(slots.len());
        for slot in slots {
            let answer = self.in_session(&mut session, |host, session| host.run(session, &mut *batch, &slot.request));
            answers.push(answer);
        }
        if !answers.iter().any(|answer| answer.as_ref().is_ok_and(|ran| ran.wrote)) {
            return (answers, Ok(()));
        }
        pause::point("before-commit");
        let committed = batch.commit().map_err(HostError::from);
        if committed.is_ok() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        pause::point("after-commit");
        (answers, committed)
    }

    /// Runs in the batch's instance; makes one where there is none, and drops it when it is unusable or has grown.
    fn in_session<'s>(
        &'s self,
        session: &mut Option<Box<dyn Session + 's>>,
        run: impl FnOnce(&Self, &mut dyn Session) -> Result<Ran, HostError>,
    ) -> Result<Ran, HostError> {
        let mut current = match session.take() {
            Some(current) => current,
            None => self.core.session()?,
        };
        let answer = run(self, &mut *current);
        let spent = matches!(answer, Err(HostError::Core(_))) || current.grown_bytes() > GROWTH_BYTES_MAX;
        if !spent {
            *session = Some(current);
        }
        answer
    }
}

/// If the leader panics, those whom it served learn of it, and somebody else leads.
struct Lead<'a> {
    group: &'a Group,
    slots: &'a [Arc<Slot>],
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let lost = crate::CoreError::Trap { function: "decide", detail: "the leader of the batch panicked".into() };
        for slot in self.slots {
            let mut state = lock(&slot.state);
            if matches!(*state, State::Waiting | State::Lead) {
                *state = State::Done(Err(lost.clone().into()));
                slot.changed.notify_one();
            }
        }
        let mut queue = lock(&self.group.queue);
        match queue.waiting.iter().find(|slot| !slot.detached) {
            Some(next) => next.set(State::Lead),
            None => queue.led = false,
        }
    }
}
