//! From settings to a profile: defaults, bounds, and what does not go together.

use super::kinds::{self, Kind};
use super::raw::{RawFeatures, RawProfile, RawQuery};
use crate::carrier::CarrierCommand;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use threadmesh_runtime::adapter::{Admission, Profile, QueryPolicy};

const DEADLINE_MS: (u64, u64, u64) = (1, 30_000, 3_600_000);
const SETTLE_MS_MAX: u64 = 86_400_000;
const QUERY_DEADLINE_MS: (u64, u64, u64) = (1, 10_000, 600_000);
const BACKOFF_MS: (u64, u64, u64) = (1, 1_000, 3_600_000);
const BACKOFF_MS_MAX: (u64, u64, u64) = (1, 60_000, 86_400_000);
const ATTEMPTS: (u64, u64, u64) = (1, 10, 10_000);

/// Builds a profile, or says in a sentence what is wrong with it.
pub(super) fn profile(
    name: &str,
    raw: &RawProfile,
    digest: String,
    carrier: Option<&CarrierCommand>,
) -> Result<Profile, String> {
    let kind = Kind::of(raw)?;
    if let Some(setting) = raw.set().into_iter().find(|setting| kinds::is_foreign(setting, kind)) {
        return Err(format!("{setting} does not go with this kind"));
    }
    let can_query = (kind.can_query)(raw);
    check_claims(raw, kind, can_query)?;
    let admission = admission(raw)?;
    let (least, usual) = (kind.settle)(raw)?;
    let settle = bounded("settle_ms", raw.settle_ms, (least, usual, SETTLE_MS_MAX))?;
    let adapter = kind.make.map(|make| make(raw, carrier)).transpose()?;
    Ok(Profile {
        name: name.to_owned(),
        digest,
        capabilities: capabilities(name, raw, can_query).to_string(),
        admission,
        deadline: Duration::from_millis(bounded("deadline_ms", raw.deadline_ms, DEADLINE_MS)?),
        settle: Duration::from_millis(settle),
        can_query,
        absent_final: raw.absent_final.unwrap_or(false),
        query: query(raw.query.as_ref().unwrap_or(&RawQuery::default()))?,
        adapter,
    })
}

/// What the operator may claim only together with something else.
fn check_claims(raw: &RawProfile, kind: &Kind, can_query: bool) -> Result<(), String> {
    let absent_final = raw.absent_final.unwrap_or(false);
    if absent_final && !can_query {
        return Err("absent_final = true needs a target that can be queried".into());
    }
    if raw.query.is_some() && !can_query {
        return Err("[query] needs a target that can be queried (can_query = true, or a query_url)".into());
    }
    let durable = raw.capabilities.as_ref().and_then(|c| c.features.as_ref()?.durable_submission_idempotency.as_ref());
    if durable.is_some_and(|word| word == "queryable-receipt") && !can_query && kind.make.is_some() {
        return Err("durable_submission_idempotency = \"queryable-receipt\" needs a target that can be queried".into());
    }
    let refusals = raw.refusal_status.as_deref().unwrap_or_default();
    // 408 and 409 speak of a request that may have been acted on, now or before.
    if refusals.iter().any(|status| !(400..=499).contains(status) || matches!(status, 408 | 409)) {
        return Err("refusal_status may list codes from 400 to 499, without 408 and 409".into());
    }
    let absences = raw.absent_final_status.as_deref().unwrap_or_default();
    if !absences.is_empty() && !absent_final {
        return Err("absent_final_status needs absent_final = true".into());
    }
    // Settled point 3: a 404 stays unknown.
    if absences.iter().any(|status| !(400..=499).contains(status) || matches!(status, 404 | 408 | 429)) {
        return Err("absent_final_status may list codes from 400 to 499, without 404, 408 and 429".into());
    }
    Ok(())
}

