//! `maintenance.expireDue`: ends what nobody ended in time.

use crate::delivery::{
    life::Life,
    relabel::{self, Label},
};
use crate::generated::limits;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::Row,
    streams::Streams,
};
use crate::time;
use alloc::{string::String, vec::Vec};

/// Sweeps that changed something: what they answered, for a caller that asks again. Ids and revisions only.
const SWEEPS: &str = "sweep";

/// `maintenance.expireDue`: the oldest first, for a policy in the whole tenant, for a user between its own tasks. What
/// has an unresolved attempt is not due. The rows read are those expired, and their ends.
pub(crate) fn expire_due(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let limit = cx.params.maybe_int("limit").unwrap_or(100).clamp(1, limits::SWEEP_MAX);
    let owner = cx.owner_scope();
    let owner = (cx.principal.kind != PrincipalKind::Policy).then_some(owner.as_str());
    let most = u32::try_from(limit).unwrap_or(u32::MAX);
    let due = Life::find_due(cx.tenant(), owner, cx.now, most);
    cx.fetch(&[&due])?;
    if let Some(past) = cx.past()? {
        return swept(cx, &past.resource, past.revision);
    }
    let (lives, more) = relabel::page(cx, &due)?;
    let mut streams = Streams::default();
    relabel::streams(cx, &mut streams, &lives)?;
    let answer = expire(cx, &mut streams, lives, more)?;
    streams.save(cx);
    Ok(answer)
}

fn expire(cx: &mut Context<'_>, streams: &mut Streams, lives: Vec<Row<Life>>, more: bool) -> Flow<String> {
    let empty = lives.is_empty();
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("expiredAt", &time::format(cx.now));
    w.key("expired");
    w.begin_array();
    for life in lives {
        let (sender, message) = (life.record.sender.incarnation.clone(), life.record.message.clone());
        let Some(revision) = relabel::relabel(cx, streams, life, Label::Expired)? else { continue };
        w.begin_object();
        w.member_str("senderIncarnationId", &sender);
        w.member_str("messageId", &message);
        w.member_int("revision", revision);
        w.end_object();
    }
    w.end_array();
    w.member_bool("hasMore", more);
    w.end_object();
    let answer = w.finish();
    let mut id = String::new();
    if !empty {
        id = keys::key(&[cx.tenant(), &cx.request_hash("sweep")]);
        cx.write(SWEEPS, &id, 0, answer.clone(), Vec::new());
    }
    cx.resource = Some((id, cx.now));
    Ok(answer)
}

/// What an earlier sweep answered; one that found nothing stored only its time.
fn swept(cx: &mut Context<'_>, sweep: &str, at: i64) -> Flow<String> {
    if !sweep.is_empty() {
        return Ok(cx.lookup(SWEEPS, sweep)?.ok_or_else(|| damaged("sweep"))?.body.clone());
    }
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("expiredAt", &time::format(at));
    w.key("expired");
    w.begin_array();
    w.end_array();
    w.member_bool("hasMore", false);
    w.end_object();
    Ok(w.finish())
}
