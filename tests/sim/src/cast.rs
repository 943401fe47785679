//! Who takes part, and what they usually say.
//!
//! Alice owns the tasks `survey` and `annex`, Bob owns `bridge`, and Mallory owns `lurker`, which nobody has anything to
//! do with. The policy `board` grants across owners.

use crate::outside;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadmesh_protocol::time;
use threadmesh_runtime::wit::{Principal, PrincipalKind};

/// Begins and ends what not everybody may read.
pub const MARK: char = '~';
/// The tenant of everybody.
pub const TENANT: &str = "default";
/// The tasks, each with its owner.
pub const TASKS: &[(&str, &str)] = &[("survey", "alice"), ("annex", "alice"), ("bridge", "bob"), ("lurker", "mallory")];
/// Who may be related to whom: source, target.
pub const ROUTES: &[(&str, &str)] = &[("survey", "bridge"), ("bridge", "survey"), ("bridge", "annex")];

fn principal(kind: PrincipalKind, id: &str) -> Principal {
    Principal {
        tenant: TENANT.into(),
        kind,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: format!("authn_{id}-session"),
    }
}

/// A user.
pub fn user(id: &str) -> Principal {
    principal(PrincipalKind::User, id)
}

/// The policy.
pub fn policy() -> Principal {
    principal(PrincipalKind::Policy, "board")
}

/// The operator.
pub fn operator() -> Principal {
    principal(PrincipalKind::Operator, "ops")
}

/// The host itself.
pub fn host() -> Principal {
    principal(PrincipalKind::Host, "host")
}

/// An incarnation of a task.
pub fn task(id: &str, number: u32, worker: Option<&str>) -> Principal {
    Principal {
        incarnation: Some(incarnation(id, number)),
        owner: Some(format!("user:{}", owner(id))),
        worker: worker.map(Into::into),
        ..principal(PrincipalKind::Task, id)
    }
}

/// Who owns a task.
pub fn owner(task: &str) -> &'static str {
    TASKS.iter().find(|(known, _)| *known == task).map_or("nobody", |(_, owner)| owner)
}

/// The id of an incarnation.
pub fn incarnation(task: &str, number: u32) -> String {
    format!("inc_{task}-{number:04}")
}

/// A name for a principal, for traces and scenarios.
pub fn name(principal: &Principal) -> String {
    let number = principal.incarnation.as_deref().and_then(|id| id.rsplit('-').next()).unwrap_or_default();
    let number = number.trim_start_matches('0');
    let parts = [principal.id.as_str(), number, principal.worker.as_deref().unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// What the members of the cast know: numbers that go up.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    /// The current incarnation of each task.
    pub incarnations: BTreeMap<&'static str, u32>,
    /// How many messages were written.
    pub messages: u32,
    /// How many idempotency keys were used.
    pub keys: u32,
    /// The latest grant version of each route.
    pub grants: BTreeMap<usize, u32>,
    /// Envelopes that were sent, with who sent them.
    pub sent: Vec<(Principal, Value)>,
    /// Requests that can be made again.
    pub requests: Vec<(Principal, String, Value)>,
    /// The version of the operator's profile file.
    pub profiles: u32,
    /// How many proposals were written.
    pub asked: u32,
    /// Proposals that were made, with who made them.
    pub proposals: Vec<(Principal, Value)>,
    /// How many summaries were written.
    pub hints: u32,
    /// How many attestations were made.
    pub vouched: u32,
    /// The last result of each interrupt.
    pub results: BTreeMap<String, Value>,
}

impl Cast {
    /// The current incarnation of `task` with a worker.
    pub fn task(&self, task: &str, worker: Option<&str>) -> Principal {
        self::task(task, self.incarnations.get(task).copied().unwrap_or(1), worker)
    }

    /// The number of the next message.
    pub fn next_message(&mut self) -> u32 {
        self.messages += 1;
        self.messages
    }

    /// A key that nobody used.
    pub fn key(&mut self) -> String {
        self.keys += 1;
        format!("idem_sim-{:06}", self.keys)
    }
}

/// The receiver of a message, as the worker that has claimed it.
pub fn receiver(life: &Value) -> Principal {
    let receiver = &life["receiver"];
    let number = receiver["incarnationId"].as_str().and_then(|id| id.rsplit('-').next()?.parse().ok());
    let worker = life["claim"]["worker"].as_str().unwrap_or("worker-1");
    task(receiver["taskId"].as_str().unwrap_or_default(), number.unwrap_or(1), Some(worker))
}

/// A task as records name it.
pub fn owned(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation, "owner": task.owner})
}

/// A TaskRef.
pub fn reference(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation})
}

