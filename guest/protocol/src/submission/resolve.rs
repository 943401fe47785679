//! What becomes of an attempt without a receipt: reconciliation, and what an adapter answers that was asked.
//!
//! While an attempt is unknown nothing relabels what it is about; what waited is applied by the transaction that resolves
//! it. Who may establish which fact is tabled in `spec/operations.md`.

use crate::authority::profile;
use crate::generated::machines::{Submission, SubmissionEvent};
use crate::json::{Value, Writer};
use crate::kernel::{
    PrincipalKind,
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    keys,
};
use crate::rules::check;
use crate::submission::{
    attempt::Attempt,
    begin::at_revision,
    holder::{self, Fact, Holder, Kind, Resolution},
    receipt::{open, owns_call, receive, reopen, settled},
    view,
};
use crate::{Rule, time};
use alloc::string::String;

/// `adapter.reconcileSubmission`.
pub(crate) fn reconcile(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let reconciliation = cx.params.member("reconciliation")?;
    let resolution = reconciliation.text("resolution")?;
    let evidence = reconciliation.get("evidenceRefs").is_some_and(|refs| !refs.is_empty());
    check(Rule::SU10, evidence)?;
    let receipt = reconciliation.get("receipt");
    check(Rule::SU11, receipt.is_some() == (resolution == "confirmed-submitted"))?;
    let (mut holder, intent) = open(cx, kinds)?;
    let replayed = cx.replayed()?;
    if let Some(receipt) = receipt {
        let receipt = receipt_with_evidence(receipt, reconciliation)?;
        return receive(cx, &mut *holder, intent, &receipt, replayed, true);
    }
    if replayed {
        return seen(&*holder, intent, cx.params.text("submissionId")?);
    }
    let event = match resolution {
        "confirmed-not-submitted" => SubmissionEvent::ConfirmAbsent,
        _ => SubmissionEvent::Quarantine,
    };
    check(Rule::SU12, event != SubmissionEvent::ConfirmAbsent || holder.establishes(Fact::Absent))?;
    at_revision(cx, &*holder)?;
    resolve(cx, &mut *holder, intent, event, resolution, reconciliation.member("evidenceRefs")?)
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
    holder: &mut dyn Holder,
    intent: usize,
    event: SubmissionEvent,
    resolution: &str,
    evidence: Value<'_>,
) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let attempt = current(holder, intent)?.clone();
    check(Rule::SU5, attempt.id == id)?;
    check(Rule::SU13, attempt.state.step(event).is_some())?;
    check(Rule::SU9, attempt.state != Submission::ManualReconciliation || holder.establishes(Fact::Quarantined))?;
    settled(cx, &attempt, holder.part())?;
    let text = reconciliation_text(cx, resolution, evidence);
    let now = cx.now;
    let attempt = holder::current_mut(holder, intent)?;
    attempt.apply(event, now)?;
    attempt.reconciliation = Some(text);
    attempt.contested = false;
    let told = detail(&[("evidenceDigest", &evidence.digest()), ("resolution", resolution), ("submissionId", id)]);
    let absent = event == SubmissionEvent::ConfirmAbsent;
    holder.resolved(intent, if absent { Resolution::Absent } else { Resolution::Quarantined })?;
    holder.record(cx, "adapter-submission-reconciled", told)?;
    if absent {
        if reopen(cx, holder, intent)? {
            holder.resolved(intent, Resolution::Contradicted)?;
        } else {
            holder.release(cx)?;
        }
    }
    holder.save(cx)?;
    seen(holder, intent, id)
}

fn current(holder: &dyn Holder, intent: usize) -> Flow<&Attempt> {
    holder::current(holder, intent).ok_or_else(|| damaged("attempt"))
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

/// The answer for one submission of the intent.
fn seen(holder: &dyn Holder, intent: usize, id: &str) -> Flow<String> {
    let attempt = holder::any(holder, intent, id).ok_or_else(not_visible)?;
    Ok(view::answer(holder, intent, attempt, false, false))
}

/// `adapter.recordQuery`: what an adapter answered about an attempt, as the host observed it.
pub(crate) fn record_query(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let (mut holder, intent) = open(cx, kinds)?;
    let id = cx.params.text("submissionId")?;
    if cx.replayed()? {
        return seen(&*holder, intent, id);
    }
    let receipt = cx.params.get("receipt");
    check(Rule::SU11, receipt.is_some() == (cx.params.text("result")? == "found"))?;
    if let Some(receipt) = receipt {
        return receive(cx, &mut *holder, intent, receipt.raw(), false, false);
    }
    let evidence = cx.params.member("evidenceRefs")?;
    let attempt = current(&*holder, intent)?.clone();
    check(Rule::SU5, attempt.id == id)?;
    let (event, resolution) = match cx.params.text("result")? {
        "not-submitted" => {
            check(Rule::SU12, owns_call(cx, &attempt, holder.part()))?;
            (SubmissionEvent::ConfirmAbsent, "confirmed-not-submitted")
        }
        "absent-final" => {
            check(Rule::SU12, declared_final(cx, &attempt)?)?;
            check(Rule::SU6, cx.now >= attempt.settled_at())?;
            (SubmissionEvent::ConfirmAbsent, "confirmed-not-submitted")
        }
        "unanswerable" => (SubmissionEvent::Quarantine, "manual-required"),
        _ => return count_query(cx, &mut *holder, intent),
    };
    check(Rule::SU9, attempt.state != Submission::ManualReconciliation)?;
    resolve(cx, &mut *holder, intent, event, resolution, evidence)
}

/// Whether the operator declared that this profile's absences are final.
fn declared_final(cx: &mut Context<'_>, attempt: &Attempt) -> Flow<bool> {
    let row = cx.lookup(profile::COLLECTION, &keys::key(&[cx.tenant(), &attempt.profile]))?;
    let profile = row.map(profile::Profile::read).transpose()?;
    Ok(profile.is_some_and(|row| row.record.absent_final && row.record.digest == attempt.profile_digest))
}

/// Absent for now says nothing: the attempt stays unknown.
fn count_query(cx: &mut Context<'_>, holder: &mut dyn Holder, intent: usize) -> Flow<String> {
    let attempt = current(holder, intent)?.clone();
    check(Rule::SU13, attempt.state == Submission::OutcomeUnknown)?;
    settled(cx, &attempt, holder.part())?;
    let attempt = holder::current_mut(holder, intent)?;
    attempt.queries = attempt.queries.saturating_add(1);
    let id = attempt.id.clone();
    holder.record(cx, "adapter-queried", detail(&[("result", "absent-now"), ("submissionId", &id)]))?;
    holder.save(cx)?;
    seen(holder, intent, &id)
}
