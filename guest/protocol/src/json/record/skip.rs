//! Where a JSON value ends: the grammar is checked, the content is not looked at.

use crate::generated::limits::DOCUMENT_DEPTH_MAX;
use crate::json::scan::plain_end;

/// The containers that are open: the lowest bit is the innermost one, set for an object.
struct Open {
    objects: u128,
    depth: u32,
}

/// The end of the value that starts at `at`; none where no value does, or one that is nested too deep.
pub(super) fn value(bytes: &[u8], at: usize) -> Option<usize> {
    let mut open = Open { objects: 0, depth: 0 };
    let mut at = at;
    loop {
        at = match bytes.get(at)? {
            byte @ (b'{' | b'[') => {
                let object = *byte == b'{';
                open.push(object)?;
                let inside = blank(bytes, at.wrapping_add(1));
                match bytes.get(inside)? {
                    b'}' if object => inside,
                    b']' if !object => inside,
                    _ if object => {
                        at = name(bytes, inside)?;
                        continue;
                    }
                    _ => {
                        at = inside;
                        continue;
                    }
                }
            }
            b'"' => string(bytes, at)?,
            b't' => word(bytes, at, b"true")?,
            b'f' => word(bytes, at, b"false")?,
            b'n' => word(bytes, at, b"null")?,
            _ => number(bytes, at)?,
        };
        match after(bytes, at, &mut open)? {
            (end, true) => return Some(end),
            (next, false) => at = next,
        }
    }
}

/// What comes after a value: the place of the next one, or the end of the outermost.
fn after(bytes: &[u8], mut at: usize, open: &mut Open) -> Option<(usize, bool)> {
    while open.depth > 0 {
        at = blank(bytes, at);
        let object = open.objects & 1 == 1;
        let next = at.wrapping_add(1);
        match bytes.get(at)? {
            b',' if object => return Some((name(bytes, blank(bytes, next))?, false)),
            b',' => return Some((blank(bytes, next), false)),
            b'}' if object => open.pop(),
            b']' if !object => open.pop(),
            _ => return None,
        }
        at = next;
    }
    Some((at, true))
}

impl Open {
    fn push(&mut self, object: bool) -> Option<()> {
        if i64::from(self.depth) >= DOCUMENT_DEPTH_MAX {
            return None;
        }
        (self.objects, self.depth) = (self.objects << 1 | u128::from(object), self.depth.wrapping_add(1));
        Some(())
    }

    fn pop(&mut self) {
        (self.objects, self.depth) = (self.objects >> 1, self.depth.wrapping_sub(1));
    }
}

fn blank(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at = at.wrapping_add(1);
    }
    at
}

/// A name and its colon; where the value starts.
fn name(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = blank(bytes, string(bytes, at)?);
    (bytes.get(colon) == Some(&b':')).then(|| blank(bytes, colon.wrapping_add(1)))
}

fn word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then(|| at.wrapping_add(word.len()))
}

fn string(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut end = plain_end(bytes, at.wrapping_add(1));
    loop {
        match bytes.get(end)? {
            b'"' => return Some(end.wrapping_add(1)),
            b'\\' => end = plain_end(bytes, escape(bytes, end)?),
            _ => return None,
        }
    }
}

/// The end of an escape; none for half of a surrogate pair.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at.wrapping_add(1))? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at.wrapping_add(2)),
        b'u' => {
            let next = at.wrapping_add(6);
            match unit(bytes, at)? {
                0xd800..0xdc00 => matches!(unit(bytes, next)?, 0xdc00..0xe000).then(|| at.wrapping_add(12)),
                0xdc00..0xe000 => None,
                _ => Some(next),
            }
        }
        _ => None,
    }
}

fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..)?.first_chunk::<6>()? else { return None };
    digits.iter().try_fold(0_u32, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let negative = bytes.get(at) == Some(&b'-');
    let from = at.wrapping_add(usize::from(negative));
    let mut end = digits(bytes, from)?;
    if bytes.get(from) == Some(&b'0') && end != from.wrapping_add(1) {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end.wrapping_add(1))?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(end.wrapping_add(1)), Some(b'+' | b'-'));
        end = digits(bytes, end.wrapping_add(if sign { 2 } else { 1 }))?;
    }
    Some(end)
}

/// The end of one digit or more.
fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| at.wrapping_add(count))
}
