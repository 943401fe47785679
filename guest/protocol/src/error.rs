//! The one error of the rules: a code, a place and a sentence.

use crate::{Code, Rule};
use alloc::{format, string::String};

/// Why an input was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of fault; see `spec/errors.md`.
    pub code: Code,
    /// JSON Pointer (RFC 6901) into the input; empty for the whole of it.
    pub pointer: String,
    /// One sentence for a person. It starts with the rule's id where a rule was broken.
    pub detail: String,
}

impl Error {
    /// An error of `code` at `pointer`.
    pub fn new(code: Code, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { code, pointer: pointer.into(), detail: detail.into() }
    }

    /// A broken rule at `pointer`: the code and the sentence come from the rule's table entry.
    pub fn broken(rule: Rule, pointer: impl Into<String>) -> Self {
        Self::new(rule.code(), pointer, format!("{}: {}", rule.id(), rule.text()))
    }
}
