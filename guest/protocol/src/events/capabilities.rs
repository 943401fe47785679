//! `capabilities.revoke`, `capabilities.consent`, `capabilities.list`.

use crate::Rule;
use crate::delivery::{
    life::Life,
    relabel::{self, Label},
};
use crate::events::{
    capability::{self, Capability},
    event::find_under,
    grant::record,
    thread::{self, Thread, ThreadName, place_of},
};
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind, Query,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, no_cursor, not_visible},
    names::only,
    pages::{PAGE, page},
    records::Row,
    streams::Streams,
};
use crate::rules::check;
use crate::time;
use alloc::{string::String, vec::Vec};

/// The capability that the params name, among those of which `sees` says that the caller may see them; one that the
/// caller issued itself before others.
fn named(cx: &mut Context<'_>, sees: impl Fn(&Context<'_>, &Capability) -> bool) -> Flow<Row<Capability>> {
    let query = Capability::find(cx.tenant(), cx.params.text("grantId")?);
    let mut seen = cx.crowd(&query)?.iter().map(Capability::read).collect::<Flow<Vec<_>>>()?;
    seen.retain(|row| sees(cx, &row.record));
    let (scope, issuer) = (cx.owner_scope(), cx.owner_in("owner"));
    if issuer.is_none() && seen.iter().any(|row| row.record.issuer == scope) {
        seen.retain(|row| row.record.issuer == scope);
    }
    only(seen, issuer, |row| &row.record.issuer)
}

/// The streams of both ends, as the threads stand.
fn ends(cx: &mut Context<'_>, capability: &Capability) -> Flow<[String; 2]> {
    let ids = [&capability.source, &capability.target].map(|end| end.id(cx.tenant()));
    ids.iter().for_each(|id| cx.want(thread::COLLECTION, id));
    let mut parties = Vec::new();
    for id in &ids {
        let row = cx.lookup(thread::COLLECTION, id)?.ok_or_else(|| damaged("thread"))?;
        parties.push(Thread::read(row)?.record.party().key(cx.tenant()));
    }
    parties.try_into().map_err(|_| damaged("thread"))
}

fn save(cx: &mut Context<'_>, row: &Row<Capability>) {
    cx.topics.push(row.id.clone());
    let entries = row.record.entries(cx.tenant());
    cx.write(capability::COLLECTION, &row.id, row.revision, row.record.text(), entries);
}

/// `capabilities.revoke`: at once, since every stage reads the capability. Events that were sent under it and that nobody
/// decided are revoked, a page in the same commit and the rest in further ones.
pub(crate) fn revoke(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    if let Some(cursor) = &cx.request.cursor {
        return revoke_rest(cx, cursor);
    }
    let issuer = cx.owner_in("owner").map_or_else(|| cx.owner_scope(), Into::into);
    let own = Capability::id(cx.tenant(), cx.params.text("grantId")?, &issuer);
    cx.hint(&find_under(cx.tenant(), &own, PAGE));
    let (scope, policy) = (cx.owner_scope(), cx.principal.kind == PrincipalKind::Policy);
    let owns = |capability: &Capability| capability.issuer == scope || capability.target.owner == scope;
    let mut row = named(cx, |_, known| policy || owns(known) || known.source.owner == scope)?;
    check(Rule::CG12, policy || owns(&row.record))?;
    let under = find_under(cx.tenant(), &row.id, PAGE);
    cx.hint(&under);
    let ends = ends(cx, &row.record)?;
    ends.iter().for_each(|stream| cx.hint(&Box::find(stream)));
    let replayed = cx.replayed()?;
    let known = row.record.revoked.is_some();
    if replayed {
        let remaining = !cx.rows(&under)?.is_empty();
        return Ok(revocation(&row.record, 0, remaining, true));
    }
    let mut streams = Streams::default();
    if !known {
        row.record.revoked = Some(cx.now);
        load(cx, &mut streams, &ends, &under)?;
        let told = detail(&[("grantId", &row.record.grant_id)]);
        let event = Event { kind: "capability-revoked", detail: told, ..Event::default() };
        let [source, target] = ends.each_ref().map(String::as_str);
        streams.record(cx, &[source, target], &event)?;
        save(cx, &row);
    }
    let (ended, remaining) = end(cx, &mut streams, &row.id)?;
    cx.resource = Some((row.id, 1));
    Ok(revocation(&row.record, ended, remaining, known))
}