/// What a profile says of context admissions: that there are some, and which evidence there is of them. One without the
/// other would be declared, and never work.
fn admission(raw: &RawProfile) -> Result<Option<Admission>, String> {
    let features = raw.capabilities.as_ref().and_then(|declared| declared.features.as_ref());
    let feature = features.and_then(|features| features.context_admission.as_deref()).unwrap_or("none");
    let of = raw.context_admission.clone().unwrap_or_default();
    match (feature, of.evidence) {
        ("none", None) if of.snapshot_digest.is_none() => Ok(None),
        ("none", _) => Err("[context_admission] needs capabilities.features.context_admission".into()),
        (_, None) => Err("capabilities.features.context_admission needs context_admission.evidence".into()),
        (_, Some(evidence)) => Ok(Some(Admission { evidence, snapshot_digest: of.snapshot_digest })),
    }
}

fn query(raw: &RawQuery) -> Result<QueryPolicy, String> {
    let backoff = bounded("query.backoff_ms", raw.backoff_ms, BACKOFF_MS)?;
    let (least, usual, most) = BACKOFF_MS_MAX;
    let bounds = (least.max(backoff), usual.max(backoff), most);
    Ok(QueryPolicy {
        deadline: Duration::from_millis(bounded("query.deadline_ms", raw.deadline_ms, QUERY_DEADLINE_MS)?),
        backoff: Duration::from_millis(backoff),
        backoff_max: Duration::from_millis(bounded("query.backoff_ms_max", raw.backoff_ms_max, bounds)?),
        attempts_max: bounded("query.attempts_max", raw.attempts_max.map(u64::from), ATTEMPTS)? as u32,
    })
}

/// The version that adapters declare. It names what this file makes of settings, not the release: the core wants another
/// digest for another content, and an upgrade must not change what an unchanged file declares.
const ADAPTER_VERSION: &str = "1";

/// The capability document of the draft. The defaults promise the least: suggestions, offered at a checkpoint.
fn capabilities(name: &str, raw: &RawProfile, can_query: bool) -> Value {
    let declared = raw.capabilities.clone().unwrap_or_default();
    let words = |words: Option<Vec<String>>, usual: &str| words.unwrap_or_else(|| vec![usual.to_owned()]);
    json!({
        "specVersion": "0.0-draft",
        "adapterName": name,
        "adapterVersion": ADAPTER_VERSION,
        "intents": words(declared.intents, "suggest"),
        "deliveryModes": words(declared.delivery_modes, "checkpoint-offer"),
        "features": features(&declared.features.unwrap_or_default(), can_query),
    })
}

fn features(raw: &RawFeatures, can_query: bool) -> Value {
    let word = |word: &Option<String>, usual: &str| word.clone().unwrap_or_else(|| usual.to_owned());
    let flag = |flag: Option<bool>| flag.unwrap_or(false);
    let durable = if can_query { "queryable-receipt" } else { "none" };
    json!({
        "relatedTaskDiscovery": word(&raw.related_task_discovery, "none"),
        "taskIncarnation": flag(raw.task_incarnation),
        "objectiveVersioning": flag(raw.objective_versioning),
        "checkpointEvents": flag(raw.checkpoint_events),
        "idleWake": flag(raw.idle_wake),
        "modelTurnCancellation": flag(raw.model_turn_cancellation),
        "subprocessCancellation": flag(raw.subprocess_cancellation),
        "dispositionCallbacks": flag(raw.disposition_callbacks),
        "typedInterruptionResults": flag(raw.typed_interruption_results),
        "contextAdmission": word(&raw.context_admission, "none"),
        "provenanceRendering": word(&raw.provenance_rendering, "none"),
        "structuredGateResponses": "none",
        "durableSubmissionIdempotency": word(&raw.durable_submission_idempotency, durable),
    })
}

pub(crate) fn bounded(name: &str, value: Option<u64>, (least, usual, most): (u64, u64, u64)) -> Result<u64, String> {
    let value = value.unwrap_or(usual);
    if value < least || value > most {
        return Err(format!("{name} must be from {least} to {most}"));
    }
    Ok(value)
}

pub(crate) fn absolute(path: &Path) -> Result<(), String> {
    if path.is_absolute() { Ok(()) } else { Err(format!("{} is not an absolute path", path.display())) }
}
