//! One call: what must hold before it, the call itself, and what is recorded after it.
//!
//! Everything after `begin` folds into a record or into silence, never into an error: the record already says
//! outcome-unknown, so silence is the truth when nobody knows (delivery.md rule 3).

use super::{
    CallEffect, Core, Refused, lock,
    pool::Job,
    record::Record,
    resume::{Named, holder},
};
use crate::adapter::{ENVELOPE, Outcome, Payload, Profile, Reason, Receipt, Submission};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// The body of an `adapter.submit` effect. Members that a later core may add are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    submission_id: String,
    adapter_idempotency_key: String,
    /// Absent where it is the key.
    scope: Option<String>,
    /// Of a message.
    message_id: Option<String>,
    /// Of a message.
    sender_incarnation_id: Option<String>,
    /// Of anything else.
    holder: Option<Named>,
    profile: String,
    profile_digest: String,
    session: Option<String>,
    deadline_ms: f64,
    settle_at: f64,
    /// The call's own deadline; where it is missing it follows from `settleAt`.
    deadline_at: Option<f64>,
    expected_revision: u32,
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    envelope_digest: Option<String>,
    payload: Option<Handed>,
    tenant: String,
    #[serde(default)]
    context: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Handed {
    kind: String,
    text: String,
    digest: String,
}

impl Body<'_> {
    /// What is handed over: the envelope of a message, or whatever the holder says; nothing where there is neither.
    fn handed(&mut self) -> Option<Payload> {
        if let Some(Handed { kind, text, digest }) = self.payload.take() {
            return Some(Payload { kind, text, digest });
        }
        let (envelope, digest) = self.envelope.zip(self.envelope_digest.take())?;
        Some(Payload { kind: ENVELOPE.into(), text: envelope.get().to_owned(), digest })
    }
}

/// A call on its way to an adapter. Not `Clone`.
pub(super) struct Order {
    call: Submission,
    profile_digest: String,
    expected_revision: u32,
    /// By the monotonic clock, from when the effect came.
    deadline: Instant,
    /// By the wall clock. Covers a machine that slept.
    deadline_ms: u64,
    overrun: Duration,
}

impl Job for Order {
    fn key(&self) -> &str {
        &self.call.submission_id
    }
    fn allowance(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now) + self.overrun
    }
}

impl Core {
    /// Reads an effect. One that cannot be read is not performed and not settled: whoever made it may have meant something
    /// that this host does not know, so the attempt stays unknown and is asked about.
    pub(super) fn order(&self, effect: CallEffect) -> Option<Order> {
        let read = serde_json::from_str::<Body>(&effect.body).map_err(|error| error.to_string());
        let read = read.and_then(|mut body| {
            let payload = body.handed().ok_or("nothing is handed over")?;
            let holder = holder(body.holder.take(), body.message_id.take(), body.sender_incarnation_id.take());
            Ok((body, payload, holder.ok_or("it is nobody's call")?))
        });
        let (body, payload, holder) = match read {
            Ok(read) => read,
            Err(detail) => {
                self.stats.unperformed.add();
                self.note("effect-not-performed", &effect.key, "", "effect-unreadable", &detail);
                lock(&self.backlog).ended(&effect.key);
                return None;
            }
        };
        let settle = self.profiles.get(&body.profile).map_or(Duration::ZERO, |profile| profile.settle);
        Some(Order {
            profile_digest: body.profile_digest,
            expected_revision: body.expected_revision,
            deadline: self.config.time.now() + Duration::from_millis(body.deadline_ms.clamp(0.0, 1e12) as u64),
            deadline_ms: match body.deadline_at {
                Some(at) => at.max(0.0) as u64,
                None => (body.settle_at.max(0.0) as u64).saturating_sub(super::millis(settle)),
            },
            overrun: self.config.overrun,
            call: Submission {
                submission_id: body.submission_id,
                scope: body.scope.unwrap_or_else(|| body.adapter_idempotency_key.clone()),
                idempotency_key: body.adapter_idempotency_key,
                tenant: body.tenant,
                holder,
                profile: body.profile,
                session: body.session,
                payload,
                context: body.context,
            },
        })
    }

