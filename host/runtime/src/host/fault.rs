//! Refusals for which neither the caller nor the rules are to blame: whoever runs the host must hear of them.

use super::{Host, HostError, lock};
use std::sync::Arc;

/// Takes every error with which an operation ended, from any thread. Must return at once.
pub type FaultSink = Arc<dyn Fn(&HostError) + Send + Sync>;

impl Host {
    /// Where the errors of operations go, beside their callers; calls that were cancelled are none.
    pub fn set_fault_sink(&self, sink: FaultSink) {
        *lock(&self.0.faults) = Some(sink);
    }

    pub(super) fn tell_fault(&self, error: &HostError) {
        if matches!(error, HostError::Cancelled) {
            return;
        }
        let sink = lock(&self.0.faults).clone();
        if let Some(sink) = sink {
            sink(error);
        }
    }
}
