//! Adapter capabilities: rules CA-1 to CA-11.

use super::part::Part;
use super::shared;
use crate::{Error, Rule};

pub(super) fn rules(capabilities: Part<'_>) -> Result<(), Error> {
    shared::coherence(capabilities, "/intents", "/deliveryModes")?;
    let Some(features) = capabilities.part("/features") else { return Ok(()) };
    let incarnation = features.is_true("/taskIncarnation");
    let durable = !features.is("/durableSubmissionIdempotency", &["none"]);
    let steers = capabilities.lists("/intents", "steer");
    features.must(Rule::CA1, !steers || incarnation, "/taskIncarnation")?;
    features.must(Rule::CA2, !steers || features.is_true("/objectiveVersioning"), "/objectiveVersioning")?;
    features.must(Rule::CA3, !steers || durable, "/durableSubmissionIdempotency")?;
    let interrupts = capabilities.lists("/intents", "interrupt");
    let typed = features.is_true("/typedInterruptionResults");
    let cancels = features.is_true("/modelTurnCancellation") || features.is_true("/subprocessCancellation");
    features.must(Rule::CA4, !interrupts || incarnation, "/taskIncarnation")?;
    features.must(Rule::CA5, !interrupts || durable, "/durableSubmissionIdempotency")?;
    features.must(Rule::CA6, !interrupts || typed, "/typedInterruptionResults")?;
    features.must(Rule::CA7, !interrupts || cancels, "/modelTurnCancellation")?;
    let wakes = capabilities.lists("/deliveryModes", "wake-idle");
    features.must(Rule::CA8, wakes == features.is_true("/idleWake"), "/idleWake")?;
    let admits = features.is("/contextAdmission", &["receiver-mediated", "native"]);
    let suggests = capabilities.lists("/intents", "suggest");
    capabilities.must(Rule::CA9, !admits || suggests, "/intents")?;
    let visible = features.is("/provenanceRendering", &["model-visible"]);
    features.must(Rule::CA10, !admits || visible, "/provenanceRendering")?;
    let scoped = features.is("/relatedTaskDiscovery", &["relationship-scoped"]);
    features.must(Rule::CA11, !scoped || incarnation, "/taskIncarnation")
}
