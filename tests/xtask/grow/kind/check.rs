//! The note: rule NT-2.

use super::part::Part;
use crate::{Error, Rule};

pub(super) fn rules(note: Part<'_>) -> Result<(), Error> {
    note.in_order(Rule::NT2, true, "/from", "/until")
}
