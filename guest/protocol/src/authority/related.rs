//! `relationships.list`, `relationships.consent`, `tasks.listRelated`: which grants there are from and to a task, what
//! its side of them says, and whom they relate it to. There is no list of what is not granted.

use crate::authority::{
    grant::{self, Grant},
    own::page_of,
    task::{self, Task},
};
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind,
    audit::{Event, detail},
    boxes::{self, Box},
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    names::only,
    pages::{page, scan},
    records::{Party, Row, parse, put_int, put_text},
    streams::Streams,
};
use crate::rules::check;
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// `relationships.list`: every grant from or to a task, in the order in which it learned of them.
pub(crate) fn list(cx: &mut Context<'_>) -> Flow<String> {
    let (own, query) = page_of(cx, |tenant, own, after, limit| Grant::find_of(tenant, own, false, after, limit))?;
    let mut next = page(cx).0;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in cx.rows(&query)? {
        next = keys::last_number(&row.key)?;
        let grant = Grant::read(row)?.record;
        w.begin_object();
        w.member_int("cursor", next);
        w.member_str("side", if grant.source == own { "source" } else { "target" });
        w.member_str("status", status(&grant, cx.now));
        if let Some(consent) = grant.consent {
            w.member_bool("consent", consent);
        }
        show(cx, &mut w, &grant)?;
        w.end_object();
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.end_object();
    Ok(w.finish())
}

fn status(grant: &Grant, now: i64) -> &'static str {
    match grant {
        Grant { revoked: Some(_), .. } => "revoked",
        Grant { superseded: true, .. } => "superseded",
        Grant { expires: Some(end), .. } if now >= *end => "expired",
        Grant { consent: Some(false), .. } => "awaiting-consent",
        _ => "current",
    }
}

/// The grant as its issuer, a policy and the operator see it; for everybody else without the authorization, which names
/// the issuer's session and decision.
fn show(cx: &Context<'_>, w: &mut Writer, grant: &Grant) -> Flow<()> {
    let whole = match cx.principal.kind {
        PrincipalKind::Policy | PrincipalKind::Operator => true,
        PrincipalKind::User => cx.owner_scope() == grant.issuer,
        PrincipalKind::Task | PrincipalKind::Host => false,
    };
    w.key("grant");
    w.begin_object();
    for (name, value) in parse(&grant.document)?.root().members().filter(|(name, _)| whole || *name != "authorization")
    {
        w.member_raw(name, value.raw());
    }
    w.end_object();
    Ok(())
}

/// `relationships.consent`: the target's task or its owner agrees to a grant that asks for it, or does not any more.
/// Every gate reads it, so that it holds at once.
pub(crate) fn consent(cx: &mut Context<'_>) -> Flow<String> {
    if let Some(own) = cx.caller_row() {
        cx.hint(&keys::row(task::COLLECTION, &own));
    }
    let mut row = consentable(cx)?;
    check(Rule::OP4, cx.principal.kind != PrincipalKind::Task || cx.self_live()?)?;
    let replayed = cx.replayed()?;
    check(Rule::OP7, row.record.version == cx.params.int("expectedGrantVersion")?)?;
    if replayed {
        return Ok(consented(&row.record));
    }
    check(Rule::GA8, row.record.consent.is_some() && row.record.stands())?;
    let consent = cx.params.flag("consent");
    if row.record.consent != Some(consent) {
        row.record.consent = Some(consent);
        let (source, target) = (row.record.source.key(cx.tenant()), row.record.target.key(cx.tenant()));
        let mut streams = Streams::default();
        streams.load(cx, [source.clone(), target.clone()])?;
        let told = detail(&[("consent", if consent { "true" } else { "false" }), ("grantId", &row.record.grant_id)]);
        let event = Event {
            kind: "relationship-consent-set",
            relationship: &row.record.relationship,
            revision: row.record.version,
            detail: told,
            ..Event::default()
        };
        streams.record(cx, &[&source, &target], &event)?;
        streams.save(cx);
        cx.write(grant::COLLECTION, &row.id, row.revision, row.record.text(), row.record.entries(cx.tenant()));
    }
    cx.resource = Some((row.id, row.record.version));
    Ok(consented(&row.record))
}

