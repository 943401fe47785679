//! `tasks.publishSummary`, `tasks.getSummary`: what a task lets the source of a grant know of it.
//!
//! Who reads what is decided at every read, from the grant as it stands then: the task itself and its owner see all of
//! it, the source of the grant what the grant shows and the audience allows, policies and the operator no hints.

use crate::authority::{
    gate::not_ahead,
    grant::Grant,
    summary::{self, Reach, Summary},
    task::{self, Task},
};
use crate::documents::{Document, Kind};
use crate::json::Value;
use crate::kernel::{
    PrincipalKind, Query, Stored,
    audit::{Event, detail},
    boxes::{self, Box},
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    names::{TaskName, only},
    records::{Party, Row},
    streams::Streams,
};
use crate::rules::{check, check_at};
use crate::{Rule, time};
use alloc::{format, string::String, vec::Vec};

/// `tasks.publishSummary`: by the task itself, its owner or a policy, under a current grant towards it.
pub(crate) fn publish(cx: &mut Context<'_>) -> Flow<String> {
    let outside = matches!(cx.principal.kind, PrincipalKind::Operator | PrincipalKind::Host);
    check(Rule::TK5, !outside)?;
    let document = cx.shaped.document(Kind::TaskSummary, "summary")?.ok_or_else(|| damaged("summary"))?;
    let value = document.value();
    let name = TaskName::read(value.member("task")?, cx.owner_in("owner"))?;
    let projection = value.member("projection")?;
    let granted = Grant::find(cx.tenant(), projection.text("grantId")?);
    cx.hint(&granted);
    if let Some(own) = cx.own_party(name) {
        cx.hint(&Box::find(&own.key(cx.tenant())));
        cx.hint(&Summary::find_named(cx.tenant(), &own.owner, value.text("summaryId")?));
    }
    let own = cx.own_live_task(name)?.record.party;
    if let Some(past) = cx.past()? {
        let row = cx.lookup(summary::COLLECTION, &past.resource)?.ok_or_else(not_visible)?;
        return Summary::read(row)?.record.show(full(cx));
    }
    let grant = under(cx, &own, projection, &granted)?;
    let (id, stored) = place(cx, &own, &grant.record, value)?;
    updated(value, cx.now)?;
    let version = versions(cx, value, stored.as_ref())?;
    let record = Summary {
        document: document.text().into(),
        digest: document.digest().into(),
        summary_id: value.text("summaryId")?.into(),
        version,
        task: own,
        reader: grant.record.source,
        relationship: grant.record.relationship,
        grant: grant.id,
        published: cx.now,
    };
    let row = Row { id, revision: stored.map_or(0, |row| row.revision), record };
    tell(cx, &row.record, &document)?;
    cx.write(summary::COLLECTION, &row.id, row.revision, row.record.text(), row.record.entries(cx.tenant())?);
    let answer = row.record.show(full(cx));
    cx.resource = Some((row.id, version));
    answer
}

/// What the task's own side sees: a policy acts on it and still reads no hints.
fn full(cx: &Context<'_>) -> Reach {
    match cx.principal.kind {
        PrincipalKind::Task | PrincipalKind::User => Reach::Whole,
        _ => Reach::Metadata,
    }
}

/// The grant towards `own` that a projection names. Two that fit are nobody's.
fn under(cx: &mut Context<'_>, own: &Party, projection: Value<'_>, query: &Query) -> Flow<Row<Grant>> {
    let (relationship, version) = (projection.text("relationshipId")?, projection.int("grantVersion")?);
    let mut found = cx.crowd(query)?.iter().map(Grant::read).collect::<Flow<Vec<_>>>()?;
    found.retain(|Row { record, .. }| {
        record.target == *own && record.relationship == relationship && record.version == version
    });
    if found.iter().any(|row| row.record.current(cx.now)) {
        found.retain(|row| row.record.current(cx.now));
    }
    let [row] = found.as_slice() else { return Err(not_visible()) };
    check(Rule::SM1, row.record.current(cx.now))?;
    let shown = row.record.visibility()?;
    check(Rule::SM2, shown != "none" && shown == projection.text("summaryVisibility")?)?;
    Ok(row.clone())
}

/// The row of the summary, and what stands there. The source of the grant is live, and ids are not used twice.
fn place(cx: &mut Context<'_>, own: &Party, grant: &Grant, summary: Value<'_>) -> Flow<(String, Option<Row<Summary>>)> {
    let tenant = cx.tenant();
    let id = Summary::id(tenant, own, &grant.relationship, &grant.source);
    let (reader, summary_id) = (grant.source.key(tenant), summary.text("summaryId")?);
    let named = Summary::find_named(tenant, &own.owner, summary_id);
    for (collection, row) in [
        (task::COLLECTION, &reader),
        (boxes::COLLECTION, &reader),
        (boxes::COLLECTION, &own.key(tenant)),
        (summary::COLLECTION, &id),
    ] {
        cx.want(collection, row);
    }
    cx.fetch(&[&named])?;
    let source = cx.lookup(task::COLLECTION, &reader)?.map(Task::read).transpose()?;
    check(Rule::OP4, source.is_some_and(|row| row.record.live()))?;
    let named = cx.one(&named)?.is_none_or(|row| row.id == id);
    let stored = cx.lookup(summary::COLLECTION, &id)?.map(Summary::read).transpose()?;
    let same = stored.as_ref().is_none_or(|row| row.record.summary_id == summary_id);
    check(Rule::SM3, named && same)?;
    Ok((id, stored))
}

