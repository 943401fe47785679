//! Keys of rows and indexes: parts joined by `/`, ordered bytewise, every part escaped so that it cannot hold a `/`.

use crate::digest::sha256;
use crate::json::push_digits;
use crate::kernel::{
    Query,
    flow::{Flow, damaged},
};
use alloc::{string::String, vec::Vec};
use core::cell::RefCell;

/// `parts` as one key.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut out = String::with_capacity(room(parts));
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            out.push('/');
        }
        push(&mut out, part);
    }
    out
}

/// The length of a key of these parts and one more byte, where nothing in them is escaped.
fn room(parts: &[&str]) -> usize {
    parts.iter().fold(0, |sum, part| sum.wrapping_add(part.len()).wrapping_add(1))
}

/// Appends a part, run by run.
fn push(out: &mut String, part: &str) {
    let mut rest = part;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'/' | b'%')) {
        let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        out.push_str(if from.starts_with('/') { "%2F" } else { "%25" });
        rest = from.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// What stands for a row's id in keys of indexes: 22 characters of the SHA-256 of it, 132 bits. They cannot be made to
/// meet, and need no row that gives out numbers.
pub(crate) fn short(id: &str) -> String {
    base64url(&sha256(id.as_bytes()), SHORT)
}

/// Short names that were worked out, by the ids that they stand for.
#[derive(Default)]
pub(crate) struct Names(RefCell<Vec<(String, String)>>);

impl Names {
    /// The short name of an id; worked out once for each.
    pub fn short(&self, id: &str) -> String {
        let mut known = self.0.borrow_mut();
        if let Some((_, short)) = known.iter().find(|(known, _)| known == id) {
            return short.clone();
        }
        let short = short(id);
        known.push((id.into(), short.clone()));
        short
    }
}

/// Length of a short name.
const SHORT: usize = 22;

/// The first `length` characters of the base64url form of `bytes`.
pub(crate) fn base64url(bytes: &[u8], length: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(length);
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << 16_usize.saturating_sub(at.saturating_mul(8)));
        for place in 0..=chunk.len() {
            let six = bits >> 18_usize.saturating_sub(place.saturating_mul(6)) & 63;
            if out.len() < length {
                out.push(char::from(ALPHABET.get(six as usize).copied().unwrap_or(b'-')));
            }
        }
    }
    out
}

/// How many digits a number in a key has.
const DIGITS: usize = 16;

/// A whole number whose text sorts as the number does; negative ones sort as 0.
pub(crate) fn number(value: i64) -> String {
    let mut out = String::with_capacity(DIGITS);
    push_digits(&mut out, value.max(0).unsigned_abs(), DIGITS);
    out
}

/// The one row with this id.
pub(crate) fn row(collection: &str, id: &str) -> Query {
    let (collection, index, start) = (collection.into(), String::new(), id.into());
    Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 }
}

/// Rows whose key starts with these parts.
pub(crate) fn under(collection: &str, index: &str, parts: &[&str], limit: u32) -> Query {
    let prefix = key(parts);
    let end = closed(&prefix, "0");
    let mut start = prefix;
    start.push('/');
    let (collection, index) = (collection.into(), index.into());
    Query { collection, index, start, end: Some(end), reverse: false, limit, bytes: 0 }
}

/// Rows under these parts whose next part is a number in `from..until`.
pub(crate) fn numbered(
    collection: &str,
    index: &str,
    parts: &[&str],
    from: i64,
    until: Option<i64>,
    limit: u32,
) -> Query {
    let prefix = key(parts);
    let end = until.map_or_else(|| closed(&prefix, "0"), |until| place(&prefix, until));
    let start = place(&prefix, from);
    let (collection, index) = (collection.into(), index.into());
    Query { collection, index, start, end: Some(end), reverse: false, limit, bytes: 0 }
}

/// `prefix` and what follows it.
fn closed(prefix: &str, tail: &str) -> String {
    let mut out = String::with_capacity(prefix.len().wrapping_add(tail.len()));
    out.push_str(prefix);
    out.push_str(tail);
    out
}

/// `prefix` with a number as the next part.
fn place(prefix: &str, number: i64) -> String {
    let mut out = String::with_capacity(prefix.len().wrapping_add(DIGITS).wrapping_add(1));
    out.push_str(prefix);
    out.push('/');
    push_digits(&mut out, number.max(0).unsigned_abs(), DIGITS);
    out
}

/// The number at the end of a key.
pub(crate) fn last_number(key: &str) -> Flow<i64> {
    key.rsplit('/').next().and_then(|number| number.parse().ok()).ok_or_else(|| damaged("key"))
}
