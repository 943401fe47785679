//! SHA-256, and its text form `sha256:` + 64 lower-case hex digits.
//!
//! What is digested is decided elsewhere: documents are digested in their canonical form (see [`crate::json`]).

use alloc::string::String;
use sha2::{Digest, Sha256};

/// The prefix of the text form.
pub const PREFIX: &str = "sha256:";

/// A SHA-256 that takes its input in pieces.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything taken.
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    /// The digest in its text form.
    pub fn finish_text(self) -> String {
        prefixed(&self.finish())
    }
}

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The SHA-256 of `bytes` as `sha256:` and 64 lower-case hex digits.
pub fn sha256_text(bytes: &[u8]) -> String {
    prefixed(&sha256(bytes))
}

/// `bytes` as lower-case hex digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().saturating_mul(2));
    push_hex(&mut out, bytes);
    out
}

/// Whether `text` has the form of a digest: `sha256:` and 64 lower-case hex digits.
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

fn prefixed(digest: &[u8]) -> String {
    let mut out = String::with_capacity(PREFIX.len().saturating_add(64));
    out.push_str(PREFIX);
    push_hex(&mut out, digest);
    out
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    }
}

/// The hex digit of `nibble` (0 to 15).
pub(crate) fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests;
