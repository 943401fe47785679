//! What messages have in the commits of other domains: mail that a revocation, a rotation or a new runtime overtakes, and
//! mail past its expiry.

use crate::authority::{gate::staleness, grant::Grant, task::Task};
use crate::delivery::{
    life::Life,
    relabel::{self, Label},
};
use crate::generated::machines::Reason;
use crate::json::Writer;
use crate::kernel::{
    Query, Stored, context::Context, flow::Flow, pages::PAGE, records::Party, records::Row, streams::Streams,
};
use alloc::{string::String, vec::Vec};

/// The lives in some rows.
fn lives(rows: &[Stored]) -> Flow<Vec<Row<Life>>> {
    rows.iter().map(Life::read).collect()
}

/// Relabels all of them; how many changed.
fn relabel_all(cx: &mut Context<'_>, streams: &mut Streams, lives: Vec<(Row<Life>, Label)>) -> Flow<i64> {
    let mut changed = 0_i64;
    for (life, label) in lives {
        let relabelled = relabel::relabel(cx, streams, life, label)?;
        changed = changed.saturating_add(i64::from(relabelled.is_some()));
    }
    Ok(changed)
}

/// The steers and interrupts that are bound to a grant.
pub(crate) fn bound(_: &str, grant: &str, _: i64) -> Query {
    Life::find_bound(grant, PAGE)
}

/// A grant is revoked: what is bound to it is marked revoked. The boxes of both ends are loaded.
pub(crate) fn revoked(cx: &mut Context<'_>, streams: &mut Streams, _: &Row<Grant>, rows: &[Stored]) -> Flow<i64> {
    let lives = lives(rows)?;
    relabel_all(cx, streams, lives.into_iter().map(|life| (life, Label::Revoked)).collect())
}

/// The undecided mail of an incarnation.
pub(crate) fn undecided(tenant: &str, receiver: &Party, from: i64) -> Query {
    Life::find_open(tenant, receiver, from, PAGE)
}

/// An incarnation is over: what it did not decide is marked stale, so that its sender learns of it.
pub(crate) fn rotated(cx: &mut Context<'_>, streams: &mut Streams, _: &Row<Task>, rows: &[Stored]) -> Flow<i64> {
    let lives = lives(rows)?;
    relabel::streams(cx, streams, &lives)?;
    let label = Label::Stale(Reason::StaleIncarnation);
    relabel_all(cx, streams, lives.into_iter().map(|life| (life, label)).collect())
}

/// The undecided steers and interrupts of an incarnation that expect something of it.
pub(crate) fn urgent(tenant: &str, receiver: &Party, from: i64) -> Query {
    Life::find_urgent(tenant, receiver, from, PAGE)
}

/// A task moved on: what expects it elsewhere is marked stale. The box of the task is loaded.
pub(crate) fn runtime_changed(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    task: &Row<Task>,
    rows: &[Stored],
) -> Flow<i64> {
    let mut stale = Vec::new();
    for life in lives(rows)? {
        let reason =
            life.record.freshness.as_deref().map(|freshness| staleness(freshness, &task.record)).transpose()?;
        if let Some(reason) = reason.flatten() {
            stale.push((life, Label::Stale(reason)));
        }
    }
    let tenant = cx.tenant();
    let senders: Vec<String> = stale.iter().map(|(life, _)| life.record.sender.key(tenant)).collect();
    streams.load(cx, senders)?;
    relabel_all(cx, streams, stale)
}

/// Loads the boxes of everybody concerned by mail that expires.
pub(crate) fn load_expiring(cx: &mut Context<'_>, streams: &mut Streams, rows: &[Stored]) -> Flow<()> {
    let lives = lives(rows)?;
    relabel::streams(cx, streams, &lives)
}

/// Expires mail; one item for each into `w`. What an attempt that is unresolved holds is left out.
pub(crate) fn expire(cx: &mut Context<'_>, streams: &mut Streams, rows: &[Stored], w: &mut Writer) -> Flow<()> {
    for life in lives(rows)? {
        let (sender, message) = (life.record.sender.incarnation.clone(), life.record.message.clone());
        let Some(revision) = relabel::relabel(cx, streams, life, Label::Expired)? else { continue };
        w.begin_object();
        w.member_str("senderIncarnationId", &sender);
        w.member_str("messageId", &message);
        w.member_int("revision", revision);
        w.end_object();
    }
    Ok(())
}
