//! The task summary: rules TS-1 to TS-7.

use super::part::Part;
use super::shared;
use crate::{Error, Rule};

pub(super) fn rules(summary: Part<'_>) -> Result<(), Error> {
    shared::coherence(summary, "/coordination/intents", "/coordination/deliveryModes")?;
    audience(summary)?;
    let state_only = summary.is("/projection/summaryVisibility", &["state-only"]);
    for member in ["/objective", "/blockerHint", "/dependencyHints"] {
        summary.must(Rule::TS4, !state_only || !summary.has(member), member)?;
    }
    summary.must(Rule::TS5, !state_only || !summary.has("/activeRunId"), "/activeRunId")?;
    let coordination = summary.is("/projection/summaryVisibility", &["coordination"]);
    summary.must(Rule::TS6, !coordination || !summary.has("/objective"), "/objective")?;
    const LIST: &str = "/audience/relationshipIds";
    let listed = summary.lists(LIST, summary.text("/projection/relationshipId"));
    summary.must(Rule::TS7, listed || !summary.has(LIST), LIST)
}

fn audience(summary: Part<'_>) -> Result<(), Error> {
    const LIST: &str = "/audience/relationshipIds";
    const AUDIENCE: &str = "/audience/visibility";
    let scoped = summary.is(AUDIENCE, &["relationship-scoped"]);
    summary.must(Rule::TS1, scoped == summary.has(LIST), LIST)?;
    let restricted = summary.is("/sensitivity", &["restricted"]);
    summary.must(Rule::TS2, !restricted || summary.is(AUDIENCE, &["owner-only"]), AUDIENCE)?;
    let for_relations = summary.is("/sensitivity", &["relationship-scoped"]);
    summary.must(Rule::TS3, !for_relations || !summary.is(AUDIENCE, &["public"]), AUDIENCE)
}
