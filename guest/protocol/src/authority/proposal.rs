//! A relationship proposal: what a task asks for, and what became of it.

use crate::generated::limits;
use crate::generated::machines::{self, ProposalEvent};
use crate::json::{Value, Writer};
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::{Party, Row, parse, put_int, put_raw, put_text},
};
use crate::time;
use alloc::{string::String, vec, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "proposal";

/// A proposal with its state.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// The document without its reason, raw.
    pub document: String,
    /// Why it is asked for: free text, absent once it was purged.
    pub reason: Option<String>,
    /// The digest of the whole document.
    pub digest: String,
    /// `proposalId`.
    pub proposal_id: String,
    /// The task that asks.
    pub source: Party,
    /// The ids of the task that it names.
    pub named: (String, String),
    /// The task that they stood for when it was made, if they stood for one.
    pub target: Option<Party>,
    /// When it expires.
    pub expires: i64,
    /// When it was made.
    pub proposed: i64,
    /// Its state, whatever the time.
    pub state: machines::Proposal,
    /// When it was decided.
    pub decided: Option<i64>,
    /// Why it was rejected.
    pub reason_code: Option<String>,
    /// `grantId` of the grant that approved it.
    pub grant: Option<String>,
    /// Its places among the records of the source and of the target: sequences of their audit streams.
    pub places: (i64, Option<i64>),
}

impl Proposal {
    /// The row of a proposal of an owner.
    pub fn id(tenant: &str, proposal_id: &str, owner: &str) -> String {
        keys::key(&[tenant, proposal_id, owner])
    }

    /// The proposal with this row id.
    pub fn find_row(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }

    /// The proposals with this id, whoever made them.
    pub fn find(tenant: &str, proposal_id: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, proposal_id], 8)
    }

    /// The proposals from and to a party after a place.
    pub fn find_of(tenant: &str, party: &Party, after: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "party", &[&party.key(tenant)], after.saturating_add(1), None, limit)
    }

    /// The pending proposals of a task that are not past their expiry at `now`: as many as it may have, or fewer.
    pub fn find_open(tenant: &str, source: &Party, now: i64) -> Query {
        let most = u32::try_from(limits::PROPOSALS_OPEN_MAX).unwrap_or(u32::MAX);
        let parts = [tenant, &source.owner, &source.task];
        keys::numbered(COLLECTION, "open", &parts, now.saturating_add(1), None, most)
    }

    /// The same for those that name one target.
    pub fn find_aimed(tenant: &str, (task, incarnation): (&str, &str), now: i64) -> Query {
        let most = u32::try_from(limits::PROPOSALS_TARGET_MAX).unwrap_or(u32::MAX);
        keys::numbered(COLLECTION, "aimed", &[tenant, incarnation, task], now.saturating_add(1), None, most)
    }

    /// Those that ended by `cutoff` and still say why they were asked for.
    pub fn find_purge(tenant: &str, cutoff: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "purge", &[tenant], 0, Some(cutoff.saturating_add(1)), limit)
    }

    /// Its state at `now`: a pending one past its expiry is expired.
    pub fn state_at(&self, now: i64) -> machines::Proposal {
        let lapsed = if now >= self.expires { self.state.step(ProposalEvent::Expire) } else { None };
        lapsed.unwrap_or(self.state)
    }

    /// Takes a step at `now`. Error: no such edge (LC-21).
    pub fn settle(&mut self, event: ProposalEvent, now: i64) -> Flow<()> {
        self.state = self.state.apply(event)?;
        self.decided = Some(now);
        Ok(())
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let named = value.member("named")?;
        let record = Self {
            document: value.member("document")?.raw().into(),
            reason: value.maybe_text("reason"),
            digest: value.text("digest")?.into(),
            proposal_id: value.text("proposalId")?.into(),
            source: Party::read(value.member("source")?)?,
            named: (named.text("taskId")?.into(), named.text("incarnationId")?.into()),
            target: value.get("target").map(Party::read).transpose()?,
            expires: value.int("expires")?,
            proposed: value.int("proposed")?,
            state: machines::Proposal::parse(value.text("state")?).ok_or_else(|| damaged("state"))?,
            decided: value.maybe_int("decided"),
            reason_code: value.maybe_text("reasonCode"),
            grant: value.maybe_text("grantId"),
            places: (value.int("sourcePlace")?, value.maybe_int("targetPlace")),
        };
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_raw("document", &self.document);
        put_text(&mut w, "reason", self.reason.as_deref());
        w.member_str("digest", &self.digest);
        w.member_str("proposalId", &self.proposal_id);
        self.source.put(&mut w, "source");
        w.key("named");
        w.begin_object();
        w.member_str("taskId", &self.named.0);
        w.member_str("incarnationId", &self.named.1);
        w.end_object();
        if let Some(target) = &self.target {
            target.put(&mut w, "target");
        }
        w.member_int("expires", self.expires);
        w.member_int("proposed", self.proposed);
        w.member_str("state", self.state.name());
        put_int(&mut w, "decided", self.decided);
        put_text(&mut w, "reasonCode", self.reason_code.as_deref());
        put_text(&mut w, "grantId", self.grant.as_deref());
        w.member_int("sourcePlace", self.places.0);
        put_int(&mut w, "targetPlace", self.places.1);
        w.end_object();
        w.finish()
    }

    /// The index keys. Only a pending one is counted; what is counted is ordered by expiry, so that nothing needs to be
    /// swept for the count to be right.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let entry = |index: &str, parts: &[&str]| Entry { index: index.into(), key: keys::key(parts) };
        let (source, end) = (self.source.key(tenant), keys::number(self.expires));
        let mut entries = vec![entry("party", &[&source, &keys::number(self.places.0)])];
        if let (Some(target), Some(place)) = (&self.target, self.places.1) {
            entries.push(entry("party", &[&target.key(tenant), &keys::number(place)]));
        }
        if self.state == machines::Proposal::INITIAL {
            entries.push(entry("open", &[tenant, &self.source.owner, &self.source.task, &end]));
            entries.push(entry("aimed", &[tenant, &self.named.1, &self.named.0, &end]));
        }
        if self.reason.is_some() {
            entries.push(entry("purge", &[tenant, &keys::number(self.decided.unwrap_or(self.expires))]));
        }
        entries
    }

    /// Writes what somebody sees of it at `now`: the free text only where `whole`.
    pub fn view(&self, w: &mut Writer, whole: bool, now: i64) -> Flow<()> {
        let reason = self.reason.as_deref().filter(|_| whole);
        w.key("proposal");
        w.begin_object();
        for (name, value) in parse(&self.document)?.root().members() {
            w.member_raw(name, value.raw());
        }
        put_text(w, "reason", reason);
        w.end_object();
        let content = match (&self.reason, whole) {
            (None, _) => "purged",
            (_, true) => "visible",
            (_, false) => "withheld",
        };
        w.member_str("content", content);
        w.member_str("status", self.state_at(now).name());
        w.member_str("proposedAt", &time::format(self.proposed));
        put_text(w, "decidedAt", self.decided.map(time::format).as_deref());
        put_text(w, "reasonCode", self.reason_code.as_deref());
        put_text(w, "grantId", self.grant.as_deref());
        Ok(())
    }
}

/// The text of a document without its reason, and the reason.
pub(crate) fn split(document: Value<'_>) -> Flow<(String, String)> {
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in document.members().filter(|(name, _)| *name != "reason") {
        put_raw(&mut w, name, Some(value.raw()));
    }
    w.end_object();
    Ok((w.finish(), document.text("reason")?.into()))
}
