//! The names of the two signature algorithms.

/// A signature algorithm of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Pure Ed25519 (RFC 8032).
    Ed25519,
    /// ECDSA on P-256 with SHA-256, signatures in DER.
    EcdsaP256Sha256,
}

impl Algorithm {
    /// The algorithm that documents call `name`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Ed25519, Self::EcdsaP256Sha256].into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// What documents call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::EcdsaP256Sha256 => "ecdsa-p256-sha256",
        }
    }
}
