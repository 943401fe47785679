//! `maintenance.purgeContent`, `maintenance.recordScrub`: content that is past its retention is removed, in two phases.
//!
//! The first commit empties the rows and asks the host to empty what the store keeps beside them. Only when the host says
//! that nothing is left does the second commit call the content purged. Identities, states, times and digests stay: which
//! member of which record is which, `spec/records.json` says.

use crate::Rule;
use crate::json::Writer;
use crate::kernel::{
    Effect, EffectKind, PrincipalKind, Stored,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    keys,
    pages::PAGE,
    purging::Purging,
    streams::Streams,
};
use crate::retention::{
    hooks::{Content, Purged},
    purge::{self, Purge},
};
use crate::rules::check;
use crate::time;
use alloc::{string::String, vec::Vec};

/// What a purge takes: the rows of each kind, and whether there is more.
struct Found<'a> {
    kinds: Vec<Vec<&'a Stored>>,
    more: bool,
}

/// `maintenance.purgeContent`: of messages that expired by the cutoff, and of adapter references of tasks that were
/// retired by then. What has an unresolved attempt or an admission in flight is left alone.
pub(crate) fn purge_content(cx: &mut Context<'_>, contents: &[Content]) -> Flow<String> {
    check(Rule::RT1, matches!(cx.principal.kind, PrincipalKind::Policy | PrincipalKind::Operator))?;
    let cutoff = time::parse(cx.params.text("before")?)?;
    check(Rule::RT2, cutoff <= cx.now)?;
    let limit = cx.params.maybe_int("limit").unwrap_or(100).clamp(1, i64::from(PAGE));
    let limit = usize::try_from(limit).unwrap_or(1);
    let Some(found) = find(cx, contents, cutoff, limit)? else { return earlier(cx) };
    let mut purge = Purge::begun(["purge_", &cx.request_hash("purge")].concat(), cx.now, cutoff);
    purge.more = found.more;
    if found.kinds.iter().all(Vec::is_empty) {
        cx.resource = Some((String::new(), cx.now));
        return Ok(Purge { id: String::new(), done: Some(cx.now), ..purge }.view());
    }
    let mut streams = Streams::default();
    for (content, rows) in contents.iter().zip(&found.kinds) {
        (content.load)(cx, &mut streams, rows)?;
    }
    let id = purge.id.clone();
    for (content, rows) in contents.iter().zip(&found.kinds) {
        for removed in (content.empty)(cx, &mut streams, Purging { id: &id, cutoff }, rows)? {
            (content.note)(&mut purge, removed);
        }
    }
    streams.save(cx);
    let row = keys::key(&[cx.tenant(), &purge.id]);
    cx.write(purge::COLLECTION, &row, 0, purge.text(), Vec::new());
    let effect = scrub(cx, &purge);
    cx.effects.push(effect);
    cx.resource = Some((row, cx.now));
    Ok(purge.view())
}

/// What is due, unless this call was made before.
fn find<'a>(cx: &mut Context<'a>, contents: &[Content], cutoff: i64, limit: usize) -> Flow<Option<Found<'a>>> {
    // One more shows whether there is more.
    let most = u32::try_from(limit).unwrap_or(u32::MAX).saturating_add(1);
    let due = |content: &Content| (content.due)(cx.tenant(), cutoff, content.scan.unwrap_or(most));
    let queries: Vec<_> = contents.iter().map(due).collect();
    cx.fetch(&queries.iter().flatten().collect::<Vec<_>>())?;
    if cx.replayed()? {
        return Ok(None);
    }
    let mut found = Found { kinds: Vec::new(), more: false };
    for (content, queries) in contents.iter().zip(&queries) {
        let mut rows: Vec<&Stored> = Vec::new();
        for query in queries {
            rows.extend(cx.rows(query)?);
        }
        if content.scan.is_none() {
            found.take(rows, limit);
        } else {
            found.kinds.push(rows);
        }
    }
    // All that these lead to, in one round.
    for (content, rows) in contents.iter().zip(&found.kinds) {
        (content.ask)(cx, cutoff, rows);
    }
    for (content, rows) in contents.iter().zip(&found.kinds) {
        // What is missing is noted; what is damaged is found when it is loaded again.
        let _ = (content.load)(cx, &mut Streams::default(), rows);
    }
    cx.fetch(&[])?;
    for (content, rows) in contents.iter().zip(core::mem::take(&mut found.kinds)) {
        let chosen = (content.choose)(cx, cutoff, rows)?;
        found.take(chosen, limit);
    }
    Ok(Some(found))
}

impl<'a> Found<'a> {
    /// Adds a kind, with as many rows as one purge takes.
    fn take(&mut self, mut rows: Vec<&'a Stored>, limit: usize) {
        self.more |= rows.len() > limit;
        rows.truncate(limit);
        self.kinds.push(rows);
    }
}

/// Asks the host to leave nothing behind: at least once, since doing it again does no harm.
fn scrub(cx: &Context<'_>, purge: &Purge) -> Effect {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("purgeId", &purge.id);
    w.member_str("tenant", cx.tenant());
    w.end_object();
    Effect { kind: EffectKind::Repeatable, name: "store.scrub".into(), key: purge.id.clone(), body: w.finish() }
}

/// How the purge of an earlier call stands now.
fn earlier(cx: &mut Context<'_>) -> Flow<String> {
    let past = cx.past()?.ok_or_else(|| damaged("replay"))?;
    if past.resource.is_empty() {
        let cutoff = time::parse(cx.params.text("before")?)?;
        let purge = Purge::begun(String::new(), past.revision, cutoff);
        return Ok(Purge { done: Some(past.revision), ..purge }.view());
    }
    let row = cx.lookup(purge::COLLECTION, &past.resource)?.ok_or_else(|| damaged("purge"))?;
    Ok(Purge::read(row)?.record.view())
}

/// `maintenance.recordScrub`: whether the host left nothing behind.
pub(crate) fn record_scrub(cx: &mut Context<'_>, hooks: &[Purged]) -> Flow<String> {
    let id = cx.params.text("purgeId")?;
    let pending: Vec<_> = hooks.iter().map(|hook| (hook.pending)(cx.tenant(), id, PAGE)).collect();
    let query = Purge::find(cx.tenant(), id);
    cx.fetch(&core::iter::once(&query).chain(&pending).collect::<Vec<_>>())?;
    let mut row = Purge::read(cx.one(&query)?.ok_or_else(not_visible)?)?;
    let replayed = cx.replayed()?;
    let reason = cx.params.maybe_text("reason");
    check(Rule::RT3, reason.is_some() == (cx.params.text("result")? == "busy"))?;
    if replayed {
        return Ok(row.record.view());
    }
    cx.resource = Some((row.id.clone(), cx.now));
    if row.record.done.is_some() || (reason.is_some() && row.record.reason == reason) {
        return Ok(row.record.view());
    }
    match reason {
        Some(reason) => row.record.reason = Some(reason),
        None => {
            let mut streams = Streams::default();
            for (hook, query) in hooks.iter().zip(&pending) {
                let rows = cx.rows(query)?;
                let purging = Purging { id: &row.record.id, cutoff: row.record.cutoff };
                (hook.done)(cx, &mut streams, purging, rows)?;
            }
            streams.save(cx);
            row.record.reason = None;
            row.record.done = Some(cx.now);
        }
    }
    cx.write(purge::COLLECTION, &row.id, row.revision, row.record.text(), Vec::new());
    Ok(row.record.view())
}
