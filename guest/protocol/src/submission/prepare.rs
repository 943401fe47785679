//! `adapter.prepareSubmission`, `adapter.beginSubmission`, `adapter.acceptAndBegin`: the way to the one external call.
//!
//! The gate is passed twice: when the attempt is prepared, and again in the transaction that moves it to
//! `outcome-unknown`. Only that transaction returns the effect, and only to the process that committed it.

use crate::authority::profile::{self, Profile};
use crate::delivery::{
    life::Life,
    mailbox::{acknowledge, disposition},
    message::{self, Message},
    scene::Scene,
};
use crate::digest::sha256_text;
use crate::generated::limits;
use crate::generated::machines::{Decision, DeliveryEvent, Submission, SubmissionEvent};
use crate::json::{self, Writer};
use crate::kernel::{
    Effect, EffectKind,
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    names::MessageName,
    records::{self, Row},
};
use crate::rules::check;
use crate::submission::{
    attempt::{Attempt, Call},
    resolve::submission,
};
use crate::{Rule, time};
use alloc::string::String;

/// What the adapter reference of the receiver leads to.
pub(crate) struct Adapter {
    /// The digest of the reference.
    pub digest: String,
    /// The session that it names.
    pub session: Option<String>,
    /// The profile that it names.
    pub profile: Row<Profile>,
}

