//! Checksums of what is stored: SQLite has none of its own, so that a flipped bit in a text would be told as the truth.
//!
//! No protection against anybody, who could write another sum beside another text.

use rusqlite::types::ValueRef;

/// A sum in the making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Of nothing.
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// With a number.
    #[must_use]
    pub fn number(self, number: i64) -> Self {
        self.word(number.cast_unsigned())
    }

    /// With bytes and their length.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(self.word(bytes.len() as u64), |sum, word| sum.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum.word(u64::from_le_bytes(last))
    }

    /// As it is stored.
    pub fn value(self) -> i64 {
        self.0.cast_signed()
    }

    /// Two inputs that differ in one word only never have the same sum: each step can be undone.
    fn word(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Self(mixed ^ (mixed >> 32))
    }
}

/// The sum of a row's text.
pub(crate) fn of_body(body: &str) -> i64 {
    Sum::new().bytes(body.as_bytes()).value()
}

/// The sum of everything else in a row of `facts`.
pub(crate) fn of_head(stamp: i64, revision: u32, name: i64, id: &str, keys: &[u8], body_sum: i64) -> i64 {
    let numbers = Sum::new().number(stamp).number(i64::from(revision)).number(name).number(body_sum);
    numbers.bytes(id.as_bytes()).bytes(keys).value()
}

/// The bytes of a column that holds some.
pub(crate) fn blob<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(rusqlite::Error::InvalidColumnType(column, "a blob".into(), other.data_type())),
    }
}
