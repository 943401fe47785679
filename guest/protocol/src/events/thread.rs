//! A thread: what holds over all incarnations of a task.

pub(crate) use crate::generated::records::ThreadName;
pub(crate) use crate::generated::records::thread::{COLLECTION, Check, Thread};

use crate::generated::machines;
use crate::json::Writer;
use crate::kernel::{
    Entry, Query, Stored,
    flow::Flow,
    keys,
    records::{Party, Row, put_raw, put_text},
};
use alloc::{string::String, vec::Vec};

/// Greater than anything in a key that goes on, and less than any character of an id.
const NEXT: char = '\u{1}';

impl ThreadName {
    /// The row of the thread.
    pub fn id(&self, tenant: &str) -> String {
        keys::key(&[tenant, &self.thread, &self.owner])
    }

    /// The thread of a task.
    pub fn of(party: &Party) -> Self {
        Self { thread: party.task.clone(), owner: party.owner.clone() }
    }

    /// The wire form.
    pub fn show(&self, w: &mut Writer, name: &str) {
        w.key(name);
        w.begin_object();
        w.member_str("threadId", &self.thread);
        w.member_str("owner", &self.owner);
        w.end_object();
    }
}

impl Thread {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The thread of this name.
    pub fn find_row(tenant: &str, name: &ThreadName) -> Query {
        keys::row(COLLECTION, &name.id(tenant))
    }

    /// The threads with this id, whoever owns them.
    pub fn find(tenant: &str, thread: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, thread], 8)
    }

    /// The threads of an owner after a place in their order.
    pub fn find_own(tenant: &str, owner: &str, after: Option<&str>, limit: u32) -> Query {
        after_place(keys::under(COLLECTION, "own", &[tenant, owner], limit), after)
    }

    /// Its live incarnation.
    pub fn party(&self) -> Party {
        let ThreadName { thread, owner } = &self.name;
        Party { task: thread.clone(), incarnation: self.incarnation.clone(), owner: owner.clone() }
    }

    /// Whether it was ended for good.
    pub fn terminated(&self) -> bool {
        self.state == machines::Thread::Terminated
    }

    /// The index keys.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let key = keys::key(&[tenant, &self.name.owner, &self.name.thread]);
        [Entry { index: "own".into(), key }].into()
    }

    fn put_checks(&self, w: &mut Writer) {
        w.key("checks");
        w.begin_array();
        for check in &self.checks {
            w.begin_object();
            w.member_str("subject", &check.subject);
            w.member_str("resolver", &check.resolver);
            w.member_str("address", &check.address);
            w.member_str("answer", &check.answer);
            w.member_str("payload", &check.payload);
            w.member_int("visibleAfterMs", check.visible_after_ms);
            w.end_object();
        }
        w.end_array();
    }

    /// The wire form; checks and settings are for its own side.
    pub fn view(&self, w: &mut Writer, own: bool) {
        w.begin_object();
        w.member_str("threadId", &self.name.thread);
        w.member_str("owner", &self.name.owner);
        w.member_str("state", self.state.name());
        w.member_str("incarnationId", &self.incarnation);
        w.member_str("agentId", &self.agent);
        w.member_str("role", &self.role);
        put_text(w, "continuationId", self.continuation.as_deref());
        w.member_str("reception", &self.reception);
        if own {
            self.put_checks(w);
            put_raw(w, "settings", self.settings.as_deref());
        }
        if let Some(origin) = &self.forked_from {
            origin.show(w, "forkedFrom");
        }
        w.member_int("epoch", self.epoch);
        w.member_int("revision", self.revision);
        w.end_object();
    }
}

/// A query of a list that goes on after a place: what [`place_of`] gave for the last row before.
pub(crate) fn after_place(query: Query, after: Option<&str>) -> Query {
    let Some(after) = after else { return query };
    let mut start = [query.start.as_str(), after].concat();
    start.push(NEXT);
    Query { start, ..query }
}

/// The place of a row in the list that a query without a place asks for.
pub(crate) fn place_of<'r>(first: &Query, row: &'r Stored) -> &'r str {
    row.key.strip_prefix(first.start.as_str()).unwrap_or_default()
}
