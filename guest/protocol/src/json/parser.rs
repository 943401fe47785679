//! The grammar, read in one pass without recursion: the parent links of the nodes are the stack.

mod strings;

use super::limits::Limits;
use super::tree::Kind;
use super::tree::{NAME, NONE, Node, RAW_CANONICAL, Tree};
use super::{members, pointer};
use crate::rules::check;
use crate::{Error, Rule};
use alloc::{format, string::String, vec::Vec};

/// How many nodes to make room for at first.
const NODES: usize = 64;

/// A rule broken at a byte of the text. Becomes an [`Error`] once, at the end.
pub(super) struct Fault {
    pub(super) rule: Rule,
    pub(super) at: usize,
    pub(super) place: Place,
    pub(super) what: &'static str,
}

/// What the pointer of a fault names.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// The whole text.
    Text,
    /// The innermost open container, or the root.
    Container,
    /// The value being read, which has no node yet.
    Pending,
    /// The member whose name is this node.
    Member(u32),
}

/// A fault of grammar.
pub(super) const fn fault(at: usize, place: Place, what: &'static str) -> Fault {
    Fault { rule: Rule::CJ4, at, place, what }
}

/// Says in the detail where the fault lies, and what is wrong there if the rule does not say it.
pub(super) fn add_offset(error: &mut Error, at: usize, what: &str) {
    let colon = if what.is_empty() { "" } else { ": " };
    error.detail.push_str(&format!(" At byte {at}{colon}{what}."));
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) document: bool,
    limits: Limits,
    tree: Tree<'t>,
    /// The innermost open container, or [`NONE`], and what it is.
    open: u32,
    open_kind: Kind,
    depth: usize,
    /// Members and elements so far.
    members: usize,
    entries: Vec<members::Entry>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, limits: &Limits, document: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            document,
            limits: *limits,
            tree: Tree { text, nodes: Vec::new(), unescaped: String::new() },
            open: NONE,
            open_kind: Kind::Null,
            depth: 0,
            members: 0,
            entries: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Tree<'t>, Error> {
        match self.text() {
            Ok(()) => Ok(self.tree),
            Err(fault) => Err(self.report(fault)),
        }
    }

    fn text(&mut self) -> Result<(), Fault> {
        let start = |rule: crate::rules::Broken| Fault { rule: rule.0, at: 0, place: Place::Text, what: "" };
        let fits = self.bytes.len() <= self.limits.bytes_max && self.bytes.len() < NONE as usize;
        check(Rule::CJ3, !self.text.starts_with('\u{feff}')).map_err(start)?;
        check(Rule::CJ7, fits).map_err(start)?;
        self.tree.nodes.reserve(NODES);
        loop {
            self.blank();
            if self.value()? || self.after_value()? {
                continue;
            }
            break;
        }
        self.blank();
        let at = self.at;
        check(Rule::CJ6, at == self.bytes.len()).map_err(|broken| Fault {
            rule: broken.0,
            at,
            place: Place::Text,
            what: "expected the end",
        })
    }

    /// Reads a value, or the start of one that is not empty: then the result is true, and a value is due next.
    fn value(&mut self) -> Result<bool, Fault> {
        if matches!(self.peek(), b'{' | b'[') {
            self.deeper()?;
        }
        if self.open_kind == Kind::Array {
            self.count()?;
        }
        let start = self.at;
        let mut node = self.blank_node(Kind::Null, start);
        match self.peek() {
            b'"' => {
                let string = self.string(Place::Pending)?;
                (node.kind, node.flags, node.low, node.high) = (Kind::String, string.flags, string.from, string.to);
            }
            b'{' => return self.begin(Kind::Object),
            b'[' => return self.begin(Kind::Array),
            b'-' | b'0'..=b'9' => {
                let number = self.number()?;
                let bits = number.double.to_bits();
                (node.kind, node.flags, node.low, node.high) =
                    (Kind::Number, number.flags, bits as u32, (bits >> 32) as u32);
            }
            b't' => (node.kind, node.low) = (self.word("true", Kind::Bool)?, 1),
            b'f' => node.kind = self.word("false", Kind::Bool)?,
            b'n' => node.kind = self.word("null", Kind::Null)?,
            _ => return Err(fault(start, Place::Pending, "expected a value")),
        }
        node.end = self.at as u32;
        node.next = node.next.wrapping_add(1);
        self.push(node);
        Ok(false)
    }

    /// After a value: closes what ends here. True if another value is due, false if the text's value is complete.
    fn after_value(&mut self) -> Result<bool, Fault> {
        while self.open != NONE {
            self.blank();
            match (self.peek(), self.open_kind) {
                (b',', Kind::Array) => self.step(),
                (b',', _) => {
                    self.step();
                    self.blank();
                    self.name()?;
                }
                (b']', Kind::Array) | (b'}', Kind::Object) => {
                    self.end()?;
                    continue;
                }
                (_, Kind::Array) => return Err(fault(self.at, Place::Container, "expected ',' or ']'")),
                _ => return Err(fault(self.at, Place::Container, "expected ',' or '}'")),
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads `[` or `{`, and the end if it follows at once; true if a value is due.
    fn begin(&mut self, kind: Kind) -> Result<bool, Fault> {
        let at = self.at;
        let node = self.blank_node(kind, at);
        self.open = self.tree.nodes.len() as u32;
        // Without an end yet: the walks of `report` stop at it.
        self.push(Node { next: NONE, low: NONE, flags: 0, ..node });
        (self.open_kind, self.depth) = (kind, self.depth.wrapping_add(1));
        self.step();
        self.blank();
        match (kind, self.peek()) {
            (Kind::Array, b']') | (Kind::Object, b'}') => self.end().map(|()| false),
            (Kind::Object, _) => self.name().map(|()| true),
            _ => Ok(true),
        }
    }

    /// Reads `]` or `}`: the innermost container is complete.
    fn end(&mut self) -> Result<(), Fault> {
        self.step();
        let (index, mut first) = (self.open, NONE);
        if self.open_kind == Kind::Object {
            let twice = members::sort(&self.tree, index, &mut self.entries);
            check(Rule::CJ1, twice == NONE).map_err(|_| self.twice(twice))?;
            first = members::link(&mut self.tree.nodes, &self.entries);
        }
        let (next, end) = (self.tree.nodes.len() as u32, self.at as u32);
        if let Some(node) = self.tree.nodes.get_mut(index as usize) {
            (node.next, node.end, node.low) = (next, end, first);
            self.open = node.parent;
        }
        self.open_kind = if self.open == NONE { Kind::Null } else { self.tree.node(self.open).kind };
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    /// Reads the name of a member and the colon.
    fn name(&mut self) -> Result<(), Fault> {
        self.count()?;
        let start = self.at;
        if self.peek() != b'"' {
            return Err(fault(start, Place::Container, "expected a member name"));
        }
        let string = self.string(Place::Container)?;
        let index = self.tree.nodes.len() as u32;
        let node = self.blank_node(Kind::String, start);
        let (low, high, flags, end) = (string.from, string.to, string.flags | NAME, self.at as u32);
        self.tree.nodes.push(Node { end, next: NONE, low, high, flags, ..node });
        self.blank();
        if self.peek() != b':' {
            return Err(fault(self.at, Place::Member(index), "expected ':'"));
        }
        self.step();
        Ok(())
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, Fault> {
        let end = self.at.wrapping_add(word.len());
        if self.bytes.get(self.at..end) != Some(word.as_bytes()) {
            return Err(fault(self.at, Place::Pending, "expected a value"));
        }
        self.at = end;
        Ok(kind)
    }

    /// One more level of nesting, before anything is stored for it.
    fn deeper(&self) -> Result<(), Fault> {
        let at = self.at;
        check(Rule::CJ8, self.depth < self.limits.depth_max).map_err(|broken| Fault {
            rule: broken.0,
            at,
            place: Place::Pending,
            what: "",
        })
    }

    /// One more member or element, before anything is stored for it.
    fn count(&mut self) -> Result<(), Fault> {
        let at = self.at;
        check(Rule::CJ9, self.members < self.limits.members_max).map_err(|broken| Fault {
            rule: broken.0,
            at,
            place: Place::Container,
            what: "",
        })?;
        self.members = self.members.wrapping_add(1);
        Ok(())
    }

    /// A node at the end of the arena for a value that starts at `start`; `next` is its own index.
    fn blank_node(&self, kind: Kind, start: usize) -> Node {
        let (start, next) = (start as u32, self.tree.nodes.len() as u32);
        Node { start, end: 0, parent: self.open, next, low: 0, high: 0, kind, flags: RAW_CANONICAL }
    }

    /// Stores a value, counted in its container.
    fn push(&mut self, node: Node) {
        if let Some(container) = self.tree.nodes.get_mut(node.parent as usize) {
            container.high = container.high.wrapping_add(1);
        }
        self.tree.nodes.push(node);
    }

    /// The byte at the current position, 0 at the end.
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn step(&mut self) {
        self.at = self.at.wrapping_add(1);
    }

    fn blank(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.step();
        }
    }

    fn twice(&self, name: u32) -> Fault {
        let at = self.tree.node(name).start as usize;
        Fault { rule: Rule::CJ1, at, place: Place::Member(name), what: "" }
    }

    /// The error of `fault`, or of a duplicate in an object still open, whose names are compared only at its end.
    #[cold]
    fn report(mut self, mut fault: Fault) -> Error {
        let mut container = self.open;
        while container != NONE {
            if self.tree.node(container).kind == Kind::Object {
                let twice = members::sort(&self.tree, container, &mut self.entries);
                if twice != NONE && check(Rule::CJ1, false).is_err() && self.twice(twice).at < fault.at {
                    fault = self.twice(twice);
                }
            }
            container = self.tree.node(container).parent;
        }
        let mut error = Error::broken(fault.rule, self.pointer(fault.place));
        add_offset(&mut error, fault.at, fault.what);
        error
    }

    fn pointer(&self, place: Place) -> String {
        match place {
            Place::Text => String::new(),
            Place::Container => pointer::of(&self.tree, self.open),
            Place::Member(name) => pointer::of(&self.tree, name),
            Place::Pending if self.open == NONE => String::new(),
            Place::Pending if self.open_kind == Kind::Array => {
                let mut out = pointer::of(&self.tree, self.open);
                pointer::push_position(&mut out, self.tree.node(self.open).high);
                out
            }
            Place::Pending => pointer::of(&self.tree, (self.tree.nodes.len() as u32).wrapping_sub(1)),
        }
    }
}
