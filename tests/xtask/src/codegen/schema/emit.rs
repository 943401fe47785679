//! Shapes → Rust tables. Texts stand in one pool, everything else refers to them and to each other by 16-bit numbers.

use super::{super::HEADER, Compiled, Id, Node};
use anyhow::{Context, Result};
use std::fmt::Write;

#[derive(Default)]
struct Tables {
    names: Vec<String>,
    members: Vec<(u16, Id, bool)>,
    words: Vec<u16>,
    cases: Vec<(u16, Id)>,
    alternatives: Vec<Id>,
}

pub(super) fn rust(compiled: &Compiled) -> Result<String> {
    let mut tables = Tables::default();
    let shapes: Vec<String> = compiled.arena.all().iter().map(|node| tables.shape(node)).collect::<Result<_>>()?;
    let params: Vec<(u16, Id)> =
        compiled.params.iter().map(|(method, id)| Ok((tables.name(&method.name)?, *id))).collect::<Result<_>>()?;
    let mut out = String::from(HEADER);
    out += "//! The schemas of `spec/schema/`, compiled for `documents::shape`.\n\n";
    out += "use crate::schema::{Member, Shape, ShapeId};\n\n";
    table(&mut out, "Every text.", "NAMES", "&str", tables.names.iter().map(|name| format!("{name:?}")));
    table(&mut out, "Every shape.", "SHAPES", "Shape", shapes.into_iter());
    let members = tables.members.iter().map(|(name, id, required)| format!("Member({name}, {id}, {required})"));
    table(&mut out, "Members of objects: name, shape, whether required.", "MEMBERS", "Member", members);
    table(&mut out, "Texts of enumerations.", "WORDS", "u16", tables.words.iter().map(u16::to_string));
    let pairs = |pairs: &[(u16, Id)]| pairs.iter().map(|pair| format!("{pair:?}")).collect::<Vec<_>>().into_iter();
    table(&mut out, "Cases of tagged objects: tag, shape.", "CASES", "(u16, u16)", pairs(&tables.cases));
    table(&mut out, "Alternatives.", "ALTERNATIVES", "u16", tables.alternatives.iter().map(u16::to_string));
    table(&mut out, "Methods: name, shape of the params.", "PARAMS", "(u16, u16)", pairs(&params));
    for (kind, id) in &compiled.kinds {
        constant(&mut out, &format!("A whole document of kind `{}`.", kind.name), &kind.name, *id)?;
    }
    for (name, id) in &compiled.fragments {
        constant(&mut out, &format!("The shared definition `{name}`."), name, *id)?;
    }
    Ok(out)
}

fn table(out: &mut String, doc: &str, name: &str, kind: &str, items: impl Iterator<Item = String>) {
    *out += &format!("/// {doc}\npub(crate) static {name}: &[{kind}] = &[");
    let mut width = 200;
    for item in items {
        if width + item.len() > 116 {
            *out += "\n   ";
            width = 3;
        }
        *out += &format!(" {item},");
        width += item.len() + 2;
    }
    *out += "\n];\n\n";
}

fn constant(out: &mut String, doc: &str, name: &str, id: Id) -> Result<()> {
    let mut upper = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            upper.push('_');
        }
        upper.push(if character == '-' { '_' } else { character.to_ascii_uppercase() });
    }
    writeln!(out, "/// {doc}\npub const {upper}: ShapeId = ShapeId({id});")?;
    Ok(())
}

impl Tables {
    fn name(&mut self, name: &str) -> Result<u16> {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u16::try_from(index).context("too many texts")
    }

    /// Where `words` stand one after the other.
    fn words(&mut self, words: &[String]) -> Result<usize> {
        let words: Vec<u16> = words.iter().map(|word| self.name(word)).collect::<Result<_>>()?;
        Ok(place(&mut self.words, &words))
    }

    fn shape(&mut self, node: &Node) -> Result<String> {
        Ok(match node {
            Node::Any => "Shape::Any".into(),
            Node::Null => "Shape::Null".into(),
            Node::Boolean => "Shape::Boolean".into(),
            Node::ConstText(text) => format!("Shape::ConstText({})", self.name(text)?),
            Node::ConstBool(value) => format!("Shape::ConstBool({value})"),
            Node::Enum(words) => format!("Shape::Enum {{ first: {}, count: {} }}", self.words(words)?, words.len()),
            Node::Integer { min, max } => {
                format!("Shape::Integer {{ min: {}, max: {} }}", min.unwrap_or(i32::MIN), max.unwrap_or(i32::MAX))
            }
            Node::Text { min, max } => format!("Shape::Text {{ min: {min}, max: {} }}", max.unwrap_or(u16::MAX)),
            Node::Identifier { min, max } => format!("Shape::Identifier {{ min: {min}, max: {max} }}"),
            Node::Prefixed { prefix, min, max } => {
                format!("Shape::Prefixed {{ prefix: {}, min: {min}, max: {max} }}", self.name(prefix)?)
            }
            Node::Code { prefix } => format!("Shape::Code {{ prefix: {} }}", self.name(prefix)?),
            Node::Digest => "Shape::Digest".into(),
            Node::Base64url { min, max } => format!("Shape::Base64url {{ min: {min}, max: {max} }}"),
            Node::DateTime => "Shape::DateTime".into(),
            Node::Object { members, min } => {
                let mut rows = Vec::new();
                for member in members {
                    rows.push((self.name(&member.name)?, member.shape, member.required));
                }
                let first = place(&mut self.members, &rows);
                format!("Shape::Object {{ first: {first}, count: {}, min: {min} }}", rows.len())
            }
            Node::Open { min, max } => format!("Shape::Open {{ min: {min}, max: {} }}", max.unwrap_or(u16::MAX)),
            Node::Array { item, min, max, unique } => {
                let max = max.unwrap_or(u16::MAX);
                format!("Shape::Array {{ item: {item}, min: {min}, max: {max}, unique: {unique} }}")
            }
            Node::Tagged { tag, cases } => {
                let mut rows = Vec::new();
                for (word, id) in cases {
                    rows.push((self.name(word)?, *id));
                }
                let first = place(&mut self.cases, &rows);
                format!("Shape::Tagged {{ tag: {}, first: {first}, count: {} }}", self.name(tag)?, rows.len())
            }
            Node::ByMember { name, with, without } => {
                format!("Shape::ByMember {{ name: {}, with: {with}, without: {without} }}", self.name(name)?)
            }
            Node::ByType(ids) => {
                let first = place(&mut self.alternatives, ids);
                format!("Shape::ByType {{ first: {first}, count: {} }}", ids.len())
            }
        })
    }
}

/// Where `part` stands in `whole`; it is added if it does not.
fn place<T: Clone + PartialEq>(whole: &mut Vec<T>, part: &[T]) -> usize {
    let found = (0..whole.len()).find(|&start| whole[start..].starts_with(part));
    found.unwrap_or_else(|| {
        whole.extend_from_slice(part);
        whole.len() - part.len()
    })
}
