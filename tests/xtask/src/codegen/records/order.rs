//! Rows as vectors give them, laid out as the core writes them.

use super::{Collection, Kind, Member, Table};
use anyhow::Result;
use serde_json::{Map, Value};
use std::path::Path;

/// The order of the members of all collections.
pub struct Rows(Table);

impl Rows {
    /// The order that `spec/records.json` gives.
    pub fn load(root: &Path) -> Result<Self> {
        Ok(Self(Table::load(root)?))
    }

    /// The text of a row. Members that the table does not know come last.
    pub fn text(&self, collection: &str, body: &Value) -> String {
        let known = self.0.collections.iter().find(|known| known.name == collection && known.record.is_some());
        match (known, body) {
            (Some(collection), Value::Object(members)) => self.object(collection, &collection.members, members),
            _ => body.to_string(),
        }
    }

    fn object(&self, collection: &Collection, order: &[Member], members: &Map<String, Value>) -> String {
        let mut left = members.clone();
        let mut parts = Vec::new();
        self.members(collection, order, &mut left, &mut parts);
        parts.extend(left.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str()))));
        format!("{{{}}}", parts.join(","))
    }

    fn members(
        &self,
        collection: &Collection,
        order: &[Member],
        left: &mut Map<String, Value>,
        parts: &mut Vec<String>,
    ) {
        for member in order {
            let of = member.of.as_deref().and_then(|of| self.0.find(collection, of));
            if let (true, Some(of)) = (member.flat, of) {
                self.members(collection, &of.members, left, parts);
                continue;
            }
            let Some(value) = left.remove(&member.name) else { continue };
            let inner = |value: &Value| match (member.kind, of, value) {
                (Kind::Struct, Some(of), Value::Object(members)) => self.object(collection, &of.members, members),
                _ => value.to_string(),
            };
            let text = match &value {
                Value::Array(items) if member.list => {
                    format!("[{}]", items.iter().map(inner).collect::<Vec<_>>().join(","))
                }
                other => inner(other),
            };
            parts.push(format!("{}:{text}", Value::from(member.name.as_str())));
        }
    }
}
