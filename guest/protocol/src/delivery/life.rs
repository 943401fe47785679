//! The life of a message: its three machines, the mailbox claim and the attempts, in one row, so that one comparison of
//! revisions guards all of it and the cross-state rules see the whole.

pub(crate) use crate::generated::records::life::{
    Binding, COLLECTION, Claim, EventPart, Inquiry, Interruption, Life, Purged,
};

use crate::authority::grant::Grant;
use crate::generated::machines::{
    self, ClaimEvent, Decision, DecisionEvent, Delivery, Verification, VerificationEvent,
};
use crate::json::Writer;
use crate::kernel::{
    Entry, Query, Stored,
    audit::Event,
    flow::{Flow, damaged},
    keys::{self, Names},
    records::{Party, Row, put_text},
};
use crate::lifecycle::Combination;
use crate::submission::attempt::Attempt;
use alloc::{string::String, vec, vec::Vec};

impl Binding {
    /// To a grant, or to the owner's own authority.
    pub fn to(grant: Option<&Row<Grant>>) -> Self {
        grant.map_or_else(
            || Self { grant: String::new(), grant_id: String::new(), version: 0 },
            |row| Self { grant: row.id.clone(), grant_id: row.record.grant_id.clone(), version: row.record.version },
        )
    }
}

impl Interruption {
    /// Whether more is to come, as a word.
    pub fn state(&self) -> &'static str {
        if self.open { "open" } else { "closed" }
    }

    /// Who says so.
    pub fn source(&self) -> &'static str {
        if self.observed { "observed" } else { "asserted" }
    }
}

