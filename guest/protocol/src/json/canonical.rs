//! The RFC 8785 form of a parsed value, without recursion: the links of the tree are the stack.

use super::tree::Kind;
use super::tree::{NAME, NONE, Node, RAW_CANONICAL, Tree};
use super::writer;
use crate::digest::Hasher;
use alloc::string::String;

/// How much canonical text is gathered before it is hashed.
const HASH_BYTES: usize = 4096;

/// Where canonical text goes.
pub(super) trait Sink {
    /// The text to append to. Called again after every piece, so that a sink may pass on what it has.
    fn text(&mut self) -> &mut String;
}

impl Sink for String {
    fn text(&mut self) -> &mut String {
        self
    }
}

/// A sink that hashes what it gets.
pub(super) struct Digesting {
    pending: String,
    hasher: Hasher,
}

impl Sink for Digesting {
    fn text(&mut self) -> &mut String {
        if self.pending.len() >= HASH_BYTES {
            self.hasher.update(self.pending.as_bytes());
            self.pending.clear();
        }
        &mut self.pending
    }
}

impl Digesting {
    /// For a value of that many bytes of raw text. A piece may run over the gathered size, hence twice of it.
    pub(super) fn new(raw_bytes: usize) -> Self {
        Self { pending: String::with_capacity(raw_bytes.min(HASH_BYTES << 1)), hasher: Hasher::new() }
    }

    /// The digest in its text form.
    pub(super) fn finish(mut self) -> String {
        self.hasher.update(self.pending.as_bytes());
        self.hasher.finish_text()
    }
}

/// One step of a walk in canonical order.
enum Step<'a> {
    Open(Kind),
    Name(&'a Node),
    Scalar(&'a Node),
    Close(Kind),
}

/// Where a walk goes next.
enum Next {
    /// To this node.
    Node(u32),
    /// Out of this node.
    After(u32),
    Done,
}

/// Walks the subtree of a value in canonical order.
struct Walk<'a> {
    tree: &'a Tree<'a>,
    root: u32,
    next: Next,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree<'a>, root: u32) -> Self {
        Self { tree, root, next: Next::Node(root) }
    }

    fn enter(&mut self, index: u32) -> Step<'a> {
        let node = self.tree.node(index);
        if node.has(NAME) {
            self.next = Next::Node(index.wrapping_add(1));
            return Step::Name(node);
        }
        match node.kind {
            Kind::Object if node.high > 0 => self.next = Next::Node(node.low),
            Kind::Array if node.high > 0 => self.next = Next::Node(index.wrapping_add(1)),
            Kind::Array | Kind::Object => self.next = Next::After(index),
            _ => {
                self.leave(index);
                return Step::Scalar(node);
            }
        }
        Step::Open(node.kind)
    }

    /// After the value at `index`: its sibling, or the end of its container.
    fn leave(&mut self, index: u32) {
        if index == self.root {
            self.next = Next::Done;
            return;
        }
        let node = self.tree.node(index);
        let parent = self.tree.node(node.parent);
        let sibling = match parent.kind {
            Kind::Array if node.next < parent.next => node.next,
            Kind::Array => NONE,
            _ => self.tree.node(index.wrapping_sub(1)).next,
        };
        self.next = if sibling == NONE { Next::After(node.parent) } else { Next::Node(sibling) };
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        match self.next {
            Next::Node(index) => Some(self.enter(index)),
            Next::After(index) => {
                self.leave(index);
                Some(Step::Close(self.tree.node(index).kind))
            }
            Next::Done => None,
        }
    }
}

/// Appends the canonical form of the value at `root` to `out`.
pub(super) fn write(tree: &Tree<'_>, root: u32, out: &mut impl Sink) {
    let mut comma = false;
    for step in Walk::new(tree, root) {
        let text = out.text();
        if comma && !matches!(step, Step::Close(_)) {
            text.push(',');
        }
        comma = matches!(step, Step::Scalar(_) | Step::Close(_));
        match step {
            Step::Open(kind) => text.push(if kind == Kind::Object { '{' } else { '[' }),
            Step::Close(kind) => text.push(if kind == Kind::Object { '}' } else { ']' }),
            Step::Name(node) => {
                scalar(tree, node, text);
                text.push(':');
            }
            Step::Scalar(node) => scalar(tree, node, text),
        }
    }
}

fn scalar(tree: &Tree<'_>, node: &Node, text: &mut String) {
    if node.has(RAW_CANONICAL) {
        text.push_str(tree.raw(node));
    } else if node.kind == Kind::String {
        writer::push_string(text, tree.string(node));
    } else {
        writer::push_double(text, node.double());
    }
}

/// Whether two values have the same canonical form.
pub(super) fn same(left: (&Tree<'_>, u32), right: (&Tree<'_>, u32)) -> bool {
    let mut rights = Walk::new(right.0, right.1);
    let equal = Walk::new(left.0, left.1).all(|step| {
        rights.next().is_some_and(|other| match (step, other) {
            (Step::Open(l), Step::Open(r)) | (Step::Close(l), Step::Close(r)) => l == r,
            (Step::Name(l), Step::Name(r)) => left.0.string(l) == right.0.string(r),
            (Step::Scalar(l), Step::Scalar(r)) if l.kind == r.kind => match l.kind {
                Kind::String => left.0.string(l) == right.0.string(r),
                Kind::Number => l.double() == r.double(),
                _ => l.low == r.low,
            },
            _ => false,
        })
    });
    equal && rights.next().is_none()
}

impl Tree<'_> {
    pub(super) fn canonical_from(&self, index: u32) -> String {
        let node = self.node(index);
        // White space only makes the canonical form shorter; numbers and escapes seldom make it longer.
        let mut out = String::with_capacity(node.end.wrapping_sub(node.start) as usize);
        write(self, index, &mut out);
        out
    }

    pub(super) fn digest_from(&self, index: u32) -> String {
        let mut out = Digesting::new(self.raw(self.node(index)).len());
        write(self, index, &mut out);
        out.finish()
    }
}
