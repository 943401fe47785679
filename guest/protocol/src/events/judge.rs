//! What becomes of an event when it is received: the stages in their order, of which the first that fails decides, and
//! what it changes in the record.

use crate::Rule;
use crate::delivery::{life::EventPart, scene::Scene};
use crate::events::{
    capability::Capability,
    event::Event,
    stages,
    thread::{Thread, ThreadName},
};
use crate::generated::machines::{ClaimEvent, Decision, DecisionEvent, Reason, UptakeEvent, VerificationEvent};
use crate::kernel::{
    audit::detail,
    context::Context,
    flow::{Flow, damaged},
    records::Row,
};
use crate::rules::{Broken, check};
use alloc::{string::String, vec, vec::Vec};

/// What whoever receives an event wants to do with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Take it, if the stages let it.
    Accept,
    /// Turn it down.
    Reject,
    /// Put it off.
    Defer,
}

/// The rows that the stages are about, as they stand.
pub(crate) struct Facts {
    /// The source thread.
    pub source: Option<Row<Thread>>,
    /// The target thread.
    pub target: Option<Row<Thread>>,
    /// The capability that the event was sent under.
    pub capability: Option<Row<Capability>>,
}

/// Where an event came to, and what that means.
struct Outcome {
    stage: &'static str,
    status: &'static str,
    why: Option<&'static str>,
    decision: (DecisionEvent, Reason),
    verification: Option<VerificationEvent>,
    uptake: Option<UptakeEvent>,
}

impl Outcome {
    fn new(stage: &'static str, status: &'static str, decision: (DecisionEvent, Reason)) -> Self {
        Self { stage, status, why: None, decision, verification: None, uptake: None }
    }

    fn because(self, why: &'static str) -> Self {
        Self { why: Some(why), ..self }
    }
}

impl ThreadName {
    /// The thread of a task.
    pub fn of(party: &crate::kernel::records::Party) -> Self {
        Self { thread: party.task.clone(), owner: party.owner.clone() }
    }
}

/// The stages, as one function.
fn outcome(event: &Event<'_>, part: &EventPart, facts: &Facts, choice: Choice, now: i64) -> Outcome {
    if let Err(Broken(rule)) = scope(event, part, facts, now) {
        return out_of_scope(rule);
    }
    match choice {
        Choice::Reject => {
            let decision = (DecisionEvent::Reject, Reason::ReceiverRejected);
            return Outcome::new("decide", "rejected", decision).because("receiver-rejected");
        }
        Choice::Defer => {
            let decision = (DecisionEvent::Defer, Reason::ReceiverDeferred);
            return Outcome::new("decide", "deferred", decision).because("receiver-deferred");
        }
        Choice::Accept => {}
    }
    let accepted = Outcome::new("decide", "accepted", (DecisionEvent::Accept, Reason::Accepted));
    if event.bears_state() {
        let deferred = Outcome::new("decide", "deferred", (DecisionEvent::Defer, Reason::Other));
        let wanting = Some(VerificationEvent::FindWanting);
        return Outcome { verification: wanting, ..deferred.because("evidence-insufficient") };
    }
    if event.requests() {
        return Outcome { stage: "propose", uptake: Some(UptakeEvent::Request), ..accepted };
    }
    accepted
}

/// Stages 2 and 3 as they stand: both threads are those of the time of sending, and the capability allows the event.
fn scope(event: &Event<'_>, part: &EventPart, facts: &Facts, now: i64) -> Result<(), Broken> {
    let source = facts.source.as_ref().is_some_and(|row| stages::active(&row.record, Some(part.source_epoch)));
    check(Rule::TH6, source)?;
    let bound: Vec<Row<Capability>> = facts.capability.iter().cloned().collect();
    let standing = stages::standing(bound, now)?;
    let target = facts.target.as_ref().filter(|row| stages::active(&row.record, Some(part.target_epoch)));
    check(Rule::TH7, target.is_some())?;
    let Some(target) = facts.target.as_ref() else { return Err(Broken(Rule::TH7)) };
    stages::allowing(standing, event, &target.record).map(drop)
}

