//! Blots out texts: what remains has the same shape and length, and says nothing.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Members whose texts are words of the protocol or of the schema and tell nothing of a user.
const KEPT: [&str; 9] = ["operation", "kind", "collection", "index", "machine", "state", "event", "reason", "entropy"];
/// A member name of a document as long as this, and of letters only, is a word of the protocol.
const NAME_CHARS_MAX: usize = 40;

/// Replaces every text in `args` but those of `KEPT` members; `digests` gets the SHA-256 of each by its JSON Pointer.
pub(super) fn texts(args: &mut Value, digests: &mut Map<String, Value>) {
    let mut left = vec![(String::new(), args)];
    while let Some((pointer, value)) = left.pop() {
        match value {
            Value::String(text) => {
                let mut digest = String::from("sha256:");
                for byte in Sha256::digest(text.as_bytes()) {
                    let _ = write!(digest, "{byte:02x}");
                }
                digests.insert(pointer, digest.into());
                *text = filler(text);
            }
            Value::Array(items) => {
                left.extend(items.iter_mut().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)));
            }
            Value::Object(members) => {
                let members = members.iter_mut().filter(|(name, _)| !KEPT.contains(&name.as_str()));
                left.extend(members.map(|(name, value)| (format!("{pointer}/{name}"), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A text of the same length in bytes and in characters. Of a JSON text the structure remains: punctuation, numbers,
/// literals, escapes, and member names that are words; so that a replay still goes the same way as far as it can.
fn filler(text: &str) -> String {
    if !text.trim_start().starts_with(['{', '[']) {
        return text.chars().map(blank).collect();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let (before, string) = rest.split_at(start + 1);
        out += before;
        let end = string_end(string);
        let (inside, after) = string.split_at(end);
        let is_name = after.strip_prefix('"').is_some_and(|after| after.trim_start().starts_with(':'));
        let is_word =
            inside.len() <= NAME_CHARS_MAX && inside.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if is_name && is_word {
            out += inside;
        } else {
            blot(inside, &mut out);
        }
        let close = after.len().min(1);
        out += &after[..close];
        rest = &after[close..];
    }
    out + rest
}

/// Where a JSON string ends that starts before `text`.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The inside of a JSON string, with its escapes as escapes.
fn blot(inside: &str, out: &mut String) {
    let mut chars = inside.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(blank(char));
            continue;
        }
        match chars.next() {
            Some('u') => {
                // Any escape of a character becomes that of an x.
                let digits = chars.by_ref().take(4).count();
                out.push_str("\\u");
                out.push_str(&"0078"[..digits]);
            }
            Some(escape) => out.extend(['\\', escape]),
            None => out.push('\\'),
        }
    }
}

/// A character of the same length.
fn blank(char: char) -> char {
    match char.len_utf8() {
        1 => 'x',
        2 => '\u{e9}',
        3 => '\u{20ac}',
        _ => '\u{1f600}',
    }
}
