//! The wish to stop: from a signal, or from the program itself.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Shared by everything that must end when the process is asked to. Cloning it shares it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// A stop that SIGTERM, SIGINT and SIGHUP trigger. A second signal ends the process at once, as it would without us.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Stop::default();
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let triggered = stop.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if triggered.requested() {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                triggered.trigger();
            }
        })?;
        Ok(stop)
    }

    /// Asks everybody to stop.
    pub fn trigger(&self) {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.1.notify_all();
    }

    /// Whether somebody asked.
    pub fn requested(&self) -> bool {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when somebody has asked.
    pub fn wait(&self) {
        let guard = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.shared.1.wait_while(guard, |asked| !*asked));
    }
}
