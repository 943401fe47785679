//! `capabilities.grant`: allows one thread something with another.

use crate::Rule;
use crate::digest::sha256_text;
use crate::documents::{Document, Kind};
use crate::events::{
    capability::{self, Capability},
    thread::{Thread, ThreadName},
};
use crate::generated::limits;
use crate::json::{self, Value, Writer};
use crate::kernel::{
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, not_visible},
    records::Row,
    streams::Streams,
};
use crate::rules::{check, check_at};
use crate::{Error, time};
use alloc::{format, string::String};

/// What a capability without `max_authority` allows: to inform, and no more.
const INFORM: &str = r#"{"may_inform":true,"may_request_action":false,"may_authorize_execution":false}"#;

/// `capabilities.grant`: stamps what the draft leaves out, checks it as a capability, and stores it. Of what it is about
/// nothing changes afterwards: to change it is to revoke it and to grant anew. The same draft again answers with what
/// stands there.
pub(crate) fn grant(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let draft = cx.params.member("capability")?;
    let grant_id = draft.maybe_text("grant_id").unwrap_or_else(|| ["grant_", &cx.request_hash("capability")].concat());
    let id = Capability::id(cx.tenant(), &grant_id, &cx.owner_scope());
    cx.want(capability::COLLECTION, &id);
    let (source, target) = ends(cx, draft)?;
    let streams = [&source, &target].map(|end| end.record.party().key(cx.tenant()));
    cx.want(capability::COLLECTION, &id);
    let [own, other] = streams.each_ref().map(|stream| Box::find(stream));
    cx.fetch(&[&own, &other])?;
    let replayed = cx.replayed()?;
    let digest = sha256_text(draft.canonical().as_bytes());
    if let Some(row) = cx.lookup(capability::COLLECTION, &id)? {
        let known = Capability::read(row)?;
        let between = known.record.source == source.record.name && known.record.target == target.record.name;
        check(Rule::CG10, between && known.record.draft == digest)?;
        if !replayed {
            cx.resource = Some((known.id.clone(), 1));
        }
        return Ok(known.record.document);
    }
    check(Rule::CG15, source.id != target.id).map_err(|broken| broken.at("/capability/target_thread"))?;
    check(Rule::TH2, !source.record.terminated() && !target.record.terminated())?;
    let capability = effective(cx, draft, grant_id, digest, [&source, &target])?;
    let told = detail(&[
        ("capabilityDigest", &json::parse(&capability.document)?.digest()),
        ("grantId", &capability.grant_id),
    ]);
    record(cx, &streams, "capability-granted", told)?;
    cx.write(capability::COLLECTION, &id, 0, capability.text(), capability.entries(cx.tenant()));
    cx.resource = Some((id, 1));
    Ok(capability.document)
}

/// Both threads, from the caller's own scope or, for a policy, without doubt.
fn ends(cx: &mut Context<'_>, draft: Value<'_>) -> Flow<(Row<Thread>, Row<Thread>)> {
    // Ask for both at once.
    let source = end(cx, draft.text("source_thread")?, "sourceOwner");
    let target = end(cx, draft.text("target_thread")?, "targetOwner");
    Ok((source?, target?))
}

fn end(cx: &mut Context<'_>, thread: &str, owner: &str) -> Flow<Row<Thread>> {
    match cx.own_thread(thread, cx.owner_in(owner)) {
        Err(Stop::Refuse(_)) => Err(check(Rule::CG9, false).map_or_else(Into::into, |()| not_visible())),
        other => other,
    }
}

/// The effective capability of a draft, checked as a document.
fn effective(
    cx: &Context<'_>,
    draft: Value<'_>,
    grant_id: String,
    digest: String,
    [source, target]: [&Row<Thread>; 2],
) -> Flow<Capability> {
    let text = document(cx, draft, &grant_id);
    let tree = json::parse_document(&text)?;
    let within = |error: Error| Error { pointer: format!("/capability{}", error.pointer), ..error };
    Document::from_value(Kind::Capability, tree.root()).map_err(within)?;
    let expires = draft.maybe_text("expires_at").map(|text| time::parse(&text)).transpose()?;
    let latest = cx.now.saturating_add(limits::CAPABILITY_LIFETIME_MS_MAX);
    let bounded = expires.is_none_or(|end| cx.now < end && end <= latest);
    check_at(Rule::CG11, bounded, || "/capability/expires_at".into())?;
    let name = |end: &Row<Thread>| ThreadName { ..end.record.name.clone() };
    Ok(Capability {
        grant_id,
        kind: draft.text("capability")?.into(),
        source: name(source),
        target: name(target),
        draft: digest,
        issuer: cx.owner_scope(),
        expires,
        revoked: None,
        consent: draft.flag("requires_target_consent").then_some(false),
        document: text,
    })
}

/// The text of the effective capability: the draft as it came, then what is stamped.
fn document(cx: &Context<'_>, draft: Value<'_>, grant_id: &str) -> String {
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in draft.members().filter(|(name, _)| *name != "grant_id") {
        w.member_raw(name, value.raw());
    }
    w.member_str("grant_id", grant_id);
    let sends = draft.maybe_text("capability").as_deref() == Some("send_message_to_thread");
    if sends && draft.get("max_authority").is_none() {
        w.member_raw("max_authority", INFORM);
    }
    w.member_str("issued_by", &cx.owner_scope());
    w.member_str("issued_at", &time::format(cx.now));
    w.end_object();
    w.finish()
}

/// An event about a capability in the streams of both ends.
pub(crate) fn record(cx: &mut Context<'_>, ends: &[String; 2], kind: &str, told: String) -> Flow<()> {
    let mut streams = Streams::default();
    streams.load(cx, ends.iter().cloned())?;
    let event = Event { kind, detail: told, ..Event::default() };
    let [source, target] = ends.each_ref().map(String::as_str);
    streams.record(cx, &[source, target], &event)?;
    streams.save(cx);
    Ok(())
}
