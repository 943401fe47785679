//! Verification of signed statements against configured trust anchors.
//!
//! Every function is pure and total: anchors, the time and what the attestation must be about are arguments. The order
//! of the checks is that of `spec/rules/attestation.json`, and part of the contract. Prose: `spec/attestation.md`.

mod algorithm;
mod anchors;
mod base64;
mod expected;
mod judge;
mod key;
mod spki;

use crate::{
    Error, Rule,
    documents::{Part, disposition, verification_attestation},
    json::INTEGER_MAX,
    rules::{check, check_at},
};
use alloc::{string::String, vec::Vec};

const ID: &str = "/attestationId";
const STATE: &str = "/outcome/state";

/// What a verified attestation proves, by the anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The attestation's id.
    pub attestation_id: String,
    /// The anchor's key id.
    pub key_id: String,
    /// The anchor's algorithm.
    pub algorithm: String,
    /// The anchor's actor.
    pub actor_id: String,
    /// The anchor's trust domain.
    pub trust_domain: String,
    /// The anchor's policy.
    pub policy_id: String,
    /// The digest that was signed. It names the attestation: the signature does not, since P-256 has two for each.
    pub signed_payload_digest: String,
    /// The subject, canonical JSON.
    pub subject: String,
}

/// Verifies one attestation.
///
/// `document` is the attestation; `anchors` a JSON array of trust anchors; `expected` a JSON object with the members
/// that the attestation must have (`{}` for none); `now` the time at which to judge, in ms since the Unix epoch.
/// Errors, in this order: `host-misuse` (`now`, `expected`), `anchor-invalid` (the pointer leads into `anchors`), the
/// codes of the document check, then with pointers into `document` `verification-trust-denied`,
/// `verification-proof-invalid` and `verification-subject-mismatch`. Rules AT-1 to AT-31.
pub fn verify(document: &str, anchors: &str, expected: &str, now: f64) -> Result<Verdict, Error> {
    let now = instant(now)?;
    let expected = expected::parse(expected)?;
    let expected = expected::Expected::load(expected.root())?;
    let anchors = anchors::parse(anchors)?;
    let anchors = anchors::load(anchors.root())?;
    let document = verification_attestation::parse(document)?;
    let document = document.document().part();
    let verdict = judge::judge(document, &anchors, now)?;
    expected.compare(document)?;
    Ok(verdict)
}

/// Checks a list of trust anchors as every verification does: how many there are, or `anchor-invalid` with a pointer
/// to the first fault. Rules AT-3 to AT-16.
pub fn check_anchors(anchors: &str) -> Result<u32, Error> {
    let tree = anchors::parse(anchors)?;
    let anchors = anchors::load(tree.root())?;
    // INVARIANT: rule AT-4 keeps the number small.
    Ok(u32::try_from(anchors.len()).unwrap_or(u32::MAX))
}

/// Verifies a disposition whose outcome is `externally-verified`: the document, and then each of its attestations as
/// [`verify`] does, at the time `now` (ms). The verdicts stand in the order of the attestations.
///
/// Errors, in this order: `host-misuse`, `anchor-invalid`, the codes of the document check (which compares the subjects
/// with the disposition), `disposition-not-externally-verified`, the codes of the first attestation that does not
/// verify, `disposition-invalid` (AT-32).
pub fn verify_disposition(document: &str, anchors: &str, now: f64) -> Result<Vec<Verdict>, Error> {
    let now = instant(now)?;
    let anchors = anchors::parse(anchors)?;
    let anchors = anchors::load(anchors.root())?;
    let document = disposition::parse(document)?;
    let document = document.document().part();
    let externally_verified = document.text(STATE) == "externally-verified";
    check_at(Rule::AT17, externally_verified, || judge::pointer(document, STATE))?;
    let attestations: Vec<Part<'_>> = document.parts("/outcome/verificationAttestations").collect();
    let verdicts: Result<Vec<_>, _> =
        attestations.iter().map(|attestation| judge::judge(*attestation, &anchors, now)).collect();
    let verdicts = verdicts?;
    distinct(&attestations)?;
    Ok(verdicts)
}

/// Verifies attestations whose form was checked, all about what `expected` says, at the time `now` (ms); no two are the
/// same one. Errors: as [`verify`], then AT-32; pointers lead into the text that the attestations stand in.
pub(crate) fn verify_all(attestations: &[Part<'_>], anchors: &str, expected: &str, now: i64) -> Result<(), Error> {
    let expected = expected::parse(expected)?;
    let expected = expected::Expected::load(expected.root())?;
    let anchors = anchors::parse(anchors)?;
    let anchors = anchors::load(anchors.root())?;
    for attestation in attestations {
        judge::judge(*attestation, &anchors, now)?;
        expected.compare(*attestation)?;
    }
    distinct(attestations)
}

/// Rule AT-32. The id is part of what is signed, so the same payload under two signatures is found too.
fn distinct(attestations: &[Part<'_>]) -> Result<(), Error> {
    let mut earlier: Vec<&str> = Vec::with_capacity(attestations.len());
    for attestation in attestations {
        let id = attestation.text(ID);
        check_at(Rule::AT32, !earlier.contains(&id), || judge::pointer(*attestation, ID))?;
        earlier.push(id);
    }
    Ok(())
}

/// A time argument as an integer. Rule AT-1.
fn instant(now: f64) -> Result<i64, Error> {
    let whole = now as i64;
    check(Rule::AT1, whole as f64 == now && (0..=INTEGER_MAX).contains(&whole))?;
    Ok(whole)
}

#[cfg(test)]
mod tests;
