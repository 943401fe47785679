//! An effective relationship grant.

pub(crate) use crate::generated::records::grant::{COLLECTION, Grant};

use crate::json::Writer;
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row, parse},
};
use crate::time;
use alloc::{string::String, vec::Vec};

impl Grant {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The grants with this id, whoever issued them.
    pub fn find(tenant: &str, grant_id: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, grant_id], 8)
    }

    /// The row of a grant of an issuer.
    pub fn id(tenant: &str, grant_id: &str, issuer: &str) -> String {
        keys::key(&[tenant, grant_id, issuer])
    }

    /// The grant with this row id.
    pub fn find_row(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }

    /// The current grants from one incarnation to another.
    pub fn find_route(tenant: &str, target: &str, source: &str) -> Query {
        keys::under(COLLECTION, "route", &[tenant, target, source], 16)
    }

    /// The grants from and to a party after a place; only those that stand, where `standing`.
    pub fn find_of(tenant: &str, party: &Party, standing: bool, after: i64, limit: u32) -> Query {
        let index = if standing { "related" } else { "party" };
        keys::numbered(COLLECTION, index, &[&keys::short(&party.key(tenant))], after.saturating_add(1), None, limit)
    }

    /// The current grant of one relationship.
    pub fn find_relationship(tenant: &str, target: &str, source: &str, relationship: &str) -> Query {
        keys::under(COLLECTION, "route", &[tenant, target, source, relationship], 1000)
    }

    /// Revokes it at `now`: the document says so too, outside its integrity digest.
    pub fn revoke(&mut self, now: i64) -> Flow<()> {
        let mut w = Writer::new();
        w.begin_object();
        for (name, value) in parse(&self.document)?.root().members() {
            w.member_raw(name, value.raw());
        }
        w.member_str("revokedAt", &time::format(now));
        w.end_object();
        self.document = w.finish();
        self.revoked = Some(now);
        Ok(())
    }

    /// The index keys: a superseded grant is no route. A revoked one stays a route, so that it shadows older versions.
    /// Both ends find every grant of theirs, and those that stand apart from the rest.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (party, place) in [(&self.source, self.source_place), (&self.target, self.target_place)] {
            let key = keys::key(&[&keys::short(&party.key(tenant)), &keys::number(place)]);
            if self.stands() {
                entries.push(Entry { index: "related".into(), key: key.clone() });
            }
            entries.push(Entry { index: "party".into(), key });
        }
        if !self.superseded {
            let key = Self::route(tenant, &self.relationship, &self.source, &self.target);
            entries.push(Entry { index: "route".into(), key });
        }
        entries
    }

    /// Whether it is neither revoked nor superseded.
    pub fn stands(&self) -> bool {
        self.revoked.is_none() && !self.superseded
    }

    /// Whether it allows anything at `now`.
    pub fn current(&self, now: i64) -> bool {
        self.stands() && self.consent != Some(false) && self.expires.is_none_or(|end| now < end)
    }

    /// What it shows of the target to the source: `summaryVisibility`.
    pub fn visibility(&self) -> Flow<String> {
        Ok(parse(&self.document)?.root().text("summaryVisibility")?.into())
    }

    /// The one current grant of a relationship from one party to another.
    pub fn find_current(tenant: &str, relationship: &str, source: &Party, target: &Party) -> Query {
        let start = Self::route(tenant, relationship, source, target);
        let (collection, index) = (COLLECTION.into(), "route".into());
        Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 }
    }

    fn route(tenant: &str, relationship: &str, source: &Party, target: &Party) -> String {
        keys::key(&[
            tenant,
            &target.incarnation,
            &source.incarnation,
            relationship,
            &source.task,
            &target.task,
            &source.owner,
            &target.owner,
        ])
    }
}
