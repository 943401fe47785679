//! Per task incarnation, what every message to or from it moves: the mailbox counters and the length of the audit stream.

pub(crate) use crate::generated::records::boxes::{Box, COLLECTION};

use crate::generated::limits::BUDGET_WINDOW_MS;
use crate::kernel::{Query, Stored, flow::Flow, keys, records::Row};
use alloc::string::String;

impl Box {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The box of a party.
    pub fn find(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }

    /// Every box of an incarnation id, whoever owns it.
    pub fn find_incarnation(tenant: &str, incarnation: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, incarnation], 8)
    }

    /// A box that is not stored yet.
    pub fn fresh(id: String) -> Row<Self> {
        Row { id, revision: 0, record: Self::default() }
    }

    /// Counts one steer or interrupt at `now`; the number in its window.
    pub fn interrupt(&mut self, now: i64) -> i64 {
        if now.saturating_sub(self.window) >= BUDGET_WINDOW_MS {
            self.window = now;
            self.interruptions = 0;
        }
        self.interruptions = self.interruptions.saturating_add(1);
        self.interruptions
    }
}
