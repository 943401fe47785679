//! Checksums of what is stored: SQLite has none of its own, so that a flipped bit in a text would be told as the truth.
//!
//! No protection against anybody, who could write another sum beside another text.

use crc32fast::Hasher;
use rusqlite::types::ValueRef;

/// A sum in the making: CRC-32, which sees every change of up to 32 neighbouring bits.
#[derive(Debug)]
pub(crate) struct Sum(Hasher);

impl Sum {
    /// Of nothing.
    pub fn new() -> Self {
        Self(Hasher::new())
    }

    /// With a number.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// With bytes and their length.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// As it is stored.
    pub fn value(self) -> i64 {
        self.0.finalize().into()
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

/// The sum of an audit record.
pub(crate) fn of_record(position: i64, keys: &[u8], body: &str) -> i64 {
    Sum::new().number(position).bytes(keys).bytes(body.as_bytes()).value()
}

/// The bytes of a column that holds some.
pub(crate) fn blob<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(rusqlite::Error::InvalidColumnType(column, "a blob".into(), other.data_type())),
    }
}