/// `adapter.prepareSubmission`.
pub(crate) fn prepare(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    hints(cx, Some(name));
    let (mut scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    let replayed = cx.replayed()?;
    scene.not_busy(cx)?;
    let expected = cx.params.int("expectedRevision")?;
    if let Some(attempt) = &scene.life.record.attempt {
        let crossed = attempt.unresolved() || attempt.state == Submission::ReceiptRecorded;
        if crossed || replayed {
            check(Rule::SU2, attempt.disposition_revision == expected)?;
            cx.resource = Some((scene.life.id.clone(), scene.life.record.revision));
            if crossed {
                return begun_view(cx, &scene, true, false);
            }
            // A replay shows the content again: only to who may see it today.
            scene.authorise(cx)?;
            scene.unexpired(cx.now)?;
            return prepared_view(cx, &scene, true);
        }
    }
    let adapter = adapter(cx, &scene)?;
    let replay = ready(cx, &mut scene, &adapter)?;
    let view = prepared_view(cx, &scene, replay)?;
    if replay {
        cx.resource = Some((scene.life.id.clone(), scene.life.record.revision));
    } else {
        scene.save(cx, false)?;
    }
    Ok(view)
}

/// Asks in the first round for what a submission needs beside the message.
pub(crate) fn hints(cx: &mut Context<'_>, message: Option<MessageName<'_>>) {
    cx.bring = Some(|cx, life| cx.want(message::COLLECTION, life));
    cx.hint(&Profile::find_all(cx.tenant()));
    if let Some(name) = message {
        cx.hint(&Message::find(cx.tenant(), name));
    }
}

/// The profile that the receiver's adapter reference names, and whether it can do what the message asks for.
pub(crate) fn adapter(cx: &mut Context<'_>, scene: &Scene) -> Flow<Adapter> {
    let reference = scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
    check(Rule::AD1, reference.is_some())?;
    let reference = reference.unwrap_or_default();
    let tree = json::parse(&reference)?;
    let name = tree.root().text("kind")?;
    let row = cx.lookup(profile::COLLECTION, &keys::key(&[cx.tenant(), name]))?;
    let profile = row.map(Profile::read).transpose()?;
    check(Rule::AD1, profile.is_some())?;
    let profile = profile.ok_or_else(|| damaged("profile"))?;
    let life = &scene.life.record;
    let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
    let native = !matches!(life.mode.as_str(), "store-only" | "side-channel");
    check(Rule::AD2, native && has(&profile.record.intents, &life.intent) && has(&profile.record.modes, &life.mode))?;
    let (digest, session) = (tree.digest(), tree.root().maybe_text("session"));
    Ok(Adapter { digest, session, profile })
}

/// Its receiver accepted it, and it can still be handed to an adapter.
fn submittable(life: &Life) -> bool {
    life.decision == Decision::Accepted && life.delivery.step(DeliveryEvent::Submit).is_some()
}

/// Passes the gate and has a prepared attempt stand in the scene. `true` where the one that stands serves.
fn ready(cx: &mut Context<'_>, scene: &mut Scene, adapter: &Adapter) -> Flow<bool> {
    scene.authorise(cx)?;
    scene.unexpired(cx.now)?;
    let life = &scene.life.record;
    check(Rule::CX6, life.admission.is_none())?;
    let expected = if cx.request.operation == "adapter.acceptAndBegin" { Some(life.revision) } else { None };
    if expected.is_none() {
        scene.at_revision(cx)?;
    }
    check(Rule::SU3, submittable(life))?;
    let same = |attempt: &Attempt| {
        attempt.state == Submission::Prepared
            && attempt.disposition_revision == life.revision
            && attempt.adapter_ref_digest == adapter.digest
            && attempt.profile_digest == adapter.profile.record.digest
    };
    if life.attempt.as_ref().is_some_and(same) {
        return Ok(true);
    }
    let attempt = attempt(cx, scene, adapter)?;
    let told = detail(&[
        ("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes())),
        ("adapterRefDigest", &attempt.adapter_ref_digest),
        ("envelopeDigest", &scene.life.record.digest),
        ("submissionId", &attempt.id),
    ]);
    if let Some(old) = scene.life.record.attempt.take().filter(|old| old.state != Submission::Prepared) {
        scene.life.record.past.push(old);
    }
    scene.life.record.attempt = Some(attempt);
    scene.record(cx, "adapter-submission-prepared", told)?;
    Ok(false)
}

/// A new prepared attempt, with identifiers that no earlier attempt had.
fn attempt(cx: &Context<'_>, scene: &Scene, adapter: &Adapter) -> Flow<Attempt> {
    let state = match &scene.life.record.attempt {
        None => Submission::INITIAL,
        Some(old) => old.state.apply(SubmissionEvent::Replace)?,
    };
    let begun = scene.life.record.attempt.iter().filter(|attempt| attempt.state != Submission::Prepared);
    check(Rule::SU4, scene.life.record.past.iter().chain(begun).count() < 16)?;
    let name = cx.request_hash(&scene.life.id);
    Ok(Attempt {
        id: ["sub_", &name].concat(),
        key: ["adp_", &name].concat(),
        state,
        adapter_ref_digest: adapter.digest.clone(),
        profile: adapter.profile.record.name.clone(),
        profile_digest: adapter.profile.record.digest.clone(),
        session: adapter.session.clone(),
        hosted: adapter.profile.record.hosted,
        disposition_revision: scene.life.record.revision,
        prepared: cx.now,
        updated: cx.now,
        call: None,
        receipt: None,
        observed: false,
        reconciliation: None,
        late_receipt: None,
        contested: false,
        queries: 0,
        removed: [None, None],
    })
}

fn prepared_view(cx: &mut Context<'_>, scene: &Scene, replay: bool) -> Flow<String> {
    let envelope = scene.message(cx)?.envelope;
    let reference = scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_raw("adapterRef", reference.as_deref().unwrap_or("null"));
    w.member_raw("envelope", &envelope);
    submission(&mut w, scene, current(scene)?, true);
    w.end_object();
    Ok(w.finish())
}

fn current(scene: &Scene) -> Flow<&Attempt> {
    scene.life.record.attempt.as_ref().ok_or_else(|| damaged("attempt"))
}

/// `adapter.beginSubmission`.
pub(crate) fn begin(cx: &mut Context<'_>) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    hints(cx, None);
    let (mut scene, role) = cx.scene_of_submission(id)?;
    scene.receiver_acts(role)?;
    let replayed = cx.replayed()?;
    let attempt = scene.life.record.attempt.as_ref().filter(|attempt| attempt.id == id);
    check(Rule::SU5, attempt.is_some())?;
    if replayed || attempt.is_some_and(|attempt| attempt.state == Submission::OutcomeUnknown) {
        cx.resource = Some((scene.life.id.clone(), scene.life.record.revision));
        return begun_view(cx, &scene, true, false);
    }
    scene.not_busy(cx)?;
    let adapter = adapter(cx, &scene)?;
    let hosted = cross(cx, &mut scene, &adapter)?;
    let view = begun_view(cx, &scene, false, !hosted)?;
    scene.save(cx, false)?;
    Ok(view)
}

/// `adapter.acceptAndBegin`: acknowledge, prepare and begin in one commit, failing as the first failing part would.
pub(crate) fn accept_and_begin(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    hints(cx, Some(name));
    let (scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return accepted_view(cx, &scene, false);
    }
    let was_open = scene.life.record.open();
    let mut scene = acknowledge(cx, scene)?;
    let adapter = adapter(cx, &scene)?;
    ready(cx, &mut scene, &adapter)?;
    let hosted = cross(cx, &mut scene, &adapter)?;
    let scene = scene.save(cx, was_open)?;
    accepted_view(cx, &scene, !hosted)
}

/// The second gate, and the step to `outcome-unknown`. Whether the host performs the call.
fn cross(cx: &mut Context<'_>, scene: &mut Scene, adapter: &Adapter) -> Flow<bool> {
    scene.authorise(cx)?;
    scene.unexpired(cx.now)?;
    let life = &scene.life.record;
    let attempt = current(scene)?;
    let bound = attempt.adapter_ref_digest == adapter.digest && attempt.profile_digest == adapter.profile.record.digest;
    check(Rule::AD3, bound)?;
    let at_prepare = attempt.disposition_revision == life.revision;
    let asked = cx.request.operation == "adapter.acceptAndBegin"
        || cx.params.maybe_int("expectedRevision") == Some(attempt.disposition_revision);
    check(Rule::OP7, at_prepare && asked)?;
    check(Rule::SU3, submittable(life))?;
    let call = call(cx, scene, &adapter.profile.record);
    let hosted = attempt.hosted;
    let message = if hosted { Some(scene.message(cx)?) } else { None };
    if let Some(attempt) = scene.life.record.attempt.as_mut() {
        attempt.apply(SubmissionEvent::Begin, cx.now)?;
        attempt.call = Some(call);
    }
    if let Some(message) = &message {
        let effect = effect(cx, scene, &adapter.profile.record, message)?;
        cx.effects.push(effect);
    }
    let attempt = current(scene)?;
    let told = detail(&[
        ("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes())),
        ("adapterRefDigest", &attempt.adapter_ref_digest),
        ("profileDigest", &attempt.profile_digest),
        ("submissionId", &attempt.id),
    ]);
    scene.record(cx, "adapter-attempt-started", told)?;
    Ok(hosted)
}

fn call(cx: &Context<'_>, scene: &Scene, profile: &Profile) -> Call {
    let fence = i64::try_from(scene.life.record.past.len()).unwrap_or(i64::MAX).saturating_add(1);
    let deadline = cx.now.saturating_add(profile.deadline_ms);
    Call {
        instance: if profile.hosted { cx.request.instance.clone() } else { cx.scope() },
        fence,
        started: cx.now,
        settle_at: deadline.saturating_add(profile.settle_ms),
        lease_until: deadline.saturating_add(limits::ADAPTER_LEASE_MARGIN_MS),
    }
}

/// The one external call: performed at most once, by the process that committed this.
fn effect(cx: &Context<'_>, scene: &Scene, profile: &Profile, message: &Message) -> Flow<Effect> {
    let (life, attempt) = (&scene.life.record, current(scene)?);
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("submissionId", &attempt.id);
    w.member_str("adapterIdempotencyKey", &attempt.key);
    w.member_str("tenant", cx.tenant());
    w.member_str("messageId", &life.message);
    w.member_str("senderIncarnationId", &life.sender.incarnation);
    w.member_str("profile", &attempt.profile);
    w.member_str("profileDigest", &attempt.profile_digest);
    records::put_text(&mut w, "session", attempt.session.as_deref());
    w.member_int("deadlineMs", profile.deadline_ms);
    let started = attempt.call.as_ref().map_or(cx.now, |call| call.started);
    w.member_int("deadlineAt", started.saturating_add(profile.deadline_ms));
    w.member_int("settleAt", attempt.settled_at());
    w.member_int("expectedRevision", life.revision);
    w.member_str("envelopeDigest", &life.digest);
    w.member_raw("envelope", &message.envelope);
    records::put_raw(&mut w, "context", message.context.as_deref());
    w.end_object();
    Ok(Effect { kind: EffectKind::Call, name: "adapter.submit".into(), key: attempt.id.clone(), body: w.finish() })
}

fn begun_view(cx: &mut Context<'_>, scene: &Scene, replay: bool, dispatch: bool) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    submission(&mut w, scene, current(scene)?, true);
    if dispatch {
        put_dispatch(cx, &mut w, scene)?;
    }
    w.end_object();
    Ok(w.finish())
}

fn accepted_view(cx: &mut Context<'_>, scene: &Scene, dispatch: bool) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_raw("disposition", &disposition(&scene.life));
    if let Some(attempt) = &scene.life.record.attempt {
        submission(&mut w, scene, attempt, true);
    }
    if dispatch {
        put_dispatch(cx, &mut w, scene)?;
    }
    w.end_object();
    Ok(w.finish())
}

/// What a receiver that performs the call itself needs for it. Only the first answer carries it.
fn put_dispatch(cx: &mut Context<'_>, w: &mut Writer, scene: &Scene) -> Flow<()> {
    let message = scene.message(cx)?;
    let reference = scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
    let attempt = current(scene)?;
    w.key("dispatch");
    w.begin_object();
    w.member_raw("adapterRef", reference.as_deref().unwrap_or("null"));
    w.member_raw("envelope", &message.envelope);
    records::put_raw(w, "context", message.context.as_deref());
    w.member_str("settleAt", &time::format(attempt.settled_at()));
    w.end_object();
    Ok(())
}