    /// Performs an order and records what is known of it. Never fails and never panics on the adapter's account.
    pub(super) fn perform(&self, order: Order) {
        (self.config.pause)("after-commit-before-call");
        let outcome = match self.preflight(&order) {
            Err(reason) => Outcome::NotSubmitted(reason),
            Ok((profile, deadline)) => self.submit(&order, &profile, deadline),
        };
        (self.config.pause)("after-call-before-record");
        self.settle(&order, outcome);
    }

    /// What this process can know before anything leaves it.
    fn preflight(&self, order: &Order) -> Result<(Arc<Profile>, Instant), Reason> {
        let call = &order.call;
        if self.closing() {
            return Err(Reason::new("dispatcher-stopped", "the host was stopping before the call was made"));
        }
        let unknown = || Reason::new("profile-unknown", format!("no profile {:?} on this host", call.profile));
        let profile = self.profiles.get(&call.profile).ok_or_else(unknown)?;
        if profile.digest != order.profile_digest {
            return Err(Reason::new("profile-changed", "the profile is not the one that the submission was pinned to"));
        }
        if profile.adapter.is_none() {
            return Err(Reason::new(
                "profile-not-executed-here",
                "calls of this profile are made by the receiver's task",
            ));
        }
        match self.caller.digest(&call.payload.text) {
            Ok(digest) if digest == call.payload.digest => {}
            Ok(_) => return Err(Reason::new("envelope-changed", "the envelope does not have the digest on record")),
            Err(refusal) => return Err(Reason::new("envelope-changed", refusal.detail)),
        }
        let wall_left = Duration::from_millis(order.deadline_ms.saturating_sub(self.caller.now_ms()));
        let deadline = order.deadline.min(self.config.time.now() + wall_left);
        if deadline <= self.config.time.now() {
            return Err(Reason::new("deadline-passed", "the deadline passed before a worker was free"));
        }
        Ok((Arc::clone(profile), deadline))
    }

    fn submit(&self, order: &Order, profile: &Profile, deadline: Instant) -> Outcome {
        let Some(adapter) = &profile.adapter else {
            return Outcome::Unknown(Reason::new("no-adapter", "checked before"));
        };
        self.stats.calls.add();
        let result = catch_unwind(AssertUnwindSafe(|| adapter.submit(&order.call, deadline)));
        if self.config.time.now() > deadline {
            self.stats.late.add();
        }
        result.unwrap_or_else(|_| {
            self.stats.panics.add();
            Outcome::Unknown(Reason::new("adapter-panicked", "the adapter panicked"))
        })
    }

    fn settle(&self, order: &Order, outcome: Outcome) {
        let call = &order.call;
        match outcome {
            Outcome::Submitted(receipt) => match receipt.check() {
                Ok(()) => self.settle_submitted(order, &receipt),
                Err(reason) => self.settle_unknown(call, &reason),
            },
            Outcome::NotSubmitted(reason) => {
                if !self.settle_not_submitted(&call.tenant, &call.submission_id, &call.profile, &reason) {
                    lock(&self.backlog).ended(&call.submission_id);
                }
            }
            Outcome::Unknown(reason) => self.settle_unknown(call, &reason),
        }
    }

    fn settle_submitted(&self, order: &Order, receipt: &Receipt) {
        let call = &order.call;
        let record =
            Record::receipt(&self.recorder, &call.tenant, &call.submission_id, order.expected_revision, receipt);
        match self.record(record) {
            Ok(()) => {}
            // Rule: a receipt that the core refuses leaves the attempt unknown; the call is never repeated.
            Err(Refused::Core(refusal)) => {
                self.settle_unknown(call, &Reason::new("receipt-refused", refusal.to_string()));
            }
            Err(Refused::Held) => {}
        }
    }

    fn settle_unknown(&self, call: &Submission, reason: &Reason) {
        self.stats.unknown.add();
        self.note("outcome-unknown", &call.submission_id, &call.profile, reason.code, &reason.detail);
        lock(&self.backlog).ended(&call.submission_id);
        self.signal.nudge();
    }

    /// Records that a call was never made. Whether that is on record, or will be.
    fn settle_not_submitted(&self, tenant: &str, submission_id: &str, profile: &str, reason: &Reason) -> bool {
        self.note("not-submitted", submission_id, profile, reason.code, &reason.detail);
        let evidence = vec![format!("host-dispatch:{}/not-submitted/{}", self.config.instance, reason.code)];
        let record = Record::query(&self.recorder, tenant, submission_id, "not-submitted", None, evidence);
        !matches!(self.record(record), Err(Refused::Core(_)))
    }
}