/// The grant that the params name, for its target's side. Whoever else has to do with it sees it, and no more.
fn consentable(cx: &mut Context<'_>) -> Flow<Row<Grant>> {
    let query = Grant::find(cx.tenant(), cx.params.text("grantId")?);
    let mut seen = cx.crowd(&query)?.iter().map(Grant::read).collect::<Flow<Vec<_>>>()?;
    let task = cx.principal.kind == PrincipalKind::Task;
    let scope = cx.owner_scope();
    let of = |cx: &Context<'_>, party: &Party| if task { cx.is_party(party) } else { party.owner == scope };
    let policy = cx.principal.kind == PrincipalKind::Policy;
    seen.retain(|Row { record, .. }| {
        policy || record.issuer == scope || of(cx, &record.source) || of(cx, &record.target)
    });
    if let Some(owner) = cx.owner_in("owner") {
        seen.retain(|row| row.record.issuer == owner);
    }
    if seen.iter().any(|row| of(cx, &row.record.target)) {
        seen.retain(|row| of(cx, &row.record.target));
    }
    let row = only(seen, None, |row| &row.record.issuer)?;
    check(Rule::GA7, of(cx, &row.record.target))?;
    Ok(row)
}

fn consented(grant: &Grant) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("grantId", &grant.grant_id);
    w.member_int("grantVersion", grant.version);
    w.member_bool("consent", grant.consent == Some(true));
    w.end_object();
    w.finish()
}

/// `tasks.listRelated`: whom a current grant relates a task to, in either direction, and what the grant shows of it.
pub(crate) fn list_related(cx: &mut Context<'_>) -> Flow<String> {
    let (own, query) = page_of(cx, |tenant, own, after, limit| Grant::find_of(tenant, own, true, after, scan(limit)))?;
    let (mut next, limit) = page(cx);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut grants = Vec::new();
    let found = cx.page(&query)?;
    let mut more = found.more;
    for row in &found.rows {
        let grant = Grant::read(row)?.record;
        // Grants that have ended stand in the index too: they are passed over, and do not end the page.
        if grant.current(cx.now) && grants.len() == limit {
            more = true;
            break;
        }
        next = keys::last_number(&row.key)?;
        if grant.current(cx.now) {
            grants.push((next, grant));
        }
    }
    for (_, grant) in &grants {
        let id = other(grant, &own).key(cx.tenant());
        cx.want(task::COLLECTION, &id);
        cx.want(boxes::COLLECTION, &id);
    }
    cx.fetch(&[])?;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for (cursor, grant) in &grants {
        w.begin_object();
        w.member_int("cursor", *cursor);
        related(cx, &mut w, grant, &own)?;
        w.end_object();
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.member_bool("hasMore", more);
    w.end_object();
    Ok(w.finish())
}

fn other<'a>(grant: &'a Grant, own: &Party) -> &'a Party {
    if grant.source == *own { &grant.target } else { &grant.source }
}

/// One related task: its exact ids and whether it is live, which every holder of a grant may know; and of a target what
/// the grant shows to its source.
fn related(cx: &mut Context<'_>, w: &mut Writer, grant: &Grant, own: &Party) -> Flow<()> {
    let party = other(grant, own);
    let id = party.key(cx.tenant());
    let Some(row) = cx.lookup(task::COLLECTION, &id)? else { return Ok(()) };
    let task = Task::read(row)?.record;
    let outgoing = grant.source == *own;
    let visibility = grant.visibility()?;
    w.member_str("direction", if outgoing { "outgoing" } else { "incoming" });
    party.put_ref(w, "task");
    w.member_bool("live", task.live());
    for (name, value) in parse(&grant.document)?.root().members() {
        let shown = [
            "grantId",
            "grantVersion",
            "relationshipId",
            "relationshipType",
            "allowedIntents",
            "allowedDeliveryModes",
            "summaryVisibility",
            "expiresAt",
        ];
        if shown.contains(&name) {
            w.member_raw(name, value.raw());
        }
    }
    if outgoing && visibility != "none" {
        let active = cx.lookup(boxes::COLLECTION, &id)?.map(Box::read).transpose()?.and_then(|row| row.record.active);
        presence(w, &task, active, &visibility);
    }
    Ok(())
}

/// What is known of a task, by the visibility of a grant towards it. Its last act on record stands there as it is, old
/// or absent: that a task is not retired does not mean that somebody is there.
fn presence(w: &mut Writer, task: &Task, active: Option<i64>, visibility: &str) {
    w.member_str("state", &task.state);
    put_text(w, "lastActedAt", active.map(time::format).as_deref());
    put_text(w, "retiredAt", task.retired_at.map(time::format).as_deref());
    if visibility == "state-only" {
        return;
    }
    w.member_str("harness", &task.harness);
    put_text(w, "activeRunId", task.run.as_deref());
    if visibility == "objective-hint" {
        put_int(w, "objectiveVersion", task.objective);
    }
}
