//! `messages.recordOutcome`: what was seen to happen. An effect is the host's own observation; `externally-verified` rests
//! on attestations that verify here and now against the anchors that the operator declared.

use crate::authority::anchors::{ANCHORS, anchors_row, stored};
use crate::delivery::{
    evidence::{Evidence, OUTCOME, with_evidence},
    facts::{receiving, source},
    life::disposition,
    scene::{Role, Scene},
};
use crate::documents::{Document, Kind};
use crate::generated::machines::{Delivery, OutcomeEvent};
use crate::json::{Value, Writer};
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
};
use crate::rules::{check, check_at};
use crate::{Code, Rule, attestation};
use alloc::{string::String, vec::Vec};

/// `messages.recordOutcome`.
pub(crate) fn record_outcome(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let event = match cx.params.text("outcome")? {
        "effect-observed" => OutcomeEvent::Observe,
        "externally-verified" => OutcomeEvent::Verify,
        _ => OutcomeEvent::Fail,
    };
    let attestations = cx.params.get("verificationAttestations");
    check(Rule::OC3, attestations.is_some() == (event == OutcomeEvent::Verify))?;
    if attestations.is_some() {
        cx.hint(&keys::row(ANCHORS, &anchors_row(cx)));
    }
    cx.hint_evidence(name);
    let (mut scene, role) = cx.scene_with(name, with_evidence)?;
    receiving(role)?;
    scene.reads(cx, role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    may_say(event, role)?;
    scene.at_revision(cx)?;
    possible(&scene, event)?;
    let refs = cx.params.member("evidenceRefs")?;
    if let Some(attestations) = attestations {
        attested(cx, &scene, attestations, &refs.digest())?;
    }
    let life = &mut scene.life.record;
    life.outcome = life.outcome.apply(event)?;
    life.revision = life.revision.saturating_add(1);
    keep(cx, scene, role, refs, attestations)
}

/// Who may establish which fact.
fn may_say(event: OutcomeEvent, role: Role) -> Flow<()> {
    let may = match event {
        OutcomeEvent::Observe => role == Role::Host,
        OutcomeEvent::Fail => matches!(role, Role::Host | Role::Receiver),
        OutcomeEvent::Verify => true,
    };
    Ok(check(Rule::OC1, may)?)
}

/// Whether the message is one of which that can be said.
fn possible(scene: &Scene, event: OutcomeEvent) -> Flow<()> {
    let life = &scene.life.record;
    check(Rule::SU1, !life.unresolved())?;
    check(Rule::OC4, event == OutcomeEvent::Verify || life.intent != "interrupt")?;
    let got_there = match event {
        OutcomeEvent::Fail => life.decision.was_accepted(),
        _ => life.delivery == Delivery::AdapterSubmitted,
    };
    check(Rule::OC2, got_there)?;
    Ok(())
}

/// Every attestation verifies, is about this message and this evidence, and came after the attempt began.
fn attested(cx: &mut Context<'_>, scene: &Scene, attestations: Value<'_>, evidence: &str) -> Flow<()> {
    let anchors = stored(cx.lookup(ANCHORS, &anchors_row(cx))?)?;
    let mut documents = Vec::new();
    for item in attestations.items() {
        documents.push(Document::from_value(Kind::VerificationAttestation, item)?);
    }
    let parts: Vec<_> = documents.iter().map(Document::part).collect();
    attestation::verify_all(&parts, &anchors, &expected(scene, evidence), cx.now).map_err(|error| {
        match error.code {
            Code::AnchorInvalid | Code::HostMisuse => damaged("anchors"),
            _ => error.into(),
        }
    })?;
    let life = &scene.life.record;
    let began = life.attempt.as_ref().and_then(|attempt| attempt.call.as_ref()).map_or(0, |call| call.started);
    for part in parts {
        let at = |path: &str| [part.value().pointer().as_str(), path].concat();
        let later = part.time("/verifiedAt").is_some_and(|verified| verified >= began);
        check_at(Rule::OC5, later, || at("/verifiedAt"))?;
        let interrupts = part.text("/subject/claimType") == "interruption-target-state";
        check_at(Rule::OC6, interrupts == (life.intent == "interrupt"), || at("/subject/claimType"))?;
    }
    Ok(())
}

/// What the attestations must be about.
fn expected(scene: &Scene, evidence: &str) -> String {
    let life = &scene.life.record;
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("messageId", &life.message);
    w.member_str("senderIncarnationId", &life.sender.incarnation);
    life.receiver.put_ref(&mut w, "receiver");
    w.member_str("evidenceDigest", evidence);
    w.end_object();
    w.finish()
}

/// Stores the evidence with the new state.
fn keep(
    cx: &mut Context<'_>,
    mut scene: Scene,
    role: Role,
    refs: Value<'_>,
    attestations: Option<Value<'_>>,
) -> Flow<String> {
    let source = if attestations.is_some() { "attested" } else { source(role) };
    let known = cx.evidence(&scene.life.id, OUTCOME)?;
    let evidence = Evidence {
        source: source.into(),
        at: cx.now,
        refs: Some(refs.raw().into()),
        attestations: attestations.map(|list| list.raw().into()),
        result: None,
    };
    cx.save_evidence(&scene.life.id, OUTCOME, known.as_ref(), &evidence);
    let outcome = scene.life.record.outcome.name();
    let told = detail(&[("outcome", outcome), ("outcomeEvidenceDigest", &refs.digest()), ("source", source)]);
    scene.record(cx, "outcome-observed", told)?;
    let scene = scene.save(cx, false)?;
    Ok(disposition(&scene.life))
}
