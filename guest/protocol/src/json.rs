//! Strict I-JSON (RFC 7493) in, RFC 8785 out.
//!
//! [`parse`] reads a text once into an arena of nodes that borrow from it; the text itself stays what is stored and
//! passed on. [`Tree::canonical`] and [`Tree::digest`] write the RFC 8785 form, which is what is digested and compared.
//! Nothing recurses on the depth of the input, and every limit is checked before the memory is taken.
//!
//! Of several faults the one reported is: encoding, then size, then the first in text order; at one place, limits first.
//! A duplicate member stands where its name stands the second time. `spec/canonical-json.md` has it in full.
//!
//! Not here: what a document must contain ([`parse_document`] only adds the number rule of protocol documents).

mod canonical;
mod limits;
mod members;
mod number;
mod parser;
mod pointer;
pub(crate) mod record;
mod scan;
mod tree;
mod value;
mod writer;

pub use limits::{INTEGER_MAX, Limits};
pub(crate) use tree::Parse;
pub use tree::{Kind, Tree};
pub use value::{Items, Members, Value};
pub use writer::Writer;
pub(crate) use writer::push_digits;

use crate::rules::check;
use crate::{Error, Rule};

/// Received bytes as text. Errors: `json-encoding` for what is not UTF-8 (CJ-2) or starts with a byte-order mark (CJ-3).
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    let text = core::str::from_utf8(bytes).map_err(|fault| {
        let mut error = Error::broken(Rule::CJ2, "");
        parser::add_offset(&mut error, fault.valid_up_to(), "");
        error
    })?;
    check(Rule::CJ3, !text.starts_with('\u{feff}'))?;
    Ok(text)
}

/// Parses a text under the default limits. Errors: the `json-*` codes, by rules CJ-3 to CJ-12. The pointer names the
/// faulty value or member, or the container where the fault lies between values; the detail gives the byte offset.
pub fn parse(text: &str) -> Result<Tree<'_>, Error> {
    parse_with(text, &Limits::default(), false)
}

/// As [`parse`], with the stricter profile of protocol documents: no whole number beyond ±(2^53-1) anywhere, in
/// whatever notation (CJ-13, `json-integer-range`).
pub fn parse_document(text: &str) -> Result<Tree<'_>, Error> {
    parse_with(text, &Limits::default(), true)
}

/// As [`parse`] or, with `document`, as [`parse_document`], under limits of the caller's.
pub fn parse_with<'t>(text: &'t str, limits: &Limits, document: bool) -> Result<Tree<'t>, Error> {
    parser::Parser::new(text, limits, document).run()
}

#[cfg(test)]
mod tests;
