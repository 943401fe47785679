//! The id of a call that is no document of ours: too deep, a number that no double holds, an unpaired surrogate.
//!
//! Only the ends of strings and containers are looked for, so that the id is found whatever the values beside it are.

/// The raw text of the one member `id` of an object, where its members can be told apart and no name is written with
/// escapes, which might hide another one.
pub(super) fn id(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches(BLANK).strip_prefix('{')?.trim_start_matches(BLANK);
    let mut found = None;
    loop {
        let (name, after) = string(rest)?;
        let value = after.trim_start_matches(BLANK).strip_prefix(':')?.trim_start_matches(BLANK);
        let (raw, after) = item(value)?;
        match name {
            "\"id\"" if found.is_some() => return None,
            "\"id\"" => found = Some(raw),
            name if name.contains('\\') => return None,
            _ => {}
        }
        let after = after.trim_start_matches(BLANK);
        match after.strip_prefix(',') {
            Some(more) => rest = more.trim_start_matches(BLANK),
            None => {
                let end = after.strip_prefix('}')?.trim_start_matches(BLANK);
                return found.filter(|_| end.is_empty());
            }
        }
    }
}

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// A string with its quotes, and what comes after it.
fn string(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    text.split_at_checked(end.checked_add(2)?)
}

/// A value, and what comes after it.
fn item(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    let mut depth = 0_usize;
    loop {
        let first = rest.chars().next()?;
        match first {
            '"' => rest = string(rest)?.1,
            '{' | '[' => (depth, rest) = (depth.checked_add(1)?, rest.get(1..)?),
            '}' | ']' => (depth, rest) = (depth.checked_sub(1)?, rest.get(1..)?),
            // Between values; or a number or a word, up to what can follow one.
            _ if depth > 0 && !plain(first) => rest = rest.get(first.len_utf8()..)?,
            _ => {
                let end = rest.find(|sign| !plain(sign))?;
                rest = rest.get(end..).filter(|_| end > 0)?;
            }
        }
        if depth == 0 {
            let length = text.len().checked_sub(rest.len())?;
            return text.split_at_checked(length);
        }
    }
}

/// Whether a number or a word may have this sign.
const fn plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '-' | '+' | '.')
}

#[cfg(test)]
mod tests {
    use super::id;
    use alloc::format;

    #[test]
    fn an_id_is_told_whatever_stands_beside_it() {
        let deep = format!("{{\"a\":{}{},\"id\" : 7 }}", "[".repeat(5_000), "]".repeat(5_000));
        for (text, told) in [
            (r#"{"id":1}"#, Some("1")),
            (r#" {"b":"}\"]","id":"a,b","c":{"id":2}} "#, Some(r#""a,b""#)),
            (r#"{"b":[1e400,{"x":"\ud800"}],"id":-1}"#, Some("-1")),
            (r#"{"b":"\\","id":[1, 2]}"#, Some("[1, 2]")),
            (r#"{"b":true,"id":{"a":1}}"#, Some(r#"{"a":1}"#)),
            (deep.as_str(), Some("7")),
            ("{}", None),
            (r#"{"b":1}"#, None),
            (r#"{"id":1,"id":1}"#, None),
            (r#"{"id":1,"\u0069d":2}"#, None),
            (r#"{"id":1"#, None),
            (r#"{"id":1}{"#, None),
            (r#"{"id":}"#, None),
            (r#"{"id":1,}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"id":"#, None),
            (r#"{"id":]}"#, None),
        ] {
            assert_eq!(id(text), told, "{text}");
        }
    }
}
