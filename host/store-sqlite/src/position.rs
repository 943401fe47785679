//! Ids of audit records as positions: 16 decimal digits, so that the order of ids is that of positions.

use std::ops::Range;

use threadmesh_runtime::store::{Query, audit_id};

/// As many digits as an id has.
const DIGITS: usize = 16;
/// Behind the last position that has an id of so many digits.
const END: i64 = 10_i64.pow(DIGITS as u32);

/// The positions whose ids `query` asks for.
pub(crate) fn range(query: &Query) -> Range<i64> {
    let start = first(&query.start);
    match &query.end {
        Some(end) => start..first(end),
        None if start < END && audit_id(start.cast_unsigned()) == query.start => start..start + 1,
        None => 0..0,
    }
}

/// The first position whose id does not come before `text`.
fn first(text: &str) -> i64 {
    let mut position = 0;
    for place in 0..DIGITS {
        let rest = 10_i64.pow((DIGITS - place) as u32);
        match text.as_bytes().get(place) {
            Some(digit @ b'0'..=b'9') => position = position * 10 + i64::from(digit - b'0'),
            // Every id that begins like this comes before it.
            Some(letter) if *letter > b'9' => return (position + 1) * rest,
            _ => return position * rest,
        }
    }
    if text.len() > DIGITS { position + 1 } else { position }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(start: &str, end: Option<&str>) -> Query {
        let (collection, index) = ("audit".to_owned(), String::new());
        Query { collection, index, start: start.into(), end: end.map(Into::into), reverse: false, limit: 1, bytes: 0 }
    }

    #[test]
    fn texts_lead_to_the_first_position_that_is_not_before_them() {
        let texts = [
            "",
            "0",
            "00",
            "0000000000000000",
            "0000000000000001",
            "00000000000000010",
            "0000000000000001!",
            "/",
            ":",
            "a",
            "0000000000000009",
            "000000000000000:",
            "000000000000001",
            "0000000000000010",
            "1",
            "9",
            "9999999999999999",
            "99999999999999990",
            "\u{10ffff}",
            "000000000000000/",
            "0000000000000007x",
        ];
        let all = (0..200).chain([999, 10_i64.pow(15) - 1, 10_i64.pow(15), END - 2, END - 1]);
        let all: Vec<i64> = all.collect();
        for text in texts {
            for position in &all {
                let id = audit_id(position.cast_unsigned());
                assert_eq!(id.as_str() >= text, *position >= first(text), "{id} and {text:?}");
            }
        }
    }

    #[test]
    fn one_id_is_one_position() {
        assert_eq!(range(&query("0000000000000007", None)), 7..8);
        for other in ["", "7", "00000000000000007", "000000000000000x", "9999999999999999x"] {
            assert_eq!(range(&query(other, None)), 0..0, "{other:?}");
        }
        assert_eq!(range(&query("", Some("\u{10ffff}"))), 0..END);
        assert_eq!(range(&query("0000000000000003", Some("000000000000001"))), 3..10);
    }
}
