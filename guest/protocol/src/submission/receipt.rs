//! `adapter.recordReceipt`: a receipt arrives, from whomever, in time or late, once or again.

use crate::Rule;
use crate::digest::sha256_text;
use crate::generated::machines::{Submission, SubmissionEvent};
use crate::json;
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
};
use crate::rules::check;
use crate::submission::{
    attempt::Attempt,
    begin::at_revision,
    holder::{self, Fact, Holder, Kind, Part, Resolution},
    view::answer,
};
use alloc::{boxed::Box, string::String};

/// The holder of the submission in the params, for whoever may say something about it; the intent.
pub(crate) fn open(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<(Box<dyn Holder>, usize)> {
    let (holder, intent) = holder::open(cx, kinds, cx.params.text("submissionId")?, false)?;
    if holder.part() == Part::Onlooker {
        return Err(not_visible());
    }
    holder.reads(cx)?;
    Ok((holder, intent))
}

/// Whether the caller performs this call itself: the host instance that began it, or the performer of an attempt that
/// is not the host's.
pub(crate) fn owns_call(cx: &Context<'_>, attempt: &Attempt, part: Part) -> bool {
    let Some(call) = &attempt.call else { return false };
    match part {
        Part::Host => attempt.hosted && call.instance == cx.request.instance,
        Part::Performer => !attempt.hosted,
        Part::Witness | Part::Onlooker => false,
    }
}

/// Nobody else judges an attempt that may still be under way.
pub(crate) fn settled(cx: &Context<'_>, attempt: &Attempt, part: Part) -> Flow<()> {
    let free =
        attempt.state != Submission::OutcomeUnknown || owns_call(cx, attempt, part) || cx.now >= attempt.settled_at();
    Ok(check(Rule::SU6, free)?)
}

/// `adapter.recordReceipt`.
pub(crate) fn record_receipt(cx: &mut Context<'_>, kinds: &[Kind]) -> Flow<String> {
    let receipt = cx.params.member("receipt")?.raw();
    let (mut holder, intent) = open(cx, kinds)?;
    let replayed = cx.replayed()?;
    receive(cx, &mut *holder, intent, receipt, replayed, true)
}

/// A receipt arrives. `compare` says that the caller names the revision that it knows.
pub(crate) fn receive(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    receipt: &str,
    replayed: bool,
    compare: bool,
) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let Some(attempt) = holder::current(holder, intent).filter(|attempt| attempt.id == id).cloned() else {
        return contradict_past(cx, holder, intent, receipt, replayed);
    };
    // Asked again, a receipt that contradicted is the same contradiction, and ends no quarantine.
    if replayed && attempt.unresolved() {
        return Ok(answer(holder, intent, &attempt, true, attempt.contested));
    }
    match attempt.state {
        Submission::ReceiptRecorded => {
            check(Rule::SU7, attempt.has_receipt(receipt))?;
            cx.resource = Some((holder.row().into(), holder.revision()));
            return Ok(answer(holder, intent, &attempt, true, false));
        }
        Submission::Prepared => check(Rule::SU8, false)?,
        Submission::ConfirmedNotSubmitted => return contradict(cx, holder, intent, receipt, replayed),
        Submission::ManualReconciliation => check(Rule::SU9, holder.establishes(Fact::Quarantined))?,
        Submission::OutcomeUnknown => settled(cx, &attempt, holder.part())?,
    }
    if compare {
        at_revision(cx, holder)?;
    }
    let observed = holder.part() == Part::Host;
    let now = cx.now;
    let attempt = holder::current_mut(holder, intent)?;
    attempt.apply(SubmissionEvent::RecordReceipt, now)?;
    attempt.receipt = Some(receipt.into());
    attempt.observed = observed;
    holder.resolved(intent, Resolution::Submitted { observed })?;
    // The adapter's own text stays out of the audit: its digest stands there.
    let operation = sha256_text(json::parse(receipt)?.root().text("adapterOperationId")?.as_bytes());
    let source = if observed { "observed" } else { "asserted" };
    let told = detail(&[("adapterOperationIdDigest", &operation), ("source", source), ("submissionId", id)]);
    holder.record(cx, "adapter-receipt-recorded", told)?;
    holder.release(cx)?;
    holder.save(cx)?;
    let attempt = holder::current(holder, intent).ok_or_else(|| damaged("attempt"))?;
    Ok(answer(holder, intent, attempt, false, false))
}

