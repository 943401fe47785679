//! `inbox`, `ack`, `read`.

use super::fault::ToolFault;
use super::session::ToolCall;
use serde_json::{Value, json};
use threadmesh_runtime::client::types::{
    AdapterAdmitContext, InspectorSnapshot, InspectorSnapshotResult, MailboxAck, MailboxClaim, MailboxListPending,
    MailboxListPendingResultItemsItem, MessageStates, MessagesGetDisposition,
};

/// How many pages without a message are passed over in one call.
const EMPTY_PAGES_MAX: usize = 100;

/// Undecided messages, without what their senders wrote.
pub fn inbox(call: &ToolCall) -> Result<Value, ToolFault> {
    let mut params = MailboxListPending::new(call.own_task()?);
    params.after_cursor = call.number("after");
    params.limit = Some(call.number("limit").unwrap_or(20));
    let mut page = call.client().mailbox_list_pending(&params).send()?;
    // Messages that nobody can act on any more are passed over by pages that may be empty.
    for _ in 0..EMPTY_PAGES_MAX {
        if !page.items.is_empty() || !page.has_more {
            break;
        }
        params.after_cursor = Some(page.next_cursor);
        page = call.client().mailbox_list_pending(&params).send()?;
    }
    let note = match (page.items.is_empty(), page.has_more) {
        (true, false) => "Nothing is undecided. wait tells when something arrives.",
        (true, true) => "Nothing here can be acted on any more, and more follows: call again with after = nextCursor.",
        (false, true) => {
            "Decide each with ack; read gives the text of what you accepted. More follows after nextCursor."
        }
        (false, false) => "Decide each with ack; read gives the text of what you accepted.",
    };
    let items: Vec<Value> = page.items.iter().map(metadata).collect();
    Ok(json!({"items": items, "nextCursor": page.next_cursor, "hasMore": page.has_more, "note": note}))
}

fn metadata(item: &MailboxListPendingResultItemsItem) -> Value {
    let envelope = &item.envelope;
    json!({
        "cursor": item.cursor,
        "messageId": envelope.message_id,
        "senderTaskId": envelope.sender.task_id,
        "senderIncarnationId": envelope.sender.incarnation_id,
        "senderOwner": item.owner,
        "senderKind": envelope.sender.actor_type,
        "relationshipId": envelope.relationship_id,
        "intent": envelope.intent,
        "messageType": envelope.message_type,
        "parentMessageId": envelope.causality.as_ref().and_then(|causality| causality.parent_message_id.as_ref()),
        "deliveryMode": envelope.delivery.requested_mode,
        "contentCharacters": envelope.content.chars().count(),
        "evidenceCount": envelope.evidence_refs.as_ref().map_or(0, Vec::len),
        "createdAt": envelope.created_at,
        "expiresAt": envelope.expires_at,
        "disposition": item.disposition,
        "claimedUntil": item.claim.as_ref().map(|claim| &claim.expires_at),
        "notBefore": item.not_before,
    })
}

/// How the message that the arguments name stands.
pub fn states(call: &ToolCall, sender: &str) -> Result<MessageStates, ToolFault> {
    let mut params = MessagesGetDisposition::new(sender.to_owned(), call.needed("messageId"));
    params.owner = call.text("senderOwner");
    Ok(call.client().messages_get_disposition(&params).send()?)
}

/// The message as its record shows it: what it answers, and how it stands.
pub fn snapshot(call: &ToolCall, sender: &str, message: &str) -> Result<InspectorSnapshotResult, ToolFault> {
    let mut params = InspectorSnapshot::new(sender.to_owned(), message.to_owned());
    params.owner = call.text("senderOwner");
    params.limit = Some(1);
    Ok(call.client().inspector_snapshot(&params).send()?)
}

/// What a message answers.
pub fn parent(snapshot: &InspectorSnapshotResult) -> Option<&String> {
    snapshot.provenance.causality.as_ref().and_then(|causality| causality.parent_message_id.as_ref())
}

/// Claims the message for this worker, and decides it under the claim.
pub fn ack(call: &ToolCall) -> Result<Value, ToolFault> {
    call.own_task()?;
    let (message, sender) = (call.needed("messageId"), call.needed("senderIncarnationId"));
    // A repetition finds the claim of the first time: a second claim of a decided message would be refused.
    let claim = call.once("claim", || {
        let known = states(call, &sender)?;
        let params = MailboxClaim {
            sender_incarnation_id: sender.clone(),
            message_id: message.clone(),
            expected_revision: known.revision,
            owner: call.text("senderOwner"),
            idempotency_key: Some(call.key("claim")),
        };
        let claim = call.client().mailbox_claim(&params).send()?.value;
        Ok(json!({"token": claim.claim_token, "revision": claim.expected_revision}))
    })?;
    let decision = json!({
        "senderIncarnationId": sender,
        "messageId": message,
        "owner": call.arguments["senderOwner"],
        "claimToken": claim["token"],
        "decision": call.arguments["decision"],
        "reasonCode": call.arguments["reasonCode"],
        "notBefore": call.arguments["notBefore"],
        "expectedRevision": claim["revision"],
        "idempotencyKey": call.key("ack"),
    });
    let decision: MailboxAck =
        serde_json::from_value(decision).map_err(|error| ToolFault::new("arguments-invalid", error.to_string()))?;
    let disposition = call.client().mailbox_ack(&decision).send()?.value;
    Ok(json!({"messageId": message, "senderIncarnationId": sender, "disposition": disposition}))
}

/// Context admission: the core checks the decision, records what is handed over, and renders it.
pub fn read(call: &ToolCall) -> Result<Value, ToolFault> {
    call.own_task()?;
    let (message, sender) = (call.needed("messageId"), call.needed("senderIncarnationId"));
    // The record says which call was given the text, so that a call under another id is another one.
    let told = call.told_id();
    // A repetition names the revision of the first time, which the admission itself has moved on.
    let known = call.once(&format!("revision for {told}"), || Ok(json!(states(call, &sender)?.revision)))?;
    let params = AdapterAdmitContext {
        sender_incarnation_id: sender.clone(),
        message_id: message.clone(),
        expected_revision: known.as_i64().unwrap_or_default(),
        session: call.session.id().to_owned(),
        idempotency_key: Some(call.key(&format!("read by {told}"))),
        tool_call_id: told,
        owner: call.text("senderOwner"),
    };
    let admitted = call.client().adapter_admit_context(&params).send()?.value;
    let snapshot = snapshot(call, &sender, &message)?;
    let mut told = json!({
        "messageId": message,
        "senderIncarnationId": sender,
        "parentMessageId": parent(&snapshot),
        "disposition": admitted.disposition,
        "rendering": admitted.rendering,
    });
    if let Some(context) = admitted.context {
        told["context"] = json!(context);
    }
    Ok(told)
}
