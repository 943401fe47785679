//! Commits of other processes: while anybody waits, one thread asks the store for them, and wakes all who wait.

use super::{Inner, wait::lock};
use crate::store::StoreError;
use std::{
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// How long the thread waits for a commit before it looks whether anybody still waits.
const LOOK: Duration = Duration::from_millis(200);
/// How long those who wait are left alone after they were woken for a commit that may be none of theirs.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether the thread runs.
#[derive(Default)]
pub(super) struct Others(Mutex<bool>);

impl Inner {
    /// From when this returns, commits of others wake everybody who listens. False where this host starts no threads, or
    /// none can be had: then whoever waits has to look himself.
    pub(super) fn watch_others(self: &Arc<Self>) -> Result<bool, StoreError> {
        if self.follow.by_hand() {
            return Ok(false);
        }
        let mut running = lock(&self.others.0);
        if !*running {
            let seen = self.store.changes()?;
            let inner = Arc::clone(self);
            let thread = thread::Builder::new().name("threadmesh-others".into());
            *running = thread.spawn(move || inner.look_for_others(seen)).is_ok();
        }
        Ok(*running)
    }

    fn look_for_others(&self, mut seen: u64) {
        loop {
            match self.store.wait_changes(seen, LOOK) {
                Ok(now) if now == seen => {}
                Ok(now) => {
                    seen = now;
                    self.hub.touch_all();
                    thread::sleep(PAUSE);
                }
                // Whoever waits learns of it when he looks.
                Err(_) => {
                    *lock(&self.others.0) = false;
                    return self.hub.touch_all();
                }
            }
            // Whoever comes now either is seen here or finds that nobody looks.
            let mut running = lock(&self.others.0);
            if !self.hub.is_listening() {
                *running = false;
                return;
            }
        }
    }
}
