//! From the text of a public key to its bytes: PEM and subjectPublicKeyInfo, each in one exact form.
//!
//! There is no ASN.1 parser here on purpose. Of each algorithm there is one form, so everything but the key itself is
//! compared with a constant; other key types, parameters, compressed points and trailing bytes have no way in.

use super::{
    algorithm::Algorithm,
    base64::{self, Form},
};
use crate::{
    Rule,
    rules::{Broken, check},
};
use alloc::{string::String, vec::Vec};

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----\n";
const END: &str = "\n-----END PUBLIC KEY-----";
const COLUMNS: usize = 64;

/// SEQUENCE { SEQUENCE { id-Ed25519 }, BIT STRING of 32 bytes } up to the key (RFC 8410).
const ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const ED25519_KEY_BYTES: usize = 32;

/// SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING of 65 bytes } up to the point (RFC 5480).
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const P256_KEY_BYTES: usize = 65;
/// The first byte of an uncompressed point.
const UNCOMPRESSED: u8 = 0x04;

/// The DER bytes in a PEM text. Rule AT-12.
pub(super) fn from_pem(pem: &str) -> Result<Vec<u8>, Broken> {
    let body = pem.strip_suffix('\n').unwrap_or(pem).strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    body.and_then(unwrapped).and_then(|text| base64::decode(&text, Form::Standard)).ok_or(Broken(Rule::AT12))
}

/// The lines of a PEM body as one: all but the last have exactly 64 columns, the last has 1 to 64.
fn unwrapped(body: &str) -> Option<String> {
    let mut joined = String::with_capacity(body.len());
    let mut ended = false;
    for line in body.split('\n') {
        if ended || line.is_empty() || line.len() > COLUMNS {
            return None;
        }
        ended = line.len() < COLUMNS;
        joined.push_str(line);
    }
    Some(joined)
}

/// The key in a subjectPublicKeyInfo of `algorithm`: 32 bytes, or an uncompressed point of 65. Rule AT-13.
pub(super) fn key_bytes(algorithm: Algorithm, der: &[u8]) -> Result<&[u8], Broken> {
    let key = match algorithm {
        Algorithm::Ed25519 => der.strip_prefix(ED25519).filter(|key| key.len() == ED25519_KEY_BYTES),
        Algorithm::EcdsaP256Sha256 => {
            der.strip_prefix(P256).filter(|key| key.len() == P256_KEY_BYTES && key.first() == Some(&UNCOMPRESSED))
        }
    };
    check(Rule::AT13, key.is_some())?;
    key.ok_or(Broken(Rule::AT13))
}

#[cfg(test)]
mod tests;
