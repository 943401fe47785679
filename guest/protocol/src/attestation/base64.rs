//! Base64 with exactly one text per value (RFC 4648), in the two forms that attestations use.
//!
//! Deliberately own code: lenient decoders take padding, other alphabets, white space or non-zero trailing bits, and
//! then two texts stand for one signature.

use alloc::vec::Vec;

/// Which characters, and whether with padding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `+` and `/`, padded with `=` to a multiple of four.
    Standard,
    /// `-` and `_`, never padded.
    Url,
}

/// The bytes that `text` stands for; `None` unless it is the one text of `form` for them.
pub(super) fn decode(text: &str, form: Form) -> Option<Vec<u8>> {
    let digits = match form {
        Form::Url => text.as_bytes(),
        Form::Standard => unpadded(text)?.as_bytes(),
    };
    let mut bytes = Vec::with_capacity(digits.len());
    for group in digits.chunks(4) {
        let mut word = 0u32;
        for digit in group {
            word = word.saturating_mul(64).saturating_add(sextet(*digit, form)?);
        }
        let [_, first, second, third] = (word << missing_bits(group.len())?).to_be_bytes();
        let filled = [first, second, third];
        let (kept, rest) = filled.split_at_checked(group.len().saturating_sub(1))?;
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

/// How far a group must be shifted to stand where a full one does; a single digit is no group.
const fn missing_bits(digits: usize) -> Option<u32> {
    match digits {
        4 => Some(0),
        3 => Some(6),
        2 => Some(12),
        _ => None,
    }
}

fn unpadded(text: &str) -> Option<&str> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    (!digits.ends_with('=')).then_some(digits)
}

fn sextet(digit: u8, form: Form) -> Option<u32> {
    let value = match (digit, form) {
        (b'A'..=b'Z', _) => digit.wrapping_sub(b'A'),
        (b'a'..=b'z', _) => digit.wrapping_sub(b'a').wrapping_add(26),
        (b'0'..=b'9', _) => digit.wrapping_sub(b'0').wrapping_add(52),
        (b'+', Form::Standard) | (b'-', Form::Url) => 62,
        (b'/', Form::Standard) | (b'_', Form::Url) => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests;
