//! The cross-thread event: rules CE-1 to CE-6. Nothing here says whether it is true, or whether anybody may act on it.

use super::part::Part;
use super::shape;
use crate::generated::{limits, shapes};
use crate::json::Kind;
use crate::{Code, Error, Rule};
use alloc::format;

pub(super) fn rules(event: Part<'_>) -> Result<(), Error> {
    let most = usize::try_from(limits::EVENT_CHARS_MAX).unwrap_or(usize::MAX);
    event.must(Rule::CE1, event.value().raw().chars().nth(most).is_none(), "")?;
    for id in ["/event_id", "/subject", "/supersedes_event_id", "/in_reply_to"] {
        event.must(Rule::CE2, event.text_opt(id).is_none_or(graphic), id)?;
    }
    evidence(event)?;
    event.in_order(Rule::CE5, true, "/created_at", "/expires_at")?;
    let own = event.text_opt("/event_id");
    for other in ["/supersedes_event_id", "/in_reply_to"] {
        event.must(Rule::CE6, event.text_opt(other).is_none() || event.text_opt(other) != own, other)?;
    }
    Ok(())
}

/// Whether a text has nothing but printable ASCII characters.
pub(super) fn graphic(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Every reference is a text of one to two thousand characters or an address with a digest, and all are of one form.
fn evidence(event: Part<'_>) -> Result<(), Error> {
    let references = || event.items("/evidence_refs").enumerate();
    for (index, reference) in references() {
        let fits = match reference.as_str() {
            Some(text) => shape::fits(shapes::EVIDENCE_ADDRESS, "ref", text),
            None => shape::check_value(shapes::EVIDENCE_ADDRESS, reference, Code::CrossThreadEventInvalid).is_ok(),
        };
        event.must(Rule::CE3, fits, &format!("/evidence_refs/{index}"))?;
    }
    let texts = references().filter(|(_, reference)| reference.kind() == Kind::String).count();
    event.must(Rule::CE4, texts == 0 || texts == references().count(), "/evidence_refs")
}
