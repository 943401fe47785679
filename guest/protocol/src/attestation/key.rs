//! Keys and signatures of the two algorithms, by the strictest rules on which verifiers agree.
//!
//! What is accepted here is accepted by the common libraries too; what they disagree about (small order, torsion,
//! malleable encodings) is refused, most of it when the key is loaded.

use super::{algorithm::Algorithm, spki};
use crate::{
    Rule,
    rules::{Broken, check},
};
use alloc::boxed::Box;
use p256::ecdsa::signature::Verifier;

/// A public key that passed rules AT-12 to AT-16. There is no other way to make one.
#[derive(Clone, Debug)]
pub(super) enum Key {
    /// A canonical, torsion-free point that is not the identity.
    Ed25519(Box<ed25519_dalek::VerifyingKey>),
    /// A point on the curve.
    EcdsaP256Sha256(Box<p256::ecdsa::VerifyingKey>),
}

impl Key {
    /// Loads a key of `algorithm` from its PEM text; the first of rules AT-12 to AT-16 that it breaks otherwise.
    pub(super) fn from_pem(algorithm: Algorithm, pem: &str) -> Result<Self, Broken> {
        let der = spki::from_pem(pem)?;
        let bytes = spki::key_bytes(algorithm, &der)?;
        match algorithm {
            Algorithm::Ed25519 => ed25519(bytes),
            Algorithm::EcdsaP256Sha256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                .map(|key| Self::EcdsaP256Sha256(Box::new(key)))
                .map_err(|_| Broken(Rule::AT14)),
        }
    }

    /// Whether `signature` is one of this key over `message`; the first of rules AT-29 and AT-30 that it breaks
    /// otherwise.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Broken> {
        let verified = match self {
            Self::Ed25519(key) => {
                let signature = ed25519_dalek::Signature::from_slice(signature).map_err(|_| Broken(Rule::AT29))?;
                key.verify_strict(message, &signature).is_ok()
            }
            Self::EcdsaP256Sha256(key) => {
                let signature = p256::ecdsa::Signature::from_der(signature).map_err(|_| Broken(Rule::AT29))?;
                key.verify(message, &signature).is_ok()
            }
        };
        check(Rule::AT30, verified)
    }
}

fn ed25519(bytes: &[u8]) -> Result<Key, Broken> {
    let bytes: &[u8; 32] = bytes.try_into().map_err(|_| Broken(Rule::AT13))?;
    let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| Broken(Rule::AT14))?;
    check(Rule::AT15, !key.is_weak())?;
    // Every non-canonical encoding has a torsion component or small order, so the comparison never decides alone; it
    // stands here so that the rule does not rest on that coincidence.
    let point = key.to_edwards();
    check(Rule::AT16, point.compress().as_bytes() == bytes && point.is_torsion_free())?;
    Ok(Key::Ed25519(Box::new(key)))
}

#[cfg(test)]
mod wycheproof;
