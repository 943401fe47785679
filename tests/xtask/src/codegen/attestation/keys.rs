//! Test-only keys from fixed seeds, their texts, and public keys that must be refused.

use curve25519_dalek::{EdwardsPoint, constants::EIGHT_TORSION};
use ed25519_dalek::Signer as _;
use sha2::{Digest, Sha256};

/// What precedes an Ed25519 key in its subjectPublicKeyInfo (RFC 8410).
pub(super) const ED25519_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What precedes an uncompressed P-256 point in its subjectPublicKeyInfo (RFC 5480).
pub(super) const P256_PREFIX: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A party that signs attestations in the vectors.
pub(super) enum Signer {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
}

impl Signer {
    /// The Ed25519 key of a name.
    pub(super) fn ed25519(name: &str) -> Self {
        Self::Ed25519(ed25519_key(name))
    }

    /// The P-256 key of a name.
    pub(super) fn p256(name: &str) -> Self {
        // A SHA-256 is a scalar of this curve but for one in 2^32, and these names are fixed.
        Self::P256(p256::ecdsa::SigningKey::from_slice(&seed(name)).expect("the seed is a scalar"))
    }

    /// What documents call the algorithm.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "ed25519",
            Self::P256(_) => "ecdsa-p256-sha256",
        }
    }

    /// The public key as DER.
    pub(super) fn spki(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => spki(ED25519_PREFIX, key.verifying_key().as_bytes()),
            Self::P256(key) => spki(P256_PREFIX, key.verifying_key().to_sec1_point(false).as_bytes()),
        }
    }

    /// A signature in the form of the draft.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::P256(_) => self.sign_p256(message).to_der().as_bytes().to_vec(),
        }
    }

    /// The same as numbers; P-256 only. The nonce comes from the message (RFC 6979).
    pub(super) fn sign_p256(&self, message: &[u8]) -> p256::ecdsa::Signature {
        match self {
            Self::P256(key) => key.sign(message),
            Self::Ed25519(_) => panic!("not a P-256 key"),
        }
    }
}

/// The Ed25519 key of a name.
pub(super) fn ed25519_key(name: &str) -> ed25519_dalek::SigningKey {
    ed25519_dalek::SigningKey::from_bytes(&seed(name))
}

fn seed(name: &str) -> [u8; 32] {
    Sha256::digest(format!("ThreadMesh conformance vectors, key for tests only: {name}")).into()
}

/// A public key behind its prefix.
pub(super) fn spki(prefix: &[u8], key: &[u8]) -> Vec<u8> {
    [prefix, key].concat()
}

/// DER as the PEM block of a public key.
pub(super) fn pem(der: &[u8]) -> String {
    let text = base64(der, "+/", true);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap_or("")).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

/// Bytes as base64url without padding.
pub(in crate::codegen) fn base64url(bytes: &[u8]) -> String {
    base64(bytes, "-_", false)
}

fn base64(bytes: &[u8], last: &str, padded: bool) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last.chars()).collect();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, at| word << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        let digits = (0..4).map(|at| alphabet[(word >> (18 - 6 * at) & 63) as usize]);
        text.extend(digits.take(group.len() + 1));
        text.extend(std::iter::repeat_n('=', if padded { 3 - group.len() } else { 0 }));
    }
    text
}

/// A point of order 8.
pub(super) fn torsion() -> EdwardsPoint {
    EIGHT_TORSION[1]
}

/// Ed25519 keys that are points but must be refused: what they are, their bytes, and the number of the rule.
pub(super) fn weak_ed25519() -> Vec<(&'static str, [u8; 32], u32)> {
    let honest = ed25519_key("verifier").verifying_key().to_edwards();
    vec![
        ("the identity, which has order 1", EIGHT_TORSION[0].compress().0, 15),
        ("a point of order 2", EIGHT_TORSION[4].compress().0, 15),
        ("a point of order 4", EIGHT_TORSION[2].compress().0, 15),
        ("a point of order 8", torsion().compress().0, 15),
        ("the identity, encoded with y + p", above_p(1), 15),
        ("the identity, encoded with the sign of a zero x", zero_x_with_sign(), 15),
        ("an honest key plus a point of order 8", (honest + torsion()).compress().0, 16),
        ("an honest key plus the point of order 2", (honest + EIGHT_TORSION[4]).compress().0, 16),
        ("a point of mixed order, encoded with y + p", above_p(3), 16),
    ]
}

/// The non-canonical encoding of the point with a small `y`: y + p, where p = 2^255 - 19.
pub(super) fn above_p(y: u8) -> [u8; 32] {
    let mut bytes = [0xff; 32];
    bytes[0] = 0xed + y;
    bytes[31] = 0x7f;
    bytes
}

fn zero_x_with_sign() -> [u8; 32] {
    let mut bytes = [0; 32];
    (bytes[0], bytes[31]) = (1, 0x80);
    bytes
}
