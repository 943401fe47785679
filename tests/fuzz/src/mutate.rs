//! Changes to an input: of its bytes, or, where it holds JSON, of its values.
//!
//! Bytes alone seldom get past a parser. Changes to values keep the text JSON, so that what is reached is what comes after.

use crate::random::Random;
use serde_json::{Map, Value};
use std::mem::take;

/// Texts that matter somewhere.
const TEXTS: &[&str] = &[
    "",
    "a",
    "accepted",
    "rejected",
    "deferred",
    "expired",
    "notify",
    "suggest",
    "steer",
    "interrupt",
    "store-only",
    "wake-idle",
    "active-steer",
    "host",
    "operator",
    "policy",
    "task",
    "user",
    "default",
    "$var",
    "timeout",
    "confirmed-submitted",
    "confirmed-not-submitted",
    "manual-required",
    "absent-final",
    "absent-now",
    "found",
    "2026-05-04T08:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00Z",
    "2026-05-04t08:00:00.1+23:59",
    "\u{202e}",
    "\u{0}",
    "/",
    "%2F",
    "a/b",
    "~0~1",
    "é",
    "\u{1f600}",
    "\u{ffff}",
];

/// Numbers at the edge of something.
const NUMBERS: &[i64] = &[
    0,
    1,
    -1,
    2,
    63,
    64,
    65,
    100,
    101,
    1000,
    10_000,
    60_000,
    180_000,
    900_000,
    2_592_000_000,
    9_007_199_254_740_991,
    9_007_199_254_740_992,
    -9_007_199_254_740_991,
    i64::MAX,
    i64::MIN,
];

/// `input` changed once or a few times; `head` bytes of it are no JSON and mostly stay.
pub fn mutate(input: &[u8], head: usize, random: &mut Random) -> Vec<u8> {
    let (first, rest) = input.split_at(head.min(input.len()));
    let mut first = first.to_vec();
    if random.chance(3) && !first.is_empty() {
        first[0] = random.draw() as u8;
    }
    let parsed = serde_json::from_slice::<Value>(rest).ok().filter(|_| random.chance(80));
    let rest = match parsed {
        Some(mut value) => {
            for _ in 0..=random.below(3) {
                change(&mut value, random);
            }
            let pretty = random.chance(10);
            if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap_or_default()
        }
        None => bytes(rest.to_vec(), random),
    };
    [first, rest].concat()
}

/// Changes bytes.
fn bytes(mut text: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        let at = random.below(text.len());
        match random.below(6) {
            0 if !text.is_empty() => text[at] ^= 1 << random.below(8),
            1 => text.insert(at, random.draw() as u8),
            2 if !text.is_empty() => drop(text.remove(at)),
            3 => text.truncate(at),
            4 => {
                let to = (at + random.below(40)).min(text.len());
                let piece = text[at.min(to)..to].to_vec();
                text.splice(at..at, piece);
            }
            _ => {
                let word = random.pick(TEXTS).copied().unwrap_or_default();
                text.splice(at..at, word.bytes());
            }
        }
    }
    text
}

/// Changes one value somewhere below.
fn change(root: &mut Value, random: &mut Random) {
    let count = count(root);
    let from = nth(root, random.below(count)).cloned().unwrap_or(Value::Null);
    let Some(place) = nth_mut(root, random.below(count)) else { return };
    if random.chance(15) {
        *place = from;
        return;
    }
    match place {
        Value::Object(members) => change_object(members, from, random),
        Value::Array(items) => change_array(items, from, random),
        Value::String(text) => change_text(text, random),
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            *place = match random.below(4) {
                0 => old.wrapping_add(1).into(),
                1 => old.wrapping_sub(1).into(),
                2 => Value::from(old as f64 / 2.0),
                _ => random.pick(NUMBERS).copied().unwrap_or(0).into(),
            };
        }
        Value::Bool(yes) => *yes = !*yes,
        Value::Null => *place = from,
    }
}

fn change_object(members: &mut Map<String, Value>, from: Value, random: &mut Random) {
    let names: Vec<String> = members.keys().cloned().collect();
    let Some(name) = random.pick(&names).cloned() else {
        members.insert("a".into(), from);
        return;
    };
    match random.below(4) {
        0 => drop(members.remove(&name)),
        1 => drop(members.insert(name, from)),
        2 => {
            let value = members.remove(&name).unwrap_or(Value::Null);
            members.insert(format!("{name}x"), value);
        }
        _ => {
            let other = random.pick(&names).cloned().unwrap_or_default();
            let value = members.get(&other).cloned().unwrap_or(Value::Null);
            members.insert(name, value);
        }
    }
}

fn change_array(items: &mut Vec<Value>, from: Value, random: &mut Random) {
    let at = random.below(items.len());
    match random.below(5) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => items.insert(random.below(items.len()), items[at].clone()),
        2 if !items.is_empty() => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        3 => items.truncate(at),
        _ => items.insert(at, from),
    }
}

fn change_text(text: &mut String, random: &mut Random) {
    let mut chars: Vec<char> = take(text).chars().collect();
    let at = random.below(chars.len());
    match random.below(6) {
        0 if !chars.is_empty() => drop(chars.remove(at)),
        1 => chars.insert(at, char::from(random.below(128) as u8)),
        2 if !chars.is_empty() => {
            // The next letter or digit: stays what it was in form, and is another one.
            chars[at] = char::from_u32(chars[at] as u32 + 1).unwrap_or('a');
        }
        3 => chars.extend(random.pick(TEXTS).copied().unwrap_or_default().chars()),
        4 => chars = chars.repeat(1 + random.below(3)),
        _ => chars = random.pick(TEXTS).copied().unwrap_or_default().chars().collect(),
    }
    chars.truncate(5_000);
    *text = chars.into_iter().collect();
}

/// How many values there are, with `value` itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The value that comes `number`-th, from 0, container before content.
fn nth(value: &Value, number: usize) -> Option<&Value> {
    let Some(mut left) = number.checked_sub(1) else { return Some(value) };
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => return None,
    };
    for inner in inner {
        let size = count(inner);
        match left.checked_sub(size) {
            None => return nth(inner, left),
            Some(rest) => left = rest,
        }
    }
    None
}

fn nth_mut(value: &mut Value, number: usize) -> Option<&mut Value> {
    let Some(mut left) = number.checked_sub(1) else { return Some(value) };
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => return None,
    };
    for inner in inner {
        let size = count(inner);
        match left.checked_sub(size) {
            None => return nth_mut(inner, left),
            Some(rest) => left = rest,
        }
    }
    None
}
