//! `events.get`, `events.list`: what became of an event. The receiving side sees it whole; the source is told the stage,
//! the status, and of evidence only that it did not suffice. The payload is not shown: it is read as the message that it is.

use crate::delivery::life::{EventPart, Life};
use crate::digest::{hex, sha256};
use crate::events::{
    event::{self, find_trail},
    thread::{Thread, ThreadName, after_place, place_of},
};
use crate::generated::machines::Decision;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    names::only,
    pages::page,
    records::{Row, put_text},
};
use crate::time;
use alloc::{format, string::String};

/// Whether the caller sees an event from the receiving side; nothing where it has no part in it.
pub(crate) fn side(cx: &Context<'_>, life: &Life) -> Option<bool> {
    let (sender, receiver) = (&life.sender, &life.receiver);
    match cx.principal.kind {
        PrincipalKind::Task if cx.succeeds(receiver) => Some(true),
        PrincipalKind::Task if cx.succeeds(sender) => Some(false),
        PrincipalKind::User if cx.owner_scope() == receiver.owner => Some(true),
        PrincipalKind::User if cx.owner_scope() == sender.owner => Some(false),
        PrincipalKind::Policy | PrincipalKind::Operator => Some(true),
        _ => None,
    }
}

/// The only event with the ids that the params name, among those that the caller has a part in.
pub(crate) fn named(cx: &mut Context<'_>, sees: impl Fn(&Context<'_>, &Life) -> bool) -> Flow<Row<Life>> {
    let query = event::find(cx.tenant(), cx.params.text("sourceThread")?, cx.params.text("eventId")?);
    let mut seen = cx.crowd(&query)?.iter().map(Life::read).collect::<Flow<alloc::vec::Vec<_>>>()?;
    seen.retain(|row| sees(cx, &row.record));
    only(seen, cx.owner_in("owner"), |row| &row.record.sender.owner)
}

/// `events.get`: for both ends, their owners, policies and the operator.
pub(crate) fn get(cx: &mut Context<'_>) -> Flow<String> {
    let own = cx.caller_thread();
    if let Some(own) = &own {
        cx.hint(&Thread::find_row(cx.tenant(), own));
    }
    let life = named(cx, |cx, life| side(cx, life).is_some())?;
    if let Some(own) = &own {
        cx.own_thread(&own.thread, None)?;
    }
    let full = side(cx, &life.record).ok_or_else(not_visible)?;
    Ok(view(&life, full))
}

/// `events.list`: the events from and to a thread, for its own side.
pub(crate) fn list(cx: &mut Context<'_>) -> Flow<String> {
    if cx.principal.kind == PrincipalKind::Host {
        return Err(not_visible());
    }
    let (thread, owner) = (cx.params.text("threadId")?, cx.owner_in("owner"));
    let (after, (_, limit)) = (cx.params.maybe_text("after"), page(cx));
    let ThreadName { thread, owner } = cx.own_thread(thread, owner)?.record.name;
    let first = find_trail(cx.tenant(), &owner, &thread, limit);
    let found = cx.page(&after_place(first.clone(), after.as_deref()))?;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in &found.rows {
        let life = Life::read(row)?;
        let receives = life.record.receiver.task == thread && life.record.receiver.owner == owner;
        put(&mut w, &life, receives)?;
    }
    w.end_array();
    w.member_opt_str("next", found.rows.last().filter(|_| found.more).map(|row| place_of(&first, row)));
    w.end_object();
    Ok(w.finish())
}

/// An event as one side may see it.
pub(crate) fn view(life: &Row<Life>, full: bool) -> String {
    let mut w = Writer::new();
    // Only a life that is no event has nothing to show.
    let _ = put(&mut w, life, full);
    w.finish()
}

/// Writes an event as one side may see it.
pub(crate) fn put(w: &mut Writer, row: &Row<Life>, full: bool) -> Flow<()> {
    let life = &row.record;
    let part = life.event.as_ref().ok_or_else(|| damaged("event"))?;
    w.begin_object();
    w.member_str("messageId", &life.message);
    w.member_str("senderIncarnationId", &life.sender.incarnation);
    w.member_str("sourceThread", &life.sender.task);
    w.member_str("sourceOwner", &life.sender.owner);
    w.member_str("targetThread", &life.receiver.task);
    w.member_str("targetOwner", &life.receiver.owner);
    w.member_str("eventType", &part.kind);
    w.member_str("trajectoryId", &part.trajectory);
    w.member_str("subject", &part.subject);
    w.member_str("verification", part.verification.name());
    w.member_str("uptake", part.uptake.name());
    put_text(w, "checked", part.checked.as_deref().filter(|_| full));
    w.key("disposition");
    life.view(w);
    w.key("receipt");
    receipt(w, row, part, full);
    w.end_object();
    Ok(())
}

/// How an event stands, as a word: what a stage decided, unless something else ended it since.
fn status<'a>(life: &Life, part: &'a EventPart) -> &'a str {
    match life.decision {
        Decision::Expired => "expired",
        Decision::Revoked => "revoked",
        Decision::Stale => "stale",
        Decision::Pending | Decision::Deferred if life.delivery.terminal() => "expired",
        Decision::Rejected | Decision::Unsupported if part.status == "pending" => "rejected",
        Decision::Deferred if part.status == "pending" => "deferred",
        _ => &part.status,
    }
}

/// The document `event-receipt`, made from the record.
fn receipt(w: &mut Writer, row: &Row<Life>, part: &EventPart, full: bool) {
    let life = &row.record;
    let status = status(life, part);
    let settled = matches!(status, "accepted" | "pending" | "examining");
    w.begin_object();
    w.member_str("schema_version", "event-receipt/v0.1");
    let digest = hex(&sha256(format!("{}#{}", row.id, life.revision).as_bytes()));
    let id: String = "decision_".chars().chain(digest.chars().take(32)).collect();
    w.member_str("decision_id", &id);
    w.member_str("event_id", &part.event);
    w.member_str("event_digest", &part.digest);
    for (end, task) in [("source", &life.sender.task), ("target", &life.receiver.task)] {
        w.key(end);
        w.begin_object();
        w.member_str("thread_id", task);
        w.end_object();
    }
    w.member_str("grant_id", &part.grant_id);
    w.member_str("stage", &part.stage);
    w.member_str("status", status);
    let told = part.why.as_deref().filter(|why| full || *why == "evidence-insufficient");
    put_text(w, "reason", (!settled).then(|| told.unwrap_or(status)));
    w.key("verdicts");
    w.begin_array();
    for (index, verdict) in part.verdicts.iter().enumerate().filter(|_| full) {
        w.begin_object();
        w.member_str("evidence", &format!("/evidence_refs/{index}"));
        w.member_str("verdict", verdict);
        w.end_object();
    }
    w.end_array();
    if let Some(version) = part.state_version.filter(|_| full && status == "accepted") {
        w.member_int("accepted_state_version", version);
    }
    w.member_str("recorded_at", &time::format(life.updated.max(part.recorded)));
    w.end_object();
}
