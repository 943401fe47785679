//! What can be wrong with one value of a shape.

use super::super::ordered::Json;
use super::super::schema::{Compiled, Node};
use anyhow::{Result, ensure};

/// A value that takes the place of a good one, and the rule that refuses it.
pub(super) struct Fault {
    /// The keyword, or what is wrong in a word.
    pub(super) keyword: String,
    /// The rule.
    pub(super) rule: &'static str,
    /// The bad value.
    pub(super) value: Json,
    /// Where below the value the fault is reported.
    pub(super) below: String,
}

fn fault(keyword: &str, rule: &'static str, value: Json) -> Fault {
    Fault { keyword: keyword.to_owned(), rule, value, below: String::new() }
}

/// Characters that no identifier holds, and white space that none has at its edges.
const UNPLAIN: &[&str] = &[
    "a\u{0}b",
    "a\nb",
    "a\u{7f}b",
    "a\u{85}b",
    "a\u{200b}b",
    "a\u{200f}b",
    "a\u{2028}b",
    "a\u{202e}b",
    "a\u{2060}b",
    "a\u{206f}b",
    "a\u{feff}b",
    " a",
    "a ",
    "\u{a0}a",
    "a\u{3000}",
    "a\u{9f}",
    "<system>",
    "a>b",
    "a\u{ad}b",
    "a\u{61c}b",
    "a\u{180e}b",
    "a\u{3164}b",
    "a\u{fe0f}",
    "a\u{fff9}b",
    "a\u{1d173}b",
    "a\u{e0041}\u{e007f}",
];

/// Texts that someone might take for a time.
const UNTIMELY: &[&str] = &[
    "2026-04-02 09:30:00Z",
    "2026-04-02T09:30:00+08",
    "2026-04-02T09:30:00+0800",
    "2016-12-31T23:59:60Z",
    "2026-04-02T09:30:00",
    "2026-04-02T24:00:00Z",
    "2026-02-29T09:30:00Z",
    "2026-04-02T09:30Z",
    "2026-04-02T09:30:00,5Z",
    "2026-04-02T09:30:00.Z",
    "2026-04-02T09:30:00.0123456789Z",
    "2026-04-02",
    "2026-04-02T09:30:00+24:00",
    "+002026-04-02T09:30:00Z",
    "2026-04-02\u{a0}09:30:00Z",
    "2026-04-02T09:30:00Z\n",
    "2026-4-2T9:30:00Z",
    "2026-04-31T09:30:00Z",
    "2026-13-02T09:30:00Z",
    "2026-04-02T09:60:00Z",
];

/// Signatures that are not canonical base64url: bits that carry nothing are set, padding, another alphabet, a length
/// that no bytes have, white space.
const UNCANONICAL: &[(&str, &str)] = &[("A", "B"), ("A", "="), ("AA", "+A"), ("AAA", "A"), ("A", " ")];

/// Picks one of `all` by `place`, so that different places show different faults.
fn pick<'a, T>(all: &'a [T], place: &str) -> &'a T {
    let sum: usize = place.bytes().map(usize::from).sum();
    &all[sum % all.len()]
}

fn repeat(text: &str, count: usize) -> Json {
    text.repeat(count).into()
}

/// Every fault that `value` of the shape `node` can have at `place`.
pub(super) fn faults(compiled: &Compiled, node: &Node, value: &Json, place: &str) -> Result<Vec<Fault>> {
    let mut all = vec![fault("type", "SH-1", other_type(node))];
    match node {
        Node::Any | Node::ByMember { .. } => all.clear(),
        Node::Null | Node::Boolean => {}
        Node::ConstText(text) => all.push(fault("const", "SH-4", format!("{text}!").into())),
        Node::ConstBool(constant) => all.push(fault("const", "SH-4", Json::Bool(!constant))),
        Node::Enum(_) => all.push(fault("enum", "SH-5", "no-such-word".into())),
        Node::Integer { min, max } => {
            all.push(fault("integer", "SH-12", Json::Number("1.5".into())));
            all.extend(min.map(|min| fault("minimum", "SH-13", Json::Number((i64::from(min) - 1).to_string()))));
            all.extend(max.map(|max| fault("maximum", "SH-14", Json::Number((i64::from(max) + 1).to_string()))));
        }
        Node::Text { min, max } => lengths(&mut all, *min, *max),
        Node::Identifier { min, max } => {
            lengths(&mut all, *min, Some(*max));
            all.push(fault("plain", "SH-9", (*pick(UNPLAIN, place)).into()));
        }
        Node::Base64url { min, max } => {
            lengths(&mut all, *min, Some(*max));
            let (end, bad) = pick(UNCANONICAL, place);
            all.push(fault(
                "base64url",
                "SH-10",
                format!("{}{end}{bad}", "A".repeat(84)).replace("AAAA=", "AAA=").into(),
            ));
        }
        Node::DateTime => all.push(fault("date-time", "SH-11", (*pick(UNTIMELY, place)).into())),
        Node::Digest => all.push(fault("pattern", "SH-8", digest(place))),
        Node::Code { prefix } => all.push(fault("pattern", "SH-8", format!("{prefix}Not").into())),
        Node::Prefixed { prefix, min, max } => prefixed(&mut all, prefix, usize::from(*min), usize::from(*max), place),
        Node::Object { .. } | Node::Open { .. } => object(&mut all, node, value),
        Node::Array { .. } => array(&mut all, compiled, node, value, place)?,
        Node::Tagged { tag, .. } => {
            let mut unknown = value.clone();
            *unknown.slot(tag) = "no-such-word".into();
            all.push(Fault { below: format!("/{tag}"), ..fault("one-of word", "SH-5", unknown) });
            let mut untagged = value.clone();
            untagged.remove(tag);
            all.push(Fault { below: format!("/{tag}"), ..fault("one-of required", "SH-2", untagged) });
            let mut mistagged = value.clone();
            *mistagged.slot(tag) = Json::Null;
            all.push(Fault { below: format!("/{tag}"), ..fault("one-of type", "SH-1", mistagged) });
        }
        Node::ByType(_) => {}
    }
    Ok(all)
}

