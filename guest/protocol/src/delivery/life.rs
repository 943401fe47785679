//! The life of a message: its three machines, the mailbox claim and the attempts, in one row, so that one comparison of
//! revisions guards all of it and the cross-state rules see the whole.

use crate::authority::grant::Grant;
use crate::delivery::admission::{Admission, Admitted};
use crate::generated::machines::{self, ClaimEvent, Decision, DecisionEvent, Delivery, Outcome};
use crate::json::{Value, Writer};
use crate::kernel::{
    Entry, Query, Stored,
    audit::Event,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::{Party, Row, parse, put_int, put_raw, put_text},
};
use crate::lifecycle::Combination;
use crate::submission::attempt::Attempt;
use alloc::{string::String, vec, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "life";

/// Under what authority the message was sent, and must still stand when it is acted on.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// The row of the grant; empty where the owner of both ends acts on its own authority.
    pub grant: String,
    /// `grantId`, or empty.
    pub grant_id: String,
    /// `grantVersion`.
    pub version: i64,
}

impl Binding {
    /// To a grant, or to the owner's own authority.
    pub fn to(grant: Option<&Row<Grant>>) -> Self {
        grant.map_or_else(
            || Self { grant: String::new(), grant_id: String::new(), version: 0 },
            |row| Self { grant: row.id.clone(), grant_id: row.record.grant_id.clone(), version: row.record.version },
        )
    }
}

/// A mailbox claim.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The machine's state.
    pub state: machines::Claim,
    /// The worker that holds it.
    pub worker: String,
    /// The secret; cleared when the claim ends.
    pub token: String,
    /// Grows with every claim of the message.
    pub fence: i64,
    /// When the lease ends.
    pub until: i64,
}

/// What an interrupt came to, as far as it was told; the result itself stands beside the life.
#[derive(Clone, Debug)]
pub(crate) struct Interruption {
    /// The digest of the last result.
    pub digest: String,
    /// Something is still under way.
    pub open: bool,
    /// The host saw it itself; otherwise the receiver says so.
    pub observed: bool,
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

    fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self { digest: value.text("digest")?.into(), open: value.flag("open"), observed: value.flag("observed") })
    }

    fn put(&self, w: &mut Writer) {
        w.key("interruption");
        w.begin_object();
        w.member_str("digest", &self.digest);
        w.member_bool("open", self.open);
        w.member_bool("observed", self.observed);
        w.end_object();
    }
}

/// Everything that changes about a message.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// `messageId`.
    pub message: String,
    /// Who sent it.
    pub sender: Party,
    /// For whom.
    pub receiver: Party,
    /// `relationshipId`.
    pub relationship: String,
    /// Intent.
    pub intent: String,
    /// Requested delivery mode.
    pub mode: String,
    /// The freshness object, raw.
    pub freshness: Option<String>,
    /// When it expires.
    pub expires: i64,
    /// The envelope's digest.
    pub digest: String,
    /// Its order number in the receiver's mailbox.
    pub cursor: i64,
    /// Length of the causal chain before it.
    pub hops: i64,
    /// Under what authority.
    pub binding: Binding,
    /// The disposition's revision.
    pub revision: i64,
    /// First machine.
    pub delivery: Delivery,
    /// Second machine.
    pub decision: Decision,
    /// The decision's reason code.
    pub reason: Option<String>,
    /// Third machine.
    pub outcome: Outcome,
    /// Why the delivery failed, as the receiver said.
    pub failure: Option<String>,
    /// When it last changed.
    pub updated: i64,
    /// A deferral's earliest time.
    pub not_before: Option<i64>,
    /// The claim.
    pub claim: Option<Claim>,
    /// The current attempt.
    pub attempt: Option<Attempt>,
    /// Earlier attempts, all confirmed as not submitted.
    pub past: Vec<Attempt>,
    /// The admission to a model's context that is in flight.
    pub admission: Option<Admission>,
    /// What is known of an admission that happened.
    pub admitted: Option<Admitted>,
    /// What waits for the attempt or the admission to be resolved: `revoked`.
    pub pending_relabel: Option<String>,
    /// What an interrupt came to.
    pub interruption: Option<Interruption>,
    /// The purge that removed its content.
    pub purged: Option<Purged>,
    /// How many audit events it has: the last one's number in the list of its events.
    pub events: i64,
}

