//! What happens to messages when something else does: a task moves on, a grant is revoked, time passes.
//!
//! While an attempt is unresolved nothing relabels its message: what would is kept, and the transaction that resolves
//! the attempt applies it.

use crate::delivery::{
    life::{self, Life},
    scene::Scene,
};
use crate::generated::machines::{DecisionEvent, DeliveryEvent, Reason};
use crate::kernel::{audit::detail, context::Context, flow::Flow, records::Row, streams::Streams};
use alloc::{string::String, vec::Vec};

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
    life.end_examination()?;
    life.combination().check()?;
    let (sender, receiver) = (life.sender.key(cx.tenant()), life.receiver.key(cx.tenant()));
    if was_open && !life.open() {
        let mailbox = streams.get(&receiver)?;
        mailbox.open = mailbox.open.saturating_sub(1);
    }
    streams.record(cx, &[&sender, &receiver], &row.event(kind, told))?;
    let life = &row.record;
    cx.write(life::COLLECTION, &row.id, row.revision, life.text(), life.entries(cx.tenant(), &cx.names));
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

/// What happens to a message once neither an attempt nor an admission of it is open any more.
pub(crate) type Resolved = fn(&mut Context<'_>, &mut Scene) -> Flow<()>;

/// Tells everybody who waits for the resolution of a message, once there is one.
pub(crate) fn release(cx: &mut Context<'_>, scene: &mut Scene, hooks: &[Resolved]) -> Flow<()> {
    if scene.life.record.unresolved() {
        return Ok(());
    }
    hooks.iter().try_for_each(|hook| hook(cx, scene))
}

/// Applies the label that waited: only a revocation does.
pub(crate) fn apply_pending(cx: &mut Context<'_>, scene: &mut Scene) -> Flow<()> {
    let life = &mut scene.life.record;
    if life.pending_relabel.take().is_some_and(|_| life.decision.step(DecisionEvent::Revoke).is_some()) {
        life.decision = life.decision.apply(DecisionEvent::Revoke)?;
        life.reason = Some("revoked".into());
        life.revision = life.revision.saturating_add(1);
        scene.record(cx, "authorization-revoked", String::new())?;
    }
    Ok(())
}
