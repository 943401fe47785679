//! What becomes of an attempt: receipts, reconciliation, queries, and looking at it.
//!
//! While an attempt is unknown nothing relabels the message; what waited is applied here, by the transaction that
//! resolves it. Who may establish which fact is tabled in `spec/operations.md`.

use crate::authority::profile;
use crate::delivery::{
    life::Life,
    mailbox::disposition,
    scene::{Role, Scene, not_visible},
};
use crate::digest::sha256_text;
use crate::generated::limits;
use crate::generated::machines::{DecisionEvent, DeliveryEvent, OutcomeEvent, Submission, SubmissionEvent};
use crate::json::{self, Value, Writer};
use crate::kernel::{
    Answer, PrincipalKind,
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys, records,
};
use crate::rules::check;
use crate::submission::attempt::Attempt;
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// Writes the member `submission` in the wire form. Only whoever may perform the call sees its key.
pub(crate) fn submission(w: &mut Writer, scene: &Scene, attempt: &Attempt, key: bool) {
    let life = &scene.life.record;
    w.key("submission");
    w.begin_object();
    w.member_str("specVersion", "0.0-draft");
    w.member_str("submissionId", &attempt.id);
    w.member_str("messageId", &life.message);
    w.member_str("senderIncarnationId", &life.sender.incarnation);
    life.receiver.put_ref(w, "receiver");
    w.member_str("envelopeDigest", &life.digest);
    w.member_str("adapterRefDigest", &attempt.adapter_ref_digest);
    if key {
        w.member_str("adapterIdempotencyKey", &attempt.key);
    } else {
        w.member_str("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes()));
    }
    w.member_int("expectedDispositionRevision", attempt.disposition_revision);
    w.member_str("state", attempt.state.name());
    w.member_str("preparedAt", &time::format(attempt.prepared));
    w.member_str("updatedAt", &time::format(attempt.updated));
    records::put_text(w, "attemptStartedAt", attempt.call.as_ref().map(|call| time::format(call.started)).as_deref());
    records::put_raw(w, "receipt", attempt.receipt.as_deref());
    records::put_raw(w, "reconciliation", attempt.reconciliation.as_deref());
    w.end_object();
}

fn answer(scene: &Scene, attempt: &Attempt, replay: bool, contradiction: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    submission(&mut w, scene, attempt, true);
    w.member_raw("disposition", &disposition(&scene.life));
    if contradiction {
        w.member_bool("contradiction", true);
    }
    w.end_object();
    w.finish()
}

/// The message of the submission in the params; senders look, and no more.
fn open(cx: &mut Context<'_>) -> Flow<(Scene, Role)> {
    let (scene, role) = cx.scene_of_submission(cx.params.text("submissionId")?)?;
    match role {
        Role::Sender | Role::SenderOwner => Err(not_visible()),
        _ => scene.reads(cx, role).map(|()| (scene, role)),
    }
}

/// Whether the caller performs this call itself: the host instance that began it, or the receiver of an attempt that
/// is not the host's.
fn owns_call(cx: &Context<'_>, attempt: &Attempt, role: Role) -> bool {
    let Some(call) = &attempt.call else { return false };
    match role {
        Role::Host => attempt.hosted && call.instance == cx.request.instance,
        Role::Receiver => !attempt.hosted,
        _ => false,
    }
}

/// Nobody else judges an attempt that may still be under way.
fn settled(cx: &Context<'_>, attempt: &Attempt, role: Role) -> Flow<()> {
    let free =
        attempt.state != Submission::OutcomeUnknown || owns_call(cx, attempt, role) || cx.now >= attempt.settled_at();
    Ok(check(Rule::SU6, free)?)
}

/// `adapter.recordReceipt`.
pub(crate) fn record_receipt(cx: &mut Context<'_>) -> Flow<String> {
    let receipt = cx.params.member("receipt")?.raw();
    let (scene, role) = open(cx)?;
    let replayed = cx.replayed()?;
    receive(cx, scene, role, receipt, replayed, true)
}

/// A receipt arrives, from whomever.
fn receive(
    cx: &mut Context<'_>,
    mut scene: Scene,
    role: Role,
    receipt: &str,
    replayed: bool,
    compare: bool,
) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    if scene.life.record.attempt.as_ref().is_none_or(|attempt| attempt.id != id) {
        return contradict_past(cx, scene, id, receipt, replayed);
    }
    let attempt = current(&mut scene)?.clone();
    // Asked again, a receipt that contradicted is the same contradiction, and ends no quarantine.
    if replayed && attempt.unresolved() {
        return Ok(answer(&scene, &attempt, true, attempt.contested));
    }
    match attempt.state {
        Submission::ReceiptRecorded => {
            check(Rule::SU7, attempt.has_receipt(receipt))?;
            cx.resource = Some((scene.life.id.clone(), scene.life.record.revision));
            return Ok(answer(&scene, &attempt, true, false));
        }
        Submission::Prepared => check(Rule::SU8, false)?,
        Submission::ConfirmedNotSubmitted => return contradict(cx, scene, receipt, replayed),
        Submission::ManualReconciliation => check(Rule::SU9, role == Role::Operator)?,
        Submission::OutcomeUnknown => settled(cx, &attempt, role)?,
    }
    if compare {
        scene.at_revision(cx)?;
    }
    let observed = role == Role::Host;
    let now = cx.now;
    let attempt = current(&mut scene)?;
    attempt.apply(SubmissionEvent::RecordReceipt, now)?;
    attempt.receipt = Some(receipt.into());
    attempt.observed = observed;
    let life = &mut scene.life.record;
    life.delivery = life.delivery.apply(DeliveryEvent::Submit)?;
    // That a harness took an interrupt says nothing about what it stopped: its interruption result does.
    if observed && life.intent != "interrupt" {
        life.outcome = life.outcome.apply(OutcomeEvent::Observe)?;
    }
    life.revision = life.revision.saturating_add(1);
    // The adapter's own text stays out of the audit: its digest stands there.
    let operation = sha256_text(json::parse(receipt)?.root().text("adapterOperationId")?.as_bytes());
    let source = if observed { "observed" } else { "asserted" };
    let told = detail(&[("adapterOperationIdDigest", &operation), ("source", source), ("submissionId", id)]);
    scene.record(cx, "adapter-receipt-recorded", told)?;
    relabel(cx, &mut scene)?;
    let scene = scene.save(cx, false)?;
    let attempt = scene.life.record.attempt.clone().ok_or_else(|| damaged("attempt"))?;
    Ok(answer(&scene, &attempt, false, false))
}

