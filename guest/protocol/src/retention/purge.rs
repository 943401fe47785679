//! One purge: what it removed, and whether nothing is left of it on the disk.

pub(crate) use crate::generated::records::purge::{COLLECTION, EmptiedMessage, Purge};

use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    flow::Flow,
    keys,
    records::{NamedTask, Row, put_text},
};
use crate::time;
use alloc::{string::String, vec::Vec};

impl Purge {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// One that removes nothing so far.
    pub fn begun(id: String, requested: i64, cutoff: i64) -> Self {
        Self {
            id,
            requested,
            cutoff,
            messages: Vec::new(),
            tasks: Vec::new(),
            proposals: Vec::new(),
            summaries: Vec::new(),
            more: false,
            reason: None,
            done: None,
        }
    }

    /// The row of a purge.
    pub fn find(tenant: &str, id: &str) -> Query {
        keys::row(COLLECTION, &keys::key(&[tenant, id]))
    }

    /// The answer. `id` is null where there was nothing to remove.
    pub fn view(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.key("purgeId");
        if self.id.is_empty() {
            w.null()
        } else {
            w.string(&self.id)
        }
        w.member_str("state", if self.done.is_some() { "purged" } else { "pending" });
        if self.done.is_none() {
            w.member_str("pendingReason", self.reason.as_deref().unwrap_or("not-scrubbed-yet"));
        }
        put_text(&mut w, "purgedAt", self.done.map(time::format).as_deref());
        w.member_str("retentionCutoff", &time::format(self.cutoff));
        w.key("messages");
        w.begin_array();
        for EmptiedMessage { sender, message } in &self.messages {
            put_ids(&mut w, [("senderIncarnationId", sender), ("messageId", message)]);
        }
        w.end_array();
        w.key("adapterRefs");
        w.begin_array();
        for NamedTask { task, incarnation } in &self.tasks {
            put_ids(&mut w, [("taskId", task), ("incarnationId", incarnation)]);
        }
        w.end_array();
        put_texts(&mut w, "proposalIds", &self.proposals);
        put_texts(&mut w, "summaryIds", &self.summaries);
        w.member_bool("hasMore", self.more);
        w.end_object();
        w.finish()
    }
}

fn put_texts(w: &mut Writer, name: &str, texts: &[String]) {
    w.key(name);
    w.begin_array();
    for text in texts {
        w.string(text);
    }
    w.end_array();
}

fn put_ids(w: &mut Writer, ids: [(&str, &str); 2]) {
    w.begin_object();
    for (name, id) in ids {
        w.member_str(name, id);
    }
    w.end_object();
}
