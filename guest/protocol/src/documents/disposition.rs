//! The disposition: rules DI-1 to DI-14.

use super::part::Part;
use super::verification_attestation::payload_digest;
use super::{Kind, Parsed, accept};
use crate::lifecycle::Decision;
use crate::{Error, Rule};

/// Parses and checks `text` as a disposition. Errors: as [`check`](super::check).
pub fn parse(text: &str) -> Result<Parsed<'_>, Error> {
    accept(Kind::Disposition, text, rules)
}

pub(super) fn rules(disposition: Part<'_>) -> Result<(), Error> {
    let failed = disposition.is("/delivery/state", &["failed"]);
    disposition.must(Rule::DI1, !failed || disposition.has("/delivery/failureReason"), "/delivery/failureReason")?;
    decision(disposition)?;
    let observed = disposition.is("/outcome/state", &["effect-observed", "externally-verified", "failed"]);
    disposition.must(Rule::DI5, !observed || disposition.has("/outcome/observedAt"), "/outcome/observedAt")?;
    let verified = disposition.is("/outcome/state", &["externally-verified"]);
    for member in ["/outcome/evidenceRefs", "/outcome/verificationAttestations"] {
        disposition.must(Rule::DI6, !verified || disposition.has(member), member)?;
    }
    for attestation in disposition.parts("/outcome/verificationAttestations") {
        let trusted = !attestation.is("/trustPolicy/decision", &["rejected"]);
        attestation.must(Rule::DI7, trusted, "/trustPolicy/decision")?;
    }
    combination(disposition)?;
    attestations(disposition)?;
    for member in ["/delivery/observedAt", "/decision/decidedAt", "/outcome/observedAt"] {
        disposition.in_order(Rule::DI14, false, member, "/updatedAt")?;
    }
    Ok(())
}

fn decision(disposition: Part<'_>) -> Result<(), Error> {
    let Some(decision) = disposition.part("/decision") else { return Ok(()) };
    let state = decision.text("/state");
    for member in ["/decidedAt", "/decidedBy", "/reasonCode"] {
        decision.must(Rule::DI2, state == "pending" || decision.has(member), member)?;
    }
    for member in ["/decidedAt", "/decidedBy", "/reasonCode", "/detail"] {
        decision.must(Rule::DI3, state != "pending" || !decision.has(member), member)?;
    }
    let fits = decision.text_opt("/reasonCode").is_none_or(|reason| state == "pending" || fits(state, reason));
    decision.must(Rule::DI4, fits, "/reasonCode")
}

/// Whether a decision in `state` may have `reason`, by the table of the machine.
fn fits(state: &str, reason: &str) -> bool {
    let reasons = Decision::parse(state).map(Decision::reasons).unwrap_or_default();
    reasons.iter().any(|fitting| fitting.name() == reason)
}

/// What the three states say together.
fn combination(disposition: Part<'_>) -> Result<(), Error> {
    let taken = disposition.is("/decision/state", &["accepted", "revoked"]);
    let reached = disposition.is("/delivery/state", &["context-admitted", "adapter-submitted"]);
    disposition.must(Rule::DI8, !reached || taken, "/decision/state")?;
    let effect = disposition.is("/outcome/state", &["effect-observed", "externally-verified"]);
    let submitted = disposition.is("/delivery/state", &["adapter-submitted"]);
    disposition.must(Rule::DI9, !effect || submitted, "/delivery/state")
}

/// Every attestation is whole, and about this message and receiver. Signatures are verified elsewhere.
fn attestations(disposition: Part<'_>) -> Result<(), Error> {
    let mut sender = None;
    for attestation in disposition.parts("/outcome/verificationAttestations") {
        let recomputes = attestation.text("/signedPayloadDigest") == payload_digest(attestation.value());
        attestation.must(Rule::DI10, recomputes, "/signedPayloadDigest")?;
        let message = attestation.text("/subject/messageId") == disposition.text("/messageId");
        attestation.must(Rule::DI11, message, "/subject/messageId")?;
        let same = |path| attestation.text(&alloc::format!("/subject{path}")) == disposition.text(path);
        let receiver = same("/receiver/taskId") && same("/receiver/incarnationId");
        attestation.must(Rule::DI12, receiver, "/subject/receiver")?;
        let this = attestation.text("/subject/senderIncarnationId");
        let one_sender = *sender.get_or_insert(this) == this;
        attestation.must(Rule::DI13, one_sender, "/subject/senderIncarnationId")?;
    }
    Ok(())
}