/// Rule SM-6.
fn updated(summary: Value<'_>, now: i64) -> Flow<()> {
    let updated = time::parse(summary.text("updatedAt")?)?;
    Ok(not_ahead(Rule::SM6, updated, now, || "/summary/updatedAt".into())?)
}

/// Rules SM-4 and SM-5; the new version.
fn versions(cx: &Context<'_>, summary: Value<'_>, stored: Option<&Row<Summary>>) -> Flow<i64> {
    let known = stored.map(|row| row.record.version);
    check(Rule::SM4, cx.params.maybe_int("expectedPreviousVersion") == known)?;
    let version = summary.int("summaryVersion")?;
    check_at(Rule::SM5, known.is_none_or(|known| version > known), || "/summary/summaryVersion".into())?;
    Ok(version)
}

/// An event for the task, and one for the source of the grant where it may read the summary.
fn tell(cx: &mut Context<'_>, summary: &Summary, document: &Document<'_>) -> Flow<()> {
    let (own, reader) = (summary.task.key(cx.tenant()), summary.reader.key(cx.tenant()));
    let version = format!("{}", summary.version);
    let members = [("summaryId", summary.summary_id.as_str()), ("summaryVersion", &version)];
    let whole = [&[("summaryDigest", document.digest())], &members[..]].concat();
    let mut streams = Streams::default();
    let readers = summary.for_source()?.then_some((reader, &members[..]));
    let told: Vec<_> = [Some((own, &whole[..])), readers].into_iter().flatten().collect();
    streams.load(cx, told.iter().map(|(id, _)| id.clone()))?;
    for (id, members) in told {
        let event = Event {
            kind: "task-summary-published",
            relationship: &summary.relationship,
            revision: summary.version,
            detail: detail(members),
            ..Event::default()
        };
        streams.record(cx, &[&id], &event)?;
    }
    streams.save(cx);
    Ok(())
}

/// `tasks.getSummary`.
pub(crate) fn get(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.task_in("task")?;
    let relationship = cx.params.text("relationshipId")?;
    let principal = cx.principal;
    let itself = (principal.id.as_str(), principal.incarnation.as_deref()) == (name.task, Some(name.incarnation))
        && name.owner.is_none_or(|owner| principal.owner.as_deref() == Some(owner));
    if principal.kind == PrincipalKind::Task && !itself {
        return through_grant(cx, name, relationship);
    }
    if let Some(own) = cx.own_party(name) {
        cx.hint(&Summary::find(cx.tenant(), &own, relationship));
    }
    let own = cx.own_task(name)?.record;
    check(Rule::OP4, principal.kind != PrincipalKind::Task || own.live())?;
    let stored = cx.crowd(&Summary::find(cx.tenant(), &own.party, relationship))?;
    let all = stored.iter().map(Summary::read).collect::<Flow<Vec<_>>>()?;
    // Where relationships of several sources have one name, the owner sees what it published last.
    let newest = all.iter().max_by_key(|row| row.record.published).ok_or_else(not_visible)?;
    newest.record.show(full(cx))
}

/// What the source of a grant reads: nothing once the grant does not stand as the summary was published under it.
fn through_grant(cx: &mut Context<'_>, name: TaskName<'_>, relationship: &str) -> Flow<String> {
    let own = cx.principal.incarnation.as_deref().unwrap_or_default();
    let route = Grant::find_relationship(cx.tenant(), name.incarnation, own, relationship);
    cx.hint(&route);
    let own = cx.caller_task()?.record;
    check(Rule::OP4, own.live())?;
    let own = own.party;
    let mut grants = cx.rows(&route)?.iter().map(Grant::read).collect::<Flow<Vec<_>>>()?;
    grants.retain(|Row { record, .. }| {
        record.source == own && record.target.is(name.task, name.incarnation) && record.current(cx.now)
    });
    let grant = only(grants, name.owner, |row| &row.record.target.owner)?;
    let id = Summary::id(cx.tenant(), &grant.record.target, relationship, &own);
    let target = grant.record.target.key(cx.tenant());
    cx.want(summary::COLLECTION, &id);
    cx.want(task::COLLECTION, &target);
    cx.fetch(&[])?;
    let live = cx.lookup(task::COLLECTION, &target)?.map(Task::read).transpose()?;
    check(Rule::OP4, live.is_some_and(|row| row.record.live()))?;
    let row: &Stored = cx.lookup(summary::COLLECTION, &id)?.ok_or_else(not_visible)?;
    let summary = Summary::read(row)?.record;
    if summary.grant != grant.id || !summary.for_source()? {
        return Err(not_visible());
    }
    summary.show(Reach::Projection)
}
