//! What a program prints or a service returns, read without trust. Anything that is not exactly an answer is no answer.

use serde::Deserialize;
use threadmesh_runtime::adapter::{Absence, Outcome, QueryOutcome, Reason, Receipt, check_evidence};

/// What an answer must be about, and how far it is believed.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// The idempotency key of the call.
    pub key: &'a str,
    /// The session of the call.
    pub session: Option<&'a str>,
    /// Whether the operator believes a target that says `not-submitted` after it got the request.
    pub trust_not_submitted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    outcome: String,
    receipt: Option<Receipt>,
    reason: Option<String>,
    idempotency_key: Option<String>,
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Queried {
    result: String,
    receipt: Option<Receipt>,
    reason: Option<String>,
    idempotency_key: Option<String>,
    session: Option<String>,
    #[serde(default)]
    evidence_refs: Vec<String>,
}

impl Expected<'_> {
    /// Reads the answer to a submission.
    pub fn submitted(&self, text: &str) -> Outcome {
        let answer: Submitted = match serde_json::from_str(text) {
            Ok(answer) => answer,
            Err(error) => return Outcome::Unknown(Reason::new("answer-malformed", error.to_string())),
        };
        if let Err(reason) = self.about(answer.idempotency_key.as_deref(), answer.session.as_deref()) {
            return Outcome::Unknown(reason);
        }
        match (answer.outcome.as_str(), answer.receipt) {
            ("submitted", Some(receipt)) => match receipt.check() {
                Ok(()) => Outcome::Submitted(receipt),
                Err(reason) => Outcome::Unknown(reason),
            },
            ("not-submitted", None) if self.trust_not_submitted => {
                Outcome::NotSubmitted(Reason::new("target-refused", answer.reason.unwrap_or_default()))
            }
            ("not-submitted", None) => {
                Outcome::Unknown(Reason::new("refusal-not-trusted", answer.reason.unwrap_or_default()))
            }
            ("unknown", None) => Outcome::Unknown(Reason::new("target-unsure", answer.reason.unwrap_or_default())),
            (outcome, _) => Outcome::Unknown(malformed(&format!("outcome {outcome:?}"))),
        }
    }

    /// Reads the answer to a query. What settles an attempt must repeat the key.
    pub fn queried(&self, text: &str) -> QueryOutcome {
        let answer: Queried = match serde_json::from_str(text) {
            Ok(answer) => answer,
            Err(error) => return QueryOutcome::Unanswerable(Reason::new("answer-malformed", error.to_string())),
        };
        if let Err(reason) = self.about(answer.idempotency_key.as_deref(), answer.session.as_deref()) {
            return QueryOutcome::Unanswerable(reason);
        }
        let settles = matches!(answer.result.as_str(), "found" | "absent-final");
        if settles && answer.idempotency_key.is_none() {
            return QueryOutcome::Unanswerable(malformed("an answer that settles must repeat the idempotencyKey"));
        }
        let reason = answer.reason.unwrap_or_default();
        match (answer.result.as_str(), answer.receipt) {
            ("found", Some(receipt)) => match receipt.check() {
                Ok(()) => QueryOutcome::Found(receipt),
                Err(reason) => QueryOutcome::Unanswerable(reason),
            },
            ("absent-final", None) => match check_evidence(&answer.evidence_refs) {
                Ok(()) => QueryOutcome::AbsentFinal(Absence {
                    reason: Reason::new("target-absent-final", reason),
                    evidence_refs: answer.evidence_refs,
                }),
                Err(reason) => QueryOutcome::Unanswerable(reason),
            },
            ("absent-now", None) => QueryOutcome::AbsentNow(Reason::new("target-absent-now", reason)),
            ("unanswerable", None) => QueryOutcome::Unanswerable(Reason::new("target-unanswerable", reason)),
            (result, _) => QueryOutcome::Unanswerable(malformed(&format!("result {result:?}"))),
        }
    }

    /// An answer about another call, or from another session, is evidence of nothing here.
    fn about(&self, key: Option<&str>, session: Option<&str>) -> Result<(), Reason> {
        if key.is_some_and(|key| key != self.key) {
            return Err(Reason::new("key-mismatch", "the answer is about another idempotencyKey"));
        }
        if session.is_some() && session != self.session {
            return Err(Reason::new("session-mismatch", "the answer is from another session"));
        }
        Ok(())
    }
}

fn malformed(detail: &str) -> Reason {
    Reason::new("answer-malformed", detail)
}

#[cfg(test)]
mod tests;
