//! The way to the one external call: an attempt is prepared, and begun by the commit that moves it to `outcome-unknown`.
//!
//! The guards are asked twice: when the attempt is prepared, and again when it is begun. Only that commit returns the
//! effect, and only to the process that committed it.

use crate::Rule;
use crate::authority::profile::Profile;
use crate::digest::sha256_text;
use crate::generated::limits;
use crate::generated::machines::{Submission, SubmissionEvent};
use crate::json::Writer;
use crate::kernel::{
    Effect, EffectKind,
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    guard::Moment,
    records,
};
use crate::rules::check;
use crate::submission::{
    attempt::{Attempt, Call},
    holder::{self, Holder, Kind, Payload, Target},
    view,
};
use alloc::string::String;

/// Passes the guards and has a prepared attempt stand in the holder. `true` where the one that stands serves. `named` says
/// that the caller names the revision that it knows.
pub(crate) fn prepare(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    target: &Target,
    named: bool,
) -> Flow<bool> {
    holder.guard(cx, Moment::Prepare)?;
    if named {
        at_revision(cx, holder)?;
    }
    check(Rule::SU3, holder.submittable(intent))?;
    let revision = holder.revision();
    let same = |attempt: &Attempt| {
        attempt.state == Submission::Prepared
            && attempt.disposition_revision == revision
            && attempt.adapter_ref_digest == target.digest
            && attempt.profile_digest == target.profile.record.digest
    };
    if holder::current(holder, intent).is_some_and(same) {
        return Ok(true);
    }
    let attempt = attempt(cx, holder, intent, target)?;
    let told = detail(&[
        ("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes())),
        ("adapterRefDigest", &attempt.adapter_ref_digest),
        ("envelopeDigest", holder.payload_name(intent).1),
        ("submissionId", &attempt.id),
    ]);
    let attempts = holder.attempts_mut(intent).ok_or_else(|| damaged("intent"))?;
    if let Some(old) = attempts.current.take().filter(|old| old.state != Submission::Prepared) {
        attempts.past.push(old);
    }
    *attempts.current = Some(attempt);
    holder.record(cx, "adapter-submission-prepared", told)?;
    Ok(false)
}

/// The caller knows the record as it is.
pub(crate) fn at_revision(cx: &Context<'_>, holder: &dyn Holder) -> Flow<()> {
    let expected = cx.params.get("expectedRevision").and_then(|value| value.as_int());
    Ok(check(Rule::OP7, expected == Some(holder.revision()))?)
}

/// A new prepared attempt, with identifiers that no earlier attempt had.
fn attempt(cx: &Context<'_>, holder: &dyn Holder, intent: usize, target: &Target) -> Flow<Attempt> {
    let attempts = holder.attempts(intent).ok_or_else(|| damaged("intent"))?;
    let state = match attempts.current {
        None => Submission::INITIAL,
        Some(old) => old.state.apply(SubmissionEvent::Replace)?,
    };
    let begun = attempts.current.into_iter().filter(|attempt| attempt.state != Submission::Prepared);
    check(Rule::SU4, attempts.past.iter().chain(begun).count() < 16)?;
    let name = cx.request_hash(&holder.purpose(intent));
    let profile = &target.profile.record;
    Ok(Attempt {
        id: ["sub_", &name].concat(),
        key: ["adp_", &name].concat(),
        state,
        adapter_ref_digest: target.digest.clone(),
        profile: profile.name.clone(),
        profile_digest: profile.digest.clone(),
        session: target.session.clone(),
        hosted: profile.hosted,
        disposition_revision: holder.revision(),
        prepared: cx.now,
        updated: cx.now,
        call: None,
        receipt: None,
        observed: false,
        reconciliation: None,
        late_receipt: None,
        contested: false,
        queries: 0,
        receipt_digest: None,
        late_receipt_digest: None,
    })
}

/// `adapter.beginSubmission`.
pub(crate) fn begin(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    cx.hint(&Profile::find_all(cx.tenant()));
    let (mut holder, intent) = holder::open(cx, kinds, id, true)?;
    holder.begins(cx)?;
    let replayed = cx.replayed()?;
    let attempt = holder::current(&*holder, intent).filter(|attempt| attempt.id == id);
    check(Rule::SU5, attempt.is_some())?;
    if replayed || attempt.is_some_and(|attempt| attempt.state == Submission::OutcomeUnknown) {
        cx.resource = Some((holder.row().into(), holder.revision()));
        return view::begun(cx, &*holder, intent, true, false);
    }
    let target = holder.target(cx, intent)?;
    let hosted = cross(cx, &mut *holder, intent, &target, true)?;
    let view = view::begun(cx, &*holder, intent, false, !hosted)?;
    holder.save(cx)?;
    Ok(view)
}

/// The second time at the guards, and the step to `outcome-unknown`. Whether the host performs the call. `named` as in
/// [`prepare`].
pub(crate) fn cross(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    target: &Target,
    named: bool,
) -> Flow<bool> {
    holder.guard(cx, Moment::Begin)?;
    let profile = &target.profile.record;
    let attempt = holder::current(holder, intent).ok_or_else(|| damaged("attempt"))?;
    let bound = attempt.adapter_ref_digest == target.digest && attempt.profile_digest == profile.digest;
    check(Rule::AD3, bound)?;
    let at_prepare = attempt.disposition_revision == holder.revision();
    let asked = !named || cx.params.maybe_int("expectedRevision") == Some(attempt.disposition_revision);
    check(Rule::OP7, at_prepare && asked)?;
    check(Rule::SU3, holder.submittable(intent))?;
    let hosted = attempt.hosted;
    let past = holder.attempts(intent).map_or(0, |attempts| attempts.past.len());
    let call = call(cx, past, profile);
    let payload = if hosted { Some(holder.payload(cx, intent)?) } else { None };
    let now = cx.now;
    let attempt = holder::current_mut(holder, intent)?;
    attempt.apply(SubmissionEvent::Begin, now)?;
    attempt.call = Some(call);
    if let Some(payload) = payload {
        let effect = effect(cx, holder, intent, profile, &payload)?;
        cx.effects.push(effect);
    }
    let attempt = holder::current(holder, intent).ok_or_else(|| damaged("attempt"))?;
    let told = detail(&[
        ("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes())),
        ("adapterRefDigest", &attempt.adapter_ref_digest),
        ("profileDigest", &attempt.profile_digest),
        ("submissionId", &attempt.id),
    ]);
    holder.record(cx, "adapter-attempt-started", told)?;
    Ok(hosted)
}

fn call(cx: &Context<'_>, past: usize, profile: &Profile) -> Call {
    let fence = i64::try_from(past).unwrap_or(i64::MAX).saturating_add(1);
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
fn effect(cx: &Context<'_>, holder: &dyn Holder, intent: usize, profile: &Profile, payload: &Payload) -> Flow<Effect> {
    let attempt = holder::current(holder, intent).ok_or_else(|| damaged("attempt"))?;
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("submissionId", &attempt.id);
    w.member_str("adapterIdempotencyKey", &attempt.key);
    records::put_text(&mut w, "scope", holder.scope(intent).as_deref());
    w.member_str("tenant", cx.tenant());
    holder.put_name(&mut w, intent);
    w.member_str("profile", &attempt.profile);
    w.member_str("profileDigest", &attempt.profile_digest);
    records::put_text(&mut w, "session", attempt.session.as_deref());
    w.member_int("deadlineMs", profile.deadline_ms);
    let started = attempt.call.as_ref().map_or(cx.now, |call| call.started);
    w.member_int("deadlineAt", started.saturating_add(profile.deadline_ms));
    w.member_int("settleAt", attempt.settled_at());
    w.member_int("expectedRevision", holder.revision());
    holder.put_payload(&mut w, payload);
    w.end_object();
    Ok(Effect { kind: EffectKind::Call, name: "adapter.submit".into(), key: attempt.id.clone(), body: w.finish() })
}
