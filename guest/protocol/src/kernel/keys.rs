//! Keys of rows and indexes: parts joined by `/`, ordered bytewise, every part escaped so that it cannot hold a `/`.

use crate::kernel::{
    Query,
    flow::{Flow, damaged},
};
use alloc::{format, string::String};
use core::fmt::Write;

/// `parts` as one key.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut out = String::with_capacity(parts.iter().map(|part| part.len().saturating_add(1)).sum());
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            out.push('/');
        }
        for character in part.chars() {
            match character {
                '/' => out.push_str("%2F"),
                '%' => out.push_str("%25"),
                _ => out.push(character),
            }
        }
    }
    out
}

/// A whole number whose text sorts as the number does; negative ones sort as 0.
pub(crate) fn number(value: i64) -> String {
    format!("{:016}", value.max(0))
}

/// The one row with this id.
pub(crate) fn row(collection: &str, id: &str) -> Query {
    let (collection, index, start) = (collection.into(), String::new(), id.into());
    Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 }
}

/// Rows whose key starts with these parts.
pub(crate) fn under(collection: &str, index: &str, parts: &[&str], limit: u32) -> Query {
    let prefix = key(parts);
    let (start, end) = (format!("{prefix}/"), format!("{prefix}0"));
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
    let mut start = prefix.clone();
    let _ = write!(start, "/{}", number(from));
    let end = until.map_or_else(|| format!("{prefix}0"), |until| format!("{prefix}/{}", number(until)));
    let (collection, index) = (collection.into(), index.into());
    Query { collection, index, start, end: Some(end), reverse: false, limit, bytes: 0 }
}

/// The number at the end of a key.
pub(crate) fn last_number(key: &str) -> Flow<i64> {
    key.rsplit('/').next().and_then(|number| number.parse().ok()).ok_or_else(|| damaged("key"))
}
