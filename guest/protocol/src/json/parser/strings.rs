//! Strings: plain ones borrow from the text, others are unescaped into the tree.

use super::super::scan::plain_end;
use super::super::tree::{RAW_CANONICAL, UNESCAPED};
use super::{Fault, Parser, Place, fault};
use crate::Rule;
use crate::rules::check;

/// What was read: flags, and the range in [`super::Tree::unescaped`] if they say so.
pub(in super::super) struct Text {
    pub(super) flags: u8,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Parser<'_> {
    /// Reads a string from its quote on.
    #[inline]
    pub(super) fn string(&mut self, place: Place) -> Result<Text, Fault> {
        let from = self.at.wrapping_add(1);
        let end = plain_end(self.bytes, from);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end.wrapping_add(1);
            return Ok(Text { flags: RAW_CANONICAL, from: 0, to: 0 });
        }
        self.escaped(from, end, place)
    }

    /// Reads the rest of a string of which `from..end` is plain.
    #[inline(never)]
    fn escaped(&mut self, from: usize, end: usize, place: Place) -> Result<Text, Fault> {
        let to = |out: &alloc::string::String| out.len() as u32;
        let start = to(&self.tree.unescaped);
        let (mut from, mut canonical) = (from, true);
        self.at = end;
        loop {
            self.tree.unescaped.push_str(self.text.get(from..self.at).unwrap_or_default());
            from = self.at;
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    canonical &= self.escape(place)?;
                    from = self.at;
                }
                Some(_) => {
                    let (rule, at, what) = (Rule::CJ5, self.at, "a control character");
                    check(rule, false).map_err(|_| Fault { rule, at, place, what })?;
                    canonical = false;
                    self.step();
                }
                None => return Err(fault(self.at, place, "expected the end of the string")),
            }
            self.at = plain_end(self.bytes, self.at);
        }
        self.step();
        let flags = if canonical { UNESCAPED | RAW_CANONICAL } else { UNESCAPED };
        Ok(Text { flags, from: start, to: to(&self.tree.unescaped) })
    }

    /// Reads one escape; whether RFC 8785 writes its character the same way.
    fn escape(&mut self, place: Place) -> Result<bool, Fault> {
        let at = self.at;
        let (char, canonical) = match self.bytes.get(at.wrapping_add(1)) {
            Some(b'u') => return self.unicode(place),
            Some(b'n') => ('\n', true),
            Some(b'"') => ('"', true),
            Some(b'\\') => ('\\', true),
            Some(b't') => ('\t', true),
            Some(b'r') => ('\r', true),
            Some(b'b') => ('\u{8}', true),
            Some(b'f') => ('\u{c}', true),
            Some(b'/') => ('/', false),
            _ => return Err(fault(at, place, "no such escape")),
        };
        self.tree.unescaped.push(char);
        self.at = at.wrapping_add(2);
        Ok(canonical)
    }

    fn unicode(&mut self, place: Place) -> Result<bool, Fault> {
        let at = self.at;
        let unit = self.unit(at).ok_or(fault(at, place, "expected four hex digits after \\u"))?;
        self.at = at.wrapping_add(6);
        let low = self.unit(self.at);
        if let Some(char) = low.and_then(|low| pair(unit, low)) {
            self.tree.unescaped.push(char);
            self.at = self.at.wrapping_add(6);
            return Ok(false);
        }
        let char = char::from_u32(unit);
        check(Rule::CJ10, char.is_some()).map_err(|broken| Fault { rule: broken.0, at, place, what: "" })?;
        let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.tree.unescaped.push(char);
        let upper = self.bytes.get(at..self.at).unwrap_or_default().iter().any(u8::is_ascii_uppercase);
        Ok(unit < 0x20 && !upper && !matches!(char, '\u{8}' | '\t' | '\n' | '\u{c}' | '\r'))
    }

    /// The code unit of the `\uXXXX` at `at`, if one stands there.
    fn unit(&self, at: usize) -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = self.bytes.get(at..)?.first_chunk::<6>()? else { return None };
        digits.iter().try_fold(0_u32, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }
}

/// The character of a surrogate pair, if the two are one.
fn pair(high: u32, low: u32) -> Option<char> {
    if !(0xd800..0xdc00).contains(&high) || !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    char::from_u32(0x10000_u32.wrapping_add((high & 0x3ff) << 10).wrapping_add(low & 0x3ff))
}
