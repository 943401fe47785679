//! What an idempotency key was used for. Never the answer: that is worked out again, through today's authorisation.

pub(crate) use crate::generated::records::replay::{COLLECTION, Replay};

use crate::kernel::{Query, Stored, flow::Flow, keys, records::Row};

impl Replay {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The use of this key.
    pub fn find(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }
}
