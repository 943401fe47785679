//! An effective relationship grant.

use super::{Flow, Party, Row, parse, put_int};
use crate::coordinator::{Entry, Query, Stored, fields::Fields, keys};
use crate::json::Writer;
use crate::time;
use alloc::{string::String, vec, vec::Vec};

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
        w.end_object();
        w.finish()
    }

    /// The index keys: a superseded grant is no route. A revoked one stays a route, so that it shadows older versions.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        if self.superseded {
            return Vec::new();
        }
        let key = Self::route(tenant, &self.relationship, &self.source, &self.target);
        vec![Entry { index: "route".into(), key }]
    }

    /// The one current grant of a relationship from one party to another.
    pub fn find_current(tenant: &str, relationship: &str, source: &Party, target: &Party) -> Query {
        let start = Self::route(tenant, relationship, source, target);
        Query { collection: COLLECTION.into(), index: "route".into(), start, end: None, reverse: false, limit: 1 }
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
