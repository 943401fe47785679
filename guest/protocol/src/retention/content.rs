//! `maintenance.purgeContent`, `maintenance.recordScrub`: content that is past its retention is removed, in two phases.
//!
//! The first commit empties the rows and asks the host to empty what the store keeps beside them. Only when the host says
//! that nothing is left does the second commit call the content purged. Identities, states, times and digests stay: which
//! member of which record is which, `spec/retention.json` says.

use crate::Rule;
use crate::authority::{
    grant::{self, Grant},
    proposal::{self, Proposal},
    summary::{self, Summary},
    task::{self, Task},
};
use crate::delivery::{
    evidence::{self, Evidence, INTERRUPTION, OUTCOME},
    life::{self, Life},
    message::{self, Message},
    relabel::{self, Label, PAGE},
    scene::not_visible,
};
use crate::json::Writer;
use crate::kernel::{
    Effect, EffectKind, PrincipalKind, Query, Stored,
    audit::{Event, detail},
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::Row,
    streams::Streams,
};
use crate::retention::purge::{self, Purge};
use crate::rules::check;
use crate::time;
use alloc::{string::String, vec::Vec};

/// Everything that one purge is about.
struct Found<'a> {
    lives: Vec<Row<Life>>,
    messages: Vec<&'a Stored>,
    evidence: Vec<&'a Stored>,
    tasks: Vec<Row<Task>>,
    proposals: Vec<Row<Proposal>>,
    summaries: Vec<Row<Summary>>,
    more: bool,
}

/// How many summaries with hints are looked at, the oldest first, to find those that are over.
const SUMMARIES: u32 = 200;

/// `maintenance.purgeContent`: of messages that expired by the cutoff, and of adapter references of tasks that were
/// retired by then. What has an unresolved attempt or an admission in flight is left alone.
pub(crate) fn purge_content(cx: &mut Context<'_>) -> Flow<String> {
    check(Rule::RT1, matches!(cx.principal.kind, PrincipalKind::Policy | PrincipalKind::Operator))?;
    let cutoff = time::parse(cx.params.text("before")?)?;
    check(Rule::RT2, cutoff <= cx.now)?;
    let limit = cx.params.maybe_int("limit").unwrap_or(100).clamp(1, i64::from(PAGE));
    let limit = usize::try_from(limit).unwrap_or(1);
    let found = find(cx, cutoff, limit)?;
    let Some(found) = found else { return earlier(cx) };
    let mut purge = Purge::begun(["purge_", &cx.request_hash("purge")].concat(), cx.now, cutoff);
    purge.more = found.more;
    if found.empty() {
        cx.resource = Some((String::new(), cx.now));
        return Ok(Purge { id: String::new(), done: Some(cx.now), ..purge }.view());
    }
    let mut streams = Streams::default();
    load(cx, &mut streams, &found)?;
    empty(cx, &mut streams, found, &mut purge)?;
    streams.save(cx);
    let row = keys::key(&[cx.tenant(), &purge.id]);
    cx.write(purge::COLLECTION, &row, 0, purge.text(), Vec::new());
    let effect = scrub(cx, &purge);
    cx.effects.push(effect);
    cx.resource = Some((row, cx.now));
    Ok(purge.view())
}

impl Found<'_> {
    fn empty(&self) -> bool {
        self.lives.is_empty() && self.tasks.is_empty() && self.proposals.is_empty() && self.summaries.is_empty()
    }
}

/// Empties everything that was found.
fn empty(cx: &mut Context<'_>, streams: &mut Streams, found: Found<'_>, purge: &mut Purge) -> Flow<()> {
    for (life, message) in found.lives.into_iter().zip(found.messages) {
        empty_message(cx, streams, life, message, purge)?;
    }
    for row in found.evidence {
        cx.remove(evidence::COLLECTION, row);
    }
    for task in found.tasks {
        empty_task(cx, streams, task, purge)?;
    }
    for Row { id, revision, record: mut proposal } in found.proposals {
        proposal.reason = None;
        told(cx, streams, &proposal.source.key(cx.tenant()), ("proposalId", &proposal.proposal_id), purge)?;
        cx.write(proposal::COLLECTION, &id, revision, proposal.text(), proposal.entries(cx.tenant()));
        purge.proposals.push(proposal.proposal_id);
    }
    for Row { id, revision, record: mut summary } in found.summaries {
        summary.purge()?;
        told(cx, streams, &summary.task.key(cx.tenant()), ("summaryId", &summary.summary_id), purge)?;
        let entries = summary.entries(cx.tenant())?;
        cx.write(summary::COLLECTION, &id, revision, summary.text(), entries);
        purge.summaries.push(summary.summary_id);
    }
    Ok(())
}

