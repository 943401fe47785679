//! `adapter.prepareContextAdmission`, `adapter.confirmContextAdmission`, `adapter.recoverContextAdmission` and
//! `adapter.admitContext`: an accepted suggestion is put before a model, once, and what is recorded of it is bound to the
//! exact text that was shown.
//!
//! While an admission is in flight nothing relabels the message, as while an attempt is unknown. A confirmation is a fact
//! about the past: expiry, revocation and rotation do not prevent it.

mod evidence;
mod shown;

use crate::authority::profile::Evidenced;
use crate::delivery::{
    admission::{Admission, Admitted},
    guard::{self, Guard},
    holder::Hooks,
    life::disposition,
    relabel::release,
    scene::{Role, Scene, with_message},
    target::{adapter, hints},
};
use crate::digest::sha256_text;
use crate::generated::limits;
use crate::generated::machines::{Decision, Delivery, DeliveryEvent, Submission};
use crate::json::Writer;
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    guard::Moment,
};
use crate::rendering::Rendering;
use crate::rules::check;
use crate::{Rule, time};
use alloc::string::{String, ToString};
use shown::Shown;

/// `adapter.prepareContextAdmission`.
pub(crate) fn prepare(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let (mut scene, replayed) = receive(cx)?;
    gate(cx, hooks.guards, Moment::Prepare, &scene)?;
    if replayed {
        return prepared_again(cx, &scene);
    }
    scene.not_busy(cx)?;
    admissible(cx, &scene)?;
    let adapter = adapter(cx, &scene)?;
    let profile = &adapter.profile.record;
    let bound = profile.admission.clone().zip(adapter.session.clone());
    check(Rule::CX3, bound.is_some())?;
    let (Evidenced { evidence: kind, snapshot }, session) = bound.ok_or_else(|| damaged("profile"))?;
    let shown = shown::render(cx, &scene)?;
    let admission = Admission {
        id: cx.request_hash("admission"),
        token: cx.secret("admission"),
        nonce: cx.secret("admission-nonce"),
        worker: cx.principal.worker.as_deref().unwrap_or("").into(),
        profile: profile.name.clone(),
        adapter_ref_digest: adapter.digest,
        kind,
        session,
        snapshot,
        digest: shown.rendering.digest.clone(),
        bytes: shown.rendering.bytes,
        until: cx.now.saturating_add(limits::ADMISSION_LEASE_MS),
    };
    let told = detail(&[
        ("adapterRefDigest", &admission.adapter_ref_digest),
        ("admissionTokenDigest", &sha256_text(admission.token.as_bytes())),
        ("expiresAt", &time::format(admission.until)),
        ("renderingDigest", &admission.digest),
    ]);
    let answer = prepared(&scene, &admission, &shown, false);
    let life = &mut scene.life.record;
    life.admission = Some(admission);
    // A preparation that crossed no boundary is disposable.
    life.attempt.take_if(|attempt| attempt.state == Submission::Prepared);
    scene.record(cx, "context-admission-claimed", told)?;
    scene.save(cx, false)?;
    Ok(answer)
}

/// The message in the params, for its live receiver; whether the call was made before.
fn receive(cx: &mut Context<'_>) -> Flow<(Scene, bool)> {
    let name = cx.message_in_params()?;
    hints(cx, name);
    let (scene, role) = cx.scene_with(name, with_message)?;
    scene.receiver_acts(role)?;
    let replayed = cx.replayed()?;
    Ok((scene, replayed))
}

/// What a caller must pass today to be shown the content, whether for the first time or again.
fn gate(cx: &mut Context<'_>, guards: &[Guard], moment: Moment, scene: &Scene) -> Flow<()> {
    guard::ask(cx, guards, moment, scene)?;
    scene.unexpired(cx.now)?;
    let life = &scene.life.record;
    check(Rule::CX1, life.intent == "suggest")?;
    check(Rule::CX2, !matches!(life.mode.as_str(), "store-only" | "side-channel"))?;
    Ok(())
}

