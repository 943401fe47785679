//! The audit event: rule AE-1.

use super::part::Part;
use crate::{Error, Rule};

pub(super) fn rules(event: Part<'_>) -> Result<(), Error> {
    let about = event.has("/subject/messageId") || event.has("/subject/relationshipId");
    event.must(Rule::AE1, about, "/subject")
}
