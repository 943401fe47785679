//! What happens to messages when something else does: a task moves on, a grant is revoked, time passes.
//!
//! While an attempt is unresolved nothing relabels its message: what would is kept, and the transaction that resolves
//! the attempt applies it (see `resolve`).

use crate::delivery::life::{self, Life};
use crate::generated::limits;
use crate::generated::machines::{DecisionEvent, DeliveryEvent, Reason};
use crate::kernel::{
    Query,
    audit::detail,
    context::Context,
    flow::{Flow, Stop},
    records::Row,
    streams::Streams,
};
use crate::{Code, Error};
use alloc::{string::String, vec::Vec};

/// How many messages one commit relabels; the rest follows in further ones.
pub(crate) const PAGE: u32 = limits::RELABEL_PAGE as u32;

/// What a message becomes.
#[derive(Clone, Copy)]
pub(crate) enum Label {
    /// Undecided mail that speaks of what is over.
    Stale(Reason),
    /// Mail whose grant was revoked.
    Revoked,
    /// Mail past its expiry.
    Expired,
}

/// A cursor that no decision gave out. A continuation names the row that was decided about, since what its params name may
/// be another one by then; and it only relabels.
pub(crate) fn no_cursor() -> Stop {
    Stop::Misuse(Error::new(Code::HostMisuse, "", "no such cursor"))
}

/// The lives of a page, and whether there are more.
pub(crate) fn page(cx: &mut Context<'_>, query: &Query) -> Flow<(Vec<Row<Life>>, bool)> {
    let page = cx.page(query)?;
    let lives = page.rows.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    Ok((lives, page.more))
}

/// Loads the boxes of everybody concerned by `lives`, in one round.
pub(crate) fn streams(cx: &mut Context<'_>, streams: &mut Streams, lives: &[Row<Life>]) -> Flow<()> {
    let tenant = cx.tenant();
    let parties = lives.iter().flat_map(|life| [&life.record.sender, &life.record.receiver]);
    let ids: Vec<String> = parties.map(|party| party.key(tenant)).collect();
    streams.load(cx, ids)
}

/// Relabels a message whose boxes are loaded; its revision then. Nothing where the label waits for an attempt.
pub(crate) fn relabel(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    mut row: Row<Life>,
    label: Label,
) -> Flow<Option<i64>> {
    let was_open = row.record.open();
    let waits = row.record.unresolved();
    let (kind, told) = match (waits, label) {
        (false, label) => apply(&mut row.record, label)?,
        (true, Label::Revoked) => defer(&mut row.record),
        // Stale mail is undecided, so that it has no attempt, and unresolved mail is never due.
        (true, _) => return Ok(None),
    };
    let life = &mut row.record;
    life.updated = cx.now;
    life.combination().check()?;
    let (sender, receiver) = (life.sender.key(cx.tenant()), life.receiver.key(cx.tenant()));
    if was_open && !life.open() {
        let mailbox = streams.get(&receiver)?;
        mailbox.open = mailbox.open.saturating_sub(1);
    }
    streams.record(cx, &[&sender, &receiver], &row.event(kind, told))?;
    let life = &row.record;
    cx.write(life::COLLECTION, &row.id, row.revision, life.text(), life.entries(cx.tenant()));
    Ok((!waits).then_some(life.revision))
}

/// The revision stays: nobody sees a change yet, and the receipt of the attempt names the one that it began at.
fn defer(life: &mut Life) -> (&'static str, String) {
    life.pending_relabel = Some("revoked".into());
    ("relabel-pending", detail(&[("decision", "revoked")]))
}

/// Moves the machines; the event that says so.
pub(crate) fn apply(life: &mut Life, label: Label) -> Flow<(&'static str, String)> {
    let (delivery, decision) = (life.delivery.name(), life.decision.name());
    let (kind, told) = match label {
        Label::Stale(reason) => {
            settle(life, DecisionEvent::MarkStale, reason)?;
            ("message-stale", detail(&[("reasonCode", reason.name())]))
        }
        Label::Revoked => {
            settle(life, DecisionEvent::Revoke, Reason::Revoked)?;
            ("authorization-revoked", detail(&[("previousDecision", decision)]))
        }
        Label::Expired => {
            life.delivery = life.delivery.apply(DeliveryEvent::Expire)?;
            if life.decision.open() {
                settle(life, DecisionEvent::Expire, Reason::Expired)?;
            }
            ("message-expired", detail(&[("previousDecision", decision), ("previousDelivery", delivery)]))
        }
    };
    life.revision = life.revision.saturating_add(1);
    life.lapse()?;
    Ok((kind, told))
}

fn settle(life: &mut Life, event: DecisionEvent, reason: Reason) -> Flow<()> {
    life.decision = life.decision.apply(event)?;
    life.reason = Some(reason.name().into());
    Ok(())
}
