//! `capabilities.revoke`, `capabilities.consent`, `capabilities.list`.

use crate::Rule;
use crate::events::{
    capability::{self, Capability},
    grant::record,
    thread::{self, Thread, ThreadName, place_of},
};
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind,
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    names::only,
    pages::page,
    records::Row,
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
fn streams(cx: &mut Context<'_>, capability: &Capability) -> Flow<[String; 2]> {
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
    let entries = row.record.entries(cx.tenant());
    cx.write(capability::COLLECTION, &row.id, row.revision, row.record.text(), entries);
}

/// `capabilities.revoke`: at once, since every stage reads the capability.
pub(crate) fn revoke(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let (scope, policy) = (cx.owner_scope(), cx.principal.kind == PrincipalKind::Policy);
    let owns = |capability: &Capability| capability.issuer == scope || capability.target.owner == scope;
    let mut row = named(cx, |_, known| policy || owns(known) || known.source.owner == scope)?;
    check(Rule::CG12, policy || owns(&row.record))?;
    let replayed = cx.replayed()?;
    let known = row.record.revoked.is_some();
    if !replayed && !known {
        let ends = streams(cx, &row.record)?;
        row.record.revoked = Some(cx.now);
        record(cx, &ends, "capability-revoked", detail(&[("grantId", &row.record.grant_id)]))?;
        save(cx, &row);
    }
    let at = row.record.revoked.map(time::format);
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("grantId", &row.record.grant_id);
    w.member_opt_str("revokedAt", at.as_deref());
    w.member_int("endedEvents", 0);
    w.member_bool("remaining", false);
    w.member_bool("replay", known);
    w.end_object();
    cx.resource = Some((row.id, 1));
    Ok(w.finish())
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
            let ends = streams(cx, &row.record)?;
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
