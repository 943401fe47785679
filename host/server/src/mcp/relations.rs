//! `related` and `propose`.

use super::fault::ToolFault;
use super::session::ToolCall;
use crate::time;
use serde_json::{Value, json};
use threadmesh_runtime::client::types::{RelationshipsPropose, TasksListRelated, TasksListRelatedResultItemsItem};

/// The tasks at the other ends of the caller's grants.
pub fn related(call: &ToolCall) -> Result<Value, ToolFault> {
    let own = call.own_task()?;
    let params = TasksListRelated {
        task: own,
        after_cursor: call.number("after"),
        limit: Some(call.number("limit").unwrap_or(50)),
        owner: None,
    };
    let page = call.client().tasks_list_related(&params).send()?;
    let item = |item: &TasksListRelatedResultItemsItem| {
        json!({
            "task": {"taskId": item.task.task_id, "incarnationId": item.task.incarnation_id},
            "direction": item.direction,
            "live": item.live,
            "relationshipId": item.relationship_id,
            "relationshipType": item.relationship_type,
            "intents": item.allowed_intents,
            "deliveryModes": item.allowed_delivery_modes,
            "expiresAt": item.expires_at,
        })
    };
    let items: Vec<Value> = page.items.iter().map(item).collect();
    Ok(json!({"items": items, "nextCursor": page.next_cursor, "hasMore": page.has_more}))
}

/// Asks for a grant.
pub fn propose(call: &ToolCall) -> Result<Value, ToolFault> {
    let own = call.own_task()?;
    let id = format!("proposal_{}", call.own_id());
    let proposal = call.once("proposal", || {
        let now = time::now_ms();
        let seconds = call.number("expiresInSeconds").and_then(|given| u64::try_from(given).ok()).unwrap_or(86_400);
        Ok(json!({
            "specVersion": "0.0-draft",
            "proposalId": id,
            "source": own,
            "target": {"taskId": call.arguments["toTaskId"], "incarnationId": call.arguments["toIncarnationId"]},
            "relationshipType": call.arguments["relationshipType"],
            "requestedIntents": call.arguments["intents"],
            "requestedDeliveryModes": call.arguments["deliveryModes"],
            "requestedSummaryVisibility": call.text("summaryVisibility").unwrap_or_else(|| "none".to_owned()),
            "reason": call.arguments["reason"],
            "proposedBy": {"actorType": "agent", "task": own},
            "createdAt": time::format(now),
            "expiresAt": time::format(now.saturating_add(seconds.saturating_mul(1000))),
        }))
    })?;
    let proposal =
        serde_json::from_value(proposal).map_err(|error| ToolFault::new("arguments-invalid", error.to_string()))?;
    let params = RelationshipsPropose { proposal, idempotency_key: Some(call.key("propose")) };
    let made = call.client().relationships_propose(&params).send()?;
    let replay = made.operation_replay || made.value.replay;
    Ok(json!({"proposalId": id, "state": made.value.status, "replay": replay}))
}
