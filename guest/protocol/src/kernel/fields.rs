//! Reading members of stored records: the core wrote them, so a missing one is damage, never the caller's fault.

use crate::json::Value;
use crate::kernel::flow::{Flow, damaged};
use alloc::string::String;

/// Typed access to members of a stored record.
pub(crate) trait Fields<'a> {
    /// A string.
    fn text(&self, name: &str) -> Flow<&'a str>;
    /// A string that may be absent.
    fn maybe_text(&self, name: &str) -> Option<String>;
    /// A whole number.
    fn int(&self, name: &str) -> Flow<i64>;
    /// A whole number that may be absent.
    fn maybe_int(&self, name: &str) -> Option<i64>;
    /// Whether a flag is there and true.
    fn flag(&self, name: &str) -> bool;
    /// The exact text of a member that may be absent.
    fn maybe_raw(&self, name: &str) -> Option<String>;
    /// A member that must be there.
    fn member(&self, name: &str) -> Flow<Value<'a>>;
}

impl<'a> Fields<'a> for Value<'a> {
    fn text(&self, name: &str) -> Flow<&'a str> {
        self.get(name).and_then(|value| value.as_str()).ok_or_else(|| damaged(name))
    }

    fn maybe_text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|value| value.as_str()).map(Into::into)
    }

    fn int(&self, name: &str) -> Flow<i64> {
        self.get(name).and_then(|value| value.as_int()).ok_or_else(|| damaged(name))
    }

    fn maybe_int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(|value| value.as_int())
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(|value| value.as_bool()).unwrap_or(false)
    }

    fn maybe_raw(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_null()).map(|value| value.raw().into())
    }

    fn member(&self, name: &str) -> Flow<Value<'a>> {
        self.get(name).ok_or_else(|| damaged(name))
    }
}
