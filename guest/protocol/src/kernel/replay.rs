//! What an idempotency key was used for. Never the answer: that is worked out again, through today's authorisation.

use crate::json::Writer;
use crate::kernel::{Query, Stored, fields::Fields, flow::Flow, keys, records::parse};
use alloc::string::String;

/// The collection.
pub(crate) const COLLECTION: &str = "replay";

/// The use of a key.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// The digest of the params.
    pub digest: String,
    /// The row that the operation made or changed.
    pub resource: String,
    /// The record's revision after it.
    pub revision: i64,
}

impl Replay {
    /// The use of this key.
    pub fn find(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }

    pub(crate) fn read(row: &Stored) -> Flow<Self> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        Ok(Self {
            digest: value.text("digest")?.into(),
            resource: value.text("resource")?.into(),
            revision: value.int("revision")?,
        })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("digest", &self.digest);
        w.member_str("resource", &self.resource);
        w.member_int("revision", self.revision);
        w.end_object();
        w.finish()
    }
}
