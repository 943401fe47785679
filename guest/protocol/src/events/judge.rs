//! What becomes of an event when it is received: the stages in their order, of which the first that fails decides, and
//! what it changes in the record.

use crate::Rule;
use crate::delivery::{
    life::{EventPart, Inquiry, Life},
    scene::Scene,
};
use crate::events::{
    accepted::{self, Accepted},
    asking::{self, next},
    capability::Capability,
    event::Event,
    resolvers::Resolver,
    stages,
    thread::Thread,
};
use crate::generated::machines::{ClaimEvent, Decision, DecisionEvent, Reason, Uptake, UptakeEvent, VerificationEvent};
use crate::kernel::{
    audit::detail,
    context::Context,
    flow::{Flow, damaged},
    records::{Party, Row},
};
use crate::rules::{Broken, check};
use alloc::{string::String, vec::Vec};

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

/// What the host found where the receiver's check for the subject looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The same as the payload says.
    Met,
    /// Nothing that says so, or not yet.
    Absent,
    /// Something else.
    Contrary,
    /// It was asked often enough, and nobody answered.
    Unreachable,
}

/// The rows that the stages are about, as they stand.
pub(crate) struct Facts {
    /// The source thread.
    pub source: Option<Row<Thread>>,
    /// The target thread.
    pub target: Option<Row<Thread>>,
    /// The capability that the event was sent under.
    pub capability: Option<Row<Capability>>,
    /// What the target takes for the state of the subject.
    pub accepted: Row<Accepted>,
    /// The resolver that the target's check for the subject names.
    pub resolver: Option<Row<Resolver>>,
}

/// Where an event came to, and what that means.
struct Outcome {
    stage: &'static str,
    status: &'static str,
    why: Option<&'static str>,
    decision: Option<(DecisionEvent, Reason)>,
    verification: Option<VerificationEvent>,
    uptake: Option<UptakeEvent>,
    checked: Option<&'static str>,
    inquiry: Option<Inquiry>,
}

impl Outcome {
    fn new(stage: &'static str, status: &'static str, decision: (DecisionEvent, Reason)) -> Self {
        let decision = Some(decision);
        Self { stage, status, why: None, decision, verification: None, uptake: None, checked: None, inquiry: None }
    }

    fn because(self, why: &'static str) -> Self {
        Self { why: Some(why), ..self }
    }
}

/// What is to be judged: an event as it was sent and as it stands, by whom, and what was found.
struct Case<'a> {
    event: &'a Event<'a>,
    part: &'a EventPart,
    sender: &'a Party,
    facts: &'a Facts,
    /// A number that no inquiry about the event had.
    fence: i64,
    now: i64,
}