/// Loads the streams of both threads, and of everybody concerned by a page of events, in one round.
fn load(cx: &mut Context<'_>, streams: &mut Streams, ends: &[String; 2], under: &Query) -> Flow<()> {
    let lives = cx.rows(under)?.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    let concerned = relabel::streams(cx, streams, &lives);
    streams.load(cx, ends.iter().cloned())?;
    concerned
}

/// Goes on with the capability in the cursor, which is revoked.
fn revoke_rest(cx: &mut Context<'_>, cursor: &str) -> Flow<String> {
    cx.hint(&find_under(cx.tenant(), cursor, PAGE));
    let row = Capability::read(cx.lookup(capability::COLLECTION, cursor)?.ok_or_else(no_cursor)?)?;
    row.record.revoked.ok_or_else(no_cursor)?;
    let (ended, remaining) = end(cx, &mut Streams::default(), cursor)?;
    Ok(revocation(&row.record, ended, remaining, false))
}

/// Ends a page of the undecided events that were sent under a capability: how many, and whether there are more.
fn end(cx: &mut Context<'_>, streams: &mut Streams, capability: &str) -> Flow<(i64, bool)> {
    let page = cx.page(&find_under(cx.tenant(), capability, PAGE))?;
    let lives = page.rows.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    relabel::streams(cx, streams, &lives)?;
    let mut ended = 0_i64;
    for life in lives {
        let relabelled = relabel::relabel(cx, streams, life, Label::Revoked)?;
        ended = ended.saturating_add(i64::from(relabelled.is_some()));
    }
    streams.save(cx);
    cx.proceed = page.more.then(|| capability.into());
    Ok((ended, page.more))
}

fn revocation(capability: &Capability, ended: i64, remaining: bool, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("grantId", &capability.grant_id);
    w.member_opt_str("revokedAt", capability.revoked.map(time::format).as_deref());
    w.member_int("endedEvents", ended);
    w.member_bool("remaining", remaining);
    w.member_bool("replay", replay);
    w.end_object();
    w.finish()
}

/// `capabilities.consent`: the target's task or its owner agrees to a capability that requires it, or does not any more.
pub(crate) fn consent(cx: &mut Context<'_>) -> Flow<String> {
    let own = cx.caller_thread();
    if let Some(own) = &own {
        cx.hint(&Thread::find_row(cx.tenant(), own));
    }
    let (scope, thread) = (cx.owner_scope(), own.clone());
    let is = |end: &ThreadName, scope: &str| match &thread {
        Some(own) => own == end,
        None => end.owner == scope,
    };
    let mut row = named(cx, |cx, known| {
        let task = cx.principal.kind == PrincipalKind::Task;
        let user = cx.principal.kind == PrincipalKind::User;
        (task || user) && (is(&known.target, &scope) || is(&known.source, &scope) || (user && known.issuer == scope))
    })?;
    if let Some(own) = &own {
        cx.own_thread(&own.thread, None)?;
    }
    check(Rule::CG13, is(&row.record.target, &scope))?;
    let consent = cx.params.flag("consent");
    if !cx.replayed()? {
        check(Rule::CG14, row.record.consent.is_some() && row.record.revoked.is_none())?;
        if row.record.consent != Some(consent) {
            let ends = ends(cx, &row.record)?;
            row.record.consent = Some(consent);
            let word = if consent { "true" } else { "false" };
            record(
                cx,
                &ends,
                "capability-consent-set",
                detail(&[("consent", word), ("grantId", &row.record.grant_id)]),
            )?;
            save(cx, &row);
        }
    }
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("grantId", &row.record.grant_id);
    w.member_bool("consent", row.record.consent == Some(true));
    w.end_object();
    cx.resource = Some((row.id, 1));
    Ok(w.finish())
}

/// `capabilities.list`: every capability from or to a thread, for its own side.
pub(crate) fn list(cx: &mut Context<'_>) -> Flow<String> {
    if cx.principal.kind == PrincipalKind::Host {
        return Err(not_visible());
    }
    let (thread, owner) = (cx.params.text("threadId")?, cx.owner_in("owner"));
    let (after, (_, limit)) = (cx.params.maybe_text("after"), page(cx));
    let name = cx.own_thread(thread, owner)?.record.name;
    let first = Capability::find_of(cx.tenant(), &name, None, limit);
    let found = cx.page(&Capability::find_of(cx.tenant(), &name, after.as_deref(), limit))?;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in &found.rows {
        Capability::read(row)?.record.item(&mut w, &name, cx.now);
    }
    w.end_array();
    w.member_opt_str("next", found.rows.last().filter(|_| found.more).map(|row| place_of(&first, row)));
    w.end_object();
    Ok(w.finish())
}
