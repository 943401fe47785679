//! An effective relationship grant.

use crate::json::Writer;
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row, parse, put_int, put_text},
};
use crate::time;
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "grant";

/// A grant with what the gates need of it.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// The effective grant as answered, raw.
    pub document: String,
    /// `grantId`.
    pub grant_id: String,
    /// `grantVersion`.
    pub version: i64,
    /// `relationshipId`.
    pub relationship: String,
    /// `relationshipType`.
    pub kind: String,
    /// The source task.
    pub source: Party,
    /// The target task.
    pub target: Party,
    /// `allowedIntents`.
    pub intents: Vec<String>,
    /// `allowedDeliveryModes`.
    pub modes: Vec<String>,
    /// The digest of the draft without createdAt.
    pub draft: String,
    /// Who granted: `kind:id`.
    pub issuer: String,
    /// When it ends.
    pub expires: Option<i64>,
    /// When it was revoked.
    pub revoked: Option<i64>,
    /// A newer version stands.
    pub superseded: bool,
    /// `proposalId` of the proposal that it approved.
    pub proposal: Option<String>,
    /// Where it asks for the target's consent: whether the target consents.
    pub consent: Option<bool>,
    /// Its places among the records of the source and of the target: sequences of their audit streams.
    pub places: (i64, i64),
}

impl Grant {
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
        keys::numbered(COLLECTION, index, &[&party.key(tenant)], after.saturating_add(1), None, limit)
    }

    /// The current grant of one relationship.
    pub fn find_relationship(tenant: &str, target: &str, source: &str, relationship: &str) -> Query {
        keys::under(COLLECTION, "route", &[tenant, target, source, relationship], 1000)
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let words = |name: &str| -> Flow<Vec<String>> {
            Ok(value.member(name)?.items().filter_map(|item| item.as_str()).map(Into::into).collect())
        };
        let record = Self {
            document: value.member("document")?.raw().into(),
            grant_id: value.text("grantId")?.into(),
            version: value.int("version")?,
            relationship: value.text("relationship")?.into(),
            kind: value.text("kind")?.into(),
            source: Party::read(value.member("source")?)?,
            target: Party::read(value.member("target")?)?,
            intents: words("intents")?,
            modes: words("modes")?,
            draft: value.text("draft")?.into(),
            issuer: value.text("issuer")?.into(),
            expires: value.maybe_int("expires"),
            revoked: value.maybe_int("revoked"),
            superseded: value.flag("superseded"),
            proposal: value.maybe_text("proposal"),
            consent: value.get("consent").and_then(|consent| consent.as_bool()),
            places: (value.int("sourcePlace")?, value.int("targetPlace")?),
        };
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
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

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        let words = |w: &mut Writer, name: &str, words: &[String]| {
            w.key(name);
            w.begin_array();
            for word in words {
                w.string(word);
            }
            w.end_array();
        };
        w.begin_object();
        w.member_raw("document", &self.document);
        w.member_str("grantId", &self.grant_id);
        w.member_int("version", self.version);
        w.member_str("relationship", &self.relationship);
        w.member_str("kind", &self.kind);
        self.source.put(&mut w, "source");
        self.target.put(&mut w, "target");
        words(&mut w, "intents", &self.intents);
        words(&mut w, "modes", &self.modes);
        w.member_str("draft", &self.draft);
        w.member_str("issuer", &self.issuer);
        put_int(&mut w, "expires", self.expires);
        put_int(&mut w, "revoked", self.revoked);
        w.member_bool("superseded", self.superseded);
        put_text(&mut w, "proposal", self.proposal.as_deref());
        if let Some(consent) = self.consent {
            w.member_bool("consent", consent);
        }
        w.member_int("sourcePlace", self.places.0);
        w.member_int("targetPlace", self.places.1);
        w.end_object();
        w.finish()
    }

    /// The index keys: a superseded grant is no route. A revoked one stays a route, so that it shadows older versions.
    /// Both ends find every grant of theirs, and those that stand apart from the rest.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (party, place) in [(&self.source, self.places.0), (&self.target, self.places.1)] {
            let key = keys::key(&[&party.key(tenant), &keys::number(place)]);
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
