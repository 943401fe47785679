//! Verification of signed statements against configured trust anchors.

use crate::{Code, Error};
use alloc::{string::String, vec::Vec};

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
    /// The digest that was signed.
    pub signed_payload_digest: String,
    /// The subject, canonical JSON.
    pub subject: String,
}

fn missing() -> Error {
    Error::new(Code::HostMisuse, "", "not built yet")
}

/// Verifies one attestation.
pub fn verify(_document: &str, _anchors: &str, _expected: &str, _now: f64) -> Result<Verdict, Error> {
    Err(missing())
}

/// Checks a list of trust anchors.
pub fn check_anchors(_anchors: &str) -> Result<u32, Error> {
    Err(missing())
}

/// Verifies an externally verified disposition.
pub fn verify_disposition(_document: &str, _anchors: &str, _now: f64) -> Result<Vec<Verdict>, Error> {
    Err(missing())
}