fn current(scene: &mut Scene) -> Flow<&mut Attempt> {
    scene.life.record.attempt.as_mut().ok_or_else(|| damaged("attempt"))
}

/// A receipt after `confirmed-not-submitted`: what was established is contradicted, and the operator has to look.
fn contradict(cx: &mut Context<'_>, mut scene: Scene, receipt: &str, replayed: bool) -> Flow<String> {
    let now = cx.now;
    let attempt = current(&mut scene)?;
    if !replayed {
        attempt.apply(SubmissionEvent::Contradict, now)?;
        attempt.keep_late(receipt);
        attempt.contested = true;
    }
    let attempt = attempt.clone();
    contradicted(cx, scene, &attempt, replayed)
}

/// The same for an attempt that a newer one followed: if that one is not open and was not submitted, the old attempt is
/// the current one again; otherwise its receipt is kept, and counts when the newer one turns out not to have happened.
fn contradict_past(cx: &mut Context<'_>, mut scene: Scene, id: &str, receipt: &str, replayed: bool) -> Flow<String> {
    let life = &mut scene.life.record;
    let place = life.past.iter().position(|attempt| attempt.id == id);
    check(Rule::SU5, place.is_some())?;
    let mut attempt = life.past.remove(place.ok_or_else(not_visible)?);
    if attempt.has_late_receipt(receipt) || replayed {
        return Ok(answer(&scene, &attempt, true, true));
    }
    attempt.keep_late(receipt);
    attempt.contested = true;
    life.past.push(attempt.clone());
    reopen(cx, life)?;
    let now = life.attempt.iter().chain(&life.past).find(|known| known.id == id).cloned();
    contradicted(cx, scene, &now.unwrap_or(attempt), false)
}

