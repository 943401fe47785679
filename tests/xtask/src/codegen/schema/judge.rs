//! Judges params and answers by the schemas in `spec/schema/params/` and `spec/schema/results/`: closed objects, types, words, bounds and forms. What `allOf`
//! and `anyOf` say of documents are rules that have vectors of their own.

use super::{Arena, Id, Node};
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What each operation may answer, or what it takes.
pub struct Answers {
    arena: Arena,
    roots: BTreeMap<String, Id>,
}

impl Answers {
    /// The schemas of answers under `root`.
    pub fn load(root: &Path) -> Result<Self> {
        let (arena, roots) = super::of_each(root, super::Operation::result)?;
        Ok(Self { arena, roots })
    }

    /// The schemas of params under `root`.
    pub fn params(root: &Path) -> Result<Self> {
        let (arena, roots) = super::of_each(root, super::Operation::params)?;
        Ok(Self { arena, roots })
    }

    /// The operations that have a schema.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.roots.keys().map(String::as_str)
    }

    /// Whether `value` is one of `operation`; where not, the place and what is wrong there.
    pub fn judge(&self, operation: &str, value: &Value) -> Result<(), String> {
        let root = self.roots.get(operation).ok_or_else(|| format!("{operation} has no schema"))?;
        self.fits(*root, value, "")
    }

    fn fits(&self, id: Id, value: &Value, place: &str) -> Result<(), String> {
        let node = self.arena.get(id);
        let holds = match node {
            Node::Object { members, min } => {
                let object = value.as_object().ok_or_else(|| format!("{place}: no object: {value}"))?;
                if let Some(name) = object.keys().find(|name| !members.iter().any(|member| member.name == **name)) {
                    return Err(format!("{place}: the schema has no member {name}"));
                }
                for member in members {
                    match object.get(&member.name) {
                        Some(value) => self.fits(member.shape, value, &format!("{place}/{}", member.name))?,
                        None if member.required => return Err(format!("{place}: {} is missing", member.name)),
                        None => {}
                    }
                }
                object.len() >= usize::from(*min)
            }
            Node::Array { item, min, max, unique } => {
                let items = value.as_array().ok_or_else(|| format!("{place}: no array: {value}"))?;
                for (index, value) in items.iter().enumerate() {
                    self.fits(*item, value, &format!("{place}/{index}"))?;
                }
                let twice = |(index, item): (usize, &Value)| items[..index].contains(item);
                within(items.len(), *min, *max) && !(*unique && items.iter().enumerate().any(twice))
            }
            Node::ByType(ids) => ids.iter().any(|id| self.fits(*id, value, place).is_ok()),
            Node::Tagged { tag, cases } => {
                let case = cases.iter().find(|(word, _)| value[tag] == word.as_str());
                return case
                    .map_or_else(|| Err(format!("{place}: no such {tag}")), |(_, id)| self.fits(*id, value, place));
            }
            Node::ByMember { name, with, without } => {
                let id = if value.get(name).is_some() { with } else { without };
                return self.fits(*id, value, place);
            }
            simple => scalar(simple, value),
        };
        if holds { Ok(()) } else { Err(format!("{place}: {value} is no {node:?}")) }
    }
}

fn scalar(node: &Node, value: &Value) -> bool {
    let text = |holds: &dyn Fn(&str) -> bool| value.as_str().is_some_and(holds);
    match node {
        Node::Any => true,
        Node::Null => value.is_null(),
        Node::Boolean => value.is_boolean(),
        Node::ConstText(word) => value == word.as_str(),
        Node::ConstBool(it) => value == *it,
        Node::Enum(words) => text(&|text| words.iter().any(|word| word == text)),
        Node::Integer { min, max } => value.as_i64().is_some_and(|number| {
            min.is_none_or(|min| number >= i64::from(min)) && max.is_none_or(|max| number <= i64::from(max))
        }),
        Node::Text { min, max } => text(&|text| within(text.chars().count(), *min, *max)),
        Node::Identifier { min, max } => text(&|text| {
            within(text.chars().count(), *min, Some(*max)) && text.trim() == text && !text.contains(char::is_control)
        }),
        Node::Prefixed { prefix, min, max } => text(&|text| {
            let plain = |sign: char| sign.is_ascii_alphanumeric() || "._:-".contains(sign);
            text.strip_prefix(prefix.as_str()).is_some_and(|rest| {
                rest.starts_with(|first: char| first.is_ascii_alphanumeric())
                    && within(rest.len() - 1, *min, Some(*max))
                    && rest.chars().all(plain)
            })
        }),
        Node::Code { prefix } => text(&|text| {
            let plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
            text.strip_prefix(prefix.as_str()).is_some_and(|rest| !rest.is_empty() && rest.chars().all(plain))
        }),
        Node::Digest => text(&|text| {
            let hex = |sign: char| matches!(sign, '0'..='9' | 'a'..='f');
            text.strip_prefix("sha256:").is_some_and(|rest| rest.len() == 64 && rest.chars().all(hex))
        }),
        Node::Base64url { min, max } => text(&|text| {
            let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_".contains(sign);
            within(text.len(), *min, Some(*max)) && text.chars().all(plain)
        }),
        Node::DateTime => text(&date_time),
        Node::Open { min, max } => value.as_object().is_some_and(|object| within(object.len(), *min, *max)),
        _ => false,
    }
}

fn within(count: usize, min: u16, max: Option<u16>) -> bool {
    count >= usize::from(min) && max.is_none_or(|max| count <= usize::from(max))
}

/// `2026-05-04T08:00:00`, an optional fraction, and a zone.
fn date_time(text: &str) -> bool {
    let (head, rest) = text.split_at_checked(19).unwrap_or_default();
    let form = head.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign.to_ascii_uppercase() });
    let zone = rest.trim_start_matches(|sign: char| sign == '.' || sign.is_ascii_digit());
    form.eq("0000-00-00T00:00:00".chars()) && (matches!(zone, "Z" | "z") || zone.len() == 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_with_something_more_less_or_other_is_noticed() {
        let answers = Answers::load(&crate::root()).unwrap();
        let states =
            json!({"revision": 0, "delivery": "durably-received", "decision": "pending", "outcome": "not-observed"});
        let digest = format!("sha256:{}", "0".repeat(64));
        let good = json!({"replay": false, "envelopeDigest": digest, "disposition": states});
        assert_eq!(answers.judge("messages.send", &good), Ok(()));
        for (pointer, member, value) in [
            ("", "content", json!("text")),
            ("/disposition", "mood", json!("calm")),
            ("/disposition", "decision", json!("maybe")),
            ("/disposition", "revision", json!(-1)),
            ("", "replay", json!("no")),
            ("", "envelopeDigest", json!("sha256:0")),
        ] {
            let mut bad = good.clone();
            bad.pointer_mut(pointer).unwrap()[member] = value;
            assert!(answers.judge("messages.send", &bad).is_err(), "{bad}");
        }
        let mut less = good.clone();
        less.as_object_mut().unwrap().remove("disposition");
        assert!(answers.judge("messages.send", &less).is_err());
        assert!(date_time("2026-05-04T08:00:00.000Z") && date_time("2026-05-04T08:00:00+02:00"));
        assert!(!date_time("2026-05-04 08:00:00Z") && !date_time("2026-05-04T08:00:00"));
    }
}
