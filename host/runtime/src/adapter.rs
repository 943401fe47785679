//! What performs an authorised call outside: the contract between the dispatcher and an adapter.
//!
//! An adapter answers with one of three outcomes, never with an error: the effect was taken over ([`Outcome::Submitted`]),
//! it certainly did not happen ([`Outcome::NotSubmitted`]), or nobody knows ([`Outcome::Unknown`]). Whatever is in doubt
//! is unknown. An adapter decides nothing and touches no store; see `spec/adapters.md` for the contract in words.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// Most evidence references in a receipt or a query answer.
pub const EVIDENCE_REFS_MAX: usize = 32;
/// Longest evidence reference, in characters.
pub const EVIDENCE_CHARS_MAX: usize = 2000;
/// Longest `adapterOperationId`, in characters.
pub const OPERATION_ID_CHARS_MAX: usize = 500;
/// Longest `acceptedAt` that is looked at, in characters; whether it is a date-time is for the core to say.
const ACCEPTED_AT_CHARS_MAX: usize = 64;

/// Performs calls of one profile. Synchronous; an adapter that needs an executor owns it.
///
/// Both methods return by `deadline`, plus the settle bound that the profile declares. A panic in either counts as
/// unknown (submit) or unanswerable (query).
pub trait Adapter: Send + Sync {
    /// Performs the call, once. Must not retry anything that may have reached the target.
    fn submit(&self, call: &Submission, deadline: Instant) -> Outcome;

    /// Asks the target, without any effect there, what became of the call with this key.
    fn query(&self, query: &Query, deadline: Instant) -> QueryOutcome;
}

/// Whose call it is: the record that carries the attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A message, which is handed to the harness of its receiver.
    Message {
        /// `messageId`.
        id: String,
        /// Who sent it; message ids are unique only within a sender's incarnation.
        sender_incarnation_id: String,
    },
    /// Any other record.
    Other {
        /// What kind of record.
        kind: String,
        /// Its id.
        id: String,
    },
}

/// What a call hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// What kind of text it is; [`ENVELOPE`] for that of a message.
    pub kind: String,
    /// JSON, byte for byte as it was received or made.
    pub text: String,
    /// The digest of its canonical form; verified again before the call.
    pub digest: String,
}

/// The payload of a message: its envelope.
pub const ENVELOPE: &str = "envelope";

/// One call to perform.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The attempt. New for each attempt.
    pub submission_id: String,
    /// The key that the target de-duplicates and is queried by. New for each attempt.
    pub idempotency_key: String,
    /// What every attempt is made for: an idempotency that outlives attempts. For a message the key of the attempt.
    pub scope: String,
    /// The tenant that it belongs to.
    pub tenant: String,
    /// Whose call it is.
    pub holder: Holder,
    /// The operator's profile.
    pub profile: String,
    /// The session of the target, opaque to us.
    pub session: Option<String>,
    /// What is handed over.
    pub payload: Payload,
    /// Where the message belongs in a trace: `traceparent` and `tracestate`, where its sender gave them. Nobody judged
    /// these texts.
    pub context: BTreeMap<String, String>,
}

/// One question about an attempt whose outcome is unknown.
#[derive(Clone, Debug)]
pub struct Query {
    /// The attempt.
    pub submission_id: String,
    /// The key that the target knows it by.
    pub idempotency_key: String,
    /// The scope of the call.
    pub scope: String,
    /// The tenant that it belongs to.
    pub tenant: String,
    /// Whose call it is.
    pub holder: Holder,
    /// The operator's profile.
    pub profile: String,
    /// The session of the target.
    pub session: Option<String>,
    /// The digest of what was handed over.
    pub payload_digest: String,
}

/// Why, in a word for machines and a sentence for people. The sentence goes to the log only, never to the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Kebab-case; part of evidence references.
    pub code: &'static str,
    /// For the operator. May hold text of the target: escape it before showing it.
    pub detail: String,
}

impl Reason {
    /// A reason.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target took it over, and says so.
    Submitted(Receipt),
    /// This process knows that nothing reached the target.
    NotSubmitted(Reason),
    /// It may or may not have happened. Never retried, only queried.
    Unknown(Reason),
}

