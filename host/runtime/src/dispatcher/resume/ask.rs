//! One query, and what is recorded of its answer.

use super::{Unresolved, plan::Plan};
use crate::{
    adapter::{Absence, Profile, Query, QueryOutcome, Reason, Receipt, check_evidence},
    dispatcher::{
        Core, Refused, lock,
        pool::{Job, Place, Pool},
        record::Record,
    },
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// A question on its way to an adapter.
pub(in crate::dispatcher) struct Ask {
    pub(super) item: Unresolved,
    pub(super) profile: Arc<Profile>,
    /// Whether an absence counts by now.
    pub(super) settled: bool,
    /// Whether one more absence is the last.
    pub(super) last: bool,
    /// Whether our own call is still hanging: then no absence is final.
    pub(super) hanging: bool,
    pub(super) overrun: Duration,
}

impl Ask {
    pub(super) fn new(item: Unresolved, profile: Arc<Profile>, plan: Plan, place: Place, overrun: Duration) -> Self {
        let (settled, last) = match plan {
            Plan::Ask { settled, last } => (settled, last),
            _ => (false, false),
        };
        Self { item, profile, settled, last, hanging: place == Place::Overdue, overrun }
    }

    /// Queues it unless this attempt is being asked about already.
    pub(super) fn queue(self, queries: &Pool<Self>) {
        if queries.place(&self.item.submission_id) == Place::Absent {
            // A closed pool means that the host is stopping; the next start asks again.
            let _ = queries.push(self);
        }
    }

    fn query(&self) -> Query {
        let item = &self.item;
        Query {
            submission_id: item.submission_id.clone(),
            idempotency_key: item.adapter_idempotency_key.clone(),
            scope: item.scope.clone().unwrap_or_else(|| item.adapter_idempotency_key.clone()),
            tenant: item.tenant.clone(),
            holder: item.holder(),
            profile: item.profile.clone(),
            session: item.session.clone(),
            payload_digest: item.digest(),
        }
    }
}

impl Job for Ask {
    fn key(&self) -> &str {
        &self.item.submission_id
    }
    fn allowance(&self, _now: Instant) -> Duration {
        self.profile.query.deadline + self.overrun
    }
}

impl Core {
    /// Asks, and records the answer. Never fails and never panics on the adapter's account.
    pub(in crate::dispatcher) fn ask(&self, ask: Ask) {
        let Some(adapter) = &ask.profile.adapter else { return };
        let deadline = self.config.time.now() + ask.profile.query.deadline;
        self.stats.queries.add();
        let answer = catch_unwind(AssertUnwindSafe(|| adapter.query(&ask.query(), deadline)));
        let answer = answer.unwrap_or_else(|_| {
            self.stats.panics.add();
            QueryOutcome::Unanswerable(Reason::new("adapter-panicked", "the adapter panicked"))
        });
        let answer = sift(answer, &ask);
        let failed = matches!(answer, QueryOutcome::Unanswerable(_));
        lock(&self.backlog).asked(&ask.item.submission_id, &ask.profile.query, self.config.time.now(), failed);
        (self.config.pause)("after-query-before-record");
        match answer {
            QueryOutcome::Found(receipt) => self.found(&ask, &receipt),
            QueryOutcome::AbsentFinal(absence) => self.absent_final(&ask, absence),
            QueryOutcome::AbsentNow(reason) => self.absent_now(&ask, &reason),
            QueryOutcome::Unanswerable(reason) => self.unanswered(&ask, &reason),
        }
    }

    fn found(&self, ask: &Ask, receipt: &Receipt) {
        self.record_answer(ask, "found", Some(receipt), receipt.evidence_refs.clone(), "found");
    }

    fn absent_final(&self, ask: &Ask, absence: Absence) {
        self.record_answer(ask, "absent-final", None, absence.evidence_refs, absence.reason.code);
    }

    fn absent_now(&self, ask: &Ask, reason: &Reason) {
        self.stats.absent_now.add();
        self.note("absent-now", &ask.item.submission_id, &ask.profile.name, reason.code, &reason.detail);
        if !ask.settled {
            return;
        }
        if ask.last {
            return self.give_up(&ask.item, &ask.profile, reason.code);
        }
        self.record_answer(ask, "absent-now", None, Vec::new(), reason.code);
    }

    fn unanswered(&self, ask: &Ask, reason: &Reason) {
        self.stats.failed_queries.add();
        self.note("query-failed", &ask.item.submission_id, &ask.profile.name, reason.code, &reason.detail);
        if ask.settled && ask.last {
            self.give_up(&ask.item, &ask.profile, reason.code);
        }
    }

    /// Tells the core that nobody here can answer, so that people can take over.
    pub(super) fn give_up(&self, item: &Unresolved, profile: &Profile, code: &str) {
        self.note("left-to-people", &item.submission_id, &profile.name, code, "no final answer can be had here");
        let evidence = vec![self.own_evidence(profile, code)];
        let record = Record::query(&self.recorder, &item.tenant, &item.submission_id, "unanswerable", None, evidence);
        if self.record(record).is_err() {
            lock(&self.backlog).asked(&item.submission_id, &profile.query, self.config.time.now(), false);
        }
    }

    fn record_answer(
        &self,
        ask: &Ask,
        result: &'static str,
        receipt: Option<&Receipt>,
        mut evidence: Vec<String>,
        code: &str,
    ) {
        let own = self.own_evidence(&ask.profile, code);
        if evidence.len() < crate::adapter::EVIDENCE_REFS_MAX && !evidence.contains(&own) {
            evidence.push(own);
        }
        let item = &ask.item;
        let record = Record::query(&self.recorder, &item.tenant, &item.submission_id, result, receipt, evidence);
        // A refusal is noted by `record`, and the next sweep asks again; but not for ever.
        if let Err(Refused::Core(refusal)) = self.record(record)
            && refusal.code != "submission-settling"
        {
            lock(&self.backlog).failed(&item.submission_id);
        }
    }

    fn own_evidence(&self, profile: &Profile, code: &str) -> String {
        format!("host-query:{}/{}/{code}", self.config.instance, profile.name)
    }
}

/// Takes an answer for no more than it may say.
fn sift(answer: QueryOutcome, ask: &Ask) -> QueryOutcome {
    match answer {
        QueryOutcome::Found(receipt) => match receipt.check() {
            Ok(()) => QueryOutcome::Found(receipt),
            Err(reason) => QueryOutcome::Unanswerable(reason),
        },
        QueryOutcome::AbsentFinal(absence) if !ask.profile.absent_final => {
            QueryOutcome::AbsentNow(Reason::new("absent-final-not-asserted", absence.reason.to_string()))
        }
        QueryOutcome::AbsentFinal(absence) if ask.hanging || !ask.settled => {
            QueryOutcome::AbsentNow(Reason::new("carrier-not-proven-dead", absence.reason.to_string()))
        }
        QueryOutcome::AbsentFinal(absence) => match check_evidence(&absence.evidence_refs) {
            Ok(()) => QueryOutcome::AbsentFinal(absence),
            Err(reason) => QueryOutcome::Unanswerable(reason),
        },
        other => other,
    }
}
