//! Verification of signed statements against configured trust anchors.
//!
//! Every function is pure and total: anchors, the time and what the attestation must be about are arguments. The order
//! of the checks is that of `spec/rules/attestation.json`, and part of the contract. Prose: `spec/attestation.md`.

mod anchors;
mod base64;
mod expected;
mod judge;
mod key;
mod spki;

use crate::{
    Error, Rule,
    json::{self, INTEGER_MAX, Tree, Value},
    rules::{check, check_at},
};
use alloc::{string::String, vec::Vec};
use judge::Path;

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
/// `verification-proof-invalid` and `verification-subject-mismatch`. Rules AT-1 to AT-32.
pub fn verify(document: &str, anchors: &str, expected: &str, now: f64) -> Result<Verdict, Error> {
    let now = instant(now)?;
    let expected = expected::parse(expected)?;
    let expected = expected::Expected::load(expected.root())?;
    let anchors = anchors::parse(anchors)?;
    let anchors = anchors::load(anchors.root())?;
    let document = checked("verification-attestation", document)?;
    let verdict = judge::judge(document.root(), &anchors, now)?;
    expected.compare(document.root())?;
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
/// verify, `disposition-invalid` (AT-33), `verification-subject-mismatch` (AT-34).
pub fn verify_disposition(document: &str, anchors: &str, now: f64) -> Result<Vec<Verdict>, Error> {
    let now = instant(now)?;
    let anchors = anchors::parse(anchors)?;
    let anchors = anchors::load(anchors.root())?;
    let document = checked("disposition", document)?;
    let root = document.root();
    let state: Path = &["outcome", "state"];
    let externally_verified = judge::text(root, state) == "externally-verified";
    check_at(Rule::AT17, externally_verified, || judge::pointer(root, state))?;
    let list = root.get("outcome").and_then(|outcome| outcome.get("verificationAttestations"));
    let attestations: Vec<Value<'_>> = list.into_iter().flat_map(|list| list.items()).collect();
    let judged = attestations.iter().map(|attestation| judge::judge(*attestation, &anchors, now));
    let verdicts = judged.collect::<Result<Vec<_>, _>>()?;
    consistent(&attestations)?;
    Ok(verdicts)
}

/// The parsed form of a document of `kind`. It is to pass the document check, digest and all, once there is one.
fn checked<'t>(_kind: &str, text: &'t str) -> Result<Tree<'t>, Error> {
    json::parse_document(text)
}

/// Rules AT-33 and AT-34: the attestations are different ones, about the same message. (A message id is unique for one
/// sender only, and a disposition does not name the sender.)
fn consistent(attestations: &[Value<'_>]) -> Result<(), Error> {
    let (id, sender): (Path, Path) = (&["attestationId"], &["subject", "senderIncarnationId"]);
    let mut earlier: Vec<&str> = Vec::with_capacity(attestations.len());
    for attestation in attestations {
        let own = judge::text(*attestation, id);
        check_at(Rule::AT33, !earlier.contains(&own), || judge::pointer(*attestation, id))?;
        earlier.push(own);
    }
    for pair in attestations.windows(2) {
        let [first, second] = pair else { continue };
        let same = judge::text(*first, sender) == judge::text(*second, sender);
        check_at(Rule::AT34, same, || judge::pointer(*second, sender))?;
    }
    Ok(())
}

/// A time argument as an integer. Rule AT-1.
fn instant(now: f64) -> Result<i64, Error> {
    let whole = now as i64;
    check(Rule::AT1, whole as f64 == now && (0..=INTEGER_MAX).contains(&whole))?;
    Ok(whole)
}
