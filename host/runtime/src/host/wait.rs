//! Waiting for topics: woken at once by commits of this process, and soon by those of others (`host/others.rs`).

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

/// Ends the waiting of all calls that were given it. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Mutex<Cancelled>>);

#[derive(Debug, Default)]
struct Cancelled {
    yes: bool,
    waiters: Vec<Weak<Waiter>>,
    children: Vec<Weak<Mutex<Cancelled>>>,
}

impl Cancel {
    /// Ends what waits with this handle, now and later.
    pub fn cancel(&self) {
        let (waiters, children) = {
            let mut cancelled = lock(&self.0);
            cancelled.yes = true;
            (std::mem::take(&mut cancelled.waiters), std::mem::take(&mut cancelled.children))
        };
        waiters.iter().filter_map(Weak::upgrade).for_each(|waiter| waiter.alert(true));
        children.iter().filter_map(Weak::upgrade).for_each(|child| Cancel(child).cancel());
    }

    /// Another one that is cancelled with this one, and can also be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::default();
        let mut cancelled = lock(&self.0);
        lock(&child.0).yes = cancelled.yes;
        cancelled.children.retain(|known| known.strong_count() > 0);
        cancelled.children.push(Arc::downgrade(&child.0));
        child
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        lock(&self.0).yes
    }

    /// From now on, cancelling reaches `waiter`.
    fn attach(&self, waiter: &Arc<Waiter>) {
        let mut cancelled = lock(&self.0);
        if cancelled.yes {
            waiter.alert(true);
        }
        cancelled.waiters.retain(|known| known.strong_count() > 0);
        cancelled.waiters.push(Arc::downgrade(waiter));
    }
}

/// One call that waits.
#[derive(Debug, Default)]
struct Waiter {
    state: Mutex<Alert>,
    wake: Condvar,
}

/// What a waiter was told since it last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alert {
    /// One of its topics was touched.
    pub touched: bool,
    /// It is to give up.
    pub cancelled: bool,
}

impl Waiter {
    fn alert(&self, cancelled: bool) {
        let mut state = lock(&self.state);
        state.touched |= !cancelled;
        state.cancelled |= cancelled;
        self.wake.notify_all();
    }
}

/// Who waits for what in this process.
#[derive(Default)]
pub(super) struct Hub {
    topics: Mutex<HashMap<String, Vec<Arc<Waiter>>>>,
    waiting: AtomicUsize,
}

impl Hub {
    /// Starts listening for `topics`; ends when the guard is dropped.
    pub fn listen(&self, topics: Vec<String>, cancel: &Cancel) -> Listening<'_> {
        let waiter = Arc::new(Waiter::default());
        self.waiting.fetch_add(1, SeqCst);
        let mut known = lock(&self.topics);
        for topic in &topics {
            known.entry(topic.clone()).or_default().push(Arc::clone(&waiter));
        }
        drop(known);
        cancel.attach(&waiter);
        Listening { hub: self, topics, waiter }
    }

    /// A commit touched `topics`.
    pub fn touch<'t>(&self, topics: impl Iterator<Item = &'t String>) {
        if self.waiting.load(SeqCst) == 0 {
            return;
        }
        let known = lock(&self.topics);
        for waiter in topics.filter_map(|topic| known.get(topic)).flatten() {
            waiter.alert(false);
        }
    }

    /// Everybody looks again: somebody else has committed, and nobody knows what.
    pub fn touch_all(&self) {
        lock(&self.topics).values().flatten().for_each(|waiter| waiter.alert(false));
    }

    /// Whether anybody waits.
    pub fn is_listening(&self) -> bool {
        self.waiting.load(SeqCst) > 0
    }

    /// Ends all waiting.
    pub fn cancel_all(&self) {
        lock(&self.topics).values().flatten().for_each(|waiter| waiter.alert(true));
    }
}

/// A call that listens.
pub(super) struct Listening<'h> {
    hub: &'h Hub,
    topics: Vec<String>,
    waiter: Arc<Waiter>,
}

impl Listening<'_> {
    /// Whether it listens for exactly these.
    pub fn is_for(&self, topics: &[String]) -> bool {
        self.topics == topics
    }

    /// Forgets that a topic was touched: what follows sees what the touch was about.
    pub fn forget(&self) {
        lock(&self.waiter.state).touched = false;
    }

    /// Waits until something happens, at most for `limit`.
    pub fn wait(&self, limit: Duration) -> Alert {
        let state = lock(&self.waiter.state);
        let quiet = |alert: &mut Alert| *alert == Alert::default();
        *self.waiter.wake.wait_timeout_while(state, limit, quiet).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let mut known = lock(&self.hub.topics);
        for topic in &self.topics {
            if let Some(waiters) = known.get_mut(topic) {
                waiters.retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
                if waiters.is_empty() {
                    known.remove(topic);
                }
            }
        }
        self.hub.waiting.fetch_sub(1, SeqCst);
    }
}

/// A panic elsewhere leaves nothing half done under these locks.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
