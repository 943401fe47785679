//! `relationships.grant`, `relationships.revoke`: what one task may send to another, and who said so.

use crate::authority::{
    grant::{self, Grant},
    hooks::{self, Revoked},
    proposals,
    task::Task,
};
use crate::digest::sha256_text;
use crate::documents::{Document, Kind, grant::integrity_digest};
use crate::generated::limits;
use crate::json::{self, Value, Writer};
use crate::kernel::{
    PrincipalKind, Query,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, no_cursor, not_visible},
    names::{TaskName, only},
    records::{Row, put_raw, put_text},
    streams::Streams,
};
use crate::rules::{check, check_at};
use crate::{Error, Rule, time};
use alloc::{format, string::String, vec::Vec};

/// `relationships.grant`: completes the draft, checks it as an effective grant, and makes it the current one of its
/// route. A proposal that it approves
/// is approved in the same commit. The same draft again answers with the grant as it stands.
pub(crate) fn grant(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let draft = cx.params.member("grant")?;
    let id = Grant::id(cx.tenant(), draft.text("grantId")?, &cx.owner_scope());
    cx.hint(&Grant::find_row(&id));
    let (source, target) = ends(cx, draft)?;
    let replayed = cx.replayed()?;
    if let Some(known) = granted(cx, &id, draft, [&source, &target])? {
        if !replayed {
            cx.resource = Some((known.id.clone(), known.record.version));
        }
        return Ok(known.record.document);
    }
    check(Rule::OP4, source.record.live() && target.record.live())?;
    let route =
        Grant::find_current(cx.tenant(), draft.text("relationshipId")?, &source.record.party, &target.record.party);
    for query in [&route, &Box::find(&source.id), &Box::find(&target.id)] {
        cx.hint(query);
    }
    let proposal = proposals::approvable(cx, draft, &source.record.party, &target.record.party)?;
    let mut grant = effective(cx, draft, &source.record, &target.record)?;
    cx.fetch(&[&route])?;
    supersede(cx, &route, grant.version)?;
    let mut streams = Streams::default();
    streams.load(cx, [source.id.clone(), target.id.clone()])?;
    record(cx, &mut streams, &grant, "relationship-granted", granted_detail(cx, &grant)?)?;
    grant.source_place = streams.get(&source.id)?.sequence;
    grant.target_place = streams.get(&target.id)?.sequence;
    streams.save(cx);
    if let Some(proposal) = proposal {
        proposals::approve(cx, proposal, &grant)?;
    }
    cx.write(grant::COLLECTION, &id, 0, grant.text(), grant.entries(cx.tenant()));
    cx.resource = Some((id, grant.version));
    Ok(grant.document)
}

fn granted_detail(cx: &Context<'_>, grant: &Grant) -> Flow<String> {
    let digest = json::parse(&grant.document)?.digest();
    let mut told = alloc::vec![
        ("decisionId", cx.params.member("decision")?.text("decisionId")?),
        ("grantDigest", &digest),
        ("grantId", &grant.grant_id),
    ];
    told.extend(grant.proposal.as_deref().map(|proposal| ("proposalId", proposal)));
    Ok(detail(&told))
}

/// Both ends, from the caller's own scope or, for a policy, without doubt.
fn ends(cx: &mut Context<'_>, draft: Value<'_>) -> Flow<(Row<Task>, Row<Task>)> {
    // Ask for both at once.
    let source = end(cx, draft.member("source")?, "sourceOwner");
    let target = end(cx, draft.member("target")?, "targetOwner");
    Ok((source?, target?))
}

fn end(cx: &mut Context<'_>, reference: Value<'_>, owner: &str) -> Flow<Row<Task>> {
    let name = TaskName::read(reference, cx.owner_in(owner))?;
    if let Some(id) = cx.own_row(name) {
        cx.hint(&Box::find(&id));
    }
    match cx.own_task(name) {
        Err(Stop::Refuse(_)) => Err(check(Rule::GA1, false).map_or_else(Into::into, |()| not_visible())),
        other => other,
    }
}

/// The grant that this issuer issued under the same id: then from the same draft, between the same ends, in the same way.
fn granted(cx: &mut Context<'_>, id: &str, draft: Value<'_>, ends: [&Row<Task>; 2]) -> Flow<Option<Row<Grant>>> {
    let Some(row) = cx.lookup(grant::COLLECTION, id)? else { return Ok(None) };
    let known = Grant::read(row)?;
    let decision = cx.params.member("decision")?;
    let [source, target] = ends.map(|end| &end.record.party);
    let same = (&known.record.source, &known.record.target) == (source, target)
        && known.record.proposal == decision.maybe_text("proposalId")
        && known.record.consent.is_some() == decision.flag("requiresConsent");
    check(Rule::GA2, same && known.record.draft == draft_digest(draft))?;
    Ok(Some(known))
}

