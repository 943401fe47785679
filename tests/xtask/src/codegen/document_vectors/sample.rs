//! A value of a shape, with every member that the shape knows.

use super::super::ordered::Json;
use super::super::schema::{Compiled, Id, Node};
use super::examples;
use anyhow::{Result, bail};
use std::path::Path;

/// The last example where `shape` is a kind of document; otherwise a value made up for it.
pub(super) fn of(root: &Path, compiled: &Compiled, shape: Id) -> Result<Json> {
    if let Some((kind, _)) = compiled.kinds.iter().find(|(_, kind)| *kind == shape)
        && let Some((_, example)) = examples(root, &kind.name)?.into_iter().next_back()
    {
        return Ok(example);
    }
    Ok(match compiled.arena.get(shape) {
        Node::Any | Node::Null => Json::Null,
        Node::Boolean => Json::Bool(true),
        Node::ConstText(text) => text.clone().into(),
        Node::ConstBool(constant) => Json::Bool(*constant),
        Node::Enum(words) => words[0].clone().into(),
        Node::Integer { min, .. } => Json::Number(min.unwrap_or(0).max(1).to_string()),
        Node::Text { .. } => "As agreed at the gate.".into(),
        Node::Identifier { .. } => "lock-gates".into(),
        Node::Prefixed { prefix, min, .. } => format!("{prefix}sample.{}", "1".repeat(usize::from(*min))).into(),
        Node::Code { prefix } => format!("{prefix}sample").into(),
        Node::Digest => format!("sha256:{}", "0f".repeat(32)).into(),
        Node::Base64url { .. } => "A".repeat(86).into(),
        Node::DateTime => "2026-04-02T09:30:00Z".into(),
        Node::Object { members, .. } => {
            let mut object = Json::Map(Vec::new());
            for member in members {
                *object.slot(&member.name) = of(root, compiled, member.shape)?;
            }
            object
        }
        Node::Open { .. } => Json::Map(vec![("kind".into(), "canal".into())]),
        Node::Array { item, .. } => Json::List(vec![of(root, compiled, *item)?]),
        Node::ByType(alternatives) => of(root, compiled, alternatives[0])?,
        Node::Tagged { .. } | Node::ByMember { .. } => bail!("no sample of this shape: it needs an example"),
    })
}
