//! The documents of the public draft (specVersion `0.0-draft`), checked whole: shape, conditions, comparisons.
//!
//! Of several faults the first is reported: those of the JSON text (see [`crate::json`]), then those of the shape in
//! schema order (see [`shape`]), then the rules of the kind in the order of `spec/rules/documents.json`. No clock takes
//! part: whether something is expired or lives too long is decided by operations.
//!
//! A [`Document`] can only be made by these checks, so whoever holds one need not check again.

mod adapter_submission;
mod audit_event;
mod capabilities;
mod capability;
mod cross_thread_event;
pub mod disposition;
mod envelope;
mod event_receipt;
pub mod grant;
mod interruption_result;
mod jsonrpc_request;
#[rustfmt::skip]
mod kinds;
mod part;
mod relationship_proposal;
pub mod shape;
mod shared;
mod task_summary;
pub mod verification_attestation;

pub use kinds::Kind;
pub use part::Part;

use crate::generated::shapes;
use crate::json::{self, Tree, Value};
use crate::{Code, Error};
use alloc::string::String;
use core::cell::OnceCell;
use kinds::TABLE;
use shape::ShapeId;

/// What is the same for every document of a kind: kind, name, code and shape.
struct Entry(Kind, &'static str, Code, ShapeId);

/// The names of all kinds, in a fixed order.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|Entry(_, name, ..)| *name)
}

impl Kind {
    /// The kind of that name. Error: `unknown-kind`.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let found = TABLE.iter().find(|Entry(_, known, ..)| *known == name);
        found.map(|Entry(kind, ..)| *kind).ok_or_else(|| Error::new(Code::UnknownKind, "", "no such kind of document"))
    }

    /// Its name, as `check` takes it.
    pub fn name(self) -> &'static str {
        self.entry().map_or("", |Entry(_, name, ..)| name)
    }

    /// The code of a document of this kind that is refused for its shape or by a rule of its own.
    pub fn code(self) -> Code {
        self.entry().map_or(Code::UnknownKind, |Entry(_, _, code, _)| *code)
    }

    /// Its shape.
    pub fn shape(self) -> ShapeId {
        self.entry().map_or(shapes::ENVELOPE, |Entry(.., shape)| *shape)
    }

    fn entry(self) -> Option<&'static Entry> {
        TABLE.iter().find(|Entry(kind, ..)| *kind == self)
    }

    /// The rules beyond the shape, for a document or a part of one at `part`.
    fn rules(self, part: Part<'_>) -> Result<(), Error> {
        kinds::rules(self, part)
    }
}

/// What `check` answers for an accepted document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The RFC 8785 form.
    pub canonical: String,
    /// Its digest, `sha256:` and 64 hex digits.
    pub digest: String,
}

/// Checks `text` as a document of the kind named `kind`. Errors: `unknown-kind`; the `json-*` codes; otherwise the code
/// of the kind, with the pointer of the fault and a detail that starts with the rule.
pub fn check(kind: &str, text: &str) -> Result<Checked, Error> {
    let parsed = parse(Kind::from_name(kind)?, text)?;
    let canonical = parsed.tree.canonical();
    let digest = crate::digest::sha256_text(canonical.as_bytes());
    Ok(Checked { canonical, digest })
}

/// Parses and checks `text` as a document of `kind`. Errors: as [`check`].
pub fn parse(kind: Kind, text: &str) -> Result<Parsed<'_>, Error> {
    accept(kind, text, |part| kind.rules(part))
}

/// As [`parse`], by the `rules` of `kind`: whoever needs one kind only does not carry the rules of all.
fn accept<'t>(
    kind: Kind,
    text: &'t str,
    rules: impl FnOnce(Part<'_>) -> Result<(), Error>,
) -> Result<Parsed<'t>, Error> {
    let tree = json::parse_document(text)?;
    shape::check_value(kind.shape(), tree.root(), kind.code())?;
    rules(Part::new(tree.root(), kind.code()))?;
    Ok(Parsed { kind, tree })
}

