//! A handle to one value of a parsed text.

use super::limits::INTEGER_MAX;
use super::tree::{Kind, NONE, Tree};
use super::{canonical, pointer};
use alloc::string::String;
use core::fmt;

/// One value of a [`Tree`]. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    pub(super) tree: &'a Tree<'a>,
    pub(super) index: u32,
}

impl<'a> Value<'a> {
    fn node(&self) -> &'a super::tree::Node {
        self.tree.node(self.index)
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.node().kind
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The truth value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.node().low == 1)
    }

    /// The text of a string, unescaped.
    pub fn as_str(&self) -> Option<&'a str> {
        (self.kind() == Kind::String).then(|| self.tree.string(self.node()))
    }

    /// The double of a number; -0 comes as 0.
    pub fn as_f64(&self) -> Option<f64> {
        (self.kind() == Kind::Number).then(|| self.node().double())
    }

    /// The integer of a number that is whole, in whatever notation (`1.0`, `1e2`), and within ±(2^53-1).
    pub fn as_int(&self) -> Option<i64> {
        let double = self.as_f64()?;
        let integer = double as i64;
        (integer as f64 == double && integer.abs() <= INTEGER_MAX).then_some(integer)
    }

    /// The member of that name of an object.
    pub fn get(&self, member: &str) -> Option<Value<'a>> {
        self.members().find(|(name, _)| *name == member).map(|(_, value)| value)
    }

    /// The element at `position` of an array.
    pub fn item(&self, position: usize) -> Option<Value<'a>> {
        self.items().nth(position)
    }

    /// The members of an object in the order received; nothing for other kinds.
    pub fn members(&self) -> Members<'a> {
        let left = if self.kind() == Kind::Object { self.node().high } else { 0 };
        Members { tree: self.tree, next: self.index.wrapping_add(1), left }
    }

    /// The elements of an array; nothing for other kinds.
    pub fn items(&self) -> Items<'a> {
        let left = if self.kind() == Kind::Array { self.node().high } else { 0 };
        Items { tree: self.tree, next: self.index.wrapping_add(1), left }
    }

    /// How many members or elements an object or array has; 0 for other kinds.
    pub fn len(&self) -> usize {
        match self.kind() {
            Kind::Array | Kind::Object => self.node().high as usize,
            _ => 0,
        }
    }

    /// Whether it has no members or elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The received text of exactly this value, without white space around it.
    pub fn raw(&self) -> &'a str {
        self.tree.raw(self.node())
    }

    /// The container that it stands in; nothing for the root.
    pub fn parent(&self) -> Option<Value<'a>> {
        let index = self.node().parent;
        (index != NONE).then_some(Value { tree: self.tree, index })
    }

    /// Where it stands in the text: a JSON Pointer (RFC 6901), empty for the root.
    pub fn pointer(&self) -> String {
        pointer::of(self.tree, self.index)
    }

    /// Its RFC 8785 form.
    pub fn canonical(&self) -> String {
        self.tree.canonical_from(self.index)
    }

    /// `sha256:` and 64 hex digits: the SHA-256 of its RFC 8785 form.
    pub fn digest(&self) -> String {
        self.tree.digest_from(self.index)
    }

    /// Whether both have the same RFC 8785 form.
    pub fn same(&self, other: Value<'_>) -> bool {
        canonical::same((self.tree, self.index), (other.tree, other.index))
    }
}

impl Tree<'_> {
    /// The value of the whole text.
    pub fn root(&self) -> Value<'_> {
        Value { tree: self, index: 0 }
    }

    /// The RFC 8785 form of the whole text.
    pub fn canonical(&self) -> String {
        self.root().canonical()
    }

    /// `sha256:` and 64 hex digits: the SHA-256 of the RFC 8785 form.
    pub fn digest(&self) -> String {
        self.root().digest()
    }

    /// Whether the text is its own RFC 8785 form, byte for byte.
    pub fn is_canonical(&self) -> bool {
        self.canonical() == self.text
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.raw())
    }
}

/// Iterates over the members of an object.
#[derive(Clone)]
pub struct Members<'a> {
    tree: &'a Tree<'a>,
    next: u32,
    left: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let name = self.tree.string(self.tree.node(self.next));
        let value = Value { tree: self.tree, index: self.next.wrapping_add(1) };
        self.next = value.node().next;
        Some((name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Members<'_> {}

/// Iterates over the elements of an array.
#[derive(Clone)]
pub struct Items<'a> {
    tree: &'a Tree<'a>,
    next: u32,
    left: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = Value { tree: self.tree, index: self.next };
        self.next = value.node().next;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Items<'_> {}