/// Makes a contested earlier attempt the current one again, quarantined, where the newer one is not open and was not
/// submitted. Otherwise the call would be made a second time although a receipt says that it happened.
fn reopen(cx: &Context<'_>, life: &mut Life) -> Flow<bool> {
    let ended = [Submission::Prepared, Submission::ConfirmedNotSubmitted];
    let over = life.attempt.as_ref().is_none_or(|newer| ended.contains(&newer.state));
    let Some(place) = life.past.iter().position(|attempt| over && attempt.contested) else { return Ok(false) };
    let mut attempt = life.past.remove(place);
    attempt.apply(SubmissionEvent::Contradict, cx.now)?;
    let newer = life.attempt.replace(attempt).filter(|newer| newer.state != Submission::Prepared);
    life.past.extend(newer);
    Ok(true)
}

fn contradicted(cx: &mut Context<'_>, mut scene: Scene, attempt: &Attempt, replayed: bool) -> Flow<String> {
    if !replayed {
        let receipt = sha256_text(attempt.late_receipt.as_deref().unwrap_or("").as_bytes());
        let told = detail(&[("receiptDigest", &receipt), ("submissionId", &attempt.id)]);
        scene.record(cx, "adapter-receipt-contradicts", told)?;
        scene = scene.save(cx, false)?;
    }
    Ok(answer(&scene, attempt, replayed, true))
}

/// Applies what waited while the attempt was unknown or an admission was in flight, once neither is.
pub(crate) fn relabel(cx: &mut Context<'_>, scene: &mut Scene) -> Flow<()> {
    let life = &mut scene.life.record;
    if life.unresolved() {
        return Ok(());
    }
    // Only a revocation waits.
    if life.pending_relabel.take().is_some_and(|_| life.decision.step(DecisionEvent::Revoke).is_some()) {
        life.decision = life.decision.apply(DecisionEvent::Revoke)?;
        life.reason = Some("revoked".into());
        life.revision = life.revision.saturating_add(1);
        scene.record(cx, "authorization-revoked", String::new())?;
    }
    Ok(())
}

/// `adapter.reconcileSubmission`.
pub(crate) fn reconcile(cx: &mut Context<'_>) -> Flow<String> {
    let reconciliation = cx.params.member("reconciliation")?;
    let resolution = reconciliation.text("resolution")?;
    let evidence = reconciliation.get("evidenceRefs").is_some_and(|refs| !refs.is_empty());
    check(Rule::SU10, evidence)?;
    let receipt = reconciliation.get("receipt");
    check(Rule::SU11, receipt.is_some() == (resolution == "confirmed-submitted"))?;
    let (scene, role) = open(cx)?;
    let replayed = cx.replayed()?;
    if let Some(receipt) = receipt {
        let receipt = receipt_with_evidence(receipt, reconciliation)?;
        return receive(cx, scene, role, &receipt, replayed, true);
    }
    if replayed {
        return seen(&scene, cx.params.text("submissionId")?);
    }
    let event = match resolution {
        "confirmed-not-submitted" => SubmissionEvent::ConfirmAbsent,
        _ => SubmissionEvent::Quarantine,
    };
    check(Rule::SU12, event != SubmissionEvent::ConfirmAbsent || role == Role::Operator)?;
    scene.at_revision(cx)?;
    resolve(cx, scene, role, event, resolution, reconciliation.member("evidenceRefs")?)
}

/// A receipt without evidence takes that of the reconciliation.
fn receipt_with_evidence(receipt: Value<'_>, reconciliation: Value<'_>) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in receipt.members() {
        w.member_raw(name, value.raw());
    }
    if receipt.get("evidenceRefs").is_none() {
        w.member_raw("evidenceRefs", reconciliation.member("evidenceRefs")?.raw());
    }
    w.end_object();
    Ok(w.finish())
}

