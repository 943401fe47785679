//! Texts: what is parsed, what it comes out as, and what another parser makes of it.

use serde_json::Value as Other;
use threadmesh_protocol::{
    Code,
    digest::sha256_text,
    json::{self, Kind, Limits, Value},
};

/// How many values of a text are looked at one by one.
const VALUES_MAX: usize = 48;

/// Limits that nothing here reaches.
pub(crate) const WIDE: Limits = Limits { bytes_max: 1 << 30, depth_max: 4096, members_max: 1 << 24 };

/// One text.
pub fn run(data: &[u8]) -> bool {
    let text = match (json::text(data), std::str::from_utf8(data)) {
        (Ok(text), Ok(_)) => text,
        (Ok(_), Err(_)) => panic!("bytes that are not UTF-8 came through"),
        (Err(error), read) => {
            assert_eq!(error.code, Code::JsonEncoding);
            assert!(read.is_err() || data.starts_with(b"\xef\xbb\xbf"), "refused UTF-8 without a byte-order mark");
            return false;
        }
    };
    let other = serde_json::from_str::<Other>(text);
    let parsed = json::parse(text);
    let document = json::parse_document(text);
    match (&parsed, &document) {
        (Ok(any), Ok(strict)) => assert_eq!(any.canonical(), strict.canonical()),
        (Ok(_), Err(error)) => assert_eq!(error.code, Code::JsonIntegerRange, "{error:?}"),
        (Err(_), Ok(_)) => panic!("the stricter profile takes what the other refuses"),
        (Err(any), Err(strict)) => {
            assert!(any == strict || strict.code == Code::JsonIntegerRange, "{any:?} {strict:?}");
        }
    }
    match (parsed, other) {
        (Ok(tree), other) => {
            let other = other.unwrap_or_else(|error| panic!("serde_json refuses what was accepted: {error}"));
            assert!(equal(tree.root(), &other), "read as another value than by serde_json");
            accepted(&tree);
            true
        }
        (Err(error), Ok(_)) => {
            // Not a matter of grammar: another parser reads it.
            let stricter =
                [Code::JsonSize, Code::JsonDepth, Code::JsonMembers, Code::JsonDuplicateMember, Code::JsonNumber];
            assert!(stricter.contains(&error.code), "{error:?}");
            false
        }
        (Err(_), Err(_)) => false,
    }
}

/// The laws of the canonical form.
fn accepted(tree: &json::Tree<'_>) {
    let canonical = tree.canonical();
    let again = json::parse_with(&canonical, &WIDE, false).expect("the canonical form is accepted");
    assert!(again.is_canonical(), "the canonical form has another canonical form");
    assert_eq!(tree.is_canonical(), canonical == tree.text());
    assert_eq!(tree.digest(), sha256_text(canonical.as_bytes()));
    assert_eq!(tree.digest(), again.digest());
    assert!(tree.root().same(again.root()) && again.root().same(tree.root()));
    let mut values = Vec::new();
    walk(tree.root(), &mut values);
    let depth = values.iter().filter(|value| container(value)).map(depth).max().unwrap_or(0);
    limits(tree.text(), depth, values.len() - 1);
    if tree.text().len() < 20_000 {
        let whole: Other = serde_json::from_str(tree.text()).expect("read before");
        values.iter().take(VALUES_MAX).for_each(|value| one(*value, &whole));
    }
}

/// A value within a text is the same value alone, and its pointer leads to it.
fn one(value: Value<'_>, whole: &Other) {
    let alone = json::parse(value.raw()).expect("a part of an accepted text is accepted");
    assert_eq!(alone.canonical(), value.canonical());
    assert_eq!(alone.digest(), value.digest());
    let found = whole.pointer(&value.pointer()).expect("the pointer leads somewhere");
    assert!(equal(value, found), "the pointer leads to another value");
}

/// Each limit takes exactly what it says.
fn limits(text: &str, depth: usize, members: usize) {
    let exact = Limits { bytes_max: text.len(), depth_max: depth, members_max: members };
    assert!(json::parse_with(text, &exact, false).is_ok(), "refused at its own size: {exact:?}");
    let code = |limits: Limits| json::parse_with(text, &limits, false).err().map(|error| error.code);
    assert_eq!(code(Limits { bytes_max: text.len() - 1, ..exact }), Some(Code::JsonSize));
    if let Some(depth_max) = depth.checked_sub(1) {
        assert_eq!(code(Limits { depth_max, ..exact }), Some(Code::JsonDepth));
    }
    if let Some(members_max) = members.checked_sub(1) {
        assert_eq!(code(Limits { members_max, ..exact }), Some(Code::JsonMembers));
    }
}

fn container(value: &Value<'_>) -> bool {
    matches!(value.kind(), Kind::Array | Kind::Object)
}

fn depth(value: &Value<'_>) -> usize {
    let mut depth = 1;
    let mut value = *value;
    while let Some(parent) = value.parent() {
        (value, depth) = (parent, depth + 1);
    }
    depth
}

fn walk<'a>(value: Value<'a>, into: &mut Vec<Value<'a>>) {
    into.push(value);
    value.items().for_each(|item| walk(item, into));
    value.members().for_each(|(_, member)| walk(member, into));
}

/// Whether both parsers read the same value.
fn equal(value: Value<'_>, other: &Other) -> bool {
    match other {
        Other::Null => value.is_null(),
        Other::Bool(bool) => value.as_bool() == Some(*bool),
        Other::Number(number) => value.as_f64() == number.as_f64(),
        Other::String(text) => value.as_str() == Some(text),
        Other::Array(items) => {
            value.kind() == Kind::Array
                && value.len() == items.len()
                && value.items().zip(items).all(|(value, other)| equal(value, other))
        }
        Other::Object(members) => {
            value.kind() == Kind::Object
                && value.len() == members.len()
                && value.members().all(|(name, value)| members.get(name).is_some_and(|other| equal(value, other)))
        }
    }
}