/// The stages, as one function.
fn outcome(case: &Case<'_>, choice: Choice, fact: Option<Fact>) -> Outcome {
    if let Err(Broken(rule)) = scope(case.event, case.part, case.facts, case.now) {
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
    if case.event.bears_state() {
        return evidence(case, fact);
    }
    let accepted = Outcome::new("decide", "accepted", (DecisionEvent::Accept, Reason::Accepted));
    if case.event.requests() {
        return Outcome { stage: "propose", uptake: Some(UptakeEvent::Request), ..accepted };
    }
    accepted
}

/// What does not suffice for state is put off.
fn wanting(why: &'static str, checked: Option<&'static str>) -> Outcome {
    let deferred = Outcome::new("decide", "deferred", (DecisionEvent::Defer, Reason::Other)).because(why);
    Outcome { verification: Some(VerificationEvent::FindWanting), checked, ..deferred }
}

/// Stages 4 and 5 of what may become state: the receiver's own check for the subject is what verifies it.
fn evidence(case: &Case<'_>, fact: Option<Fact>) -> Outcome {
    match fact {
        None => examine(case),
        Some(Fact::Met) => state(case),
        Some(Fact::Absent) => wanting("evidence-insufficient", Some("unresolved")),
        Some(Fact::Unreachable) => wanting("resolver-unreachable", Some("unresolved")),
        Some(Fact::Contrary) => {
            let decision = (DecisionEvent::Reject, Reason::EvidenceInsufficient);
            let rejected = Outcome::new("evidence", "rejected", decision).because("contradicted");
            Outcome { verification: Some(VerificationEvent::Contradict), checked: Some("contradicted"), ..rejected }
        }
    }
}

/// Asks the host to look, where somebody can: a resolver whose work the source or its owner makes is no witness.
fn examine(case: &Case<'_>) -> Outcome {
    let target = case.facts.target.as_ref();
    let check = target.and_then(|row| row.record.checks.iter().find(|check| check.subject == case.event.subject));
    let Some(check) = check else { return wanting("evidence-insufficient", None) };
    let Some(Row { record: resolver, .. }) = &case.facts.resolver else {
        return wanting("resolver-undeclared", Some("unresolved"));
    };
    if !resolver.independent_of(case.sender) {
        return wanting("evidence-insufficient", Some("self-attested"));
    }
    let inquiry = Inquiry {
        resolver: check.resolver.clone(),
        resolver_digest: resolver.digest.clone(),
        address: check.address.clone(),
        answer: check.answer.clone(),
        payload: check.payload.clone(),
        visible_at: case.part.sent.saturating_add(check.visible_after_ms),
        fence: case.fence,
        asked: 1,
        next: next(case.now, 1),
    };
    Outcome {
        stage: "evidence",
        status: "examining",
        why: None,
        decision: None,
        verification: Some(VerificationEvent::Examine),
        uptake: None,
        checked: None,
        inquiry: Some(inquiry),
    }
}

/// Stage 5: whether verified state takes the place of what stands.
fn state(case: &Case<'_>) -> Outcome {
    let rejected = (DecisionEvent::Reject, Reason::Other);
    let (outcome, uptake) = match takes(case) {
        Ok(()) => {
            let accepted = (DecisionEvent::Accept, Reason::Accepted);
            (Outcome::new("decide", "accepted", accepted), UptakeEvent::Apply)
        }
        Err(Broken(Rule::ST1)) => (Outcome::new("state", "stale", rejected).because("stale"), UptakeEvent::PassOver),
        Err(_) => (Outcome::new("state", "conflicting", rejected).because("conflicting"), UptakeEvent::Clash),
    };
    let verification = Some(VerificationEvent::Verify);
    Outcome { verification, uptake: Some(uptake), checked: Some("independent"), ..outcome }
}

fn takes(case: &Case<'_>) -> Result<(), Broken> {
    let Some(Row { record: capability, .. }) = &case.facts.capability else { return Err(Broken(Rule::CG1)) };
    case.facts.accepted.record.takes(case.part, case.sender, capability)
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
    mut facts: Facts,
    (choice, fact): (Choice, Option<Fact>),
) -> Flow<()> {
    let now = cx.now;
    let life = &mut scene.life.record;
    let part = life.event.as_ref().ok_or_else(|| damaged("event"))?;
    let fence = life.revision.saturating_add(1);
    let case = Case { event, part, sender: &life.sender, facts: &facts, fence, now };
    let outcome = outcome(&case, choice, fact);
    let examines = outcome.inquiry.is_some();
    note(life, event, outcome, now)?;
    take_up(cx, life, event, &mut facts.accepted)?;
    life.revision = life.revision.saturating_add(1);
    release(cx, life)?;
    let told = told(life)?;
    if examines {
        asking::ask(cx, &scene.life);
    }
    record(cx, scene, &facts, "event-decided", told)
}

/// What the audit says of where an event came to.
fn told(life: &Life) -> Flow<String> {
    let part = life.event.as_ref().ok_or_else(|| damaged("event"))?;
    Ok(detail(&[
        ("decision", life.decision.name()),
        ("eventId", &part.event),
        ("stage", &part.stage),
        ("status", &part.status),
    ]))
}

/// Takes the steps of the machines.
fn note(life: &mut Life, event: &Event<'_>, outcome: Outcome, now: i64) -> Flow<()> {
    let part = life.event.as_mut().ok_or_else(|| damaged("event"))?;
    if !matches!(outcome.stage, "authenticate" | "scope") {
        part.verdicts = verdicts(event);
    }
    part.note(outcome.stage, outcome.status, outcome.why, now);
    part.checked = outcome.checked.map(Into::into).or_else(|| part.checked.take());
    part.inquiry = outcome.inquiry;
    if let Some(step) = outcome.verification {
        part.verification = part.verification.apply(step)?;
    }
    if let Some(step) = outcome.uptake {
        part.uptake = part.uptake.apply(step)?;
    }
    let Some((step, reason)) = outcome.decision else { return Ok(()) };
    if life.decision != Decision::Deferred || step != DecisionEvent::Defer {
        life.decision = life.decision.apply(step)?;
        life.reason = Some(reason.name().into());
    }
    Ok(())
}

/// What was accepted changes what the target takes for the state of the subject: as state, or by what stands in its way.
fn take_up(cx: &mut Context<'_>, life: &mut Life, event: &Event<'_>, row: &mut Row<Accepted>) -> Flow<()> {
    let sender = life.sender.clone();
    let part = life.event.as_mut().ok_or_else(|| damaged("event"))?;
    if life.decision != Decision::Accepted {
        return Ok(());
    }
    let lifted = row.record.unblock(part, &sender);
    if part.uptake == Uptake::Applied {
        row.record.apply(part, &sender, accepted::payload(event.value)?, cx.now);
        part.state_version = Some(row.record.version);
    } else if part.kind == "BLOCKER" {
        row.record.block(part, &sender, cx.now);
    } else if !lifted {
        return Ok(());
    }
    accepted::write(cx, row);
    Ok(())
}

/// A claim of whoever decided is acknowledged, or let go of where the event is still open.
fn release(cx: &Context<'_>, life: &mut Life) -> Flow<()> {
    let worker = cx.principal.worker.as_deref().unwrap_or("");
    let open = life.decision.open();
    if let Some(claim) = life.claim.as_mut().filter(|claim| claim.live(cx.now) && claim.worker == worker) {
        claim.state = claim.state.apply(if open { ClaimEvent::Release } else { ClaimEvent::Acknowledge })?;
        claim.token = String::new();
    }
    life.lapse()
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
