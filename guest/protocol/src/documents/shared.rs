//! Rules that hold in several kinds of documents (DC).

use super::part::Part;
use crate::{Error, Rule};
use alloc::vec::Vec;

/// Modes that wait for the receiver to look.
pub(super) const QUIET: &[&str] = &["store-only", "side-channel"];
/// Modes of a suggestion.
pub(super) const ADVISORY: &[&str] = &["store-only", "side-channel", "checkpoint-offer", "wake-idle"];

/// Rule DC-1 for the freshness of `part`, if it has any.
pub(super) fn freshness(part: Part<'_>) -> Result<(), Error> {
    let Some(freshness) = part.part("/freshness") else { return Ok(()) };
    let bound = freshness.has("/expectedRunId") || freshness.has("/expectedObjectiveVersion");
    freshness.must(Rule::DC1, bound, "")
}

/// Rules DC-2 to DC-8 for the intents and modes at two paths of `part`.
pub(super) fn coherence(part: Part<'_>, intents: &str, modes: &str) -> Result<(), Error> {
    let words = |path| part.items(path).filter_map(|item| item.as_str()).collect::<Vec<_>>();
    let (has_intents, has_modes) = (words(intents), words(modes));
    let intent = |word: &str| has_intents.contains(&word);
    let mode = |word: &str| has_modes.contains(&word);
    let any = |words: &[&str]| words.iter().any(|word| mode(word));
    part.must(Rule::DC2, !intent("notify") || any(QUIET), modes)?;
    part.must(Rule::DC3, !intent("suggest") || any(ADVISORY), modes)?;
    part.must(Rule::DC4, !intent("steer") || mode("active-steer"), modes)?;
    part.must(Rule::DC5, !intent("interrupt") || mode("interrupt-request"), modes)?;
    part.must(Rule::DC6, !mode("active-steer") || intent("steer"), intents)?;
    part.must(Rule::DC7, !mode("interrupt-request") || intent("interrupt"), intents)?;
    let waking = any(&["checkpoint-offer", "wake-idle"]);
    part.must(Rule::DC8, !waking || intent("suggest"), intents)
}
