//! Documents whose members depend on each other.

use crate::differential::logs::Random;
use crate::program::world::time_from_now;
use serde_json::{Value, json};

/// A grant of everything that a message may ask for.
pub fn grant(id: &str, relationship: &str, source: &Value, target: &Value, random: &mut Random) -> Value {
    json!({
        "specVersion": "0.0-draft", "grantId": id, "grantVersion": 1, "relationshipId": relationship,
        "relationshipType": random.pick(&["supervisor", "parent"]), "source": source, "target": target,
        "allowedIntents": ["notify", "suggest", "steer", "interrupt"],
        "allowedDeliveryModes": ["store-only", "side-channel", "checkpoint-offer", "active-steer", "interrupt-request"],
        "summaryVisibility": random.pick(&["state-only", "coordination"]),
        "structuredGateResponses": false, "createdAt": time_from_now(-1000),
    })
}

/// A message under a grant. `runtime` is the target's, as far as it is known.
pub fn envelope(id: &str, grant: &Value, runtime: &Value, parent: Option<&str>, random: &mut Random) -> Value {
    let intents = ["notify", "suggest", "suggest", "suggest", "suggest", "suggest", "steer", "interrupt"];
    let intent = *random.pick(&intents);
    let modes: &[&str] = match intent {
        "notify" => &["store-only", "side-channel"],
        "steer" => &["active-steer"],
        "interrupt" => &["interrupt-request"],
        _ => &["store-only", "side-channel", "checkpoint-offer", "checkpoint-offer"],
    };
    let mut sender = grant["source"].clone();
    (sender["actorType"], sender["harness"]) = ("agent".into(), "test".into());
    let evidence = random.once_in(4);
    let length = if random.once_in(40) { 20_000 } else { 1 + random.below(200) };
    let mut envelope = json!({
        "specVersion": "0.0-draft", "messageId": id,
        "messageType": random.pick(&["observation", "question", "suggestion", "result", "state-update"]),
        "intent": intent, "claimStatus": if evidence { "evidence-referenced" } else { "sender-asserted" },
        "sender": sender, "target": grant["target"], "relationshipId": grant["relationshipId"],
        "content": "é".repeat(length), "reason": "It was seen.",
        "delivery": {"requestedMode": random.pick(modes), "requiresDisposition": random.once_in(2)},
        "createdAt": time_from_now(0), "expiresAt": time_from_now(*random.pick(&[1_500, 300_000, 600_000])),
    });
    if evidence {
        envelope["evidenceRefs"] = json!(["file:report", format!("https://example.invalid/{}", random.below(99))]);
    }
    if matches!(intent, "steer" | "interrupt") {
        let version = runtime["objectiveVersion"].as_u64().unwrap_or(1);
        envelope["freshness"] = json!({"expectedObjectiveVersion": version});
    }
    if let Some(parent) = parent {
        envelope["causality"] = json!({"parentMessageId": parent});
    }
    envelope
}

/// A proposal of a grant.
pub fn proposal(id: &str, source: &Value, target: &Value) -> Value {
    json!({
        "specVersion": "0.0-draft", "proposalId": id, "source": source, "target": target, "relationshipType": "peer",
        "requestedIntents": ["notify"], "requestedDeliveryModes": ["store-only"],
        "requestedSummaryVisibility": "none", "reason": "To tell.",
        "proposedBy": {"actorType": "agent", "task": source},
        "createdAt": time_from_now(0), "expiresAt": time_from_now(60_000),
    })
}

/// A summary for the reader that a grant names.
pub fn summary(id: &str, version: u64, grant: &Value, random: &mut Random) -> Value {
    json!({
        "specVersion": "0.0-draft", "summaryId": id, "summaryVersion": version, "task": grant["target"],
        "projection": {
            "relationshipId": grant["relationshipId"], "grantId": grant["grantId"],
            "grantVersion": grant["grantVersion"], "summaryVisibility": grant["summaryVisibility"],
        },
        "state": random.pick(&["idle", "running", "waiting"]),
        "coordination": {"intents": ["notify"], "deliveryModes": ["store-only"]},
        "sensitivity": "relationship-scoped",
        "audience": {"visibility": "relationship-scoped", "relationshipIds": [grant["relationshipId"]]},
        "updatedAt": time_from_now(0),
    })
}

/// What an interrupt did.
pub fn interruption(id: &str, message: &str, receiver: &Value, random: &mut Random) -> Value {
    let (state, reason) = *random.pick(&[("cancelled", "accepted"), ("denied", "policy-denied"), ("failed", "other")]);
    json!({
        "specVersion": "0.0-draft", "interruptionId": id, "messageId": message, "receiver": receiver,
        "requestedAt": time_from_now(-500),
        "results": {
            "modelTurn": {"targetId": "turn", "state": state, "observedAt": time_from_now(-100), "reasonCode": reason},
            "toolCalls": {"enumeration": "complete", "targets": []},
            "subprocesses": {"enumeration": "unavailable", "targets": []},
        },
        "updatedAt": time_from_now(0),
    })
}

/// What the profile `name` says it can do.
pub fn capabilities(name: &str) -> Value {
    let (admission, rendering) =
        if name == "reader" { ("receiver-mediated", "model-visible") } else { ("none", "none") };
    json!({
        "specVersion": "0.0-draft", "adapterName": name, "adapterVersion": "1",
        "intents": ["suggest"], "deliveryModes": ["checkpoint-offer"],
        "features": {
            "relatedTaskDiscovery": "none", "taskIncarnation": false, "objectiveVersioning": false,
            "checkpointEvents": false, "idleWake": false, "modelTurnCancellation": false,
            "subprocessCancellation": false, "dispositionCallbacks": false, "typedInterruptionResults": false,
            "contextAdmission": admission, "provenanceRendering": rendering, "structuredGateResponses": "none",
            "durableSubmissionIdempotency": "none",
        },
    })
}
