//! The coordination envelope: rules EN-1 to EN-11.

use super::part::Part;
use super::shared::{self, ADVISORY, QUIET};
use crate::{Error, Rule};

pub(super) fn rules(envelope: Part<'_>) -> Result<(), Error> {
    shared::freshness(envelope)?;
    let named = envelope.has("/sender/actorId");
    let control = envelope.is("/sender/actorType", &["user", "policy"]);
    envelope.must(Rule::EN1, named || !control, "/sender/actorId")?;
    envelope.must(Rule::EN2, control || !named, "/sender/actorId")?;
    let urgent = envelope.is("/intent", &["steer", "interrupt"]);
    envelope.must(Rule::EN3, !urgent || envelope.has("/freshness"), "/freshness")?;
    let referenced = envelope.items("/evidenceRefs").next().is_some();
    let claims = envelope.is("/claimStatus", &["evidence-referenced"]);
    envelope.must(Rule::EN4, !claims || referenced, "/evidenceRefs")?;
    mode(envelope)?;
    envelope.in_order(Rule::EN9, true, "/createdAt", "/expiresAt")?;
    envelope.must(Rule::EN10, !envelope.same_task("/sender", "/target"), "/target")?;
    const PARENT: &str = "/causality/parentMessageId";
    let own = envelope.text_opt(PARENT).is_some_and(|parent| parent == envelope.text("/messageId"));
    envelope.must(Rule::EN11, !own, PARENT)
}

/// The delivery mode goes with the intent.
fn mode(envelope: Part<'_>) -> Result<(), Error> {
    const MODE: &str = "/delivery/requestedMode";
    let (rule, modes): (Rule, &[&str]) = match envelope.text("/intent") {
        "notify" => (Rule::EN5, QUIET),
        "suggest" => (Rule::EN6, ADVISORY),
        "steer" => (Rule::EN7, &["active-steer"]),
        "interrupt" => (Rule::EN8, &["interrupt-request"]),
        _ => return Ok(()),
    };
    envelope.must(rule, envelope.is(MODE, modes) || !envelope.has(MODE), MODE)
}
