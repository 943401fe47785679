//! `messages.recordInterruptionResult`: what an interrupt did to each thing that it was meant to stop. Nothing else closes
//! an interrupt. A result may be partial, and later ones add to it.

use crate::authority::gate::not_ahead;
use crate::delivery::{
    evidence::{Evidence, INTERRUPTION, with_evidence},
    facts::source,
    life::{Interruption, disposition},
    scene::{Role, Scene},
};
use crate::documents::{Document, Kind, Part};
use crate::generated::machines::{Delivery, OutcomeEvent};
use crate::json::{self, Writer};
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    records::{Row, parse},
};
use crate::rules::check;
use crate::{Error, Rule, time};
use alloc::{string::String, vec::Vec};

/// `messages.recordInterruptionResult`.
pub(crate) fn record(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    let document = cx.shaped.document(Kind::InterruptionResult, "result")?.ok_or_else(|| damaged("result"))?;
    cx.hint_evidence(name);
    let (mut scene, role) = cx.scene_with(name, with_evidence)?;
    scene.receiver_or_host(role)?;
    if cx.replayed()? {
        return answer(&scene);
    }
    let known = cx.evidence(&scene.life.id, INTERRUPTION)?;
    about(&scene, &document, cx.now)?;
    scene.at_revision(cx)?;
    let life = &scene.life.record;
    check(Rule::IN1, life.intent == "interrupt" && life.decision.was_accepted())?;
    check(Rule::SU1, !life.unresolved())?;
    let observes = role == Role::Host;
    let changes = life.interruption.as_ref().is_none_or(|known| known.open || (observes && !known.observed));
    check(Rule::IN6, changes)?;
    if let Some(known) = &known {
        continues(document.part(), known)?;
    }
    let cancelled = conclude(&mut scene, &document, observes)?;
    let source = source(role);
    let (at, result) = (cx.now, Some(document.text().into()));
    let evidence = Evidence { source: source.into(), at, refs: None, attestations: None, result };
    cx.save_evidence(&scene.life.id, INTERRUPTION, known.as_ref(), &evidence);
    let state = scene.life.record.interruption.as_ref().map_or("open", Interruption::state);
    let some = if cancelled { "some-cancelled" } else { "none-cancelled" };
    let told = [("interruption", state), ("result", some), ("resultDigest", document.digest()), ("source", source)];
    scene.record(cx, "interruption-result-recorded", detail(&told))?;
    let scene = scene.save(cx, false)?;
    answer(&scene)
}

/// The result is about this message, and not from the future.
fn about(scene: &Scene, document: &Document<'_>, now: i64) -> Flow<()> {
    let (part, life) = (document.part(), &scene.life.record);
    let receiver = life.receiver.is(part.text("/receiver/taskId"), part.text("/receiver/incarnationId"));
    part.must(Rule::IN2, part.text("/messageId") == life.message, "/messageId")?;
    part.must(Rule::IN2, receiver, "/receiver")?;
    if let Some(freshness) = part.get("/freshness") {
        let expected = life.freshness.as_deref().map(json::parse).transpose()?;
        let same = expected.is_some_and(|expected| expected.root().same(freshness));
        part.must(Rule::IN2, same, "/freshness")?;
    }
    not_later(part, "/requestedAt", now)?;
    not_later(part, "/updatedAt", now)?;
    for target in targets(part) {
        not_later(target, "/observedAt", now)?;
    }
    Ok(())
}

fn not_later(part: Part<'_>, path: &str, now: i64) -> Result<(), Error> {
    let at = || [part.value().pointer().as_str(), path].concat();
    not_ahead(Rule::IN3, part.time(path).unwrap_or(i64::MAX), now, at)
}