impl Life {
    /// The life of a message of a sender incarnation, whoever owns it.
    pub fn find(tenant: &str, message: &str, sender: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, message, sender], 8)
    }

    /// Every message with this id.
    pub fn find_message(tenant: &str, message: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, message], 8)
    }

    /// Undecided steers and interrupts of a receiver that expect something of it, from an order number on.
    pub fn find_urgent(tenant: &str, receiver: &Party, from: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "urgent", &[&keys::short(&receiver.key(tenant))], from, None, limit)
    }

    /// Undecided messages of a receiver, from an order number on.
    pub fn find_open(tenant: &str, receiver: &Party, from: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "inbox", &[&keys::short(&receiver.key(tenant))], from, None, limit)
    }

    /// Steers and interrupts that a revocation of this grant changes.
    pub fn find_bound(grant: &str, limit: u32) -> Query {
        keys::under(COLLECTION, "bound", &[&keys::short(grant)], limit)
    }

    /// What expired by `now`: of the whole tenant, or between tasks of one owner.
    pub fn find_due(tenant: &str, owner: Option<&str>, now: i64, limit: u32) -> Query {
        let until = Some(now.saturating_add(1));
        match owner {
            None => keys::numbered(COLLECTION, "due", &[tenant], 0, until, limit),
            Some(owner) => keys::numbered(COLLECTION, "due-own", &[tenant, owner], 0, until, limit),
        }
    }

    /// What ended and expired by `cutoff`, and has content to remove.
    pub fn find_ended(tenant: &str, cutoff: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "ended", &[tenant], 0, Some(cutoff.saturating_add(1)), limit)
    }

    /// What a purge emptied and nobody called purged yet.
    pub fn find_purging(tenant: &str, purge: &str, limit: u32) -> Query {
        keys::under(COLLECTION, "purging", &[tenant, purge], limit)
    }

    /// Whether a receiver has a message that may have reached it outside, without anybody knowing.
    pub fn find_held(tenant: &str, receiver: &Party) -> Query {
        keys::under(COLLECTION, "held", &[&keys::short(&receiver.key(tenant))], 1)
    }

    /// The row id.
    pub fn id(tenant: &str, message: &str, sender: &Party) -> String {
        keys::key(&[tenant, message, &sender.incarnation, &sender.task, &sender.owner])
    }

    /// The record of a row. Error: `record-damaged`, for what the core did not write or the rules do not let come about.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let row = Row::read(row, Self::parse)?;
        let life: &Self = &row.record;
        life.combination().check().map_err(|error| damaged(&error.detail))?;
        let shown = life.decision.was_accepted() && !matches!(life.delivery, Delivery::Failed | Delivery::Expired);
        if life.admission.is_some() && !shown {
            return Err(damaged("admission"));
        }
        Ok(row)
    }

    /// The combination of all machines, for the cross-state rules.
    pub fn combination(&self) -> Combination {
        Combination {
            delivery: self.delivery,
            decision: self.decision,
            outcome: self.outcome,
            submission: self.attempt.as_ref().map(|attempt| attempt.state),
            claim: self.claim.as_ref().map(|claim| claim.state),
            event: self.event.as_ref().map(|event| (event.verification, event.uptake)),
        }
    }

    /// Whether the receiver has yet to decide.
    pub fn open(&self) -> bool {
        matches!(self.decision, Decision::Pending | Decision::Deferred) && !self.delivery.terminal()
    }

    /// Whether a call may have happened, or a model may have seen the message, and nobody knows.
    pub fn unresolved(&self) -> bool {
        self.admission.is_some() || self.attempt.as_ref().is_some_and(Attempt::unresolved)
    }

    /// Whether a revocation of its grant still has something to change about it.
    fn revocable(&self) -> bool {
        let bound = self.urgent() && !self.binding.grant.is_empty();
        let moves = self.decision.step(DecisionEvent::Revoke).is_some() && !self.delivery.terminal();
        bound && moves && self.pending_relabel.is_none()
    }

    /// Whatever decides an event, or ends its delivery, ends its examination: what the host says later decides nothing.
    pub fn end_examination(&mut self) -> Flow<()> {
        let open = self.open();
        let Some(event) = &mut self.event else { return Ok(()) };
        if !open && event.verification == Verification::Examining {
            event.verification = event.verification.apply(VerificationEvent::FindWanting)?;
        }
        event.inquiry = event.inquiry.take().filter(|_| event.verification == Verification::Examining);
        Ok(())
    }

    /// Ends a claim that nobody acknowledged.
    pub fn lapse(&mut self) -> Flow<()> {
        if let Some(claim) = self.claim.as_mut().filter(|claim| claim.state == machines::Claim::Claimed) {
            claim.state = claim.state.apply(ClaimEvent::Lapse)?;
            claim.token = String::new();
        }
        Ok(())
    }

    /// Whether it is a steer or an interrupt.
    pub fn urgent(&self) -> bool {
        crate::authority::gate::urgent(&self.intent)
    }

    /// The index keys; see `spec/records.md`.
    pub fn entries(&self, tenant: &str, names: &Names) -> Vec<Entry> {
        let owner = &self.receiver.owner;
        let mut entries = vec![];
        let mut add = |index: &str, parts: &[&str]| {
            entries.push(Entry { index: index.into(), key: keys::key(parts) });
        };
        let receiver = || names.short(&self.receiver.key(tenant));
        if self.open() {
            let (receiver, cursor) = (receiver(), keys::number(self.cursor));
            let parts = [receiver.as_str(), &cursor];
            add("inbox", &parts);
            if self.urgent() && self.freshness.is_some() {
                add("urgent", &parts);
            }
        }
        let waits = !self.delivery.terminal() && !self.unresolved();
        if waits {
            let expires = keys::number(self.expires);
            let (message, sender) = (self.message.as_str(), self.sender.incarnation.as_str());
            add("due", &[tenant, &expires, message, sender]);
            if self.sender.owner == *owner {
                add("due-own", &[tenant, owner, &expires, message, sender]);
            }
        }
        let ended = self.delivery.terminal() && !self.unresolved();
        if ended && self.purged.as_ref().is_none_or(|purged| purged.changed) {
            add("ended", &[tenant, &keys::number(self.expires), &self.message, &self.sender.incarnation]);
        }
        if let Some(purged) = self.purged.as_ref().filter(|purged| purged.done.is_none()) {
            add("purging", &[tenant, &purged.purge, &self.message, &self.sender.incarnation]);
        }
        if self.unresolved() {
            add("held", &[&receiver(), &keys::number(self.cursor)]);
        }
        if self.revocable() {
            add("bound", &[&names.short(&self.binding.grant), &self.message, &self.sender.incarnation]);
        }
        for attempt in self.attempt.iter().chain(&self.past) {
            add("submission", &[tenant, &attempt.id, &self.message]);
        }
        if let Some(attempt) =
            self.attempt.as_ref().filter(|attempt| attempt.state == machines::Submission::OutcomeUnknown)
        {
            add("unresolved", &[tenant, &keys::number(attempt.settled_at()), &attempt.id]);
        }
        if let Some(event) = &self.event {
            self.event_entries(event, tenant, &mut add);
        }
        entries
    }

    /// The index keys of a cross-thread event.
    fn event_entries(&self, event: &EventPart, tenant: &str, add: &mut impl FnMut(&str, &[&str])) {
        let (sender, receiver) = (&self.sender, &self.receiver);
        add("event", &[tenant, &sender.task, &event.event, &sender.owner]);
        for end in [sender, receiver] {
            add("trail", &[tenant, &end.owner, &end.task, &keys::number(event.sent), &self.message]);
        }
        if self.open() {
            add("capability", &[tenant, &event.capability, &self.message, &sender.incarnation]);
        }
        if let Some(inquiry) = &event.inquiry {
            add("inquiry", &[tenant, &keys::number(inquiry.next), &self.message, &sender.incarnation]);
        }
        if let Some(version) = event.state_version {
            let (owner, task) = (&receiver.owner, &receiver.task);
            add("applied", &[tenant, owner, task, &event.trajectory, &event.subject, &keys::number(version)]);
        }
    }

    /// Removes what people wrote: the texts go, and digests stand where something may still be compared.
    pub fn purge(&mut self, purge: &str) -> Flow<()> {
        self.failure = None;
        self.freshness = None;
        for attempt in self.attempt.iter_mut().chain(&mut self.past) {
            attempt.purge()?;
        }
        if let Some(admitted) = &mut self.admitted {
            admitted.purge();
        }
        self.purged = Some(Purged { purge: purge.into(), done: None, changed: false });
        Ok(())
    }

    /// The flat disposition of the draft's binding.
    pub fn view(&self, w: &mut Writer) {
        w.begin_object();
        w.member_int("revision", self.revision);
        w.member_str("delivery", self.delivery.name());
        w.member_str("decision", self.decision.name());
        put_text(w, "decisionReasonCode", self.reason.as_deref());
        put_text(w, "deliveryFailureReason", self.failure.as_deref());
        w.member_str("outcome", self.outcome.name());
        w.end_object();
    }
}

impl Claim {
    /// Whether it binds at `now`.
    pub fn live(&self, now: i64) -> bool {
        self.state == machines::Claim::Claimed && now < self.until
    }
}

impl Row<Life> {
    /// The next event of this message: it gets the record's revision and the next number.
    pub fn event<'a>(&'a mut self, kind: &'a str, detail: String) -> Event<'a> {
        self.record.events = self.record.events.saturating_add(1);
        Event {
            kind,
            message_row: &self.id,
            place: self.record.events,
            message: &self.record.message,
            sender: &self.record.sender.incarnation,
            relationship: "",
            revision: self.record.revision,
            detail,
        }
    }
}

/// The flat disposition.
pub(crate) fn disposition(life: &Row<Life>) -> String {
    let mut w = Writer::new();
    life.record.view(&mut w);
    w.finish()
}