/// An event in the stream of whoever owned the content.
fn told(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    stream: &str,
    (name, id): (&str, &str),
    purge: &Purge,
) -> Flow<()> {
    let cutoff = time::format(purge.cutoff);
    let mut members = [(name, id), ("purgeId", purge.id.as_str()), ("retentionCutoff", cutoff.as_str())];
    members.sort_unstable();
    let event = Event { kind: "content-purge-pending", detail: detail(&members), ..Event::default() };
    streams.record(cx, &[stream], &event)
}

/// What is due, unless this call was made before.
fn find<'a>(cx: &mut Context<'a>, cutoff: i64, limit: usize) -> Flow<Option<Found<'a>>> {
    // One more shows whether there is more.
    let most = u32::try_from(limit).unwrap_or(u32::MAX).saturating_add(1);
    let queries = [Life::find_due(cx.tenant(), None, cutoff, most), Life::find_ended(cx.tenant(), cutoff, most)];
    let retired = Task::find_retired(cx.tenant(), cutoff, most);
    let asked = Proposal::find_purge(cx.tenant(), cutoff, most);
    let told = Summary::find_purge(cx.tenant(), cutoff, SUMMARIES);
    cx.fetch(&[&queries[0], &queries[1], &retired, &asked, &told])?;
    if cx.replayed()? {
        return Ok(None);
    }
    let mut lives = Vec::new();
    for query in &queries {
        lives.extend(relabel::page(cx, query)?.0);
    }
    let mut more = lives.len() > limit;
    lives.truncate(limit);
    let mut tasks = cx.rows(&retired)?.iter().map(Task::read).collect::<Flow<Vec<_>>>()?;
    more |= tasks.len() > limit;
    tasks.truncate(limit);
    let mut proposals = cx.rows(&asked)?.iter().map(Proposal::read).collect::<Flow<Vec<_>>>()?;
    more |= proposals.len() > limit;
    proposals.truncate(limit);
    let summaries = cx.rows(&told)?.iter().map(Summary::read).collect::<Flow<Vec<_>>>()?;
    // All that these lead to, in one round.
    let messages: Vec<_> = lives.iter().map(|life| cx.lookup(message::COLLECTION, &life.id)).collect();
    let seen = lives.iter().flat_map(|life| [OUTCOME, INTERRUPTION].map(|kind| Evidence::id(&life.id, kind)));
    let seen: Vec<_> = seen.map(|id| cx.lookup(evidence::COLLECTION, &id)).collect();
    let held: Vec<_> = tasks.iter().map(|task| Life::find_held(cx.tenant(), &task.record.party)).collect();
    for query in &held {
        cx.hint(query);
    }
    let over: Vec<_> = summaries.iter().map(|summary| over(cx, &summary.record, cutoff)).collect();
    let mut found = Found { lives, messages: Vec::new(), evidence: Vec::new(), tasks, proposals, summaries, more };
    let _ = load(cx, &mut Streams::default(), &found);
    let messages = messages.into_iter().map(|row| row?.ok_or_else(|| damaged("message"))).collect::<Flow<Vec<_>>>()?;
    found.messages = messages;
    found.evidence = seen.into_iter().filter_map(|row| row.transpose()).collect::<Flow<Vec<_>>>()?;
    let mut free = Vec::new();
    for (task, held) in core::mem::take(&mut found.tasks).into_iter().zip(&held) {
        if cx.rows(held)?.is_empty() {
            free.push(task);
        }
    }
    found.tasks = free;
    let mut ended = Vec::new();
    for (summary, over) in core::mem::take(&mut found.summaries).into_iter().zip(over) {
        if over? {
            ended.push(summary);
        }
    }
    found.more |= ended.len() > limit;
    ended.truncate(limit);
    found.summaries = ended;
    Ok(Some(found))
}

/// Whether what a summary tells is over: its grant ended by the cutoff, or its task was retired by then.
fn over(cx: &mut Context<'_>, summary: &Summary, cutoff: i64) -> Flow<bool> {
    let (task, granted) = (summary.task.key(cx.tenant()), summary.grant.clone());
    // Both are asked for before either is looked at.
    let rows = (cx.lookup(task::COLLECTION, &task), cx.lookup(grant::COLLECTION, &granted));
    let task = rows.0?.map(Task::read).transpose()?;
    let grant = rows.1?.map(Grant::read).transpose()?;
    let by = |time: Option<i64>| time.is_some_and(|time| time <= cutoff);
    let ended = grant.is_none_or(|row| by(row.record.revoked) || by(row.record.expires));
    Ok(ended || task.is_none_or(|row| by(row.record.retired_at)))
}

