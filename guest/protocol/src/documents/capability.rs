//! The capability between two threads: rules CP-1 to CP-4.

use super::cross_thread_event::graphic;
use super::part::Part;
use crate::{Error, Rule};
use alloc::format;

pub(super) fn rules(capability: Part<'_>) -> Result<(), Error> {
    const TYPES: &str = "/allowed_event_types";
    let sends = capability.is("/capability", &["send_message_to_thread"]);
    capability.must(Rule::CP1, sends == capability.has(TYPES), TYPES)?;
    capability.in_order(Rule::CP2, true, "/issued_at", "/expires_at")?;
    const SUBJECTS: &str = "/allowed_subjects";
    for (index, subject) in capability.items(SUBJECTS).enumerate() {
        capability.must(Rule::CP3, subject.as_str().is_none_or(graphic), &format!("{SUBJECTS}/{index}"))?;
    }
    for member in [SUBJECTS, "/allowed_trajectories", "/allowed_overrides", "/max_authority"] {
        capability.must(Rule::CP4, sends || !capability.has(member), member)?;
    }
    Ok(())
}
