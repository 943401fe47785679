//! The content of messages that ended: removed by a purge, and called purged once nothing is left of it on the disk.

use crate::delivery::{
    evidence::{self, Evidence, INTERRUPTION, OUTCOME},
    life::{self, Life},
    message::{self, Message},
    relabel::{self, Label},
};
use crate::kernel::{
    Query, Stored,
    context::Context,
    flow::{Flow, damaged},
    purging::{Purging, Removed},
    records::{Party, Row},
    streams::Streams,
};
use alloc::{string::String, vec::Vec};

fn lives(rows: &[&Stored]) -> Flow<Vec<Row<Life>>> {
    rows.iter().map(|row| Life::read(row)).collect()
}

/// What ended and expired by the cutoff. What has an unresolved attempt or an admission in flight is not among it.
pub(crate) fn due(tenant: &str, cutoff: i64, most: u32) -> Vec<Query> {
    [Life::find_due(tenant, None, cutoff, most), Life::find_ended(tenant, cutoff, most)].into()
}

/// Asks for the messages and the evidence of some lives.
pub(crate) fn ask(cx: &mut Context<'_>, _: i64, rows: &[&Stored]) {
    for row in rows {
        cx.want(message::COLLECTION, &row.id);
    }
    for id in evidence_of(rows) {
        cx.want(evidence::COLLECTION, &id);
    }
}

fn evidence_of(rows: &[&Stored]) -> Vec<String> {
    rows.iter().flat_map(|row| [OUTCOME, INTERRUPTION].map(|kind| Evidence::id(&row.id, kind))).collect()
}

/// Loads the boxes of everybody concerned.
pub(crate) fn load(cx: &mut Context<'_>, streams: &mut Streams, rows: &[&Stored]) -> Flow<()> {
    let lives = lives(rows)?;
    relabel::streams(cx, streams, &lives)
}

/// Empties messages and their lives, and removes what was kept as evidence.
pub(crate) fn empty(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    purging: Purging<'_>,
    rows: &[&Stored],
) -> Flow<Vec<Removed>> {
    let mut removed = Vec::new();
    for life in lives(rows)? {
        let message = cx.lookup(message::COLLECTION, &life.id)?.ok_or_else(|| damaged("message"))?;
        removed.push(empty_message(cx, streams, life, message, purging)?);
    }
    for id in evidence_of(rows) {
        if let Some(row) = cx.lookup(evidence::COLLECTION, &id)? {
            cx.remove(evidence::COLLECTION, row);
        }
    }
    Ok(removed)
}

/// Empties a message and its life. One that nobody expired in time expires first.
fn empty_message(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    mut row: Row<Life>,
    message: &Stored,
    purging: Purging<'_>,
) -> Flow<Removed> {
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
    row.record.purge(purging.id)?;
    row.record.updated = cx.now;
    row.record.end_examination()?;
    row.record.combination().check()?;
    streams.record(cx, &[&sender, &receiver], &row.event("content-purge-pending", purging.detail(&[])))?;
    let Row { id, revision, record: life } = row;
    cx.write(life::COLLECTION, &id, revision, life.text(), life.entries(cx.tenant(), &cx.names));
    let emptied = Message::read(message)?.record.purge()?;
    cx.write(message::COLLECTION, &id, message.revision, emptied.text(), Vec::new());
    Ok((life.sender.incarnation, life.message))
}

/// Whether a receiver has a message that may have reached it outside, without anybody knowing: then its session stays.
pub(crate) fn held(tenant: &str, receiver: &Party) -> Query {
    Life::find_held(tenant, receiver)
}

/// What a purge emptied and nobody called purged yet.
pub(crate) fn pending(tenant: &str, purge: &str, most: u32) -> Query {
    Life::find_purging(tenant, purge, most)
}

/// Calls the content of the messages purged, also of one that a late receipt made unknown since: what this purge took is
/// gone, whatever became of the call. The receipt is content that came later, and a later purge takes it.
pub(crate) fn purged(cx: &mut Context<'_>, streams: &mut Streams, purging: Purging<'_>, rows: &[Stored]) -> Flow<()> {
    let lives = rows.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    relabel::streams(cx, streams, &lives)?;
    for mut row in lives {
        if let Some(purged) = &mut row.record.purged {
            purged.done = Some(cx.now);
        }
        let (sender, receiver) = (row.record.sender.key(cx.tenant()), row.record.receiver.key(cx.tenant()));
        streams.record(cx, &[&sender, &receiver], &row.event("content-purged", purging.detail(&[])))?;
        let Row { id, revision, record: life } = row;
        cx.write(life::COLLECTION, &id, revision, life.text(), life.entries(cx.tenant(), &cx.names));
    }
    Ok(())
}
