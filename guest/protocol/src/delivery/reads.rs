//! `audit.list`, `tasks.wait`: what happened, as far as the caller may see it.
//!
//! Records hold more than any one party may read: what is shown is listed here, and the rest stays out.

use crate::delivery::scene::Role;
use crate::json::{Value, Writer};
use crate::kernel::{
    PrincipalKind, Stored, audit,
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, not_visible},
    pages::{cursor, page, patience},
    records::{Party, parse},
};
use crate::time;
use alloc::string::String;

/// What the sending side sees of a message's events: nothing by which the receiver's claim, adapter or session could be
/// told or guessed.
const TO_SENDER: &[&str] = &[
    "authority",
    "decision",
    "envelopeDigest",
    "eventDigest",
    "eventId",
    "grantId",
    "interruption",
    "outcome",
    "outcomeEvidenceDigest",
    "previousDecision",
    "previousDelivery",
    "purgeId",
    "reasonCode",
    "resolution",
    "result",
    "retentionCutoff",
    "source",
    "submissionId",
];

/// `audit.list`: the events of one message, for both ends, whoever owns one, policies and the operator.
pub(crate) fn audit_list(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (scene, role) = cx.scene_with(name, |cx, life| {
        let (after, limit) = page(cx);
        cx.hint(&audit::find_message(life, after, limit));
    })?;
    if role == Role::Host {
        return Err(not_visible());
    }
    scene.reads(cx, role)?;
    let (after, limit) = page(cx);
    let sending = matches!(role, Role::Sender | Role::SenderOwner);
    let mut w = Writer::new();
    w.begin_array();
    for row in cx.rows(&audit::find_message(&scene.life.id, after, limit))? {
        event(&mut w, row, &|_| sending, false)?;
    }
    w.end_array();
    Ok(w.finish())
}

/// `tasks.wait`: events of the task's stream after a cursor, at once or as soon as there are some, and the cursor of the
/// last event that there is. With nothing to tell
/// the step waits; the host ends that with the cursor `timeout`.
pub(crate) fn wait(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.task_in("task")?;
    let (after, limit) = page(cx);
    if let Some(id) = cx.own_row(name) {
        cx.hint(&audit::find_stream(&id, after, limit));
        cx.hint(&Box::find(&id));
    }
    let own = cx.own_live_task(name)?;
    let query = audit::find_stream(&own.id, after, limit);
    cx.hint(&query);
    let head = cx.load_box(&own.id)?.record.sequence;
    let rows = cx.rows(&query)?;
    if let Some(until) = patience(cx).filter(|_| rows.is_empty()) {
        return Err(Stop::Wait([own.id].into(), until));
    }
    let party = &own.record.party;
    let all = matches!(cx.principal.kind, PrincipalKind::Policy | PrincipalKind::Operator);
    let mut next = after;
    let mut w = Writer::new();
    w.begin_object();
    w.key("events");
    w.begin_array();
    for row in rows {
        next = event(&mut w, row, &|subject| !all && sends(party, subject), true)?;
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.member_int("head", head);
    w.member_bool("timedOut", rows.is_empty());
    w.end_object();
    Ok(w.finish())
}

/// Whether `party` is the sending side of an event about a message.
fn sends(party: &Party, subject: Value<'_>) -> bool {
    subject.get("messageId").is_some() && subject.maybe_text("senderIncarnationId") == Some(party.incarnation.clone())
}

/// Writes an event; its cursor. `sending` says of its subject whether the reader is the sending side.
fn event(w: &mut Writer, row: &Stored, sending: &dyn Fn(Value<'_>) -> bool, subject: bool) -> Flow<i64> {
    let cursor = cursor(row)?;
    let tree = parse(&row.body)?;
    let value = tree.root();
    let about = value.member("subject")?;
    let sending = sending(about);
    w.begin_object();
    w.member_int("cursor", cursor);
    w.member_str("eventId", value.text("eventId")?);
    w.member_str("eventType", value.text("eventType")?);
    w.member_int("revision", value.int("revision")?);
    w.key("detail");
    w.begin_object();
    for (name, told) in value.member("detail")?.members().filter(|(name, _)| !sending || TO_SENDER.contains(name)) {
        w.member_raw(name, told.raw());
    }
    w.end_object();
    w.member_str("occurredAt", &time::format(value.int("occurredAt")?));
    w.key("actor");
    w.begin_object();
    let actor = value.member("actor")?;
    w.member_str("kind", actor.text("kind")?);
    w.member_str("id", actor.text("id")?);
    w.end_object();
    if subject {
        for (name, id) in about.members() {
            w.member_raw(name, id.raw());
        }
    }
    w.end_object();
    Ok(cursor)
}
