//! What the host needs of the rules: pure functions that may, at worst, give no answer.
//!
//! [`crate::WasmCore`] is the one that products use; tests have one without a sandbox. Every function has two results
//! inside each other: the outer one fails where the core gave no answer at all ([`CoreError`]: roll back, fail closed),
//! the inner one where it refuses its input.

use crate::wit::{Answer, Checked, Error, Evaluated, Found, Frame, Operation, Principal, Request, Step, Verdict};

/// An answer of the core, its refusal, or a fault of the core itself.
pub type Outcome<T> = Result<Result<T, Error>, CoreError>;

/// The rules, ready to run.
pub trait Core: Send + Sync {
    /// A fresh place to run in. Nothing that ran in another one is seen there.
    ///
    /// [`CoreError::Unusable`] where there is no memory or address space for it.
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError>;
}

/// One place to run in: an instance of the component. No answer depends on what ran in it before, but after a
/// [`CoreError`] it answers nothing any more and must be dropped.
pub trait Session: Send {
    /// What this build of the rules is, as JSON: see `wit/world.wit`.
    fn describe(&mut self) -> Result<String, CoreError>;
    /// The RFC 8785 form of `text`.
    fn canonicalize(&mut self, text: &str) -> Outcome<String>;
    /// The digest of the RFC 8785 form of `text`.
    fn digest(&mut self, text: &str) -> Outcome<String>;
    /// RFC 3339 to milliseconds since the Unix epoch.
    fn parse_time(&mut self, text: &str) -> Outcome<f64>;
    /// Checks a document of `kind`.
    fn check(&mut self, kind: &str, text: &str) -> Outcome<Checked>;
    /// The kinds that [`Session::check`] knows.
    fn kinds(&mut self) -> Result<Vec<String>, CoreError>;
    /// Verifies an attestation at `now` (milliseconds).
    fn verify(&mut self, document: &str, anchors: &str, expected: &str, now: f64) -> Outcome<Verdict>;
    /// Checks a list of trust anchors: their number.
    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32>;
    /// Verifies a disposition with all its attestations at `now` (milliseconds).
    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>>;
    /// The state after `event`.
    fn step(&mut self, machine: &str, state: &str, event: &str) -> Outcome<String>;
    /// Whether a decision state may carry a reason.
    fn check_reason(&mut self, state: &str, reason: &str) -> Outcome<String>;
    /// Whether states of several machines can stand in one record.
    fn check_combination(&mut self, states: &str) -> Outcome<String>;
    /// One step of an operation at `now` (milliseconds). The inner error is misuse by the host.
    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step>;
    /// The next step of the operation that this session began to decide with `entropy`, by what its last step asked for
    /// alone: what [`decide`](Self::decide) would give with all answers so far. Nothing where the session keeps no such step;
    /// one that keeps none at all is as good. The inner error is misuse by the host.
    fn resume(&mut self, entropy: &str, found: &[Found], evaluated: &[Evaluated]) -> Outcome<Option<Step>> {
        let _ = (entropy, found, evaluated);
        Ok(Ok(None))
    }
    /// Why no operation takes this principal as its caller, if that is so.
    fn check_principal(&mut self, principal: &Principal) -> Result<Option<Error>, CoreError>;
    /// The operations.
    fn operations(&mut self) -> Result<Vec<Operation>, CoreError>;
    /// Cuts a JSON-RPC frame.
    fn split(&mut self, text: &str) -> Result<Frame, CoreError>;
}

/// The core gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoreError {
    /// It stopped itself: a defect.
    #[error("the core trapped in `{function}`: {detail}")]
    Trap {
        /// The function that was called.
        function: &'static str,
        /// What the engine says, with the guest's stack.
        detail: String,
    },
    /// It took too long and was stopped.
    #[error("the core was stopped in `{function}`, which took longer than {limit_ms} ms")]
    Deadline {
        /// The function that was called.
        function: &'static str,
        /// The limit.
        limit_ms: u64,
    },
    /// It wanted more memory than it may have and was stopped.
    #[error("the core was stopped in `{function}`, which needed more than {limit_bytes} bytes of memory")]
    Memory {
        /// The function that was called.
        function: &'static str,
        /// The limit.
        limit_bytes: usize,
    },
    /// The component cannot be loaded or instantiated.
    #[error("the component cannot be used: {detail}")]
    Unusable {
        /// What the engine says.
        detail: String,
    },
}
