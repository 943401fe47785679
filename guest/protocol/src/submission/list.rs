//! `adapter.getSubmission`, `adapter.listUnresolved`: one attempt, and those that somebody has to ask about.

use crate::generated::limits;
use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    context::Context,
    fields::Fields,
    flow::{Flow, not_visible},
    keys, records,
};
use crate::submission::{
    attempt::Attempt,
    holder::{self, Kind, Part},
    view,
};
use alloc::{string::String, vec::Vec};

/// `adapter.getSubmission`: for everyone who has a part in it; who only looks sees the key's digest.
pub(crate) fn get_submission(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let (holder, intent) = holder::open(cx, kinds, id, false)?;
    holder.reads(cx)?;
    let attempt = holder::any(&*holder, intent, id).ok_or_else(not_visible)?;
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", false);
    view::submission(&mut w, &*holder, intent, attempt, holder.part() != Part::Onlooker);
    w.end_object();
    Ok(w.finish())
}

/// `adapter.listUnresolved`: attempts that may be judged by now, of all kinds of holders, the longest settled first.
pub(crate) fn list_unresolved(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let limit = cx.params.maybe_int("limit").unwrap_or(limits::PAGE_MAX).clamp(1, limits::PAGE_MAX);
    let most = u32::try_from(limit).unwrap_or(1);
    let after = cx.params.maybe_text("cursor");
    let pages: Vec<Query> =
        kinds.iter().map(|kind| unresolved(kind.collection, cx.tenant(), after.as_deref(), most)).collect();
    cx.fetch(&pages.iter().collect::<Vec<_>>())?;
    let (mut found, mut more): (Vec<(&Kind, &Stored)>, bool) = (Vec::new(), false);
    for (kind, page) in kinds.iter().zip(&pages) {
        let page = cx.page(page)?;
        found.extend(page.rows.iter().map(|row| (kind, row)));
        more |= page.more;
    }
    // The keys begin with the time in all collections.
    found.sort_by(|(_, one), (_, other)| one.key.cmp(&other.key));
    let all = usize::try_from(limit).unwrap_or(usize::MAX);
    more |= found.len() > all;
    found.truncate(all);
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for (kind, row) in &found {
        (kind.list)(&mut w, cx.tenant(), row)?;
    }
    w.end_array();
    w.key("nextCursor");
    match found.last().filter(|_| more) {
        Some((_, last)) => w.string(&last.key),
        None => w.null(),
    }
    w.end_object();
    Ok(w.finish())
}

/// Attempts of a collection whose outcome is unknown, the longest settled first, after the key that a page ended with.
fn unresolved(collection: &str, tenant: &str, after: Option<&str>, limit: u32) -> Query {
    let mut page = keys::under(collection, "unresolved", &[tenant], limit);
    // No character of an id sorts before the one that is added: this is the first place behind the key.
    let start = after.map(|after| [after, "!"].concat()).unwrap_or_default();
    page.start = page.start.max(start);
    page
}

/// Writes what is the same in every item: the attempt, and the revision of its holder's record.
pub(crate) fn put_item(w: &mut Writer, tenant: &str, attempt: &Attempt, revision: i64) {
    w.member_str("submissionId", &attempt.id);
    w.member_str("adapterIdempotencyKey", &attempt.key);
    w.member_str("tenant", tenant);
    w.member_str("profile", &attempt.profile);
    w.member_str("profileDigest", &attempt.profile_digest);
    records::put_text(w, "session", attempt.session.as_deref());
    w.member_bool("hosted", attempt.hosted);
    if let Some(call) = &attempt.call {
        w.member_int("settleAt", call.settle_at);
        w.member_int("leaseUntil", call.lease_until);
        w.member_str("instance", &call.instance);
        w.member_int("fence", call.fence);
    }
    w.member_int("queries", attempt.queries);
    w.member_int("expectedRevision", revision);
}