/// Loads the boxes of everybody concerned.
fn load(cx: &mut Context<'_>, streams: &mut Streams, found: &Found<'_>) -> Flow<()> {
    let tenant = cx.tenant();
    let loaded = relabel::streams(cx, streams, &found.lives);
    let tasks = found.tasks.iter().map(|task| task.id.clone());
    let asked = found.proposals.iter().map(|row| row.record.source.key(tenant));
    let told = found.summaries.iter().map(|row| row.record.task.key(tenant));
    streams.load(cx, tasks.chain(asked).chain(told).collect::<Vec<_>>())?;
    loaded
}

/// Empties a message and its life. One that nobody expired in time expires first.
fn empty_message(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    mut row: Row<Life>,
    message: &Stored,
    purge: &mut Purge,
) -> Flow<()> {
    let (sender, receiver) = (row.record.sender.key(cx.tenant()), row.record.receiver.key(cx.tenant()));
    if !row.record.delivery.terminal() {
        let was_open = row.record.open();
        let (kind, told) = relabel::apply(&mut row.record, Label::Expired)?;
        if was_open {
            let mailbox = streams.get(&receiver)?;
            mailbox.open = mailbox.open.saturating_sub(1);
        }
        streams.record(cx, &[&sender, &receiver], &row.event(kind, told))?;
    }
    row.record.purge(&purge.id)?;
    row.record.updated = cx.now;
    row.record.combination().check()?;
    let told = detail(&[("purgeId", &purge.id), ("retentionCutoff", &time::format(purge.cutoff))]);
    streams.record(cx, &[&sender, &receiver], &row.event("content-purge-pending", told))?;
    let Row { id, revision, record: life } = row;
    cx.write(life::COLLECTION, &id, revision, life.text(), life.entries(cx.tenant()));
    let emptied = Message::read(message)?.purge()?;
    cx.write(message::COLLECTION, &id, message.revision, emptied.text(), Vec::new());
    purge.messages.push((life.sender.incarnation, life.message));
    Ok(())
}

/// Removes the adapter reference of a retired task: its session is of no use any more.
fn empty_task(cx: &mut Context<'_>, streams: &mut Streams, row: Row<Task>, purge: &mut Purge) -> Flow<()> {
    let Row { id, revision, record: mut task } = row;
    task.adapter_ref = None;
    task.revision = task.revision.saturating_add(1);
    let told = detail(&[("purgeId", &purge.id), ("retentionCutoff", &time::format(purge.cutoff))]);
    let event = Event { kind: "adapter-ref-purged", revision: task.revision, detail: told, ..Event::default() };
    streams.record(cx, &[&id], &event)?;
    cx.write(task::COLLECTION, &id, revision, task.text(), task.entries(cx.tenant()));
    purge.tasks.push((task.party.task, task.party.incarnation));
    Ok(())
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
pub(crate) fn record_scrub(cx: &mut Context<'_>) -> Flow<String> {
    let id = cx.params.text("purgeId")?;
    let pending = Life::find_purging(cx.tenant(), id, PAGE);
    let query = Purge::find(cx.tenant(), id);
    cx.fetch(&[&query, &pending])?;
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
        None => finish(cx, &mut row.record, &pending)?,
    }
    cx.write(purge::COLLECTION, &row.id, row.revision, row.record.text(), Vec::new());
    Ok(row.record.view())
}

/// Calls the content of the messages purged, also of one that a late receipt made unknown since: what this purge took is
/// gone, whatever became of the call. The receipt is content that came later, and a later purge takes it.
fn finish(cx: &mut Context<'_>, purge: &mut Purge, pending: &Query) -> Flow<()> {
    let (lives, _) = relabel::page(cx, pending)?;
    let mut streams = Streams::default();
    relabel::streams(cx, &mut streams, &lives)?;
    for mut row in lives {
        if let Some(purged) = &mut row.record.purged {
            purged.done = Some(cx.now);
        }
        let (sender, receiver) = (row.record.sender.key(cx.tenant()), row.record.receiver.key(cx.tenant()));
        let told = detail(&[("purgeId", &purge.id), ("retentionCutoff", &time::format(purge.cutoff))]);
        streams.record(cx, &[&sender, &receiver], &row.event("content-purged", told))?;
        let Row { id, revision, record: life } = row;
        cx.write(life::COLLECTION, &id, revision, life.text(), life.entries(cx.tenant()));
    }
    streams.save(cx);
    purge.reason = None;
    purge.done = Some(cx.now);
    Ok(())
}
