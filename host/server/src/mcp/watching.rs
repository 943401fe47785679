//! `status`, and one part of a `wait`.

use super::fault::ToolFault;
use super::mailbox;
use super::session::ToolCall;
use serde_json::{Value, json};
use threadmesh_runtime::client::types::{TaskEvent, TasksGet, TasksWait};

/// How a message stands, or who is calling.
pub fn status(call: &ToolCall) -> Result<Value, ToolFault> {
    let own = call.own_task()?;
    if let Some(message) = call.text("messageId") {
        let sender = call.text("senderIncarnationId").unwrap_or(own.incarnation_id);
        let snapshot = mailbox::snapshot(call, &sender, &message)?;
        let message = json!({
            "messageId": message,
            "senderIncarnationId": sender,
            "parentMessageId": mailbox::parent(&snapshot),
            "disposition": snapshot.disposition,
        });
        return Ok(json!({"message": message}));
    }
    let task = call.client().tasks_get(&TasksGet::new(own)).send()?;
    Ok(json!({
        "task": {
            "taskId": task.task_id,
            "incarnationId": task.incarnation_id,
            "harness": task.harness,
            "state": task.state,
            "revision": task.revision,
            "muted": task.consent.mute,
            "doNotDisturbUntil": task.consent.do_not_disturb_until,
            "runId": task.runtime.run_id,
            "objectiveVersion": task.runtime.objective_version,
            "checkpoint": task.runtime.checkpoint,
        },
    }))
}

/// Events after the cursor of the arguments, waiting at most `timeout_ms`.
pub fn part(call: &ToolCall, timeout_ms: i64) -> Result<Value, ToolFault> {
    let mut params = TasksWait::new(call.own_task()?);
    params.after_cursor = call.number("after");
    params.limit = Some(call.number("limit").unwrap_or(50));
    params.timeout_ms = Some(timeout_ms);
    let page = call.client().tasks_wait(&params).send()?;
    let events: Vec<Value> = page.events.iter().map(event).collect();
    Ok(json!({"events": events, "nextCursor": page.next_cursor, "timedOut": page.timed_out}))
}

/// What a wait answers that found nothing.
pub fn nothing(call: &ToolCall) -> Value {
    json!({"events": [], "nextCursor": call.number("after").unwrap_or(0), "timedOut": true})
}

/// What an event says, ids and codes alone.
fn event(event: &TaskEvent) -> Value {
    let detail = |name: &str| event.detail.get(name).filter(|value| value.is_string());
    json!({
        "cursor": event.cursor,
        "eventType": event.event_type,
        "messageId": event.message_id,
        "senderIncarnationId": event.sender_incarnation_id,
        "parentMessageId": detail("parentMessageId"),
        "decision": detail("decision"),
        "reasonCode": detail("reasonCode"),
        "occurredAt": event.occurred_at,
    })
}
