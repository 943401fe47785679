use super::{Form, decode};
use std::{string::String, vec::Vec};

/// A second implementation, written the slow way: every text that could stand for `bytes` is made from bits.
fn encode(bytes: &[u8], form: Form) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let last = if form == Form::Url { ['-', '_'] } else { ['+', '/'] };
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut text: String = bits
        .chunks(6)
        .map(|six| (0..6).fold(0usize, |value, at| value * 2 + usize::from(six.get(at).copied().unwrap_or(0))))
        .map(|value| alphabet.get(value).copied().unwrap_or_else(|| last[value - 62]))
        .collect();
    while form == Form::Standard && !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

#[test]
fn agrees_with_a_slow_encoder() {
    for length in 0..70usize {
        let bytes: Vec<u8> = (0..length).map(|at| (at * 151 + length * 89) as u8).collect();
        for form in [Form::Standard, Form::Url] {
            assert_eq!(decode(&encode(&bytes, form), form), Some(bytes.clone()));
        }
    }
}

#[test]
fn takes_one_text_per_value() {
    let digits: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("+/-_=".chars()).collect();
    for form in [Form::Standard, Form::Url] {
        for a in &digits {
            for b in &digits {
                for text in [format(&[*a, *b]), format(&[*a, *b, '=', '=']), format(&['A', *a, *b, '='])] {
                    if let Some(bytes) = decode(&text, form) {
                        assert_eq!(encode(&bytes, form), text);
                    }
                }
            }
        }
    }
}

fn format(chars: &[char]) -> String {
    chars.iter().collect()
}

#[test]
fn refuses_other_forms() {
    for text in ["A", "AAAAA", "AA==", "AB", "AAB", "A+", "AAAA\n", " AAAA", "AAA=", "A/AA", "é"] {
        assert_eq!(decode(text, Form::Url), None, "{text:?}");
    }
    for text in ["A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "AAAA====", "AA-A", "AA=A", "AAAA AAAA", "é+"] {
        assert_eq!(decode(text, Form::Standard), None, "{text:?}");
    }
}