/// The message can be put before a model now.
fn admissible(cx: &Context<'_>, scene: &Scene) -> Flow<()> {
    let life = &scene.life.record;
    check(Rule::CX4, life.admission.is_none())?;
    let ended = |state| matches!(state, Submission::Prepared | Submission::ConfirmedNotSubmitted);
    check(Rule::CX5, life.attempt.as_ref().is_none_or(|attempt| ended(attempt.state)))?;
    scene.at_revision(cx)?;
    let admits = life.decision == Decision::Accepted && life.delivery.step(DeliveryEvent::Admit).is_some();
    check(Rule::CX7, admits)?;
    Ok(())
}

/// The replay of a preparation, as long as its admission is in flight and its lease runs.
fn prepared_again(cx: &mut Context<'_>, scene: &Scene) -> Flow<String> {
    let id = cx.request_hash("admission");
    let own = |admission: &&Admission| admission.id == id && cx.now < admission.until;
    let admission = scene.life.record.admission.as_ref().filter(own);
    check(Rule::CX18, admission.is_some())?;
    let shown = shown::render(cx, scene)?;
    let admission = admission.or(scene.life.record.admission.as_ref()).ok_or_else(|| damaged("admission"))?;
    Ok(prepared(scene, admission, &shown, true))
}

fn prepared(scene: &Scene, admission: &Admission, shown: &Shown, replay: bool) -> String {
    let life = &scene.life.record;
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_str("admissionToken", &admission.token);
    w.member_str("nonce", &admission.nonce);
    w.key("adapterRef");
    w.begin_object();
    w.member_str("kind", &admission.profile);
    w.member_str("session", &admission.session);
    w.end_object();
    w.key("admission");
    w.begin_object();
    w.member_str("decision", life.decision.name());
    w.member_str("receiverIncarnationId", &life.receiver.incarnation);
    w.member_int("revision", life.revision);
    w.end_object();
    w.member_int("revision", life.revision);
    w.member_str("expiresAt", &time::format(admission.until));
    shown::put(&mut w, shown);
    w.end_object();
    w.finish()
}

/// `adapter.confirmContextAdmission`: whoever holds the token says, with evidence, that the rendering was shown.
pub(crate) fn confirm(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    let (token, worker) = (cx.params.text("admissionToken")?, cx.principal.worker.as_deref().unwrap_or(""));
    let holds = |admission: &&Admission| admission.token == token && admission.worker == worker;
    let admission = scene.life.record.admission.as_ref();
    check(Rule::CX8, admission.filter(holds).is_some())?;
    let admission = admission.cloned().ok_or_else(|| damaged("admission"))?;
    scene.at_revision(cx)?;
    let evidence = evidence::of(&admission, cx.params.member("evidence")?, true)?;
    admitted(cx, scene, hooks, "confirmed", evidence)
}

/// Records that the rendering was shown, and moves the delivery where that is news.
fn admitted(cx: &mut Context<'_>, mut scene: Scene, hooks: Hooks, how: &str, evidence: String) -> Flow<String> {
    let life = &mut scene.life.record;
    let admission = life.admission.take().ok_or_else(|| damaged("admission"))?;
    // A receipt that turned up meanwhile may have moved it further.
    if life.delivery != Delivery::AdapterSubmitted {
        life.delivery = life.delivery.apply(DeliveryEvent::Admit)?;
    }
    life.revision = life.revision.saturating_add(1);
    let digest = sha256_text(evidence.as_bytes());
    let Admission { digest: rendering, bytes, .. } = admission;
    let told = detail(&[
        ("evidenceDigest", &digest),
        ("how", how),
        ("renderingBytes", &bytes.to_string()),
        ("renderingDigest", &rendering),
    ]);
    life.admitted = Some(Admitted { how: how.into(), digest: rendering, bytes, evidence, at: cx.now });
    scene.record(cx, "context-admitted", told)?;
    release(cx, &mut scene, hooks.resolved)?;
    let scene = scene.save(cx, false)?;
    Ok(disposition(&scene.life))
}

