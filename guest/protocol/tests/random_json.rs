//! Random values and texts: the canonical form against its own laws and against serde_json. The seeds are fixed, so
//! that a failure repeats; `THREADMESH_ROUNDS` multiplies the rounds.

use serde_json::Value;
use std::collections::BTreeSet;
use std::env;
use threadmesh_protocol::{Code, json};

/// SplitMix64: small, and good enough to choose shapes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn rounds(base: usize) -> usize {
    base * env::var("THREADMESH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A value to be written in many ways.
#[derive(Clone, Debug)]
enum Model {
    Word(&'static str),
    Number(f64),
    Text(String),
    Array(Vec<Model>),
    Object(Vec<(String, Model)>),
}

const CHARS: &[char] = &[
    'a',
    'b',
    'A',
    '0',
    '9',
    '1',
    '"',
    '\\',
    '/',
    '\n',
    '\t',
    '\u{8}',
    '\u{c}',
    '\r',
    '\0',
    '\u{1f}',
    ' ',
    '\u{7f}',
    '\u{80}',
    'é',
    '\u{2028}',
    '\u{2029}',
    '\u{d7ff}',
    '\u{e000}',
    '\u{fb33}',
    '\u{fffd}',
    '\u{ffff}',
    '\u{10000}',
    '\u{1f600}',
    '\u{10ffff}',
];

fn text(random: &mut Random) -> String {
    let length = random.pick(&[0, 1, 1, 2, 3, 7, 8, 9, 17, 40]);
    let plain = random.chance(50);
    (0..length).map(|_| if plain { random.pick(&CHARS[..6]) } else { random.pick(CHARS) }).collect()
}

fn double(random: &mut Random) -> f64 {
    let double = match random.below(6) {
        0 => random.below(1000) as f64,
        1 => -(random.below(1 << 30) as f64),
        2 => (random.next() >> 11) as f64,
        3 => random.below(100_000) as f64 / 1000.0,
        4 => random.pick(&[1e20, 1e21, 1e-6, 1e-7, 5e-324, 1.797_693_134_862_315_7e308, 9_007_199_254_740_992.0]),
        _ => f64::from_bits(random.next()),
    };
    if double.is_finite() { double } else { 0.5 }
}

fn model(random: &mut Random, depth: usize) -> Model {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => Model::Word(random.pick(&["null", "true", "false"])),
        1 => Model::Number(double(random)),
        2 | 3 => Model::Text(text(random)),
        4 | 5 => Model::Array((0..random.below(6)).map(|_| model(random, depth - 1)).collect()),
        _ => {
            let count = random.pick(&[0, 1, 2, 3, 5, 8, 30]);
            let names: BTreeSet<String> = (0..count).map(|_| text(random)).collect();
            Model::Object(names.into_iter().map(|name| (name, model(random, depth.min(3) - 1))).collect())
        }
    }
}

/// Writes a model with random white space, escapes, notation and order of members.
fn write(model: &Model, random: &mut Random, out: &mut String) {
    blank(random, out);
    match model {
        Model::Word(word) => out.push_str(word),
        Model::Number(double) => write_number(*double, random, out),
        Model::Text(text) => write_text(text, random, out),
        Model::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, random, out);
            }
            blank(random, out);
            out.push(']');
        }
        Model::Object(members) => {
            let mut order: Vec<_> = members.iter().collect();
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at + 1));
            }
            out.push('{');
            for (at, (name, value)) in order.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                blank(random, out);
                write_text(name, random, out);
                blank(random, out);
                out.push(':');
                write(value, random, out);
            }
            blank(random, out);
            out.push('}');
        }
    }
    blank(random, out);
}

fn blank(random: &mut Random, out: &mut String) {
    if random.chance(10) {
        out.push_str(random.pick(&[" ", "\n", "\t", "\r", "  \n\t"]));
    }
}

fn write_number(double: f64, random: &mut Random, out: &mut String) {
    let mut writer = json::Writer::new();
    writer.f64(double);
    out.push_str(&match random.below(4) {
        0 => format!("{double:e}"),
        1 => format!("{double:.20e}").to_uppercase(),
        2 if double.abs() < 1e15 && double.fract() == 0.0 => format!("{double:.1}"),
        _ => writer.finish(),
    });
}

fn write_text(text: &str, random: &mut Random, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        let must = matches!(char, '"' | '\\' | '\0'..='\u{1f}');
        if must && random.chance(50) || !must && !random.chance(10) {
            match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\u{8}' => out.push_str("\\b"),
                '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04X}", u32::from(char))),
                '/' if random.chance(50) => out.push_str("\\/"),
                _ => out.push(char),
            }
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out.push('"');
}

/// The canonical form of a model, straight from RFC 8785: names by UTF-16 code units, nothing shared with the library
/// but the printing of doubles, which has its own vectors.
fn canonical(model: &Model, out: &mut String) {
    match model {
        Model::Word(word) => out.push_str(word),
        Model::Number(double) => {
            let mut writer = json::Writer::new();
            writer.f64(*double);
            out.push_str(&writer.finish());
        }
        Model::Text(text) => out.push_str(&serde_json::to_string(text).unwrap()),
        Model::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                canonical(item, out);
            }
            out.push(']');
        }
        Model::Object(members) => {
            let mut order: Vec<_> = members.iter().collect();
            order.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
            out.push('{');
            for (at, (name, value)) in order.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(&serde_json::to_string(name).unwrap());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
    }
}

