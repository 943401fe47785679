//! Who calls, and with what params.

use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use threadmesh_runtime::wit::{Principal, PrincipalKind};

/// The tenant of everybody.
pub const TENANT: &str = "default";
/// The profiles that tasks are attached to: their ledger answers `absent-final`, `absent-now`, or nothing.
pub const PROFILES: [&str; 3] = ["final", "now", "mute"];

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

/// The owner of all tasks.
pub fn user() -> Principal {
    principal(PrincipalKind::User, "alice")
}

/// The host.
pub fn host(instance: &str) -> Principal {
    principal(PrincipalKind::Host, instance)
}

/// A task of the owner's, with its only incarnation.
pub fn task(id: &str) -> Principal {
    Principal {
        incarnation: Some(incarnation(id)),
        owner: Some("user:alice".into()),
        worker: Some("worker-1".into()),
        ..principal(PrincipalKind::Task, id)
    }
}

/// The incarnation of a task.
pub fn incarnation(id: &str) -> String {
    format!("inc_{id}")
}

/// A TaskRef.
pub fn reference(id: &str) -> Value {
    json!({"taskId": id, "incarnationId": incarnation(id)})
}

/// Params of `tasks.register`.
pub fn register(id: &str, profile: &str) -> Value {
    json!({
        "task": {
            "taskId": id, "incarnationId": incarnation(id), "harness": "test",
            "adapterRef": {"kind": profile, "session": format!("session-{id}")},
        },
        "idempotencyKey": format!("idem_register-{id}"),
    })
}

/// Params of `adapters.declare` for a profile whose calls the test itself makes.
pub fn declare(profile: &str) -> Value {
    json!({
        "profile": profile,
        "digest": format!("sha256:{:064}", 1),
        "executor": "host",
        "capabilities": {
            "specVersion": "0.0-draft", "adapterName": profile, "adapterVersion": "1",
            "intents": ["suggest"], "deliveryModes": ["checkpoint-offer"],
            "features": {
                "relatedTaskDiscovery": "none", "taskIncarnation": false, "objectiveVersioning": false,
                "checkpointEvents": false, "idleWake": false, "modelTurnCancellation": false,
                "subprocessCancellation": false, "dispositionCallbacks": false, "typedInterruptionResults": false,
                "contextAdmission": "none", "provenanceRendering": "none", "structuredGateResponses": "none",
                "durableSubmissionIdempotency": "none",
            },
        },
        "deadlineMs": 60_000, "settleMs": 0, "canQuery": false, "absentFinal": false,
        "idempotencyKey": format!("idem_declare-{profile}"),
    })
}

/// Params of `relationships.grant`: `source` may suggest to `target`.
pub fn grant(source: &str, target: &str) -> Value {
    json!({
        "grant": {
            "specVersion": "0.0-draft",
            "grantId": format!("grant_{source}-{target}"),
            "grantVersion": 1,
            "relationshipId": format!("rel_{source}-{target}"),
            "relationshipType": "peer",
            "source": reference(source),
            "target": reference(target),
            "allowedIntents": ["notify", "suggest"],
            "allowedDeliveryModes": ["store-only", "side-channel", "checkpoint-offer"],
            "summaryVisibility": "none",
            "structuredGateResponses": false,
            "createdAt": "2026-01-01T00:00:00Z",
        },
        "decision": {"decisionId": "decision_00001"},
        "idempotencyKey": format!("idem_grant-{source}-{target}"),
    })
}

/// Params of `messages.send`: a suggestion that lives for a day.
pub fn send(source: &str, target: &str, id: &str, now: i64) -> Value {
    json!({
        "envelope": {
            "specVersion": "0.0-draft", "messageId": id, "messageType": "suggestion", "intent": "suggest",
            "claimStatus": "sender-asserted",
            "sender": {
                "taskId": source, "incarnationId": incarnation(source), "actorType": "agent", "harness": "test",
            },
            "target": reference(target), "relationshipId": format!("rel_{source}-{target}"),
            "content": "Use the northern pier.", "reason": "The southern one is flooded.",
            "delivery": {"requestedMode": "checkpoint-offer", "requiresDisposition": true},
            "createdAt": timestamp(now), "expiresAt": timestamp(now + 86_400_000),
        },
        "idempotencyKey": format!("idem_send-{id}"),
    })
}

/// Params that name a message; `step` makes the idempotency key.
pub fn on(source: &str, id: &str, step: &str, revision: &Value) -> Value {
    json!({
        "senderIncarnationId": incarnation(source), "messageId": id, "expectedRevision": revision,
        "idempotencyKey": format!("idem_{step}-{id}"),
    })
}

/// `base` with the members of `more`.
pub fn with(mut base: Value, more: Value) -> Value {
    if let Value::Object(more) = more {
        for (name, value) in more {
            base[name] = value;
        }
    }
    base
}

/// The system's clock, in milliseconds.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("milliseconds")
}

/// RFC 3339, in UTC.
pub fn timestamp(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Days since 0000-03-01, so that the leap day is the last of a year.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}
