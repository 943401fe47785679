//! A lock that is given in the order of arrival, with a limit to the wait.
//!
//! `std::sync::Mutex` may let a thread that comes back at once overtake those that sleep; a writer in a tight loop would
//! then starve the others.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::StoreError;

/// The lock.
#[derive(Debug, Default)]
pub struct Turn {
    queue: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    next_ticket: u64,
    waiting: VecDeque<u64>,
}

/// Holds the turn until it is dropped.
#[derive(Debug)]
pub struct TurnGuard<'a> {
    turn: &'a Turn,
}

impl Turn {
    /// Waits for the turn; [`StoreError::Busy`] after `limit`.
    pub fn take(&self, limit: Duration) -> Result<TurnGuard<'_>, StoreError> {
        let began = Instant::now();
        let mut queue = self.lock();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push_back(ticket);
        while queue.taken || queue.waiting.front() != Some(&ticket) {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                queue.waiting.retain(|waiting| *waiting != ticket);
                // Whoever is first now may have been woken before, and have seen this ticket in front of it.
                self.moved.notify_all();
                return Err(StoreError::Busy { waited_ms: began.elapsed().as_millis() as u64 });
            }
            queue = self.moved.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.waiting.pop_front();
        queue.taken = true;
        Ok(TurnGuard { turn: self })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.turn.lock().taken = false;
        self.turn.moved.notify_all();
    }
}
