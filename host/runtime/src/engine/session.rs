//! One instance of the component.

use super::{Ticker, WasmCore};
use crate::{
    CoreError, Session,
    core::Outcome,
    wit::{Answer, Checked, Frame, Operation, Request, Step, Verdict, bindings::Core as Bindings},
};
use wasmtime::{ResourceLimiter, Store, Trap};

/// What an instance has used, and may use, of the host.
pub(super) struct State {
    memory_bytes: usize,
    first_bytes: usize,
    limit_bytes: usize,
    over: bool,
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, _current: usize, desired: usize, _max: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.limit_bytes {
            self.over = true;
            return Err(wasmtime::Error::msg("over the memory limit"));
        }
        self.memory_bytes = desired;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 65_536)
    }
}

/// An instance that may be called until it faults.
pub(super) struct WasmSession<'c> {
    core: &'c WasmCore,
    store: Store<State>,
    guest: Bindings,
    epochs: u64,
    dead: bool,
}

impl<'c> WasmSession<'c> {
    /// A fresh instance.
    pub fn new(core: &'c WasmCore) -> Result<Self, CoreError> {
        let limit_bytes = core.options.memory_bytes_max;
        let state = State { memory_bytes: 0, first_bytes: 0, limit_bytes, over: false };
        let mut store = Store::new(core.pre.engine(), state);
        store.limiter(|state| state);
        let epochs = Ticker::epochs(core.options.deadline);
        store.set_epoch_deadline(epochs);
        core.ticker.enter();
        match core.pre.instantiate(&mut store) {
            Ok(guest) => {
                let state = store.data_mut();
                state.first_bytes = state.memory_bytes;
                Ok(Self { core, store, guest, epochs, dead: false })
            }
            Err(error) => {
                core.ticker.leave();
                Err(CoreError::Unusable { detail: format!("{error:#}") })
            }
        }
    }

    /// Calls `function` under the limits; the instance is dead after a fault.
    fn call<T>(
        &mut self,
        function: &'static str,
        call: impl FnOnce(&Bindings, &mut Store<State>) -> wasmtime::Result<T>,
    ) -> Result<T, CoreError> {
        if self.dead {
            return Err(CoreError::Trap { function, detail: "the session ended with an earlier fault".into() });
        }
        self.store.set_epoch_deadline(self.epochs);
        call(&self.guest, &mut self.store).map_err(|error| {
            self.dead = true;
            self.fault(function, &error)
        })
    }

    fn fault(&self, function: &'static str, error: &wasmtime::Error) -> CoreError {
        let limits = &self.core.options;
        if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
            let limit_ms = limits.deadline.as_millis().try_into().unwrap_or(u64::MAX);
            return CoreError::Deadline { function, limit_ms };
        }
        if self.store.data().over {
            return CoreError::Memory { function, limit_bytes: limits.memory_bytes_max };
        }
        CoreError::Trap { function, detail: format!("{error:?}") }
    }
}

impl Drop for WasmSession<'_> {
    fn drop(&mut self) {
        self.core.ticker.leave();
    }
}

impl Session for WasmSession<'_> {
    fn canonicalize(&mut self, text: &str) -> Outcome<String> {
        self.call("canonicalize", |guest, store| guest.threadmesh_core_canonical_json().call_canonicalize(store, text))
    }

    fn digest(&mut self, text: &str) -> Outcome<String> {
        self.call("digest", |guest, store| guest.threadmesh_core_canonical_json().call_digest(store, text))
    }

    fn parse_time(&mut self, text: &str) -> Outcome<f64> {
        self.call("parse-time", |guest, store| guest.threadmesh_core_canonical_json().call_parse_time(store, text))
    }

    fn check(&mut self, kind: &str, text: &str) -> Outcome<Checked> {
        self.call("check", |guest, store| guest.threadmesh_core_documents().call_check(store, kind, text))
    }

    fn kinds(&mut self) -> Result<Vec<String>, CoreError> {
        self.call("kinds", |guest, store| guest.threadmesh_core_documents().call_kinds(store))
    }

    fn verify(&mut self, document: &str, anchors: &str, expected: &str, now: f64) -> Outcome<Verdict> {
        self.call("verify", |guest, store| {
            guest.threadmesh_core_attestation().call_verify(store, document, anchors, expected, now)
        })
    }

    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32> {
        self.call("check-anchors", |guest, store| {
            guest.threadmesh_core_attestation().call_check_anchors(store, anchors)
        })
    }

    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>> {
        self.call("verify-disposition", |guest, store| {
            guest.threadmesh_core_attestation().call_verify_disposition(store, document, anchors, now)
        })
    }

    fn step(&mut self, machine: &str, state: &str, event: &str) -> Outcome<String> {
        self.call("step", |guest, store| guest.threadmesh_core_lifecycle().call_step(store, machine, state, event))
    }

    fn check_reason(&mut self, state: &str, reason: &str) -> Outcome<String> {
        self.call("check-reason", |guest, store| {
            guest.threadmesh_core_lifecycle().call_check_reason(store, state, reason)
        })
    }

    fn check_combination(&mut self, states: &str) -> Outcome<String> {
        self.call("check-combination", |guest, store| {
            guest.threadmesh_core_lifecycle().call_check_combination(store, states)
        })
    }

    fn decide(&mut self, request: &Request, answers: &[Answer], now: f64, entropy: &str) -> Outcome<Step> {
        self.call("decide", |guest, store| {
            guest.threadmesh_core_coordinator().call_decide(store, request, answers, now, entropy)
        })
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        self.call("operations", |guest, store| guest.threadmesh_core_coordinator().call_operations(store))
    }

    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        self.call("split", |guest, store| guest.threadmesh_core_coordinator().call_split(store, text))
    }

    fn grown_bytes(&self) -> usize {
        let state = self.store.data();
        state.memory_bytes - state.first_bytes
    }
}