/// What a failure of the first three stages means for an event that was sent: what is over is stale, what was withdrawn is
/// revoked, and everything else is rejected.
fn out_of_scope(rule: Rule) -> Outcome {
    let outcome = match rule {
        Rule::TH6 => Outcome::new("authenticate", "stale", (DecisionEvent::MarkStale, Reason::StaleIncarnation)),
        Rule::TH7 => Outcome::new("scope", "stale", (DecisionEvent::MarkStale, Reason::StaleIncarnation)),
        Rule::CG2 | Rule::CG3 | Rule::CG4 => Outcome::new("scope", "revoked", (DecisionEvent::Revoke, Reason::Revoked)),
        _ => Outcome::new("scope", "rejected", (DecisionEvent::Reject, Reason::PolicyDenied)),
    };
    outcome.because(rule.code().name())
}

/// What each reference of an event is worth without anybody looking: a name alone is unresolved, a digest that its sender
/// names shows integrity and no more.
fn verdicts(event: &Event<'_>) -> Vec<String> {
    let references = event.value.get("evidence_refs").into_iter().flat_map(|refs| refs.items());
    let worth = |named: bool| if named { "unresolved" } else { "integrity-only" };
    references.map(|reference| worth(reference.as_str().is_some()).into()).collect()
}

/// Judges an event and records what came of it. The same decision again is a receipt and no step.
pub(crate) fn decide(
    cx: &mut Context<'_>,
    scene: &mut Scene,
    event: &Event<'_>,
    facts: &Facts,
    choice: Choice,
) -> Flow<()> {
    let now = cx.now;
    let life = &mut scene.life.record;
    let part = life.event.as_mut().ok_or_else(|| damaged("event"))?;
    let outcome = outcome(event, part, facts, choice, now);
    part.verdicts = if outcome.stage == "decide" { verdicts(event) } else { core::mem::take(&mut part.verdicts) };
    part.note(outcome.stage, outcome.status, outcome.why, now);
    if let Some(step) = outcome.verification {
        part.verification = part.verification.apply(step)?;
    }
    if let Some(step) = outcome.uptake {
        part.uptake = part.uptake.apply(step)?;
    }
    let (step, reason) = outcome.decision;
    let again = life.decision == Decision::Deferred && step == DecisionEvent::Defer;
    if !again {
        life.decision = life.decision.apply(step)?;
        life.reason = Some(reason.name().into());
    }
    life.revision = life.revision.saturating_add(1);
    let worker = cx.principal.worker.as_deref().unwrap_or("");
    if let Some(claim) = life.claim.as_mut().filter(|claim| claim.live(now) && claim.worker == worker) {
        let releases = step == DecisionEvent::Defer;
        claim.state = claim.state.apply(if releases { ClaimEvent::Release } else { ClaimEvent::Acknowledge })?;
        claim.token = String::new();
    }
    life.lapse()?;
    let mut told = vec![("decision", life.decision.name())];
    let part = life.event.as_ref().ok_or_else(|| damaged("event"))?;
    let (id, stage, status) = (part.event.clone(), part.stage.clone(), part.status.clone());
    told.extend([("eventId", id.as_str()), ("stage", stage.as_str()), ("status", status.as_str())]);
    let told = detail(&told);
    record(cx, scene, facts, "event-decided", told)
}

/// Adds an audit record to the streams of both ends, and, where the source went on since, to that of its live incarnation.
pub(crate) fn record(cx: &mut Context<'_>, scene: &mut Scene, facts: &Facts, kind: &str, told: String) -> Flow<()> {
    let live = facts.source.as_ref().map(|row| row.record.party().key(cx.tenant()));
    let Some(live) = live.filter(|live| *live != scene.sender_box.id && *live != scene.receiver_box.id) else {
        return scene.record(cx, kind, told);
    };
    let mut live = cx.load_box(&live)?;
    let Scene { life, sender_box, receiver_box, .. } = scene;
    cx.record(&mut [sender_box, receiver_box, &mut live], &life.event(kind, told))?;
    cx.save_box(&live);
    Ok(())
}
