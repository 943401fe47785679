//! A capability: what one thread may do with another.

pub(crate) use crate::generated::records::capability::{COLLECTION, Capability};

use crate::events::thread::{ThreadName, after_place};
use crate::json::Writer;
use crate::kernel::{Entry, Query, Stored, flow::Flow, keys, records::Row};
use alloc::{string::String, vec::Vec};

impl Capability {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The capabilities with this id, whoever issued them.
    pub fn find(tenant: &str, grant: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, grant], 8)
    }

    /// The row of a capability of an issuer.
    pub fn id(tenant: &str, grant: &str, issuer: &str) -> String {
        keys::key(&[tenant, grant, issuer])
    }

    /// The capabilities from a thread to those of this id, in the order of their owners and of the capabilities' ids.
    pub fn find_routes(tenant: &str, source: &ThreadName, target: &str) -> Query {
        keys::under(COLLECTION, "route", &[tenant, &source.owner, &source.thread, target], 64)
    }

    /// The capabilities from and to a thread after a place in their order.
    pub fn find_of(tenant: &str, thread: &ThreadName, after: Option<&str>, limit: u32) -> Query {
        after_place(keys::under(COLLECTION, "party", &[tenant, &thread.owner, &thread.thread], limit), after)
    }

    /// The capabilities that lead from a thread anywhere, after a place in their order.
    pub fn find_from(tenant: &str, source: &ThreadName, after: Option<&str>, limit: u32) -> Query {
        after_place(keys::under(COLLECTION, "route", &[tenant, &source.owner, &source.thread], limit), after)
    }

    /// Whether it allows anything at `now`.
    pub fn stands(&self, now: i64) -> bool {
        self.status(now) == "current"
    }

    /// How it stands at `now`, as a word.
    pub fn status(&self, now: i64) -> &'static str {
        match self {
            Self { revoked: Some(_), .. } => "revoked",
            Self { expires: Some(end), .. } if now >= *end => "expired",
            Self { consent: Some(false), .. } => "awaiting-consent",
            _ => "current",
        }
    }

    /// The index keys.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let (grant, issuer) = (self.grant_id.as_str(), self.issuer.as_str());
        let (source, target) = (&self.source, &self.target);
        let route = [tenant, &source.owner, &source.thread, &target.thread, &target.owner, grant, issuer];
        let mut entries: Vec<Entry> = [Entry { index: "route".into(), key: keys::key(&route) }].into();
        for end in [source, target] {
            let key = keys::key(&[tenant, &end.owner, &end.thread, grant, issuer]);
            entries.push(Entry { index: "party".into(), key });
        }
        entries
    }

    /// An item of a list for one of its ends.
    pub fn item(&self, w: &mut Writer, end: &ThreadName, now: i64) {
        w.begin_object();
        w.member_str("side", if self.source == *end { "source" } else { "target" });
        w.member_str("status", self.status(now));
        if let Some(consent) = self.consent {
            w.member_bool("consent", consent);
        }
        w.member_str("sourceOwner", &self.source.owner);
        w.member_str("targetOwner", &self.target.owner);
        w.member_raw("capability", &self.document);
        w.end_object();
    }
}