/// A TaskInput.
pub fn input(task: &Principal, profile: &str) -> Value {
    json!({
        "taskId": task.id, "incarnationId": task.incarnation, "harness": "codex",
        "adapterRef": {"kind": profile, "session": format!("session-{}", task.id)},
        "runtime": {"runId": "run-1", "objectiveVersion": 1, "checkpoint": "start"},
    })
}

/// A grant draft for a route.
pub fn grant(cast: &Cast, route: usize, kind: &str, version: u32, expires: Option<i64>) -> Value {
    let (source, target) = ROUTES[route];
    let mut intents = vec!["notify", "suggest"];
    let mut modes = vec!["store-only", "side-channel", "checkpoint-offer"];
    if matches!(kind, "supervisor" | "parent") {
        intents.extend(["steer", "interrupt"]);
        modes.extend(["active-steer", "interrupt-request"]);
    }
    let mut draft = json!({
        "specVersion": "0.0-draft", "grantId": grant_id(route, version), "grantVersion": version,
        "relationshipId": relationship(route), "relationshipType": kind,
        "source": reference(&cast.task(source, None)), "target": reference(&cast.task(target, None)),
        "allowedIntents": intents, "allowedDeliveryModes": modes, "summaryVisibility": visibility(route, version),
        "structuredGateResponses": false, "createdAt": time::format(crate::time::START),
    });
    if let Some(expires) = expires {
        draft["expiresAt"] = time::format(expires).into();
    }
    json!({"grant": draft, "decision": {"decisionId": "decision_00001"}})
}

/// How much of its target a version of a route's grant shows.
pub fn visibility(route: usize, version: u32) -> &'static str {
    let all = ["none", "coordination", "objective-hint", "coordination", "state-only"];
    all[(version as usize + route) % all.len()]
}

/// The id of a grant.
pub fn grant_id(route: usize, version: u32) -> String {
    format!("grant_route{route}-{version:04}")
}

/// The id of a relationship.
pub fn relationship(route: usize) -> String {
    format!("rel_route{route}")
}

/// What a profile's adapter can do.
pub fn capabilities(name: &str) -> Value {
    let admits = if name == "own" { ("receiver-mediated", "model-visible") } else { ("none", "none") };
    json!({
        "specVersion": "0.0-draft", "adapterName": name, "adapterVersion": "1.0.0",
        "intents": ["suggest", "steer", "interrupt"],
        "deliveryModes": ["store-only", "side-channel", "checkpoint-offer", "active-steer", "interrupt-request"],
        "features": {
            "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": true,
            "checkpointEvents": true, "idleWake": false, "modelTurnCancellation": true, "subprocessCancellation": false,
            "dispositionCallbacks": false, "typedInterruptionResults": true, "contextAdmission": admits.0,
            "provenanceRendering": admits.1, "structuredGateResponses": "none",
            "durableSubmissionIdempotency": "queryable-receipt",
        },
    })
}

/// Params of `adapters.declare` for a profile in a version.
pub fn declaration(name: &str, version: u32) -> Value {
    let hosted = outside::PROFILES.iter().any(|(known, hosted)| *known == name && *hosted);
    let mut declaration = json!({
        "profile": name, "digest": outside::digest(name, version), "executor": if hosted { "host" } else { "caller" },
        "capabilities": capabilities(name), "deadlineMs": outside::DEADLINE_MS, "settleMs": outside::settle_ms(name),
        "canQuery": matches!(name, "steady" | "sloppy"), "absentFinal": outside::keeps_word(name),
    });
    if name == "own" {
        let kinds = ["acp-session", "codex-app-server", "gemini-headless", "mcp-session"];
        let kind = kinds[version as usize % kinds.len()];
        declaration["contextAdmission"] = json!({ "evidence": kind });
        if kind != "mcp-session" {
            declaration["contextAdmission"]["snapshotDigest"] = format!("sha256:{:064}", 5).into();
        }
    }
    declaration
}

/// The delivery mode that goes with an intent.
pub fn mode(intent: &str) -> &'static str {
    match intent {
        "notify" => "side-channel",
        "suggest" => "checkpoint-offer",
        "steer" => "active-steer",
        _ => "interrupt-request",
    }
}

/// What nobody but the receiver may read of message `number`. It stands between two signs that nothing else has.
pub fn secret(number: u32) -> String {
    format!("{MARK}s{number:05}{MARK}")
}

/// What only those who decide may read of proposal `number`.
pub fn motive(number: u32) -> String {
    format!("{MARK}m{number:05}{MARK}")
}

/// What only the source of a grant may read of summary `number`.
pub fn hint(number: u32) -> String {
    format!("{MARK}h{number:05}{MARK}")
}

/// The id of proposal `number`.
pub fn proposal_id(number: u32) -> String {
    format!("proposal_sim-{number:05}")
}

/// The id of message `number`.
pub fn message_id(number: u32) -> String {
    format!("msg_{number:07}")
}
