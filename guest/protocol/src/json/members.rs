//! The order of members (RFC 8785 3.2.3: by UTF-16 code units) and the search for a name that stands twice.

use super::tree::{NONE, Node, Tree};
use core::cmp::Ordering;

/// A name to be sorted: its first eight bytes as a number that orders like them, and its node.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    prefix: u64,
    index: u32,
}

/// Order by UTF-16 code units of two UTF-8 texts. It is the order of the bytes but for one case: U+10000 and above
/// (first byte F0 to F4), whose surrogates come before U+E000 to U+FFFF (first byte EE or EF).
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let common = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    match (left.get(common), right.get(common)) {
        (Some(l), Some(r)) => rank(*l).cmp(&rank(*r)),
        _ => left.len().cmp(&right.len()),
    }
}

/// A byte of UTF-8 moved so that ranks order like UTF-16 code units.
const fn rank(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte.wrapping_add(0x10),
        _ => byte,
    }
}

/// The first eight bytes of a name, ranked, the first one highest; missing ones are 0.
fn prefix(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut head = [0; 8];
    if let Some(chunk) = bytes.first_chunk::<8>() {
        head = *chunk;
    } else {
        for (to, from) in head.iter_mut().zip(bytes) {
            *to = *from;
        }
    }
    let prefix = u64::from_be_bytes(head);
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    if prefix & HIGHS == 0 { prefix } else { u64::from_be_bytes(head.map(rank)) }
}

/// Collects the names of the object at `object` so far, sorts them (equal names in text order) into `entries`, and
/// gives back the first name in text order that had stood before, or [`NONE`]. The object may still be open.
pub(super) fn sort(tree: &Tree<'_>, object: u32, entries: &mut alloc::vec::Vec<Entry>) -> u32 {
    entries.clear();
    let mut index = object.wrapping_add(1);
    while let Some(name) = tree.nodes.get(index as usize) {
        entries.push(Entry { prefix: prefix(tree.string(name)), index });
        index = tree.nodes.get(index.wrapping_add(1) as usize).map_or(NONE, |value| value.next);
    }
    let order = |left: &Entry, right: &Entry| {
        left.prefix.cmp(&right.prefix).then_with(|| compare(text(tree, left), text(tree, right)))
    };
    if entries.is_sorted_by(|left, right| order(left, right) == Ordering::Less) {
        return NONE;
    }
    entries.sort_unstable_by(|left, right| order(left, right).then(left.index.cmp(&right.index)));
    let twice = |pair: &[Entry]| match pair {
        [left, right] if order(left, right) == Ordering::Equal => Some(right.index),
        _ => None,
    };
    entries.windows(2).filter_map(twice).min().unwrap_or(NONE)
}

/// Links the names of `entries` in their order and gives back the first.
pub(super) fn link(nodes: &mut [Node], entries: &[Entry]) -> u32 {
    let mut next = NONE;
    for entry in entries.iter().rev() {
        if let Some(name) = nodes.get_mut(entry.index as usize) {
            name.next = next;
        }
        next = entry.index;
    }
    next
}

fn text<'a>(tree: &'a Tree<'_>, entry: &Entry) -> &'a str {
    tree.string(tree.node(entry.index))
}
