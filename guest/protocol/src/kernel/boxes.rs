//! Per task incarnation, what every message to or from it moves: the mailbox counters and the head of the audit stream.

use crate::generated::limits::BUDGET_WINDOW_MS;
use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Row, parse, put_int},
};
use alloc::string::String;

/// The collection.
pub(crate) const COLLECTION: &str = "box";

/// Counters and the stream head of one party.
#[derive(Clone, Debug, Default)]
pub(crate) struct Box {
    /// The order number that the last received message got.
    pub cursor: i64,
    /// Undecided messages.
    pub open: i64,
    /// Start of the interruption window.
    pub window: i64,
    /// Steers and interrupts received in it.
    pub interruptions: i64,
    /// The sequence of the last audit record of the stream.
    pub sequence: i64,
    /// Its digest; empty before the first.
    pub head: String,
    /// When the party itself last did something on record.
    pub active: Option<i64>,
}

impl Box {
    /// The box of a party.
    pub fn find(id: &str) -> Query {
        keys::row(COLLECTION, id)
    }

    /// Every box of an incarnation id, whoever owns it.
    pub fn find_incarnation(tenant: &str, incarnation: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, incarnation], 8)
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let record = Self {
            cursor: value.int("cursor")?,
            open: value.int("open")?,
            window: value.int("window")?,
            interruptions: value.int("interruptions")?,
            sequence: value.int("sequence")?,
            head: value.text("head")?.into(),
            active: value.maybe_int("active"),
        };
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    /// A box that is not stored yet.
    pub fn fresh(id: String) -> Row<Self> {
        Row { id, revision: 0, record: Self::default() }
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_int("cursor", self.cursor);
        w.member_int("open", self.open);
        w.member_int("window", self.window);
        w.member_int("interruptions", self.interruptions);
        w.member_int("sequence", self.sequence);
        w.member_str("head", &self.head);
        put_int(&mut w, "active", self.active);
        w.end_object();
        w.finish()
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