/// Resolves or quarantines the current attempt without a receipt.
fn resolve(
    cx: &mut Context<'_>,
    mut scene: Scene,
    role: Role,
    event: SubmissionEvent,
    resolution: &str,
    evidence: Value<'_>,
) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let attempt = current(&mut scene)?.clone();
    check(Rule::SU5, attempt.id == id)?;
    check(Rule::SU13, attempt.state.step(event).is_some())?;
    check(Rule::SU9, attempt.state != Submission::ManualReconciliation || role == Role::Operator)?;
    settled(cx, &attempt, role)?;
    let text = reconciliation_text(cx, resolution, evidence);
    let now = cx.now;
    let attempt = current(&mut scene)?;
    attempt.apply(event, now)?;
    attempt.reconciliation = Some(text);
    attempt.contested = false;
    let told = detail(&[("evidenceDigest", &evidence.digest()), ("resolution", resolution), ("submissionId", id)]);
    scene.record(cx, "adapter-submission-reconciled", told)?;
    if event == SubmissionEvent::ConfirmAbsent && !reopen(cx, &mut scene.life.record)? {
        relabel(cx, &mut scene)?;
    }
    let scene = scene.save(cx, false)?;
    seen(&scene, id)
}

fn reconciliation_text(cx: &Context<'_>, resolution: &str, evidence: Value<'_>) -> String {
    let principal = cx.principal;
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("resolution", resolution);
    w.member_str("reconciledAt", &time::format(cx.now));
    w.key("reconciledBy");
    w.begin_object();
    let actor = match principal.kind {
        PrincipalKind::Task => "agent",
        PrincipalKind::User => "user",
        PrincipalKind::Policy => "policy",
        PrincipalKind::Operator | PrincipalKind::Host => "service",
    };
    w.member_str("actorType", actor);
    w.member_str("actorId", &principal.id);
    if let Some(incarnation) = &principal.incarnation {
        w.key("task");
        w.begin_object();
        w.member_str("taskId", &principal.id);
        w.member_str("incarnationId", incarnation);
        w.end_object();
    }
    w.end_object();
    w.member_raw("evidenceRefs", evidence.raw());
    w.end_object();
    w.finish()
}

/// The answer for one submission of the message.
fn seen(scene: &Scene, id: &str) -> Flow<String> {
    let life = &scene.life.record;
    let attempt = life.attempt.iter().chain(&life.past).find(|attempt| attempt.id == id).ok_or_else(not_visible)?;
    Ok(answer(scene, attempt, false, false))
}

/// `adapter.recordQuery`: what an adapter answered about an attempt, as the host observed it.
pub(crate) fn record_query(cx: &mut Context<'_>) -> Flow<String> {
    let (mut scene, role) = open(cx)?;
    let id = cx.params.text("submissionId")?;
    if cx.replayed()? {
        return seen(&scene, id);
    }
    let receipt = cx.params.get("receipt");
    check(Rule::SU11, receipt.is_some() == (cx.params.text("result")? == "found"))?;
    if let Some(receipt) = receipt {
        return receive(cx, scene, role, receipt.raw(), false, false);
    }
    let evidence = cx.params.member("evidenceRefs")?;
    let attempt = current(&mut scene)?.clone();
    check(Rule::SU5, attempt.id == id)?;
    let (event, resolution) = match cx.params.text("result")? {
        "not-submitted" => {
            check(Rule::SU12, owns_call(cx, &attempt, role))?;
            (SubmissionEvent::ConfirmAbsent, "confirmed-not-submitted")
        }
        "absent-final" => {
            check(Rule::SU12, declared_final(cx, &attempt)?)?;
            check(Rule::SU6, cx.now >= attempt.settled_at())?;
            (SubmissionEvent::ConfirmAbsent, "confirmed-not-submitted")
        }
        "unanswerable" => (SubmissionEvent::Quarantine, "manual-required"),
        _ => return count_query(cx, scene, role),
    };
    check(Rule::SU9, attempt.state != Submission::ManualReconciliation)?;
    resolve(cx, scene, role, event, resolution, evidence)
}

