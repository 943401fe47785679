//! What can be asked, above all domains. The table itself is generated from `spec/operations.json`.

mod stepper;
#[rustfmt::skip]
mod table;

pub use stepper::Stepper;

use crate::Error;
use crate::kernel::operation::Entry;
use crate::kernel::{
    Answer, Evaluated, Operation, Request, Step,
    context::Given,
    decide::{self as framed, Asked},
};

/// The operation with this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    let place = table::TABLE.binary_search_by(|entry| entry.operation.name.cmp(name)).ok()?;
    table::TABLE.get(place)
}

/// All operations, sorted by name.
pub fn operations() -> &'static [Operation] {
    &table::OPERATIONS
}

/// One step of an operation. See the WIT of `decide`.
///
/// `now` is whole milliseconds since the Unix epoch; anything else is misuse. `entropy` is 64 hex digits.
pub fn decide(
    request: &Request,
    answers: &[Answer],
    evaluated: &[Evaluated],
    now: f64,
    entropy: &str,
) -> Result<Step, Error> {
    let asked = Asked { request, now, entropy };
    framed::decide(find, asked, Given { answers, evaluated }).map(|(step, _)| step)
}

#[cfg(test)]
mod tests;