/// `adapter.recoverContextAdmission`: the token is lost, or its holder is gone.
pub(crate) fn recover(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (scene, role) = cx.scene(name)?;
    if matches!(role, Role::Sender | Role::SenderOwner | Role::Host) {
        return Err(not_visible());
    }
    scene.reads(cx, role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    let admission = scene.life.record.admission.clone();
    check(Rule::CX14, admission.is_some())?;
    let admission = admission.ok_or_else(|| damaged("admission"))?;
    scene.at_revision(cx)?;
    let holder = role == Role::Receiver && admission.worker == cx.principal.worker.as_deref().unwrap_or("");
    check(Rule::CX15, holder || cx.now >= admission.until)?;
    let (resolution, evidence) = (cx.params.text("resolution")?, cx.params.get("evidence"));
    let shown = resolution == "confirmed-admitted";
    check(Rule::CX16, !shown || evidence.is_some())?;
    check(Rule::CX17, shown || evidence.is_none())?;
    match evidence {
        Some(evidence) => {
            let evidence = evidence::of(&admission, evidence, false)?;
            admitted(cx, scene, hooks, "recovered", evidence)
        }
        None => give_up(cx, scene, hooks, resolution),
    }
}

/// Ends an admission that did not put the message before a model, at least not as it is.
fn give_up(cx: &mut Context<'_>, mut scene: Scene, hooks: Hooks, resolution: &str) -> Flow<String> {
    let Some(admission) = scene.life.record.admission.take() else { return Err(damaged("admission")) };
    let told = detail(&[("renderingDigest", &admission.digest), ("resolution", resolution)]);
    scene.record(cx, "context-admission-ended", told)?;
    release(cx, &mut scene, hooks.resolved)?;
    let scene = scene.save(cx, false)?;
    Ok(disposition(&scene.life))
}

/// `adapter.admitContext`: a client that pulls reads the message into its model's context. What was read can be read
/// again, which moves no state, but is recorded.
pub(crate) fn admit_context(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let (mut scene, replayed) = receive(cx)?;
    gate(cx, hooks.guards, Moment::Admit, &scene)?;
    let life = &scene.life.record;
    let stands = matches!(life.delivery, Delivery::ContextAdmitted | Delivery::AdapterSubmitted);
    let again = life.admitted.is_some() && life.decision == Decision::Accepted && stands;
    if !again {
        // What was admitted and is not any more is not shown to a replay either.
        check(Rule::CX7, !replayed)?;
        scene.not_busy(cx)?;
        admissible(cx, &scene)?;
    }
    let shown = shown::render(cx, &scene)?;
    let Shown { rendering, .. } = &shown;
    if !replayed {
        let evidence = evidence::of_read(cx)?;
        let told = detail(&[
            ("evidenceDigest", &sha256_text(evidence.as_bytes())),
            ("how", "read"),
            ("renderingBytes", &rendering.bytes.to_string()),
            ("renderingDigest", &rendering.digest),
            ("sessionDigest", &sha256_text(cx.params.text("session")?.as_bytes())),
            ("toolCallDigest", &sha256_text(cx.params.text("toolCallId")?.as_bytes())),
        ]);
        let life = &mut scene.life.record;
        if !again {
            let Rendering { digest, bytes, .. } = rendering.clone();
            life.delivery = life.delivery.apply(DeliveryEvent::Admit)?;
            life.revision = life.revision.saturating_add(1);
            life.admitted = Some(Admitted { how: "read".into(), digest, bytes, evidence, at: cx.now });
            life.attempt.take_if(|attempt| attempt.state == Submission::Prepared);
        }
        scene.record(cx, if again { "context-read-again" } else { "context-admitted" }, told)?;
        scene = scene.save(cx, false)?;
    }
    let mut w = Writer::new();
    w.begin_object();
    w.member_raw("disposition", &disposition(&scene.life));
    shown::put(&mut w, &shown);
    w.end_object();
    Ok(w.finish())
}
