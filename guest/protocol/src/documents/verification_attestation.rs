//! The verification attestation: rules VA-1 and VA-2, and the digest that is signed.
//!
//! Not here: anchors and signatures.

use super::grant::without;
use super::part::Part;
use super::{Kind, Parsed, accept};
use crate::digest::sha256_text;
use crate::json::Value;
use crate::{Error, Rule};
use alloc::string::String;

/// Parses and checks `text` as a verification attestation. Errors: as [`check`](super::check).
pub fn parse(text: &str) -> Result<Parsed<'_>, Error> {
    accept(Kind::VerificationAttestation, text, rules)
}

pub(super) fn rules(attestation: Part<'_>) -> Result<(), Error> {
    let recomputes = attestation.text("/signedPayloadDigest") == payload_digest(attestation.value());
    attestation.must(Rule::VA1, recomputes, "/signedPayloadDigest")?;
    attestation.in_order(Rule::VA2, false, "/verifiedAt", "/trustPolicy/decidedAt")
}

/// The digest of the canonical attestation without `signedPayloadDigest` and `proof`: the text that is signed.
pub fn payload_digest(attestation: Value<'_>) -> String {
    sha256_text(without(Some(attestation), &["proof", "signedPayloadDigest"]).as_bytes())
}