/// A value of a type that the shape does not have.
fn other_type(node: &Node) -> Json {
    match node {
        Node::Integer { .. } => "7".into(),
        Node::Boolean | Node::ConstBool(_) => "true".into(),
        Node::Object { .. } | Node::Open { .. } | Node::Tagged { .. } => Json::List(Vec::new()),
        Node::Array { .. } => Json::Map(Vec::new()),
        Node::ByType(_) => Json::Bool(true),
        _ => Json::Number("7".into()),
    }
}

fn lengths(all: &mut Vec<Fault>, min: u16, max: Option<u16>) {
    if min > 0 {
        all.push(fault("minLength", "SH-6", repeat("A", usize::from(min) - 1)));
    }
    all.extend(max.map(|max| fault("maxLength", "SH-7", repeat("x", usize::from(max) + 1))));
}

fn digest(place: &str) -> Json {
    let forms = [
        format!("sha256:{}", "A".repeat(64)),
        format!("sha256:{}", "a".repeat(63)),
        format!("sha512:{}", "a".repeat(64)),
        format!("sha256:{}", "g".repeat(64)),
        "a".repeat(64),
    ];
    pick(&forms, place).clone().into()
}

fn prefixed(all: &mut Vec<Fault>, prefix: &str, min: usize, max: usize, place: &str) {
    all.push(fault("pattern: too short", "SH-8", format!("{prefix}{}", "a".repeat(min)).into()));
    all.push(fault("pattern: too long", "SH-8", format!("{prefix}{}", "a".repeat(max + 2)).into()));
    let tail = "a".repeat(min);
    let forms = [
        format!("x{prefix}a{tail}"),
        format!("{prefix}-{tail}"),
        format!("{prefix}a{tail}\n"),
        format!("{prefix}é{tail}"),
        format!("{prefix}a/{tail}"),
        format!("{}a{tail}", prefix.to_uppercase()),
    ];
    all.push(fault("pattern", "SH-8", pick(&forms, place).clone().into()));
}

fn object(all: &mut Vec<Fault>, node: &Node, value: &Json) {
    match node {
        Node::Object { members, min } => {
            let mut open = value.clone();
            *open.slot("unexpected") = Json::Bool(true);
            all.push(Fault { below: "/unexpected".into(), ..fault("additionalProperties", "SH-3", open) });
            for member in members.iter().filter(|member| member.required) {
                let mut short = value.clone();
                short.remove(&member.name);
                let keyword = format!("required {}", member.name);
                all.push(Fault { below: format!("/{}", member.name), ..fault(&keyword, "SH-2", short) });
            }
            if *min > 0 {
                all.push(fault("minProperties", "SH-18", Json::Map(Vec::new())));
            }
        }
        Node::Open { min, max } => {
            if *min > 0 {
                all.push(fault("minProperties", "SH-18", Json::Map(Vec::new())));
            }
            let many = |max: u16| (0..=max).map(|number| (format!("m{number}"), Json::Null)).collect();
            all.extend(max.map(|max| fault("maxProperties", "SH-19", Json::Map(many(max)))));
        }
        _ => {}
    }
}

fn array(all: &mut Vec<Fault>, compiled: &Compiled, node: &Node, value: &Json, place: &str) -> Result<()> {
    let Node::Array { item, min, max, unique } = node else { return Ok(()) };
    if *min > 0 {
        all.push(fault("minItems", "SH-15", Json::List(Vec::new())));
    }
    let Some(first) = value.items().first() else { return Ok(()) };
    all.extend(max.map(|max| fault("maxItems", "SH-16", Json::List(vec![first.clone(); usize::from(max) + 1]))));
    if *unique {
        let texts = matches!(compiled.arena.get(*item), Node::Text { .. } | Node::Prefixed { .. } | Node::Enum(_));
        ensure!(texts, "{place}: only arrays of texts are checked for doubles");
        all.push(fault("uniqueItems", "SH-17", Json::List(vec![first.clone(), first.clone()])));
    }
    Ok(())
}
