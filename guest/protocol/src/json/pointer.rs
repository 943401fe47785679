//! JSON Pointers (RFC 6901) from the links of a tree, which may still be under construction.

use super::tree::Kind;
use super::tree::{NAME, NONE, Tree};
use alloc::{string::String, vec::Vec};
use core::fmt::Write;

/// The pointer of the node at `index`; of a name, that of its member.
pub(super) fn of(tree: &Tree<'_>, index: u32) -> String {
    let mut path = Vec::new();
    let mut at = index;
    while at != NONE {
        path.push(at);
        at = tree.node(at).parent;
    }
    let mut out = String::new();
    let parents = path.iter().rev();
    for (parent, child) in parents.clone().zip(parents.skip(1)) {
        if tree.node(*parent).kind == Kind::Array {
            push_position(&mut out, position(tree, *parent, *child));
        } else if tree.node(*child).has(NAME) {
            push_name(&mut out, tree.string(tree.node(*child)));
        } else {
            push_name(&mut out, tree.string(tree.node(child.wrapping_sub(1))));
        }
    }
    out
}

/// Appends the step to a member.
pub(super) fn push_name(out: &mut String, name: &str) {
    out.push('/');
    for char in name.chars() {
        match char {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            other => out.push(other),
        }
    }
}

/// Appends the step to an element.
pub(super) fn push_position(out: &mut String, position: u32) {
    // Writing to a String cannot fail.
    let _ = write!(out, "/{position}");
}

fn position(tree: &Tree<'_>, array: u32, child: u32) -> u32 {
    let (mut at, mut count) = (array.wrapping_add(1), 0_u32);
    while at < child {
        at = tree.node(at).next;
        count = count.wrapping_add(1);
    }
    count
}
