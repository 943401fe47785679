//! `maintenance.expireDue`: ends what nobody ended in time.

use crate::generated::limits;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind, Stored,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    streams::Streams,
};
use crate::retention::hooks::Expiring;
use crate::time;
use alloc::{string::String, vec::Vec};

/// Sweeps that changed something: what they answered, for a caller that asks again. Ids and revisions only.
const SWEEPS: &str = "sweep";

/// `maintenance.expireDue`: the oldest first, for a policy in the whole tenant, for a user between its own tasks. What
/// has an unresolved attempt is not due. The rows read are those expired, and their ends.
pub(crate) fn expire_due(cx: &mut Context<'_>, expiring: &[Expiring]) -> Flow<String> {
    cx.control_plane()?;
    let limit = cx.params.maybe_int("limit").unwrap_or(100).clamp(1, limits::SWEEP_MAX);
    let owner = cx.owner_scope();
    let owner = (cx.principal.kind != PrincipalKind::Policy).then_some(owner.as_str());
    let most = u32::try_from(limit).unwrap_or(u32::MAX);
    let due: Vec<_> = expiring.iter().map(|kind| (kind.due)(cx.tenant(), owner, cx.now, most)).collect();
    cx.fetch(&due.iter().collect::<Vec<_>>())?;
    if let Some(past) = cx.past()? {
        return swept(cx, &past.resource, past.revision);
    }
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut found, mut more) = (Vec::new(), false);
    for query in &due {
        let page = cx.page(query)?;
        let taken = page.rows.get(..left.min(page.rows.len())).unwrap_or_default();
        more |= page.more || taken.len() < page.rows.len();
        left = left.saturating_sub(taken.len());
        found.push(taken);
    }
    let mut streams = Streams::default();
    for (kind, rows) in expiring.iter().zip(&found) {
        (kind.load)(cx, &mut streams, rows)?;
    }
    let answer = expire(cx, &mut streams, expiring, &found, more)?;
    streams.save(cx);
    Ok(answer)
}

fn expire(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    expiring: &[Expiring],
    found: &[&[Stored]],
    more: bool,
) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("expiredAt", &time::format(cx.now));
    w.key("expired");
    w.begin_array();
    for (kind, rows) in expiring.iter().zip(found) {
        (kind.expire)(cx, streams, rows, &mut w)?;
    }
    w.end_array();
    w.member_bool("hasMore", more);
    w.end_object();
    let answer = w.finish();
    let mut id = String::new();
    if found.iter().any(|rows| !rows.is_empty()) {
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
