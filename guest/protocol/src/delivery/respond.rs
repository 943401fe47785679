//! `messages.respond`, `messages.failDelivery`, `messages.getDisposition`.

use crate::delivery::{
    guard::{self, Guard},
    life::disposition,
    scene::{Role, Scene},
};
use crate::generated::limits;
use crate::generated::machines::{ClaimEvent, Decision, DecisionEvent, DeliveryEvent, Reason};
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, damaged, not_visible},
    guard::Moment,
    pages::patience,
};
use crate::rules::check;
use crate::{Rule, time};
use alloc::string::String;

/// What the receiver decides.
pub(crate) struct Choice {
    /// The event of the decision machine.
    pub event: DecisionEvent,
    /// The reason code.
    pub reason: Reason,
    /// A deferral's earliest time.
    pub not_before: Option<i64>,
}

impl Choice {
    /// Reads `decision`, `reasonCode` and `notBefore`; `default` stands where the operation names no decision.
    pub fn read(cx: &Context<'_>, default: &str) -> Flow<Self> {
        let word = cx.params.maybe_text("decision").unwrap_or_else(|| default.into());
        // The shape of the params knows the same words as the tables.
        let target = Decision::parse(&word).ok_or_else(|| damaged("decision"))?;
        let leads = |event: &&DecisionEvent| Decision::Pending.step(**event) == Some(target);
        let event =
            DecisionEvent::ALL.iter().copied().find(|event| leads(&event)).ok_or_else(|| damaged("decision"))?;
        let given = cx.params.maybe_text("reasonCode");
        let reason = given.as_deref().map_or_else(|| target.default_reason(), Reason::parse);
        target.check_reason(reason)?;
        let not_before = cx.params.maybe_text("notBefore").map(|text| time::parse(&text)).transpose()?;
        let latest = cx.now.saturating_add(limits::DEFER_MS_MAX);
        let deferrable = not_before.is_none_or(|time| target == Decision::Deferred && time <= latest);
        check(Rule::MS10, deferrable)?;
        Ok(Self { event, reason: reason.unwrap_or(Reason::Other), not_before })
    }
}

/// Applies a decision of the receiver to the record: gates, machine, claim, audit.
pub(crate) fn decide(cx: &mut Context<'_>, guards: &[Guard], scene: &mut Scene, choice: &Choice) -> Flow<()> {
    let affirms = matches!(choice.event, DecisionEvent::Accept | DecisionEvent::Defer);
    if affirms {
        let defers = choice.event == DecisionEvent::Defer;
        guard::ask(cx, guards, if defers { Moment::Defer } else { Moment::Acknowledge }, scene)?;
    }
    if choice.event == DecisionEvent::Expire {
        check(Rule::MS7, cx.now >= scene.life.record.expires)?;
    } else {
        scene.unexpired(cx.now)?;
    }
    let life = &mut scene.life.record;
    check(Rule::SU1, !life.unresolved())?;
    check(Rule::MS11, !life.delivery.terminal())?;
    life.decision = life.decision.apply(choice.event)?;
    life.reason = Some(choice.reason.name().into());
    life.not_before = choice.not_before;
    life.revision = life.revision.saturating_add(1);
    // Only whoever holds the claim acknowledges or releases it; one whose lease ended lapses.
    let worker = cx.principal.worker.as_deref().unwrap_or("");
    if let Some(claim) = life.claim.as_mut().filter(|claim| claim.live(cx.now) && claim.worker == worker) {
        let releases = choice.event == DecisionEvent::Defer;
        claim.state = claim.state.apply(if releases { ClaimEvent::Release } else { ClaimEvent::Acknowledge })?;
        claim.token = String::new();
    }
    life.lapse()?;
    let told = detail(&[("decision", scene.life.record.decision.name()), ("reasonCode", choice.reason.name())]);
    scene.record(cx, "receiver-decided", told)
}

/// `messages.respond`: decides without a claim, unless another worker holds one.
pub(crate) fn respond(cx: &mut Context<'_>, guards: &[Guard]) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (mut scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    scene.not_busy(cx)?;
    let choice = Choice::read(cx, "")?;
    scene.at_revision(cx)?;
    let was_open = scene.life.record.open();
    decide(cx, guards, &mut scene, &choice)?;
    let scene = scene.save(cx, was_open)?;
    Ok(disposition(&scene.life))
}

/// `messages.failDelivery`: the receiver gives up on delivering, unless a call may have happened.
pub(crate) fn fail_delivery(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (mut scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    scene.not_busy(cx)?;
    scene.at_revision(cx)?;
    let was_open = scene.life.record.open();
    let life = &mut scene.life.record;
    check(Rule::SU1, !life.unresolved())?;
    life.delivery = life.delivery.apply(DeliveryEvent::Fail)?;
    life.failure = Some(cx.params.text("failureReason")?.into());
    life.revision = life.revision.saturating_add(1);
    scene.life.record.lapse()?;
    scene.record(cx, "delivery-failed", String::new())?;
    let scene = scene.save(cx, was_open)?;
    Ok(disposition(&scene.life))
}

/// `messages.getDisposition`: for both ends, and for whoever owns one. While the record is not past the revision that the
/// caller names, the step waits, where the caller has patience.
pub(crate) fn get_disposition(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (scene, role) = cx.scene(name)?;
    if role == Role::Host {
        return Err(not_visible());
    }
    scene.reads(cx, role)?;
    let known = cx.params.maybe_int("afterRevision").is_some_and(|known| scene.life.record.revision <= known);
    if let Some(until) = patience(cx).filter(|_| known) {
        return Err(Stop::Wait([scene.sender_box.id, scene.receiver_box.id].into(), until));
    }
    Ok(disposition(&scene.life))
}