/// Whether the operator declared that this profile's absences are final.
fn declared_final(cx: &mut Context<'_>, attempt: &Attempt) -> Flow<bool> {
    let row = cx.lookup(profile::COLLECTION, &keys::key(&[cx.tenant(), &attempt.profile]))?;
    let profile = row.map(profile::Profile::read).transpose()?;
    Ok(profile.is_some_and(|row| row.record.absent_final && row.record.digest == attempt.profile_digest))
}

/// Absent for now says nothing: the attempt stays unknown.
fn count_query(cx: &mut Context<'_>, mut scene: Scene, role: Role) -> Flow<String> {
    let attempt = current(&mut scene)?.clone();
    check(Rule::SU13, attempt.state == Submission::OutcomeUnknown)?;
    settled(cx, &attempt, role)?;
    let attempt = current(&mut scene)?;
    attempt.queries = attempt.queries.saturating_add(1);
    let id = attempt.id.clone();
    scene.record(cx, "adapter-queried", detail(&[("result", "absent-now"), ("submissionId", &id)]))?;
    let scene = scene.save(cx, false)?;
    seen(&scene, &id)
}

/// `adapter.listUnresolved`: attempts that may be judged by now.
pub(crate) fn list_unresolved(cx: &mut Context<'_>) -> Flow<String> {
    let limit = cx.params.maybe_int("limit").unwrap_or(limits::PAGE_MAX).clamp(1, limits::PAGE_MAX);
    let most = u32::try_from(limit).unwrap_or(1);
    let page = Life::find_unresolved(cx.tenant(), cx.params.maybe_text("cursor").as_deref(), most);
    let Answer { rows, more, .. } = cx.page(&page)?;
    let next = rows.last().filter(|_| *more).map(|row| row.key.as_str());
    let lives = rows.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in &lives {
        if let Some(attempt) = &row.record.attempt {
            unresolved_item(&mut w, cx.tenant(), &row.record, attempt);
        }
    }
    w.end_array();
    w.key("nextCursor");
    match next {
        Some(next) => w.string(next),
        None => w.null(),
    }
    w.end_object();
    Ok(w.finish())
}

fn unresolved_item(w: &mut Writer, tenant: &str, life: &Life, attempt: &Attempt) {
    w.begin_object();
    w.member_str("submissionId", &attempt.id);
    w.member_str("adapterIdempotencyKey", &attempt.key);
    w.member_str("tenant", tenant);
    w.member_str("profile", &attempt.profile);
    w.member_str("profileDigest", &attempt.profile_digest);
    records::put_text(w, "session", attempt.session.as_deref());
    w.member_bool("hosted", attempt.hosted);
    if let Some(call) = &attempt.call {
        w.member_int("settleAt", call.settle_at);
        w.member_int("leaseUntil", call.lease_until);
        w.member_str("instance", &call.instance);
        w.member_int("fence", call.fence);
    }
    w.member_int("queries", attempt.queries);
    w.member_int("expectedRevision", life.revision);
    w.member_str("envelopeDigest", &life.digest);
    w.member_str("messageId", &life.message);
    w.member_str("senderIncarnationId", &life.sender.incarnation);
    w.end_object();
}

/// `adapter.getSubmission`: for both ends; the sender sees the key's digest only.
pub(crate) fn get_submission(cx: &mut Context<'_>) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let (scene, role) = cx.scene_of_submission(id)?;
    scene.reads(cx, role)?;
    let life = &scene.life.record;
    let attempt = life.attempt.iter().chain(&life.past).find(|attempt| attempt.id == id).ok_or_else(not_visible)?;
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", false);
    submission(&mut w, &scene, attempt, !matches!(role, Role::Sender | Role::SenderOwner));
    w.end_object();
    Ok(w.finish())
}