/// The digest of the canonical draft without createdAt.
fn draft_digest(draft: Value<'_>) -> String {
    let mut members: Vec<_> = draft.members().filter(|(name, _)| *name != "createdAt").collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in members {
        w.member_raw(name, &value.canonical());
    }
    w.end_object();
    sha256_text(w.finish().as_bytes())
}

/// The effective grant of a draft, checked as a document.
fn effective(cx: &Context<'_>, draft: Value<'_>, source: &Task, target: &Task) -> Flow<Grant> {
    let decision = cx.params.member("decision")?;
    let unsealed = document(cx, draft, None)?;
    let digest = integrity_digest(json::parse(&unsealed)?.root());
    let text = document(cx, draft, Some(&digest))?;
    let tree = json::parse_document(&text)?;
    let within = |error: Error| Error { pointer: format!("/grant{}", error.pointer), ..error };
    Document::from_value(Kind::Grant, tree.root()).map_err(within)?;
    let expires = draft.maybe_text("expiresAt").map(|text| time::parse(&text)).transpose()?;
    let latest = cx.now.saturating_add(limits::GRANT_LIFETIME_MS_MAX);
    check_at(Rule::GA4, expires.is_none_or(|end| end <= latest), || "/grant/expiresAt".into())?;
    let words = |name: &str| -> Flow<Vec<String>> {
        Ok(draft.member(name)?.items().filter_map(|item| item.as_str()).map(Into::into).collect())
    };
    Ok(Grant {
        grant_id: draft.text("grantId")?.into(),
        version: draft.int("grantVersion")?,
        relationship: draft.text("relationshipId")?.into(),
        kind: draft.text("relationshipType")?.into(),
        source: source.party.clone(),
        target: target.party.clone(),
        intents: words("allowedIntents")?,
        modes: words("allowedDeliveryModes")?,
        draft: draft_digest(draft),
        issuer: cx.owner_scope(),
        expires,
        revoked: None,
        superseded: false,
        proposal: decision.maybe_text("proposalId"),
        consent: decision.flag("requiresConsent").then_some(false),
        source_place: 0,
        target_place: 0,
        document: text,
    })
}

/// The text of the effective grant: the draft, stamped with who decided and when. Without a digest it is not sealed.
fn document(cx: &Context<'_>, draft: Value<'_>, digest: Option<&str>) -> Flow<String> {
    let now = time::format(cx.now);
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in draft.members().filter(|(name, _)| !matches!(*name, "createdAt" | "expiresAt")) {
        w.member_raw(name, value.raw());
    }
    w.key("grantedBy");
    actor(cx, &mut w);
    w.key("authorization");
    w.begin_object();
    let policy = cx.principal.kind == PrincipalKind::Policy;
    w.member_str("authority", if policy { "policy" } else { "owner" });
    w.member_str("authenticationId", &cx.principal.authentication);
    let decision = cx.params.member("decision")?;
    w.member_str("decisionId", decision.text("decisionId")?);
    put_text(&mut w, "proposalId", decision.maybe_text("proposalId").as_deref());
    w.member_str("decidedAt", &now);
    w.key("principal");
    actor(cx, &mut w);
    if let Some(digest) = digest {
        w.key("integrity");
        w.begin_object();
        w.member_str("algorithm", "sha-256");
        w.member_str("digest", digest);
        w.end_object();
    }
    w.end_object();
    w.member_str("createdAt", &now);
    put_raw(&mut w, "expiresAt", draft.maybe_raw("expiresAt").as_deref());
    w.end_object();
    Ok(w.finish())
}

/// The caller as an actor of the wire.
fn actor(cx: &Context<'_>, w: &mut Writer) {
    w.begin_object();
    w.member_str("actorType", cx.principal.kind.name());
    w.member_str("actorId", &cx.principal.id);
    w.end_object();
}