/// Every target of a result: the model's turn, tool calls, subprocesses.
fn targets(result: Part<'_>) -> impl Iterator<Item = Part<'_>> {
    let sets = ["/results/toolCalls/targets", "/results/subprocesses/targets"];
    result.part("/results/modelTurn").into_iter().chain(sets.into_iter().flat_map(move |set| result.parts(set)))
}

/// A later result goes on from the one before.
fn continues(result: Part<'_>, known: &Row<Evidence>) -> Flow<()> {
    let known = known.record.result.as_deref().ok_or_else(|| damaged("result"))?;
    let tree = parse(known)?;
    let before = result.with(tree.root());
    let same = result.text("/interruptionId") == before.text("/interruptionId");
    result.must(Rule::IN4, same, "/interruptionId")?;
    result.must(Rule::IN4, result.time("/updatedAt") >= before.time("/updatedAt"), "/updatedAt")?;
    for path in ["/results/modelTurn", "/results/toolCalls/targets", "/results/subprocesses/targets"] {
        for old in listed(before, path) {
            let id = old.text("/targetId");
            let new = listed(result, path).into_iter().find(|target| target.text("/targetId") == id);
            result.must(Rule::IN4, new.is_some(), path)?;
            let state = old.text("/state");
            let kept = state == "requested" || new.is_none_or(|target| target.text("/state") == state);
            result.must(Rule::IN5, kept, path)?;
        }
    }
    Ok(())
}

/// The targets at `path`: one, or a list of them.
fn listed<'a>(result: Part<'a>, path: &str) -> Vec<Part<'a>> {
    match result.part(path) {
        Some(one) if one.has("/targetId") => [one].into(),
        _ => result.parts(path).collect(),
    }
}

/// Takes the result into the life; whether anything was cancelled. The outcome follows only from what the host saw, once
/// nothing is under way any more.
fn conclude(scene: &mut Scene, document: &Document<'_>, observed: bool) -> Flow<bool> {
    let any = |state: &str| targets(document.part()).any(|target| target.text("/state") == state);
    let (open, cancelled) = (any("requested"), any("cancelled"));
    let life = &mut scene.life.record;
    life.interruption = Some(Interruption { digest: document.digest().into(), open, observed });
    if observed && !open && life.delivery == Delivery::AdapterSubmitted {
        let event = if cancelled { OutcomeEvent::Observe } else { OutcomeEvent::Fail };
        // A verified outcome is known better already.
        life.outcome = life.outcome.step(event).unwrap_or(life.outcome);
    }
    life.revision = life.revision.saturating_add(1);
    Ok(cancelled)
}

fn answer(scene: &Scene) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_raw("disposition", &disposition(&scene.life));
    w.key("interruption");
    w.begin_object();
    if let Some(interruption) = &scene.life.record.interruption {
        w.member_str("state", interruption.state());
        w.member_str("source", interruption.source());
        w.member_str("resultDigest", &interruption.digest);
    }
    w.end_object();
    w.end_object();
    Ok(w.finish())
}

/// Writes the member `interruption` as a viewer may see it: names and words of targets are the receiving side's.
pub(crate) fn view(w: &mut Writer, interruption: &Interruption, evidence: &Row<Evidence>, whole: bool) -> Flow<()> {
    let result = evidence.record.result.as_deref();
    w.key("interruption");
    w.begin_object();
    w.member_str("state", interruption.state());
    w.member_str("source", interruption.source());
    w.member_str("resultDigest", &interruption.digest);
    w.member_str("recordedAt", &time::format(evidence.record.at));
    if let Some(result) = result {
        let tree = parse(result)?;
        let root = tree.root();
        for name in ["interruptionId", "requestedAt", "updatedAt"] {
            w.member_str(name, root.text(name)?);
        }
        let results = root.member("results")?;
        w.key("modelTurn");
        target(w, results.member("modelTurn")?, whole);
        for name in ["toolCalls", "subprocesses"] {
            let set = results.member(name)?;
            w.key(name);
            w.begin_object();
            w.member_str("enumeration", set.text("enumeration")?);
            w.key("targets");
            w.begin_array();
            set.member("targets")?.items().for_each(|item| target(w, item, whole));
            w.end_array();
            if let Some(detail) = set.get("detail").filter(|_| whole) {
                w.member_raw("detail", detail.raw());
            }
            w.end_object();
        }
    }
    w.end_object();
    Ok(())
}

fn target(w: &mut Writer, target: json::Value<'_>, whole: bool) {
    w.begin_object();
    for (name, value) in target.members() {
        if whole || !matches!(name, "targetId" | "detail") {
            w.member_raw(name, value.raw());
        }
    }
    w.end_object();
}
