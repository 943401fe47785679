//! The forms of texts.

use crate::characters::{frames, unseen};
use alloc::vec::Vec;

/// Whether no text stands twice. Every pair is compared: for short lists.
pub(in crate::documents) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = Vec::new();
    for text in texts {
        if seen.contains(&text) {
            return false;
        }
        seen.push(text);
    }
    true
}

/// Whether `text` has `min` code points or more.
pub(super) fn at_least(text: &str, min: u16) -> bool {
    text.chars().take(usize::from(min)).count() == usize::from(min)
}

/// Whether `text` has `max` code points or fewer; `u16::MAX` is no bound.
pub(super) fn at_most(text: &str, max: u16) -> bool {
    let max = usize::from(max);
    max == usize::from(u16::MAX) || text.len() <= max || text.chars().nth(max).is_none()
}

/// Whether `text` is without control and invisible characters and angle brackets, and without white space at its edges.
pub(super) fn is_plain(text: &str) -> bool {
    let edges = !text.starts_with(char::is_whitespace) && !text.ends_with(char::is_whitespace);
    edges && !text.chars().any(|character| unseen(character) || frames(character))
}

/// Whether `text` is `prefix`, a letter or digit, and `min` to `max` of letters, digits, `.`, `_`, `:` and `-`.
pub(super) fn is_prefixed(text: &str, prefix: &str, min: u16, max: u16) -> bool {
    let Some((first, tail)) = text.strip_prefix(prefix).and_then(|rest| rest.as_bytes().split_first()) else {
        return false;
    };
    let in_class = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
    first.is_ascii_alphanumeric()
        && (usize::from(min)..=usize::from(max)).contains(&tail.len())
        && tail.iter().all(in_class)
}

/// Whether `text` is `prefix` and one or more of lower-case letters, digits and `_`.
pub(super) fn is_code(text: &str, prefix: &str) -> bool {
    let in_class = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(in_class))
}

/// Whether `text` is base64url (RFC 4648 section 5) without padding, with the bits that carry nothing set to zero.
pub(super) fn is_base64url(text: &str) -> bool {
    let unused = match text.len().wrapping_rem(4) {
        0 => 0,
        2 => 0b1111,
        3 => 0b0011,
        _ => return false,
    };
    let last = text.bytes().next_back().and_then(sextet).unwrap_or(0);
    text.bytes().all(|byte| sextet(byte).is_some()) && last & unused == 0
}

/// The six bits that a character of base64url stands for.
const fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte.wrapping_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
