//! Instances that nobody uses just now: making one is dearer than most calls.

use super::session::Instance;
use std::sync::{Mutex, PoisonError};

/// How many are kept; those who need more at a time make them.
const KEPT: usize = 4;

/// The instances.
#[derive(Default)]
pub(super) struct Idle(Mutex<Vec<Instance>>);

impl Idle {
    /// One of them.
    pub fn take(&self) -> Option<Instance> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps an instance, unless there are enough.
    pub fn put(&self, instance: Instance) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(instance);
        }
    }
}