/// Whether two values of serde_json are the same document: numbers compare as doubles.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => l.as_f64() == r.as_f64(),
        (Value::Array(l), Value::Array(r)) => l.len() == r.len() && l.iter().zip(r).all(|(l, r)| same(l, r)),
        (Value::Object(l), Value::Object(r)) => {
            l.len() == r.len() && l.iter().all(|(name, l)| r.get(name).is_some_and(|r| same(l, r)))
        }
        _ => left == right,
    }
}

#[test]
fn one_value_has_one_form_however_it_is_written() {
    let mut random = Random(1);
    for _ in 0..rounds(2000) {
        let model = model(&mut random, 4);
        let (mut expected, mut first, mut second) = (String::new(), String::new(), String::new());
        canonical(&model, &mut expected);
        write(&model, &mut random, &mut first);
        write(&model, &mut random, &mut second);
        let (left, right) = (json::parse(&first).unwrap(), json::parse(&second).unwrap());
        assert_eq!(left.canonical(), expected, "{first}");
        assert_eq!(right.canonical(), expected, "{second}");
        assert_eq!(left.digest(), right.digest());
        assert_eq!(left.digest(), threadmesh_protocol::digest::sha256_text(expected.as_bytes()));
        assert!(left.root().same(right.root()));
        let twice = json::parse(&expected).unwrap();
        assert_eq!(twice.canonical(), expected, "canonical twice");
        assert!(twice.is_canonical());
        let ours: Value = serde_json::from_str(&expected).unwrap();
        assert!(same(&ours, &serde_json::from_str(&first).unwrap()), "{first}");
    }
}

/// Every value of a text: its raw slice and its pointer lead back to it.
#[test]
fn slices_and_pointers_lead_back() {
    let mut random = Random(2);
    for _ in 0..rounds(500) {
        let mut text = String::new();
        write(&model(&mut random, 4), &mut random, &mut text);
        let tree = json::parse(&text).unwrap();
        let theirs: Value = serde_json::from_str(&text).unwrap();
        let mut open = vec![tree.root()];
        while let Some(value) = open.pop() {
            let alone = json::parse(value.raw()).unwrap();
            assert!(alone.root().same(value));
            assert_eq!(alone.canonical(), value.canonical());
            assert_eq!(alone.digest(), value.digest());
            let there = theirs.pointer(&value.pointer()).unwrap();
            assert!(same(there, &serde_json::from_str(value.raw()).unwrap()), "{}", value.pointer());
            for (name, member) in value.members() {
                assert_eq!(value.get(name).unwrap().pointer(), member.pointer());
            }
            open.extend(value.items());
            open.extend(value.members().map(|(_, member)| member));
        }
    }
}

/// Values that differ in one place are not the same.
#[test]
fn different_values_have_different_forms() {
    let mut random = Random(3);
    let mut pairs = 0;
    for _ in 0..rounds(1000) {
        let (mut left, mut right) = (String::new(), String::new());
        write(&model(&mut random, 2), &mut random, &mut left);
        write(&model(&mut random, 2), &mut random, &mut right);
        let (left, right) = (json::parse(&left).unwrap(), json::parse(&right).unwrap());
        let differ = left.canonical() != right.canonical();
        assert_eq!(left.root().same(right.root()), !differ);
        assert_eq!(left.digest() != right.digest(), differ);
        pairs += usize::from(differ);
    }
    assert!(pairs > 500);
}

const BYTES: &[u8] = b"{}[]\",:\\u0123456789abcdefDd eE+-.tnrl/\x00\x1f\x7f\xed\xa0\x80\xf0\x9f\xc3\xa9\n";

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        match random.below(4) {
            0 if at < bytes.len() => drop(bytes.remove(at)),
            1 if at < bytes.len() => bytes[at] = random.pick(BYTES),
            2 if at < bytes.len() => {
                let end = (at + random.below(12)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => bytes.insert(at, random.pick(BYTES)),
        }
    }
}

/// Damaged texts: what we take serde_json takes too, with the same meaning; what we refuse as not JSON, it refuses; and
/// where only we refuse, the reason is one of the rules that it does not have.
#[test]
fn damaged_texts_are_judged_as_by_serde_json() {
    let mut random = Random(4);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..rounds(6000) {
        let mut text = String::new();
        write(&model(&mut random, 3), &mut random, &mut text);
        let mut bytes = text.into_bytes();
        mutate(&mut bytes, &mut random);
        let theirs = serde_json::from_slice::<Value>(&bytes);
        match json::text(&bytes).and_then(json::parse) {
            Ok(tree) => {
                let theirs = theirs.unwrap_or_else(|error| panic!("{error}: {}", tree.text()));
                assert!(same(&theirs, &serde_json::from_str(&tree.canonical()).unwrap()), "{}", tree.text());
                taken += 1;
            }
            Err(error) if matches!(error.code, Code::JsonSyntax | Code::JsonEncoding) => {
                assert!(theirs.is_err(), "{error:?}: {}", String::from_utf8_lossy(&bytes));
                refused += 1;
            }
            Err(error) => {
                let ours = [Code::JsonDuplicateMember, Code::JsonNumber, Code::JsonSurrogate];
                assert!(ours.contains(&error.code), "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(taken > 500 && refused > 500, "{taken} taken, {refused} refused");
}
