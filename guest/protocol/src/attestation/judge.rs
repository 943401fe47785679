//! One attestation against the anchors: who signed, whether the operator trusts that now, and whether the signature
//! holds.
//!
//! Not here: the form of the document and its digest, which `documents` has checked before.

use super::{
    Verdict,
    anchors::Anchor,
    base64::{self, Form},
};
use crate::{
    Error, Rule,
    documents::Part,
    generated::limits,
    rules::{Broken, check_at},
    time,
};
use alloc::{borrow::ToOwned, string::String};

/// Judges a checked attestation at the time `now` (ms). The error is the first broken rule of AT-18 to AT-30; pointers
/// lead into the document that the attestation stands in.
pub(super) fn judge(attestation: Part<'_>, anchors: &[Anchor<'_>], now: i64) -> Result<Verdict, Error> {
    let key_id = "/proof/keyId";
    // Rule AT-18. The key id only looks the anchor up: nothing else of the proof is believed.
    let anchor = anchors
        .iter()
        .find(|anchor| anchor.key_id == attestation.text(key_id))
        .ok_or_else(|| Error::broken(Rule::AT18, pointer(attestation, key_id)))?;
    trust(attestation, anchor)?;
    timely(attestation, anchor, now)?;
    prove(attestation, anchor)?;
    Ok(verdict(attestation, anchor))
}

/// Rules AT-19 to AT-24.
fn trust(attestation: Part<'_>, anchor: &Anchor<'_>) -> Result<(), Error> {
    let same = |rule: Rule, path: &str, wanted: &str| {
        check_at(rule, attestation.text(path) == wanted, || pointer(attestation, path))
    };
    same(Rule::AT19, "/proof/algorithm", anchor.algorithm.name())?;
    same(Rule::AT20, "/verifier/actorId", anchor.actor_id)?;
    same(Rule::AT21, "/verifier/trustDomain", anchor.trust_domain)?;
    same(Rule::AT22, "/trustPolicy/policyId", anchor.policy_id)?;
    same(Rule::AT23, "/trustPolicy/decision", "trusted")?;
    let path = "/subject/claimType";
    let claim_type = attestation.text(path);
    let in_scope = anchor.claim_types.as_ref().is_none_or(|types| types.contains(&claim_type));
    check_at(Rule::AT24, in_scope, || pointer(attestation, path))
}

/// Rules AT-25 to AT-28.
fn timely(attestation: Part<'_>, anchor: &Anchor<'_>, now: i64) -> Result<(), Error> {
    let key_id = || pointer(attestation, "/proof/keyId");
    let verified_at = "/verifiedAt";
    let verified = instant(attestation, verified_at)?;
    check_at(Rule::AT25, anchor.stands_at(verified), || pointer(attestation, verified_at))?;
    check_at(Rule::AT26, anchor.stands_at(now), key_id)?;
    check_at(Rule::AT27, anchor.revoked_at.is_none_or(|end| now < end), key_id)?;
    let latest = now.saturating_add(limits::FUTURE_SKEW_MS_MAX);
    check_at(Rule::AT28, verified <= latest, || pointer(attestation, verified_at))?;
    let decided_at = "/trustPolicy/decidedAt";
    check_at(Rule::AT28, instant(attestation, decided_at)? <= latest, || pointer(attestation, decided_at))
}

/// Rules AT-29 and AT-30. That the text is canonical base64url is a rule of the document (SH-10).
fn prove(attestation: Part<'_>, anchor: &Anchor<'_>) -> Result<(), Error> {
    let path = "/proof/signature";
    let at = |broken: Broken| broken.at(pointer(attestation, path));
    let signature = base64::decode(attestation.text(path), Form::Url).ok_or_else(|| at(Broken(Rule::AT29)))?;
    // What is signed is the text of the digest, which the document check has recomputed from the payload.
    let message = attestation.text("/signedPayloadDigest").as_bytes();
    anchor.key.verify(message, &signature).map_err(at)
}

fn verdict(attestation: Part<'_>, anchor: &Anchor<'_>) -> Verdict {
    Verdict {
        attestation_id: attestation.text("/attestationId").to_owned(),
        key_id: anchor.key_id.to_owned(),
        algorithm: anchor.algorithm.name().to_owned(),
        actor_id: anchor.actor_id.to_owned(),
        trust_domain: anchor.trust_domain.to_owned(),
        policy_id: anchor.policy_id.to_owned(),
        signed_payload_digest: attestation.text("/signedPayloadDigest").to_owned(),
        subject: attestation.get("/subject").map(|subject| subject.canonical()).unwrap_or_default(),
    }
}

/// Where `path` stands in the document.
pub(super) fn pointer(part: Part<'_>, path: &str) -> String {
    let mut pointer = part.value().pointer();
    pointer.push_str(path);
    pointer
}

/// A time of the document, whose check found it to be one.
fn instant(attestation: Part<'_>, path: &str) -> Result<i64, Error> {
    time::parse(attestation.text(path))
}
