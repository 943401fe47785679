//! What the tables of the schemas are made of: data only. [`crate::documents::shape`] evaluates them.

/// One shape of the tables. The constants of [`crate::generated::shapes`] name those of whole documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeId(pub(crate) u16);

/// A member of a closed object: its name, its shape, whether it is required. The numbers are those of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member(pub(crate) u16, pub(crate) u16, pub(crate) bool);

/// What a value may look like. Numbers that are not counts refer to the tables; counts and lengths are inclusive.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub(crate) enum Shape {
    Any,
    Null,
    Boolean,
    ConstText(u16),
    ConstBool(bool),
    Enum { first: u16, count: u16 },
    Integer { min: i32, max: i32 },
    Text { min: u16, max: u16 },
    Identifier { min: u16, max: u16 },
    Prefixed { prefix: u16, min: u16, max: u16 },
    Code { prefix: u16 },
    Digest,
    Base64url { min: u16, max: u16 },
    DateTime,
    Object { first: u16, count: u16, min: u16 },
    Open { min: u16, max: u16 },
    Array { item: u16, min: u16, max: u16, unique: bool },
    Tagged { tag: u16, first: u16, count: u16 },
    ByMember { name: u16, with: u16, without: u16 },
    ByType { first: u16, count: u16 },
}
