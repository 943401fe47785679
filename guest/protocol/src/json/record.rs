//! Our own rows: objects whose members stand in one order, without white space, as [`Writer`] writes them.
//!
//! The reader knows what comes next, so that it builds no tree, compares no names with each other and copies only what
//! is kept. What it does not know it takes for damage. Documents inside a row are checked for their grammar and taken
//! whole; they are parsed where somebody looks into them.
//!
//! Names of members are given as literals with what stands around them: `,"name":`.

mod reader;
mod skip;
mod writer;

pub(crate) use reader::Reader;
pub(crate) use writer::Writer;

use alloc::string::String;

/// A row is not one that the core wrote: the member at which that shows, as a literal, or another word for the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub &'static str);

impl Damage {
    /// The name of the member.
    pub fn member(self) -> &'static str {
        self.0.trim_matches(|char| matches!(char, ',' | '"' | ':'))
    }
}

/// Reads the text of a row. Error: it is not exactly one object that `members` reads.
pub(crate) fn parse<T>(text: &str, members: fn(&mut Reader<'_>) -> Result<T, Damage>) -> Result<T, Damage> {
    let mut reader = Reader::new(text);
    let record = reader.row(members)?;
    reader.finish()?;
    Ok(record)
}

/// The text of a row whose members `members` writes.
pub(crate) fn text<T>(record: &T, members: fn(&T, &mut Writer)) -> String {
    let mut writer = Writer::new();
    writer.row(record, members);
    writer.finish()
}

#[cfg(test)]
mod tests;
