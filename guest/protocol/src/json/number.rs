//! Numbers: grammar, value, and the digits of RFC 8785.

use super::limits::INTEGER_MAX;
use super::parser::{Fault, Parser, Place, fault};
use super::tree::RAW_CANONICAL;
use crate::Rule;
use crate::rules::check;

/// An integer of that many digits is exact in a double and prints as it is written.
const EXACT_DIGITS: usize = 15;

/// What was read: the double, and whether its RFC 8785 form is the literal.
pub(super) struct Number {
    pub(super) double: f64,
    pub(super) flags: u8,
}

impl Parser<'_> {
    /// Reads a number from the current position on.
    pub(super) fn number(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        let negative = self.peek() == b'-';
        self.at = start.wrapping_add(usize::from(negative));
        let from = self.at;
        let value = self.digits()?;
        let count = self.at.wrapping_sub(from);
        if count > 1 && self.bytes.get(from) == Some(&b'0') {
            return Err(fault(from, Place::Pending, "a number starts with 0 only if its whole part is 0"));
        }
        let whole = !matches!(self.peek(), b'.' | b'e' | b'E');
        if whole && count <= EXACT_DIGITS {
            let double = if negative { 0.0 - value as f64 } else { value as f64 };
            let minus_zero = negative && value == 0;
            return Ok(Number { double: double + 0.0, flags: if minus_zero { 0 } else { RAW_CANONICAL } });
        }
        if !whole {
            self.fraction_and_exponent()?;
        }
        self.rounded(start, whole)
    }

    /// The double of a literal that is not a short integer.
    fn rounded(&self, start: usize, whole: bool) -> Result<Number, Fault> {
        let literal = self.text.get(start..self.at).unwrap_or_default();
        // core rounds to the nearest double, ties to even, whatever the length.
        let double: f64 = literal.parse().unwrap_or(f64::NAN);
        let refused = |rule, what| Fault { rule, at: start, place: Place::Pending, what };
        check(Rule::CJ11, double.is_finite()).map_err(|broken| refused(broken.0, "too large"))?;
        let mut flags = 0;
        if whole {
            let same = ryu_js::Buffer::new().format(double) == literal;
            check(Rule::CJ12, same).map_err(|broken| refused(broken.0, "not the digits of its double"))?;
            flags = if same { RAW_CANONICAL } else { 0 };
        }
        // From 2^52 on every double is whole.
        let in_range = !self.document || double.abs() <= INTEGER_MAX as f64;
        check(Rule::CJ13, in_range).map_err(|broken| refused(broken.0, "write it as a string"))?;
        Ok(Number { double: double + 0.0, flags })
    }

    fn fraction_and_exponent(&mut self) -> Result<(), Fault> {
        if self.peek() == b'.' {
            self.step();
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.step();
            if matches!(self.peek(), b'+' | b'-') {
                self.step();
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads one digit or more; their value is exact up to 19 of them.
    fn digits(&mut self) -> Result<u64, Fault> {
        let from = self.at;
        let mut value = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
            self.step();
        }
        if self.at == from { Err(fault(from, Place::Pending, "expected a digit")) } else { Ok(value) }
    }
}
