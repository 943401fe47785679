//! JSON whose members keep the order of the file, which the order of checks and of generated texts follows.

use anyhow::{Context, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{fmt, fs, path::Path};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as text.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, members in order.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The value of the file at `path`.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))
    }

    /// The members of an object; none for anything else.
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Map(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array; none for anything else.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The member `name` of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A number that is a whole one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The place for `name` in an object, added if it is not there.
    pub fn slot(&mut self, name: &str) -> &mut Self {
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(Vec::new());
        }
        let Self::Map(members) = self else { unreachable!("made a map above") };
        if !members.iter().any(|(key, _)| key == name) {
            members.push((name.to_owned(), Self::Null));
        }
        members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value).expect("added above")
    }

    /// Takes the member `name` away.
    pub fn remove(&mut self, name: &str) {
        if let Self::Map(members) = self {
            members.retain(|(key, _)| key != name);
        }
    }

    /// As JSON without white space.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// As JSON for readers: whatever fits stands on one line of at most `width` bytes, the rest is indented.
    pub fn pretty(&self, width: usize) -> String {
        let mut out = String::new();
        self.lay_out(&mut out, width, 0, 0);
        out.push('\n');
        out
    }

    /// `used` is what stands before the value on its line.
    fn lay_out(&self, out: &mut String, width: usize, indent: usize, used: usize) {
        let line = self.compact();
        if line.len() + used <= width || matches!(self, Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_)) {
            out.push_str(&line);
            return;
        }
        let (open, close) = if matches!(self, Self::List(_)) { ('[', ']') } else { ('{', '}') };
        let pad = " ".repeat(indent + 1);
        let parts = self.items().iter().map(|item| (String::new(), item));
        let members = self.members().iter().map(|(name, value)| (Self::from(name.as_str()).compact() + ": ", value));
        for (index, (head, value)) in parts.chain(members).enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            out.push(if index == 0 { open } else { '\n' });
            if index == 0 {
                out.push('\n');
            }
            out.push_str(&pad);
            out.push_str(&head);
            value.lay_out(out, width, indent + 1, indent + 1 + head.len());
        }
        out.push('\n');
        out.push_str(&" ".repeat(indent));
        out.push(close);
    }

    fn write(&self, out: &mut String) {
        let quoted = |text: &str| serde_json::to_string(text).expect("strings serialise");
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    item.write(out);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Self::Map(members) => {
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write(out);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(entry) = access.next_entry()? {
            members.push(entry);
        }
        Ok(Json::Map(members))
    }
}
