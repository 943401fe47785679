//! The receipt of a cross-thread event: rules ER-1 and ER-2.

use super::part::Part;
use crate::{Error, Rule};

pub(super) fn rules(receipt: Part<'_>) -> Result<(), Error> {
    const VERSION: &str = "/accepted_state_version";
    let accepted = receipt.is("/status", &["accepted"]);
    receipt.must(Rule::ER1, accepted || !receipt.has(VERSION), VERSION)?;
    let settled = accepted || receipt.is("/status", &["pending", "examining"]);
    receipt.must(Rule::ER2, settled != receipt.has("/reason"), "/reason")
}
