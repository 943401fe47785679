//! The ways in which a vector gives a text.

use super::Fault;
use crate::{codes, wit::Error};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A text as large as this is a mistake in a vector.
const BYTES_MAX: usize = 64 << 20;

/// The text from `text`, `bytes_base64url` or `text_repeat`; the inner error is the one that a host gives to bytes which
/// are not UTF-8, before it calls the core.
pub(super) fn of(args: &Map<String, Value>) -> Result<Result<Cow<'_, str>, Error>, Fault> {
    if let Some(text) = args.get("text").and_then(Value::as_str) {
        return Ok(Ok(text.into()));
    }
    if let Some(bytes) = args.get("bytes_base64url").and_then(Value::as_str) {
        let bytes = base64url(bytes).ok_or_else(|| Fault::Args("`bytes_base64url` is not base64url".into()))?;
        return Ok(utf8(bytes).map(Into::into));
    }
    let Some(repeat) = args.get("text_repeat") else {
        return Err(Fault::Args("there is none of `text`, `bytes_base64url` and `text_repeat`".into()));
    };
    repeated(repeat).map(|text| Ok(text.into()))
}

/// Bytes as a text, as every host does it: the core never sees what is not UTF-8, and sees a byte-order mark.
fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes)
        .map_err(|error| codes::JSON_ENCODING.error(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

fn repeated(repeat: &Value) -> Result<String, Fault> {
    let part = |name: &str| repeat.get(name).and_then(Value::as_str);
    let bad = || Fault::Args("`text_repeat` needs `unit` and `times`".into());
    let unit = part("unit").ok_or_else(bad)?;
    let times = repeat.get("times").and_then(Value::as_u64).and_then(|times| usize::try_from(times).ok());
    let times = times.ok_or_else(bad)?;
    if unit.len().saturating_mul(times) > BYTES_MAX {
        return Err(Fault::Args("`text_repeat` is too long".into()));
    }
    Ok([part("head").unwrap_or(""), &unit.repeat(times), part("tail").unwrap_or("")].concat())
}

/// Base64url without padding.
fn base64url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0 && count < 6).then_some(bytes)
}
