//! `messages.recordDelivery`: steps of the delivery that no other operation makes: it is in the mailbox, its receiver was
//! told, it was offered at a checkpoint.

use crate::Rule;
use crate::delivery::{
    life::disposition,
    scene::{Role, Scene},
};
use crate::generated::machines::{Decision, DeliveryEvent};
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, not_visible},
};
use crate::rules::check;
use alloc::string::String;

impl Scene {
    /// The receiver acts, live, or the host for what it observed.
    pub fn receiver_or_host(&self, role: Role) -> Flow<()> {
        if role == Role::Host { Ok(()) } else { self.receiver_acts(role) }
    }
}

/// `observed` for what the host saw itself, `asserted` for what anybody else says.
pub(crate) fn source(role: Role) -> &'static str {
    if role == Role::Host { "observed" } else { "asserted" }
}

/// `messages.recordDelivery`.
pub(crate) fn record_delivery(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (mut scene, role) = cx.scene(name)?;
    scene.receiver_or_host(role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    let (event, kind) = match cx.params.text("delivery")? {
        "durably-received" => (DeliveryEvent::Persist, "message-persisted"),
        "receiver-notified" => (DeliveryEvent::Notify, "receiver-notified"),
        _ => (DeliveryEvent::Offer, "checkpoint-offered"),
    };
    if event == DeliveryEvent::Persist {
        check(Rule::DF1, role == Role::Host)?;
    } else {
        may_be_told(cx, &scene, event)?;
    }
    scene.not_busy(cx)?;
    scene.at_revision(cx)?;
    let life = &mut scene.life.record;
    check(Rule::SU1, !life.unresolved())?;
    life.delivery = life.delivery.apply(event)?;
    life.revision = life.revision.saturating_add(1);
    scene.record(cx, kind, detail(&[("source", source(role))]))?;
    let scene = scene.save(cx, false)?;
    Ok(disposition(&scene.life))
}

/// Whether the receiver may be told of the message, or be offered it, now.
fn may_be_told(cx: &mut Context<'_>, scene: &Scene, event: DeliveryEvent) -> Flow<()> {
    scene.authorise(cx)?;
    scene.unexpired(cx.now)?;
    let life = &scene.life.record;
    check(Rule::DF2, life.decision.open() || life.decision == Decision::Accepted)?;
    let fits = match event {
        DeliveryEvent::Offer => matches!(life.mode.as_str(), "checkpoint-offer" | "wake-idle"),
        _ => life.mode != "store-only",
    };
    check(Rule::DF3, fits)?;
    Ok(())
}

/// What the receiving side, a policy, the operator or the host may add to a message; the sending side may not.
pub(crate) fn receiving(role: Role) -> Flow<()> {
    if matches!(role, Role::Sender | Role::SenderOwner) { Err(not_visible()) } else { Ok(()) }
}
