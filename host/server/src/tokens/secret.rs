//! A token's text, its digest, and their comparison.

use sha2::{Digest, Sha256};
use std::fmt;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A bearer token. Printing it with `{:?}` tells nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new token: 32 random bytes as base64url without padding. Panics only where the system has no randomness, and
    /// then nothing secret may be made.
    pub fn generate() -> Self {
        Secret(base64url(&random::<32>()))
    }

    /// A token that a caller showed or a file held.
    pub fn from_text(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// `sha256:` and the hex digits of the SHA-256 of the token's text.
pub(crate) fn digest(token: &str) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(token.as_bytes()) {
        text.push(hex(byte >> 4));
        text.push(hex(byte & 15));
    }
    text
}

/// Whether two texts are equal, in a time that depends on their lengths alone.
pub(super) fn equal(left: &[u8], right: &[u8]) -> bool {
    let mut difference = u8::from(left.len() != right.len());
    for (one, other) in left.iter().zip(right) {
        difference |= one ^ other;
    }
    std::hint::black_box(difference) == 0
}

/// About 16 random bytes as 22 letters and digits, for an id that is no secret.
pub fn random_id() -> String {
    let text = base64url(&random::<16>());
    text.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { 'x' }).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |sum, &byte| sum << 8 | u32::from(byte)) << (8 * (3 - chunk.len().min(3)));
        for place in 0..=chunk.len() {
            let six = (group >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET[six as usize]));
        }
    }
    text
}
