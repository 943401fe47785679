//! `send` and `reply`.

use super::fault::ToolFault;
use super::session::ToolCall;
use crate::time;
use serde_json::{Value, json};
use threadmesh_runtime::client::operations::usual_of;
use threadmesh_runtime::client::types::{Envelope, InspectorSnapshot, MessagesSend, TasksGet};

/// Queues a message for a task.
pub fn send(call: &ToolCall) -> Result<Value, ToolFault> {
    let target = json!({"taskId": call.arguments["toTaskId"], "incarnationId": call.arguments["toIncarnationId"]});
    let about = Route {
        target,
        relationship: call.arguments["relationshipId"].clone(),
        causality: some([
            ("traceId", call.arguments["traceId"].clone()),
            ("parentMessageId", call.arguments["parentMessageId"].clone()),
        ]),
        message: call.text("messageId"),
        reason: "sent by a tool",
    };
    queue(call, about)
}

/// Queues a message for whoever sent the message in the arguments.
pub fn reply(call: &ToolCall) -> Result<Value, ToolFault> {
    call.own_task()?;
    let mut params = InspectorSnapshot::new(call.needed("senderIncarnationId"), call.needed("messageId"));
    params.owner = call.text("senderOwner");
    let message = call.client().inspector_snapshot(&params).send()?.provenance;
    let about = Route {
        target: json!({"taskId": message.source.task_id, "incarnationId": message.source.incarnation_id}),
        relationship: json!(call.text("relationshipId").unwrap_or(message.relationship_id)),
        causality: json!({"parentMessageId": call.arguments["messageId"]}),
        message: call.text("replyMessageId"),
        reason: "an answer",
    };
    queue(call, about)
}

/// Where a message goes.
struct Route {
    target: Value,
    relationship: Value,
    causality: Value,
    message: Option<String>,
    reason: &'static str,
}

fn queue(call: &ToolCall, route: Route) -> Result<Value, ToolFault> {
    let own = call.own_task()?;
    let message = route.message.clone().unwrap_or_else(|| format!("msg_{}", call.own_id()));
    let target = route.target.clone();
    // The times of an envelope are part of what it says: a repetition must send those of the first time.
    let envelope = call.once("envelope", || envelope(call, &message, route))?;
    let envelope: Envelope =
        serde_json::from_value(envelope).map_err(|error| ToolFault::new("arguments-invalid", error.to_string()))?;
    let params = MessagesSend { envelope, owner: None, idempotency_key: Some(call.key("send")) };
    let sent = call.client().messages_send(&params).send()?;
    Ok(json!({
        "messageId": message,
        "senderIncarnationId": own.incarnation_id,
        "to": target,
        "replay": sent.operation_replay || sent.value.replay,
        "envelopeDigest": sent.value.envelope_digest,
        "disposition": sent.value.disposition,
    }))
}

fn envelope(call: &ToolCall, message: &str, route: Route) -> Result<Value, ToolFault> {
    let own = call.client().tasks_get(&TasksGet::new(call.own_task()?)).send()?;
    let intent = call.text("intent").unwrap_or_else(|| "suggest".to_owned());
    // The schema of the arguments lets no other intent in.
    let usual = usual_of(&intent).ok_or_else(|| ToolFault::new("arguments-invalid", "there is no such intent"))?;
    let given = |name: &str, other: &str| call.text(name).unwrap_or_else(|| other.to_owned());
    let evidence = call.arguments["evidenceRefs"].as_array().is_some_and(|refs| !refs.is_empty());
    let now = time::now_ms();
    let seconds =
        call.number("expiresInSeconds").and_then(|given| u64::try_from(given).ok()).unwrap_or(usual.expires_in_seconds);
    let mut envelope = json!({
        "specVersion": "0.0-draft",
        "messageId": message,
        "messageType": given("messageType", usual.message_type),
        "intent": intent,
        "claimStatus": if evidence { "evidence-referenced" } else { "sender-asserted" },
        "sender": {
            "taskId": own.task_id,
            "incarnationId": own.incarnation_id,
            "actorType": "agent",
            "harness": own.harness,
        },
        "target": route.target,
        "relationshipId": route.relationship,
        "content": call.arguments["content"],
        "reason": given("reason", route.reason),
        "delivery": {"requestedMode": given("deliveryMode", usual.delivery_mode), "requiresDisposition": true},
        "createdAt": time::format(now),
        "expiresAt": time::format(now.saturating_add(seconds.saturating_mul(1000))),
    });
    if evidence {
        envelope["evidenceRefs"] = call.arguments["evidenceRefs"].clone();
    }
    let names = ["expectedRunId", "expectedObjectiveVersion", "expectedCheckpoint"];
    let freshness = some(names.map(|name| (name, call.arguments[name].clone())));
    for (name, members) in [("freshness", freshness), ("causality", route.causality)] {
        if members.as_object().is_some_and(|members| !members.is_empty()) {
            envelope[name] = members;
        }
    }
    Ok(envelope)
}

/// An object of the members that are there.
fn some<const N: usize>(members: [(&str, Value); N]) -> Value {
    let there = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(there.map(|(name, value)| (name.to_owned(), value)).collect())
}