/// What a target says about an earlier call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryOutcome {
    /// It happened.
    Found(Receipt),
    /// It did not happen and never will: the target persists before acting and its carrier is proven dead, or the
    /// target now refuses the key. Counts only where the profile asserts `absent_final` (settled point 3).
    AbsentFinal(Absence),
    /// The target does not know it at this moment, which proves nothing.
    AbsentNow(Reason),
    /// There was no usable answer.
    Unanswerable(Reason),
}

/// A final absence, with what the target offers as evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Why it is final.
    pub reason: Reason,
    /// The target's references, may be empty; the dispatcher adds its own.
    pub evidence_refs: Vec<String>,
}

/// The proof that a target took a call over. Closed: an unknown member makes it unreadable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Receipt {
    /// The target's own id of the operation, 1 to 500 characters.
    pub adapter_operation_id: String,
    /// When the target accepted it, RFC 3339; parsed by the core alone.
    pub accepted_at: String,
    /// 1 to 32 different references.
    pub evidence_refs: Vec<String>,
}

impl Receipt {
    /// Whether the members are within their bounds. Whether `accepted_at` is a date-time is not looked at here: the core
    /// has the only parser, and refuses the record.
    pub fn check(&self) -> Result<(), Reason> {
        let id = self.adapter_operation_id.chars().count();
        if id == 0 || id > OPERATION_ID_CHARS_MAX {
            return Err(malformed("adapterOperationId must have 1 to 500 characters"));
        }
        let at = self.accepted_at.chars().count();
        if at == 0 || at > ACCEPTED_AT_CHARS_MAX {
            return Err(malformed("acceptedAt is not a date-time"));
        }
        if self.evidence_refs.is_empty() {
            return Err(malformed("evidenceRefs must not be empty"));
        }
        check_evidence(&self.evidence_refs)
    }
}

/// Whether `refs` are at most 32 different texts of 1 to 2000 characters each.
pub fn check_evidence(refs: &[String]) -> Result<(), Reason> {
    if refs.len() > EVIDENCE_REFS_MAX {
        return Err(malformed("more than 32 evidenceRefs"));
    }
    for (at, text) in refs.iter().enumerate() {
        let chars = text.chars().count();
        if chars == 0 || chars > EVIDENCE_CHARS_MAX {
            return Err(malformed("an evidence reference must have 1 to 2000 characters"));
        }
        if refs[..at].contains(text) {
            return Err(malformed("an evidence reference is there twice"));
        }
    }
    Ok(())
}

fn malformed(detail: &str) -> Reason {
    Reason::new("receipt-malformed", detail)
}

/// How a profile is queried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPolicy {
    /// How long one query may take.
    pub deadline: Duration,
    /// The pause after the first query; doubled after each.
    pub backoff: Duration,
    /// The longest pause.
    pub backoff_max: Duration,
    /// After so many queries without a final answer the attempt is left to people.
    pub attempts_max: u32,
}

/// An operator-configured target, as the dispatcher needs it.
#[derive(Clone)]
pub struct Profile {
    /// The name that an adapterRef names as its `kind`.
    pub name: String,
    /// `sha256:…` over the canonical form of the configuration, secrets left out. Submissions are pinned to it.
    pub digest: String,
    /// The adapter capability document of the draft, as JSON text.
    pub capabilities: String,
    /// Which evidence of a context admission its harness gives; none where it puts nothing before a model.
    pub admission: Option<Admission>,
    /// How long a call may take.
    pub deadline: Duration,
    /// How long after the deadline the target may still act, and our own carrier may still live.
    pub settle: Duration,
    /// Whether the target can be asked about a call.
    pub can_query: bool,
    /// Whether the operator asserts that the target's `absent-final` is one.
    pub absent_final: bool,
    /// How it is asked.
    pub query: QueryPolicy,
    /// What performs the calls; none where the receiver's own task does (`executor: caller`).
    pub adapter: Option<Arc<dyn Adapter>>,
}

/// Which evidence a harness gives that a rendering was put before a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// A kind of evidence of the specification, such as `mcp-session`.
    pub evidence: String,
    /// `sha256:…` of the protocol's snapshot that the evidence is read by, where its kind has one.
    pub snapshot_digest: Option<String>,
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("name", &self.name).field("digest", &self.digest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