/// `relationships.revoke`: at once, since every gate reads the grant. What `hooks` find that
/// rests on it changes with it, a page in the same commit and the rest in further ones.
pub(crate) fn revoke(cx: &mut Context<'_>, hooks: &[Revoked]) -> Flow<String> {
    cx.control_plane()?;
    if let Some(cursor) = &cx.request.cursor {
        return revoke_rest(cx, hooks, cursor);
    }
    let issuer = cx.owner_in("owner").map_or_else(|| cx.owner_scope(), Into::into);
    let own = Grant::id(cx.tenant(), cx.params.text("grantId")?, &issuer);
    for query in hooks::queries(cx.tenant(), hooks, own.as_str()) {
        cx.hint(&query);
    }
    let mut row = revocable(cx)?;
    let grant = &row.record;
    let reached = hooks::queries(cx.tenant(), hooks, row.id.as_str());
    let (source, target) = (grant.source.key(cx.tenant()), grant.target.key(cx.tenant()));
    let boxes = [Box::find(&source), Box::find(&target)];
    cx.fetch(&reached.iter().chain(&boxes).collect::<Vec<_>>())?;
    let replayed = cx.replayed()?;
    check(Rule::OP7, grant.version == cx.params.int("expectedGrantVersion")?)?;
    let known = grant.revoked.is_some();
    let pages = hooks::pages(cx, &reached)?;
    if replayed {
        return Ok(revocation(&row.record, 0, pages.iter().any(|page| !page.rows.is_empty()), true));
    }
    let mut streams = Streams::default();
    streams.load(cx, [source.clone(), target.clone()])?;
    if !known {
        row.record.revoke(cx.now)?;
        let told = detail(&[("grantId", &row.record.grant_id)]);
        record(cx, &mut streams, &row.record, "relationship-revoked", told)?;
        let entries = row.record.entries(cx.tenant());
        cx.write(grant::COLLECTION, &row.id, row.revision, row.record.text(), entries);
    }
    let invalidated = hooks::apply(cx, &mut streams, hooks, &row, &pages)?;
    streams.save(cx);
    let more = pages.iter().any(|page| page.more);
    cx.proceed = more.then(|| row.id.clone());
    cx.resource = Some((row.id, row.record.version));
    Ok(revocation(&row.record, invalidated, more, known))
}

/// Goes on with the grant in the cursor, which is revoked.
fn revoke_rest(cx: &mut Context<'_>, hooks: &[Revoked], cursor: &str) -> Flow<String> {
    let reached = hooks::queries(cx.tenant(), hooks, cursor);
    for query in &reached {
        cx.hint(query);
    }
    let row = Grant::read(cx.lookup(grant::COLLECTION, cursor)?.ok_or_else(no_cursor)?)?;
    let grant = &row.record;
    grant.revoked.ok_or_else(no_cursor)?;
    let pages = hooks::pages(cx, &reached)?;
    let mut streams = Streams::default();
    streams.load(cx, [grant.source.key(cx.tenant()), grant.target.key(cx.tenant())])?;
    let invalidated = hooks::apply(cx, &mut streams, hooks, &row, &pages)?;
    streams.save(cx);
    let more = pages.iter().any(|page| page.more);
    cx.proceed = more.then(|| cursor.into());
    Ok(revocation(&row.record, invalidated, more, false))
}

/// The grant that the params name, for somebody who may revoke it. Whoever owns the source alone sees it, and no more.
fn revocable(cx: &mut Context<'_>) -> Flow<Row<Grant>> {
    let query = Grant::find(cx.tenant(), cx.params.text("grantId")?);
    let mut seen = cx.crowd(&query)?.iter().map(Grant::read).collect::<Flow<Vec<_>>>()?;
    let (scope, policy, issuer) = (cx.owner_scope(), cx.principal.kind == PrincipalKind::Policy, cx.owner_in("owner"));
    let owns = |grant: &Grant| grant.issuer == scope || grant.target.owner == scope;
    seen.retain(|row| policy || owns(&row.record) || row.record.source.owner == scope);
    if issuer.is_none() && seen.iter().any(|row| row.record.issuer == scope) {
        seen.retain(|row| row.record.issuer == scope);
    }
    let row = only(seen, issuer, |row| &row.record.issuer)?;
    check(Rule::GA6, policy || owns(&row.record))?;
    Ok(row)
}

fn revocation(grant: &Grant, invalidated: i64, remaining: bool, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("grantId", &grant.grant_id);
    w.member_int("grantVersion", grant.version);
    w.member_opt_str("revokedAt", grant.revoked.map(time::format).as_deref());
    w.member_int("invalidatedMessages", invalidated);
    w.member_bool("remaining", remaining);
    w.member_bool("replay", replay);
    w.end_object();
    w.finish()
}

/// The grant that stood on the route stands no more.
fn supersede(cx: &mut Context<'_>, route: &Query, version: i64) -> Flow<()> {
    let Some(row) = cx.one(route)? else { return Ok(()) };
    let Row { id, revision, record: mut old } = Grant::read(row)?;
    check_at(Rule::GA3, version > old.version, || "/grant/grantVersion".into())?;
    old.superseded = true;
    cx.write(grant::COLLECTION, &id, revision, old.text(), old.entries(cx.tenant()));
    Ok(())
}

/// Adds an event about a grant to the streams of both ends, which are loaded.
fn record(cx: &mut Context<'_>, streams: &mut Streams, grant: &Grant, kind: &str, told: String) -> Flow<()> {
    let event =
        Event { kind, relationship: &grant.relationship, revision: grant.version, detail: told, ..Event::default() };
    let (source, target) = (grant.source.key(cx.tenant()), grant.target.key(cx.tenant()));
    streams.record(cx, &[&source, &target], &event)
}
