//! The relationship proposal: rules RP-1 to RP-3.

use super::part::Part;
use crate::{Error, Rule};

pub(super) fn rules(proposal: Part<'_>) -> Result<(), Error> {
    proposal.in_order(Rule::RP1, true, "/createdAt", "/expiresAt")?;
    proposal.must(Rule::RP2, proposal.same_task("/source", "/proposedBy/task"), "/proposedBy/task")?;
    proposal.must(Rule::RP3, !proposal.same_task("/source", "/target"), "/target")
}
