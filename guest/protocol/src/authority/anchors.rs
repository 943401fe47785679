//! `anchors.declare`: the trust anchors that attestations are verified against, as the operator configured them.

pub(crate) use crate::generated::records::anchors::COLLECTION as ANCHORS;

use crate::Rule;
use crate::attestation;
use crate::generated::records::anchors::Anchors;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind, Stored,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    records::Row,
};
use crate::rules::check;
use crate::{Error, json};
use alloc::{format, string::String, vec::Vec};

/// The row of the tenant's anchors.
pub(crate) fn anchors_row(cx: &Context<'_>) -> String {
    keys::key(&[cx.tenant()])
}

/// `anchors.declare`: the whole list, in place of the one before. The same again changes nothing.
pub(crate) fn declare(cx: &mut Context<'_>) -> Flow<String> {
    check(Rule::AN1, cx.principal.kind == PrincipalKind::Operator)?;
    let anchors = cx.params.member("anchors")?;
    attestation::check_anchors(anchors.raw())
        .map_err(|error| Error { pointer: format!("/anchors{}", error.pointer), ..error })?;
    let id = anchors_row(cx);
    let stream = keys::key(&[cx.tenant(), "operator"]);
    cx.fetch(&[&keys::row(ANCHORS, &id), &Box::find(&stream)])?;
    let replayed = cx.replayed()?;
    let known = cx.lookup(ANCHORS, &id)?;
    let revision = known.map_or(0, |row| row.revision);
    let stored = stored(known)?;
    if replayed || (known.is_some() && json::parse(&stored)?.root().same(anchors)) {
        if !replayed {
            cx.resource = Some((id, i64::from(revision)));
        }
        return view(&stored, true);
    }
    let mut stream = cx.load_box(&stream)?;
    let told = detail(&[("anchorsDigest", &anchors.digest()), ("count", &format!("{}", anchors.len()))]);
    let event = Event { kind: "anchors-declared", revision: i64::from(revision), detail: told, ..Event::default() };
    cx.record(&mut [&mut stream], &event)?;
    cx.save_box(&stream);
    cx.write(ANCHORS, &id, revision, Anchors { anchors: anchors.raw().into() }.text(), Vec::new());
    cx.resource = Some((id, i64::from(revision).saturating_add(1)));
    view(anchors.raw(), false)
}

/// The list in a row of anchors; none where there is no row.
pub(crate) fn stored(row: Option<&Stored>) -> Flow<String> {
    let Some(row) = row else { return Ok("[]".into()) };
    Ok(Row::read(row, Anchors::parse)?.record.anchors)
}

/// The anchors that stand: how many, and their digest. Keys are public, but nobody needs them back.
fn view(anchors: &str, replay: bool) -> Flow<String> {
    let tree = json::parse(anchors)?;
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_str("digest", &tree.digest());
    w.member_int("count", i64::try_from(tree.root().len()).unwrap_or(i64::MAX));
    w.end_object();
    Ok(w.finish())
}
