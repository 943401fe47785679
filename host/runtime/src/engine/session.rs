//! One instance of the component.

use super::{Ticker, WasmCore};
use crate::{
    CoreError, Session,
    core::Outcome,
    wit::{
        Answer, Checked, Error, Evaluated, Found, Frame, Operation, Principal, Request, Step, Verdict,
        bindings::Core as Bindings,
    },
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

/// How many calls an instance answers before it is replaced.
const CALLS_MAX: u32 = 64;
/// By how much its memory may have grown when it answers another one.
const GROWN_BYTES_MAX: usize = 2 << 20;

/// An instance of the component with its memory. Nothing in it stays from one call to the next but what a step left for the
/// one after it, which no other operation takes up: so any session may use it.
pub(super) struct Instance {
    store: Store<State>,
    guest: Bindings,
    calls: u32,
}

impl Instance {
    fn new(core: &WasmCore) -> Result<Self, CoreError> {
        let limit_bytes = core.options.memory_bytes_max;
        let state = State { memory_bytes: 0, first_bytes: 0, limit_bytes, over: false };
        let mut store = Store::new(core.pre.engine(), state);
        store.limiter(|state| state);
        store.set_epoch_deadline(Ticker::epochs(core.options.deadline));
        let unusable = |error| CoreError::Unusable { detail: format!("{error:#}") };
        let guest = core.pre.instantiate(&mut store).map_err(unusable)?;
        let state = store.data_mut();
        state.first_bytes = state.memory_bytes;
        Ok(Self { store, guest, calls: 0 })
    }

    /// Whether another one should answer the next call.
    pub fn spent(&self) -> bool {
        let state = self.store.data();
        self.calls >= CALLS_MAX || state.memory_bytes - state.first_bytes > GROWN_BYTES_MAX
    }
}

/// An instance that may be called until it faults; one that did not is kept for the next session.
pub(super) struct WasmSession<'c> {
    core: &'c WasmCore,
    /// Nothing after a fault.
    instance: Option<Instance>,
    epochs: u64,
    _ticking: Ticking<'c>,
}

/// Time passes for the engine while this is there.
struct Ticking<'c>(&'c Ticker);

impl<'c> Ticking<'c> {
    fn new(ticker: &'c Ticker) -> Self {
        ticker.enter();
        Self(ticker)
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<'c> WasmSession<'c> {
    /// An instance that was kept, or a fresh one.
    pub fn new(core: &'c WasmCore) -> Result<Self, CoreError> {
        let ticking = Ticking::new(&core.ticker);
        let instance = match core.idle.take() {
            Some(instance) => instance,
            None => Instance::new(core)?,
        };
        Ok(Self { core, instance: Some(instance), epochs: Ticker::epochs(core.options.deadline), _ticking: ticking })
    }

    /// Calls `function` under the limits; the instance is replaced when it is spent, and dropped after a fault.
    fn call<T>(
        &mut self,
        function: &'static str,
        call: impl FnOnce(&Bindings, &mut Store<State>) -> wasmtime::Result<T>,
    ) -> Result<T, CoreError> {
        if self.instance.as_ref().is_some_and(Instance::spent) {
            // The old one goes first: two at a time are never needed.
            self.instance = None;
            self.instance = Some(Instance::new(self.core)?);
        }
        self.call_same(function, call)
    }

    /// As [`call`](Self::call), in the instance of the last call.
    fn call_same<T>(
        &mut self,
        function: &'static str,
        call: impl FnOnce(&Bindings, &mut Store<State>) -> wasmtime::Result<T>,
    ) -> Result<T, CoreError> {
        let Some(instance) = &mut self.instance else {
            return Err(CoreError::Trap { function, detail: "the session ended with an earlier fault".into() });
        };
        instance.calls += 1;
        instance.store.set_epoch_deadline(self.epochs);
        match call(&instance.guest, &mut instance.store) {
            Ok(value) => Ok(value),
            Err(error) => {
                let fault = self.fault(function, &error);
                self.instance = None;
                Err(fault)
            }
        }
    }

    fn fault(&self, function: &'static str, error: &wasmtime::Error) -> CoreError {
        let limits = &self.core.options;
        if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
            let limit_ms = limits.deadline.as_millis().try_into().unwrap_or(u64::MAX);
            return CoreError::Deadline { function, limit_ms };
        }
        if self.instance.as_ref().is_some_and(|instance| instance.store.data().over) {
            return CoreError::Memory { function, limit_bytes: limits.memory_bytes_max };
        }
        CoreError::Trap { function, detail: format!("{error:?}") }
    }
}

impl Drop for WasmSession<'_> {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take().filter(|instance| !instance.spent()) {
            self.core.idle.put(instance);
        }
    }
}

impl Session for WasmSession<'_> {
    fn describe(&mut self) -> Result<String, CoreError> {
        self.call("describe", |guest, store| guest.threadmesh_core_about().call_describe(store))
    }

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

    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step> {
        self.call("decide", |guest, store| {
            guest.threadmesh_core_coordinator().call_decide(store, request, answers, evaluated, now, entropy)
        })
    }

    fn resume(&mut self, entropy: &str, found: &[Found], evaluated: &[Evaluated]) -> Outcome<Option<Step>> {
        self.call_same("resume", |guest, store| {
            guest.threadmesh_core_coordinator().call_resume(store, entropy, found, evaluated)
        })
    }

    fn check_principal(&mut self, principal: &Principal) -> Result<Option<Error>, CoreError> {
        self.call("check-principal", |guest, store| {
            guest.threadmesh_core_coordinator().call_check_principal(store, principal)
        })
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        self.call("operations", |guest, store| guest.threadmesh_core_coordinator().call_operations(store))
    }

    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        self.call("split", |guest, store| guest.threadmesh_core_coordinator().call_split(store, text))
    }
}
