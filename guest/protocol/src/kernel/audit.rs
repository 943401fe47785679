//! Audit records: who did what to which record, numbered in the streams of everyone concerned and among the events of the
//! message. So a record that is missing shows by the numbers of the others.
//!
//! They hold identifiers, states, codes and digests, and never free text: that is what a purge has to reach.

use crate::digest::{hex, sha256};
use crate::json::Writer;
use crate::kernel::{
    AuditRecord, Entry, Query,
    boxes::{self, Box},
    context::Context,
    flow::Flow,
    keys,
    records::Row,
};
use alloc::{string::String, vec::Vec};

/// The collection.
const COLLECTION: &str = "audit";

/// The events of a stream after a sequence.
pub(crate) fn find_stream(stream: &str, after: i64, limit: u32) -> Query {
    keys::numbered(COLLECTION, "stream", &[&keys::short(stream)], after.saturating_add(1), None, limit)
}

/// The events of a message after a number.
pub(crate) fn find_message(message: &str, after: i64, limit: u32) -> Query {
    keys::numbered(COLLECTION, "message", &[&keys::short(message)], after.saturating_add(1), None, limit)
}

/// What an event is about.
#[derive(Default)]
pub(crate) struct Event<'a> {
    /// The event type of the wire.
    pub kind: &'a str,
    /// The message's row, empty for none.
    pub message_row: &'a str,
    /// The number of the event among those of the message.
    pub place: i64,
    /// `messageId`, empty for none.
    pub message: &'a str,
    /// `senderIncarnationId`, empty for none.
    pub sender: &'a str,
    /// `relationshipId`, empty for none.
    pub relationship: &'a str,
    /// The record's revision.
    pub revision: i64,
    /// A canonical JSON object.
    pub detail: String,
}

impl Context<'_> {
    /// Adds `event` to the streams of `boxes`.
    pub fn record(&mut self, boxes: &mut [&mut Row<Box>], event: &Event<'_>) -> Flow<()> {
        let mut entries = Vec::new();
        let own = self.caller_row();
        for row in boxes.iter_mut() {
            if own.as_ref() == Some(&row.id) {
                row.record.active = Some(self.now);
            }
            row.record.sequence = row.record.sequence.saturating_add(1);
            let key = keys::key(&[&self.names.short(&row.id), &keys::number(row.record.sequence)]);
            entries.push(Entry { index: "stream".into(), key });
        }
        if !event.message_row.is_empty() {
            let key = keys::key(&[&self.names.short(event.message_row), &keys::number(event.place)]);
            entries.push(Entry { index: "message".into(), key });
        }
        let body = self.body(boxes, event);
        for row in boxes.iter() {
            if !self.topics.contains(&row.id) {
                self.topics.push(row.id.clone());
            }
        }
        self.audit.push(AuditRecord { body, entries });
        Ok(())
    }

    /// The record's text, in canonical form: members are written in order.
    fn body(&self, boxes: &[&mut Row<Box>], event: &Event<'_>) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.key("actor");
        self.actor(&mut w);
        w.member_raw("detail", if event.detail.is_empty() { "{}" } else { &event.detail });
        w.member_str("eventId", &event_id(boxes));
        w.member_str("eventType", event.kind);
        if !event.message_row.is_empty() {
            w.member_int("number", event.place);
        }
        w.member_int("occurredAt", self.now);
        w.member_int("revision", event.revision);
        w.key("streams");
        w.begin_array();
        for row in boxes {
            w.begin_object();
            w.member_str("name", &row.id);
            w.member_int("sequence", row.record.sequence);
            w.end_object();
        }
        w.end_array();
        w.key("subject");
        w.begin_object();
        for (name, value) in [
            ("messageId", event.message),
            ("relationshipId", event.relationship),
            ("senderIncarnationId", event.sender),
        ] {
            if !value.is_empty() {
                w.member_str(name, value);
            }
        }
        w.end_object();
        w.end_object();
        w.finish()
    }

    /// The authenticated caller, not the author that a document names.
    fn actor(&self, w: &mut Writer) {
        let principal = self.principal;
        w.begin_object();
        w.member_str("authentication", &principal.authentication);
        w.member_str("id", &principal.id);
        w.member_opt_str("incarnation", principal.incarnation.as_deref());
        w.member_str("kind", principal.kind.name());
        w.member_opt_str("owner", principal.owner.as_deref());
        w.member_opt_str("worker", principal.worker.as_deref());
        w.end_object();
    }

    /// Writes boxes that changed.
    pub fn save_box(&mut self, row: &Row<Box>) {
        self.write(boxes::COLLECTION, &row.id, row.revision, row.record.text(), Vec::new());
    }

    /// The box of a party's row id.
    pub fn load_box(&mut self, id: &str) -> Flow<Row<Box>> {
        match self.lookup(boxes::COLLECTION, id)? {
            Some(row) => Box::read(row),
            None => Ok(Box::fresh(id.into())),
        }
    }
}

fn event_id(boxes: &[&mut Row<Box>]) -> String {
    let mut place = String::new();
    for row in boxes {
        place.push_str(&row.id);
        place.push('#');
        place.push_str(&keys::number(row.record.sequence));
    }
    let digest: String = hex(&sha256(place.as_bytes())).chars().take(32).collect();
    ["evt_", &digest].concat()
}

/// A canonical JSON object of text members, which must be given in order.
pub(crate) fn detail(members: &[(&str, &str)]) -> String {
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in members {
        w.member_str(name, value);
    }
    w.end_object();
    w.finish()
}