/// That the content of a message was removed.
#[derive(Clone, Debug)]
pub(crate) struct Purged {
    /// `purgeId`.
    pub purge: String,
    /// When nothing was left of it on the disk.
    pub done: Option<i64>,
    /// Whether something was recorded since, which can be purged again.
    pub changed: bool,
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
        let Party { task, incarnation, owner } = receiver;
        keys::numbered(COLLECTION, "urgent", &[tenant, incarnation, task, owner], from, None, limit)
    }

    /// Undecided messages of a receiver, from an order number on.
    pub fn find_open(tenant: &str, receiver: &Party, from: i64, limit: u32) -> Query {
        let Party { task, incarnation, owner } = receiver;
        keys::numbered(COLLECTION, "inbox", &[tenant, incarnation, task, owner], from, None, limit)
    }

    /// Steers and interrupts that a revocation of this grant changes.
    pub fn find_bound(tenant: &str, grant: &str, limit: u32) -> Query {
        keys::under(COLLECTION, "bound", &[tenant, grant], limit)
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
        let Party { task, incarnation, owner } = receiver;
        keys::under(COLLECTION, "held", &[tenant, incarnation, task, owner], 1)
    }

    /// The row id.
    pub fn id(tenant: &str, message: &str, sender: &Party) -> String {
        keys::key(&[tenant, message, &sender.incarnation, &sender.task, &sender.owner])
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let record = Self::from_value(tree.root())?;
        record.combination().check().map_err(|error| damaged(&error.detail))?;
        let shown = record.decision.was_accepted() && !matches!(record.delivery, Delivery::Failed | Delivery::Expired);
        if record.admission.is_some() && !shown {
            return Err(damaged("admission"));
        }
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    fn from_value(value: Value<'_>) -> Flow<Self> {
        let binding = value.member("binding")?;
        let mut past = Vec::new();
        for attempt in value.member("past")?.items() {
            past.push(Attempt::read(attempt)?);
        }
        Ok(Self {
            message: value.text("messageId")?.into(),
            sender: Party::read(value.member("sender")?)?,
            receiver: Party::read(value.member("receiver")?)?,
            relationship: value.text("relationship")?.into(),
            intent: value.text("intent")?.into(),
            mode: value.text("mode")?.into(),
            freshness: value.maybe_raw("freshness"),
            expires: value.int("expires")?,
            digest: value.text("digest")?.into(),
            cursor: value.int("cursor")?,
            hops: value.int("hops")?,
            binding: Binding {
                grant: binding.text("grant")?.into(),
                grant_id: binding.text("grantId")?.into(),
                version: binding.int("version")?,
            },
            revision: value.int("revision")?,
            delivery: Delivery::parse(value.text("delivery")?).ok_or_else(|| damaged("delivery"))?,
            decision: Decision::parse(value.text("decision")?).ok_or_else(|| damaged("decision"))?,
            reason: value.maybe_text("reason"),
            outcome: Outcome::parse(value.text("outcome")?).ok_or_else(|| damaged("outcome"))?,
            failure: value.maybe_text("failure"),
            updated: value.int("updated")?,
            not_before: value.maybe_int("notBefore"),
            claim: value.get("claim").map(Claim::read).transpose()?,
            attempt: value.get("attempt").map(Attempt::read).transpose()?,
            past,
            admission: value.get("admission").map(Admission::read).transpose()?,
            admitted: value.get("admitted").map(Admitted::read).transpose()?,
            pending_relabel: value.maybe_text("pendingRelabel"),
            interruption: value.get("interruption").map(Interruption::read).transpose()?,
            purged: value.get("purged").map(Purged::read).transpose()?,
            events: value.int("events")?,
        })
    }

    /// The combination of all machines, for the cross-state rules.
    pub fn combination(&self) -> Combination {
        Combination {
            delivery: self.delivery,
            decision: self.decision,
            outcome: self.outcome,
            submission: self.attempt.as_ref().map(|attempt| attempt.state),
            claim: self.claim.as_ref().map(|claim| claim.state),
        }
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("messageId", &self.message);
        self.sender.put(&mut w, "sender");
        self.receiver.put(&mut w, "receiver");
        w.member_str("relationship", &self.relationship);
        w.member_str("intent", &self.intent);
        w.member_str("mode", &self.mode);
        put_raw(&mut w, "freshness", self.freshness.as_deref());
        w.member_int("expires", self.expires);
        w.member_str("digest", &self.digest);
        w.member_int("cursor", self.cursor);
        w.member_int("hops", self.hops);
        w.key("binding");
        w.begin_object();
        w.member_str("grant", &self.binding.grant);
        w.member_str("grantId", &self.binding.grant_id);
        w.member_int("version", self.binding.version);
        w.end_object();
        self.put_states(&mut w);
        w.end_object();
        w.finish()
    }

    fn put_states(&self, w: &mut Writer) {
        w.member_int("revision", self.revision);
        w.member_str("delivery", self.delivery.name());
        w.member_str("decision", self.decision.name());
        put_text(w, "reason", self.reason.as_deref());
        w.member_str("outcome", self.outcome.name());
        put_text(w, "failure", self.failure.as_deref());
        w.member_int("updated", self.updated);
        put_int(w, "notBefore", self.not_before);
        if let Some(claim) = &self.claim {
            w.key("claim");
            claim.put(w);
        }
        if let Some(attempt) = &self.attempt {
            w.key("attempt");
            attempt.put(w);
        }
        w.key("past");
        w.begin_array();
        for attempt in &self.past {
            attempt.put(w);
        }
        w.end_array();
        if let Some(admission) = &self.admission {
            admission.put(w);
        }
        if let Some(admitted) = &self.admitted {
            admitted.put(w);
        }
        put_text(w, "pendingRelabel", self.pending_relabel.as_deref());
        if let Some(interruption) = &self.interruption {
            interruption.put(w);
        }
        if let Some(purged) = &self.purged {
            purged.put(w);
        }
        w.member_int("events", self.events);
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
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let mut entries = vec![];
        let mut add = |index: &str, parts: &[&str]| {
            entries.push(Entry { index: index.into(), key: keys::key(parts) });
        };
        let Party { task, incarnation, owner } = &self.receiver;
        if self.open() {
            let parts = [tenant, incarnation, task, owner, &keys::number(self.cursor)];
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
            add("held", &[tenant, incarnation, task, owner, &keys::number(self.cursor)]);
        }
        if self.revocable() {
            add("bound", &[tenant, &self.binding.grant, &self.message, &self.sender.incarnation]);
        }
        for attempt in self.attempt.iter().chain(&self.past) {
            add("submission", &[tenant, &attempt.id, &self.message]);
        }
        if let Some(attempt) =
            self.attempt.as_ref().filter(|attempt| attempt.state == machines::Submission::OutcomeUnknown)
        {
            add("unresolved", &[tenant, &keys::number(attempt.settled_at()), &attempt.id]);
        }
        entries
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

impl Purged {
    fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self { purge: value.text("purge")?.into(), done: value.maybe_int("done"), changed: value.flag("changed") })
    }

    fn put(&self, w: &mut Writer) {
        w.key("purged");
        w.begin_object();
        w.member_str("purge", &self.purge);
        put_int(w, "done", self.done);
        w.member_bool("changed", self.changed);
        w.end_object();
    }
}

impl Claim {
    fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self {
            state: machines::Claim::parse(value.text("state")?).ok_or_else(|| damaged("claim"))?,
            worker: value.text("worker")?.into(),
            token: value.text("token")?.into(),
            fence: value.int("fence")?,
            until: value.int("until")?,
        })
    }

    fn put(&self, w: &mut Writer) {
        w.begin_object();
        w.member_str("state", self.state.name());
        w.member_str("worker", &self.worker);
        w.member_str("token", &self.token);
        w.member_int("fence", self.fence);
        w.member_int("until", self.until);
        w.end_object();
    }

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