/// A document that owns its parsed form.
#[derive(Clone, Debug)]
pub struct Parsed<'t> {
    kind: Kind,
    tree: Tree<'t>,
}

impl Parsed<'_> {
    /// The document.
    pub fn document(&self) -> Document<'_> {
        Document::accepted(self.kind, self.tree.root())
    }
}

/// An accepted document: the received text, its parsed form and its digest, together.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    kind: Kind,
    part: Part<'a>,
    digest: OnceCell<String>,
}

impl<'a> Document<'a> {
    /// Checks a value of an already parsed text as a document of `kind`. Errors: as [`check`]; pointers are those of
    /// the whole text.
    pub fn from_value(kind: Kind, value: Value<'a>) -> Result<Self, Error> {
        shape::check_value(kind.shape(), value, kind.code())?;
        Self::from_shaped(kind, value)
    }

    /// As [`Document::from_value`] for a value whose shape is known to be that of `kind`.
    fn from_shaped(kind: Kind, value: Value<'a>) -> Result<Self, Error> {
        kind.rules(Part::new(value, kind.code()))?;
        Ok(Self::accepted(kind, value))
    }

    fn accepted(kind: Kind, value: Value<'a>) -> Self {
        Self { kind, part: Part::new(value, kind.code()), digest: OnceCell::new() }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The text as received.
    pub fn text(&self) -> &'a str {
        self.part.value().raw()
    }

    /// The digest of its RFC 8785 form.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.part.value().digest())
    }

    /// The parsed form.
    pub fn value(&self) -> Value<'a> {
        self.part.value()
    }

    /// Its members, by path.
    pub fn part(&self) -> Part<'a> {
        self.part
    }
}

/// The params of a method, of the shape that `spec/schema/params/` gives them.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    part: Part<'a>,
    shape: ShapeId,
}

impl<'a> Params<'a> {
    /// Checks `value` as the params of `method`. Errors: `method-not-found`; `params-invalid` by SH-1 to SH-19.
    pub fn from_value(method: &str, value: Value<'a>) -> Result<Self, Error> {
        let none = || Error::new(Code::MethodNotFound, "", "no such method");
        Self::under(shape::params(method).ok_or_else(none)?, value, Code::ParamsInvalid)
    }

    /// As [`Params::from_value`], for params that it took before.
    pub(crate) fn again(method: &str, value: Value<'a>) -> Option<Self> {
        let part = Part::new(value, Code::ParamsInvalid);
        shape::params(method).map(|shape| Self { part, shape })
    }

    fn under(shape: ShapeId, value: Value<'a>, code: Code) -> Result<Self, Error> {
        shape::check_value(shape, value, code)?;
        Ok(Self { part: Part::new(value, code), shape })
    }

    /// The members, by path.
    pub fn part(&self) -> Part<'a> {
        self.part
    }

    /// The document that stands in `member`, checked by the rules of `kind`; nothing if the member is not there.
    /// Errors: those of `kind`, with pointers from the start of the text.
    pub fn document(&self, kind: Kind, member: &str) -> Result<Option<Document<'a>>, Error> {
        let Some(value) = self.part.value().get(member) else { return Ok(None) };
        let shaped = shape::member(self.shape, member) == Some(kind.shape());
        let document = if shaped { Document::from_shaped(kind, value) } else { Document::from_value(kind, value) };
        document.map(Some)
    }

    /// Checks every document among the members.
    fn documents(&self) -> Result<(), Error> {
        for (name, value) in self.part.value().members() {
            let Some(shape) = shape::member(self.shape, name) else { continue };
            if let Some(Entry(kind, ..)) = TABLE.iter().find(|Entry(.., of_kind)| *of_kind == shape) {
                Document::from_shaped(*kind, value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
