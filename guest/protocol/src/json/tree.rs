//! The parsed form of a text: nodes in document order, linked by index.
//!
//! INVARIANT: a container is followed by its subtree. In an array the first element stands at `index + 1` and the next
//! one at `next` of the element before it; in an object a name node comes right before its value. `sorted` of an object
//! is its first name by UTF-16 code units, `sorted` of a name the one after it.

use alloc::{string::String, vec::Vec};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// The canonical form is the raw text.
pub(super) const RAW_CANONICAL: u8 = 1;
/// The text of a string stands in [`Tree::unescaped`].
pub(super) const UNESCAPED: u8 = 2;
/// A name of a member. Its value is the next node.
pub(super) const NAME: u8 = 4;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number: a finite double.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// One value, or the name of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Where its raw text starts and ends.
    pub start: u32,
    pub end: u32,
    /// The container it stands in, or [`NONE`].
    pub parent: u32,
    /// For a value: the node after its subtree. For a name: the name after it in sorted order, or [`NONE`].
    pub next: u32,
    /// Number: the bits of the double. Unescaped string: its range. Object: first name in sorted order and length.
    /// Array: nothing and length. Boolean: 0 or 1.
    pub low: u32,
    pub high: u32,
    pub kind: Kind,
    pub flags: u8,
}

static NO_NODE: Node =
    Node { start: 0, end: 0, parent: NONE, next: NONE, low: NONE, high: 0, kind: Kind::Null, flags: 0 };

impl Node {
    /// Whether `flag` is set.
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The double of a number.
    pub(super) fn double(&self) -> f64 {
        f64::from_bits(u64::from(self.high) << 32 | u64::from(self.low))
    }
}

/// A parsed text.
#[derive(Clone, Debug)]
pub struct Tree<'t> {
    pub(super) text: &'t str,
    pub(super) nodes: Vec<Node>,
    pub(super) unescaped: String,
}

/// What parsing made of a text, apart from the text itself, so that both can be kept together.
#[derive(Debug)]
pub(crate) struct Parse {
    nodes: Vec<Node>,
    unescaped: String,
}

impl Parse {
    /// The tree again, over the very text that was parsed.
    pub(crate) fn over(self, text: &str) -> Tree<'_> {
        Tree { text, nodes: self.nodes, unescaped: self.unescaped }
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let nodes = self.nodes.len().saturating_mul(size_of::<Node>());
        nodes.saturating_add(self.unescaped.len())
    }
}

impl<'t> Tree<'t> {
    /// What can be kept of it without the text.
    pub(crate) fn into_parse(self) -> Parse {
        Parse { nodes: self.nodes, unescaped: self.unescaped }
    }

    /// The text as received.
    pub fn text(&self) -> &'t str {
        self.text
    }

    pub(super) fn node(&self, index: u32) -> &Node {
        self.nodes.get(index as usize).unwrap_or(&NO_NODE)
    }

    /// The raw text of a node.
    pub(super) fn raw(&self, node: &Node) -> &'t str {
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    /// The text of a string or name, without quotes and escapes.
    pub(super) fn string(&self, node: &Node) -> &str {
        if node.has(UNESCAPED) {
            return self.unescaped.get(node.low as usize..node.high as usize).unwrap_or_default();
        }
        let (start, end) = (node.start.wrapping_add(1) as usize, node.end.wrapping_sub(1) as usize);
        self.text.get(start..end).unwrap_or_default()
    }
}
