//! Reading a row.

use super::Damage;
use super::skip;
use crate::json::INTEGER_MAX;
use crate::json::scan::plain_end;
use alloc::{string::String, vec::Vec};

/// An integer of that many digits fits in what it is collected in.
const DIGITS_MAX: usize = 16;

/// Reads members in the order in which they are asked for.
pub(crate) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// At the start of a row.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The object that stands here.
    pub fn row<T>(&mut self, members: fn(&mut Self) -> Result<T, Damage>) -> Result<T, Damage> {
        self.expect(b'{')?;
        let record = members(self)?;
        self.expect(b'}')?;
        Ok(record)
    }

    /// Nothing follows.
    pub fn finish(self) -> Result<(), Damage> {
        if self.at == self.text.len() { Ok(()) } else { Err(Damage("end")) }
    }

    /// A text.
    pub fn text(&mut self, name: &'static str) -> Result<String, Damage> {
        self.name(name)?;
        self.string().ok_or(Damage(name))
    }

    /// A text that may be absent.
    pub fn maybe_text(&mut self, name: &'static str) -> Result<Option<String>, Damage> {
        if self.has(name) { self.string().ok_or(Damage(name)).map(Some) } else { Ok(None) }
    }

    /// An integer.
    pub fn integer(&mut self, name: &'static str) -> Result<i64, Damage> {
        self.name(name)?;
        self.digits().ok_or(Damage(name))
    }

    /// An integer that may be absent.
    pub fn maybe_integer(&mut self, name: &'static str) -> Result<Option<i64>, Damage> {
        if self.has(name) { self.digits().ok_or(Damage(name)).map(Some) } else { Ok(None) }
    }

    /// A flag.
    pub fn flag(&mut self, name: &'static str) -> Result<bool, Damage> {
        self.name(name)?;
        self.truth().ok_or(Damage(name))
    }

    /// A flag that may be absent.
    pub fn maybe_flag(&mut self, name: &'static str) -> Result<Option<bool>, Damage> {
        if self.has(name) { self.truth().ok_or(Damage(name)).map(Some) } else { Ok(None) }
    }

    /// A document, whole.
    pub fn document(&mut self, name: &'static str) -> Result<String, Damage> {
        self.name(name)?;
        self.whole().ok_or(Damage(name))
    }

    /// A document that may be absent.
    pub fn maybe_document(&mut self, name: &'static str) -> Result<Option<String>, Damage> {
        if self.has(name) { self.whole().ok_or(Damage(name)).map(Some) } else { Ok(None) }
    }

    /// A word of a closed set.
    pub fn word<T>(&mut self, name: &'static str, parse: fn(&str) -> Option<T>) -> Result<T, Damage> {
        self.name(name)?;
        self.plain().and_then(parse).ok_or(Damage(name))
    }

    /// An object.
    pub fn object<T>(&mut self, name: &'static str, members: fn(&mut Self) -> Result<T, Damage>) -> Result<T, Damage> {
        self.name(name)?;
        self.row(members)
    }

    /// An object that may be absent.
    pub fn maybe_object<T>(
        &mut self,
        name: &'static str,
        members: fn(&mut Self) -> Result<T, Damage>,
    ) -> Result<Option<T>, Damage> {
        if self.has(name) { self.row(members).map(Some) } else { Ok(None) }
    }

    /// A list of texts.
    pub fn texts(&mut self, name: &'static str) -> Result<Vec<String>, Damage> {
        self.name(name)?;
        self.list(|reader| reader.string().ok_or(Damage(name)))
    }

    /// A list of objects.
    pub fn objects<T>(
        &mut self,
        name: &'static str,
        members: fn(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        self.name(name)?;
        self.list(|reader| reader.row(members))
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Damage>) -> Result<Vec<T>, Damage> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        if self.peek() != Some(b']') {
            items.push(item(self)?);
            while self.peek() == Some(b',') {
                self.at = self.at.wrapping_add(1);
                items.push(item(self)?);
            }
        }
        self.expect(b']')?;
        Ok(items)
    }

    fn name(&mut self, name: &'static str) -> Result<(), Damage> {
        if self.has(name) { Ok(()) } else { Err(Damage(name)) }
    }

    /// Whether the member `name` comes next; then its value does. The first of an object has no comma before it.
    fn has(&mut self, name: &'static str) -> bool {
        let first = self.at.checked_sub(1).and_then(|before| self.text.as_bytes().get(before)) == Some(&b'{');
        let literal = name.as_bytes().get(usize::from(first)..).unwrap_or_default();
        let end = self.at.wrapping_add(literal.len());
        let here = self.text.as_bytes().get(self.at..end) == Some(literal);
        if here {
            self.at = end;
        }
        here
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), Damage> {
        let here = self.peek() == Some(byte);
        self.at = self.at.wrapping_add(usize::from(here));
        if here { Ok(()) } else { Err(Damage("structure")) }
    }

    /// The text up to `end`, where reading goes on at `next`.
    fn cut(&mut self, from: usize, end: usize, next: usize) -> Option<&'t str> {
        self.at = next;
        self.text.get(from..end)
    }

    /// A string without escapes.
    fn plain(&mut self) -> Option<&'t str> {
        let from = self.at.wrapping_add(1);
        let end = plain_end(self.text.as_bytes(), from);
        let quoted = self.peek() == Some(b'"') && self.text.as_bytes().get(end) == Some(&b'"');
        if quoted { self.cut(from, end, end.wrapping_add(1)) } else { None }
    }

    fn string(&mut self) -> Option<String> {
        if let Some(plain) = self.plain() {
            return Some(plain.into());
        }
        if self.peek() == Some(b'"') { self.escaped() } else { None }
    }

    /// A string in which the characters that need it are escaped as the writer does, and no other.
    #[inline(never)]
    fn escaped(&mut self) -> Option<String> {
        let bytes = self.text.as_bytes();
        let mut out = String::new();
        let mut from = self.at.wrapping_add(1);
        loop {
            let end = plain_end(bytes, from);
            out.push_str(self.text.get(from..end)?);
            match bytes.get(end..)? {
                [b'"', ..] => {
                    self.at = end.wrapping_add(1);
                    return Some(out);
                }
                [b'\\', b'u', b'0', b'0', high @ b'0'..=b'1', low, ..] => {
                    let low = char::from(*low).to_digit(16).filter(|_| !low.is_ascii_uppercase())?;
                    let unit = u32::from(high.wrapping_sub(b'0')).wrapping_mul(16).wrapping_add(low);
                    let short = matches!(unit, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d);
                    out.push(char::from_u32(unit).filter(|_| !short)?);
                    from = end.wrapping_add(6);
                }
                [b'\\', letter, ..] => {
                    out.push(match letter {
                        b'"' => '"',
                        b'\\' => '\\',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        _ => return None,
                    });
                    from = end.wrapping_add(2);
                }
                _ => return None,
            }
        }
    }

    /// An integer within ±(2^53-1), as the writer prints it.
    fn digits(&mut self) -> Option<i64> {
        let bytes = self.text.as_bytes().get(self.at..)?;
        let negative = bytes.first() == Some(&b'-');
        let digits = bytes.get(usize::from(negative)..)?;
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sound = match digits.first()? {
            b'0' => count == 1 && !negative,
            _ => (1..=DIGITS_MAX).contains(&count),
        };
        let value = digits
            .get(..count)?
            .iter()
            .fold(0_i64, |value, digit| value.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0'))));
        if !sound || value > INTEGER_MAX {
            return None;
        }
        self.at = self.at.wrapping_add(count).wrapping_add(usize::from(negative));
        Some(if negative { value.wrapping_neg() } else { value })
    }

    fn truth(&mut self) -> Option<bool> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let (truth, length) = if rest.starts_with(b"true") { (true, 4) } else { (false, 5) };
        if !truth && !rest.starts_with(b"false") {
            return None;
        }
        self.at = self.at.wrapping_add(length);
        Some(truth)
    }

    fn whole(&mut self) -> Option<String> {
        let end = skip::value(self.text.as_bytes(), self.at)?;
        self.cut(self.at, end, end).map(Into::into)
    }
}
