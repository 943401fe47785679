//! Waking those who wait: what was touched lately, in this process.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many touched topics are remembered; a waiter that missed more looks for itself.
const REMEMBERED: usize = 4_096;

/// Touched topics with their numbers.
#[derive(Default)]
struct Touched {
    number: u64,
    recent: VecDeque<(u64, String)>,
}

/// The topics of a host.
#[derive(Default)]
pub(super) struct Topics {
    touched: Mutex<Touched>,
    woken: Condvar,
}

impl Topics {
    fn lock(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last touch.
    pub fn number(&self) -> u64 {
        self.lock().number
    }

    /// These were touched by a commit.
    pub fn touch(&self, topics: impl IntoIterator<Item = String>) {
        let mut touched = self.lock();
        for topic in topics {
            touched.number += 1;
            let number = touched.number;
            touched.recent.push_back((number, topic));
            if touched.recent.len() > REMEMBERED {
                touched.recent.pop_front();
            }
        }
        drop(touched);
        self.woken.notify_all();
    }

    /// Waits until one of `topics` is touched after `since`, or something else woke us, or for `patience`. Whether to
    /// decide again now.
    pub fn wait(&self, topics: &[String], since: u64, patience: Duration) -> bool {
        let touched = self.lock();
        let hit = |touched: &Touched| {
            let forgot = touched.recent.front().is_some_and(|(first, _)| *first > since + 1);
            forgot || touched.recent.iter().any(|(number, topic)| *number > since && topics.contains(topic))
        };
        if hit(&touched) {
            return true;
        }
        let (touched, _) = self.woken.wait_timeout(touched, patience).unwrap_or_else(PoisonError::into_inner);
        hit(&touched)
    }
}
