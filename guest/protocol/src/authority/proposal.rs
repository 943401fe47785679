//! A relationship proposal: what a task asks for, and what became of it.

pub(crate) use crate::generated::records::proposal::{COLLECTION, Proposal};

use crate::generated::limits;
use crate::generated::machines::{self, ProposalEvent};
use crate::json::{Value, Writer};
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row, parse, put_raw, put_text},
};
use crate::time;
use alloc::{string::String, vec, vec::Vec};

impl Proposal {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

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
        keys::numbered(COLLECTION, "party", &[&keys::short(&party.key(tenant))], after.saturating_add(1), None, limit)
    }

    /// The pending proposals of a task that are not past their expiry at `now`: as many as it may have, or fewer.
    pub fn find_open(tenant: &str, source: &Party, now: i64) -> Query {
        let most = u32::try_from(limits::PROPOSALS_OPEN_MAX).unwrap_or(u32::MAX);
        let parts = [tenant, &source.owner, &source.task];
        keys::numbered(COLLECTION, "open", &parts, now.saturating_add(1), None, most)
    }

    /// The same for those of one owner's tasks that name one target: anybody may name it, and none of them takes the places
    /// of others.
    pub fn find_aimed(tenant: &str, owner: &str, (task, incarnation): (&str, &str), now: i64) -> Query {
        let most = u32::try_from(limits::PROPOSALS_TARGET_MAX).unwrap_or(u32::MAX);
        keys::numbered(COLLECTION, "aimed", &[tenant, owner, incarnation, task], now.saturating_add(1), None, most)
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

    /// The index keys. Only a pending one is counted; what is counted is ordered by expiry, so that nothing needs to be
    /// swept for the count to be right.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let entry = |index: &str, parts: &[&str]| Entry { index: index.into(), key: keys::key(parts) };
        let (source, end) = (keys::short(&self.source.key(tenant)), keys::number(self.expires));
        let mut entries = vec![entry("party", &[&source, &keys::number(self.source_place)])];
        if let (Some(target), Some(place)) = (&self.target, self.target_place) {
            entries.push(entry("party", &[&keys::short(&target.key(tenant)), &keys::number(place)]));
        }
        if self.state == machines::Proposal::INITIAL {
            entries.push(entry("open", &[tenant, &self.source.owner, &self.source.task, &end]));
            entries
                .push(entry("aimed", &[tenant, &self.source.owner, &self.named.incarnation, &self.named.task, &end]));
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
