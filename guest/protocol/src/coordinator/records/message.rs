//! The message itself: the envelope as received. It never changes until it is purged.

use super::{Flow, parse};
use crate::coordinator::{Stored, fields::Fields};
use crate::json::Writer;
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "message";

/// What is stored of a message beside its life.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The envelope, raw.
    pub envelope: String,
    /// The rows of the causal chain, the root first.
    pub ancestors: Vec<String>,
}

impl Message {
    pub(crate) fn read(row: &Stored) -> Flow<Self> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let ancestors = value.member("ancestors")?.items().filter_map(|item| item.as_str()).map(Into::into).collect();
        Ok(Self { envelope: value.member("envelope")?.raw().into(), ancestors })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_raw("envelope", &self.envelope);
        w.key("ancestors");
        w.begin_array();
        for ancestor in &self.ancestors {
            w.string(ancestor);
        }
        w.end_array();
        w.end_object();
        w.finish()
    }
}
