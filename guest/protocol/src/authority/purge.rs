//! What a purge removes here: adapter references of retired tasks, the reasons of proposals, the hints of summaries.

use crate::authority::{
    grant::{self, Grant},
    proposal::{self, Proposal},
    summary::{self, Summary},
    task::{self, Task},
};
use crate::kernel::{
    Query, Stored,
    audit::Event,
    context::Context,
    flow::Flow,
    purging::{Purging, Removed},
    records::{Party, Row},
    streams::Streams,
};
use alloc::vec::Vec;

/// Finds what still needs the session of a party, by tenant: while there is a row, its adapter reference stays.
pub(crate) type Held = fn(&str, &Party) -> Query;

fn tasks(rows: &[&Stored]) -> Flow<Vec<Row<Task>>> {
    rows.iter().map(|row| Task::read(row)).collect()
}

fn proposals(rows: &[&Stored]) -> Flow<Vec<Row<Proposal>>> {
    rows.iter().map(|row| Proposal::read(row)).collect()
}

fn summaries(rows: &[&Stored]) -> Flow<Vec<Row<Summary>>> {
    rows.iter().map(|row| Summary::read(row)).collect()
}

/// Tasks that were retired by the cutoff and have an adapter reference.
pub(crate) fn due_tasks(tenant: &str, cutoff: i64, most: u32) -> Vec<Query> {
    [Task::find_retired(tenant, cutoff, most)].into()
}

/// Asks for whatever holds them.
pub(crate) fn ask_tasks(cx: &mut Context<'_>, held: &[Held], rows: &[&Stored]) {
    // A damaged row is found when it is chosen.
    for row in tasks(rows).unwrap_or_default() {
        for held in held {
            cx.hint(&held(cx.tenant(), &row.record.party));
        }
    }
}

/// Those that nothing holds.
pub(crate) fn choose_tasks<'a>(cx: &mut Context<'a>, held: &[Held], rows: Vec<&'a Stored>) -> Flow<Vec<&'a Stored>> {
    let mut free = Vec::new();
    for row in rows {
        let party = Task::read(row)?.record.party;
        let mut holds = false;
        for held in held {
            holds |= !cx.rows(&held(cx.tenant(), &party))?.is_empty();
        }
        if !holds {
            free.push(row);
        }
    }
    Ok(free)
}

/// Loads the boxes of the tasks.
pub(crate) fn load_tasks(cx: &mut Context<'_>, streams: &mut Streams, rows: &[&Stored]) -> Flow<()> {
    streams.load(cx, rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>())
}

/// Removes the adapter reference of retired tasks: their sessions are of no use any more.
pub(crate) fn empty_tasks(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    purging: Purging<'_>,
    rows: &[&Stored],
) -> Flow<Vec<Removed>> {
    let mut removed = Vec::new();
    for Row { id, revision, record: mut task } in tasks(rows)? {
        task.adapter_ref = None;
        task.revision = task.revision.saturating_add(1);
        let detail = purging.detail(&[]);
        let event = Event { kind: "adapter-ref-purged", revision: task.revision, detail, ..Event::default() };
        streams.record(cx, &[&id], &event)?;
        cx.write(task::COLLECTION, &id, revision, task.text(), task.entries(cx.tenant()));
        removed.push((task.party.task, task.party.incarnation));
    }
    Ok(removed)
}

/// Proposals that ended by the cutoff and say why.
pub(crate) fn due_proposals(tenant: &str, cutoff: i64, most: u32) -> Vec<Query> {
    [Proposal::find_purge(tenant, cutoff, most)].into()
}

/// Loads the boxes of those that proposed.
pub(crate) fn load_proposals(cx: &mut Context<'_>, streams: &mut Streams, rows: &[&Stored]) -> Flow<()> {
    let tenant = cx.tenant();
    let sources: Vec<_> = proposals(rows)?.iter().map(|row| row.record.source.key(tenant)).collect();
    streams.load(cx, sources)
}

/// Removes the reasons of proposals.
pub(crate) fn empty_proposals(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    purging: Purging<'_>,
    rows: &[&Stored],
) -> Flow<Vec<Removed>> {
    let mut removed = Vec::new();
    for Row { id, revision, record: mut proposal } in proposals(rows)? {
        proposal.reason = None;
        let told = ("proposalId", proposal.proposal_id.as_str());
        tell(cx, streams, &proposal.source.key(cx.tenant()), told, purging)?;
        cx.write(proposal::COLLECTION, &id, revision, proposal.text(), proposal.entries(cx.tenant()));
        removed.push((proposal.proposal_id, Default::default()));
    }
    Ok(removed)
}

/// Summaries with hints, the oldest first; whether what they tell is over shows later.
pub(crate) fn due_summaries(tenant: &str, cutoff: i64, most: u32) -> Vec<Query> {
    [Summary::find_purge(tenant, cutoff, most)].into()
}

/// Asks for the tasks and grants of summaries.
pub(crate) fn ask_summaries(cx: &mut Context<'_>, _: i64, rows: &[&Stored]) {
    // A damaged row is found when it is chosen.
    for row in summaries(rows).unwrap_or_default() {
        cx.want(task::COLLECTION, &row.record.task.key(cx.tenant()));
        cx.want(grant::COLLECTION, &row.record.grant);
    }
}

/// Those that tell what is over: their grant ended by the cutoff, or their task was retired by then.
pub(crate) fn choose_summaries<'a>(cx: &mut Context<'a>, cutoff: i64, rows: Vec<&'a Stored>) -> Flow<Vec<&'a Stored>> {
    let mut over = Vec::new();
    let by = |time: Option<i64>| time.is_some_and(|time| time <= cutoff);
    for row in rows {
        let summary = Summary::read(row)?.record;
        let task = cx.lookup(task::COLLECTION, &summary.task.key(cx.tenant()))?.map(Task::read).transpose()?;
        let grant = cx.lookup(grant::COLLECTION, &summary.grant)?.map(Grant::read).transpose()?;
        let ended = grant.is_none_or(|row| by(row.record.revoked) || by(row.record.expires));
        if ended || task.is_none_or(|row| by(row.record.retired_at)) {
            over.push(row);
        }
    }
    Ok(over)
}

/// Loads the boxes of those that published.
pub(crate) fn load_summaries(cx: &mut Context<'_>, streams: &mut Streams, rows: &[&Stored]) -> Flow<()> {
    let tenant = cx.tenant();
    let tasks: Vec<_> = summaries(rows)?.iter().map(|row| row.record.task.key(tenant)).collect();
    streams.load(cx, tasks)
}

/// Removes the hints of summaries.
pub(crate) fn empty_summaries(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    purging: Purging<'_>,
    rows: &[&Stored],
) -> Flow<Vec<Removed>> {
    let mut removed = Vec::new();
    for Row { id, revision, record: mut summary } in summaries(rows)? {
        summary.purge()?;
        let told = ("summaryId", summary.summary_id.as_str());
        tell(cx, streams, &summary.task.key(cx.tenant()), told, purging)?;
        let entries = summary.entries(cx.tenant())?;
        cx.write(summary::COLLECTION, &id, revision, summary.text(), entries);
        removed.push((summary.summary_id, Default::default()));
    }
    Ok(removed)
}

/// An event in the stream of whoever owned the content.
fn tell(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    stream: &str,
    what: (&str, &str),
    purging: Purging<'_>,
) -> Flow<()> {
    let event = Event { kind: "content-purge-pending", detail: purging.detail(&[what]), ..Event::default() };
    streams.record(cx, &[stream], &event)
}