/// A receipt after `confirmed-not-submitted`: what was established is contradicted, and the operator has to look.
fn contradict(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    receipt: &str,
    replayed: bool,
) -> Flow<String> {
    let now = cx.now;
    let attempt = holder::current_mut(holder, intent)?;
    if !replayed {
        attempt.apply(SubmissionEvent::Contradict, now)?;
        attempt.keep_late(receipt);
        attempt.contested = true;
    }
    let attempt = attempt.clone();
    if !replayed {
        holder.resolved(intent, Resolution::Contradicted)?;
    }
    contradicted(cx, holder, intent, &attempt, replayed)
}

/// The same for an attempt that a newer one followed: if that one is not open and was not submitted, the old attempt is
/// the current one again; otherwise its receipt is kept, and counts when the newer one turns out not to have happened.
fn contradict_past(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    receipt: &str,
    replayed: bool,
) -> Flow<String> {
    let id = cx.params.text("submissionId")?;
    let attempts = holder.attempts_mut(intent).ok_or_else(|| damaged("intent"))?;
    let place = attempts.past.iter().position(|attempt| attempt.id == id);
    check(Rule::SU5, place.is_some())?;
    let mut attempt = attempts.past.remove(place.ok_or_else(not_visible)?);
    if attempt.has_late_receipt(receipt) || replayed {
        return Ok(answer(holder, intent, &attempt, true, true));
    }
    attempt.keep_late(receipt);
    attempt.contested = true;
    attempts.past.push(attempt.clone());
    if reopen(cx, holder, intent)? {
        holder.resolved(intent, Resolution::Contradicted)?;
    }
    let now = holder::any(holder, intent, id).cloned();
    contradicted(cx, holder, intent, &now.unwrap_or(attempt), false)
}

/// Makes a contested earlier attempt the current one again, quarantined, where the newer one is not open and was not
/// submitted. Otherwise the call would be made a second time although a receipt says that it happened.
pub(crate) fn reopen(cx: &Context<'_>, holder: &mut dyn Holder, intent: usize) -> Flow<bool> {
    let attempts = holder.attempts_mut(intent).ok_or_else(|| damaged("intent"))?;
    let ended = [Submission::Prepared, Submission::ConfirmedNotSubmitted];
    let over = attempts.current.as_ref().is_none_or(|newer| ended.contains(&newer.state));
    let Some(place) = attempts.past.iter().position(|attempt| over && attempt.contested) else { return Ok(false) };
    let mut attempt = attempts.past.remove(place);
    attempt.apply(SubmissionEvent::Contradict, cx.now)?;
    let newer = attempts.current.replace(attempt).filter(|newer| newer.state != Submission::Prepared);
    attempts.past.extend(newer);
    Ok(true)
}

fn contradicted(
    cx: &mut Context<'_>,
    holder: &mut dyn Holder,
    intent: usize,
    attempt: &Attempt,
    replayed: bool,
) -> Flow<String> {
    if !replayed {
        let receipt = sha256_text(attempt.late_receipt.as_deref().unwrap_or("").as_bytes());
        let told = detail(&[("receiptDigest", &receipt), ("submissionId", &attempt.id)]);
        holder.record(cx, "adapter-receipt-contradicts", told)?;
        holder.save(cx)?;
    }
    Ok(answer(holder, intent, attempt, replayed, true))
}
