//! How a part of an operation ends.

use crate::{Code, Error, rules::Broken};
use alloc::{format, string::String, vec::Vec};

/// Why an operation does not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// More facts are needed; they stand in the context.
    Needs,
    /// Nothing to answer yet.
    Wait(Vec<String>, i64),
    /// The caller gets an error.
    Refuse(Error),
    /// The host broke the contract, or a stored record is damaged.
    Misuse(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refuse(error)
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Refuse(broken.at(""))
    }
}

/// The result of a part of an operation.
pub(crate) type Flow<T> = Result<T, Stop>;

/// A stored record is not one that the core wrote.
pub(crate) fn damaged(what: &str) -> Stop {
    Stop::Misuse(Error::new(Code::RecordDamaged, "", format!("a stored record is damaged: {what}")))
}

/// The one answer for missing and foreign.
pub(crate) fn not_visible() -> Stop {
    Stop::Refuse(Error::new(Code::NotVisible, "", "there is nothing here that you may see"))
}

/// A cursor that no decision gave out. A continuation names the row that was decided about, since what its params name may
/// be another one by then; and it only relabels.
pub(crate) fn no_cursor() -> Stop {
    Stop::Misuse(Error::new(Code::HostMisuse, "", "no such cursor"))
}
