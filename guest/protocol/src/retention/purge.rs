//! One purge: what it removed, and whether nothing is left of it on the disk.

use crate::json::{Value, Writer};
use crate::kernel::{
    Query, Stored,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::{Row, parse, put_int, put_text},
};
use crate::time;
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "purge";

/// A purge. Ids only.
#[derive(Clone, Debug)]
pub(crate) struct Purge {
    /// `purgeId`.
    pub id: String,
    /// When the rows were emptied.
    pub requested: i64,
    /// Up to when content had expired.
    pub cutoff: i64,
    /// Sender incarnation and message id of each message.
    pub messages: Vec<(String, String)>,
    /// Task and incarnation of each task whose adapter reference was removed.
    pub tasks: Vec<(String, String)>,
    /// `proposalId` of each proposal.
    pub proposals: Vec<String>,
    /// `summaryId` of each summary.
    pub summaries: Vec<String>,
    /// Whether more was due than one purge takes.
    pub more: bool,
    /// Why something may be left on the disk; none where nobody tried yet.
    pub reason: Option<String>,
    /// When nothing was left.
    pub done: Option<i64>,
}

impl Purge {
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

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let record = Self {
            id: value.text("purgeId")?.into(),
            requested: value.int("requested")?,
            cutoff: value.int("cutoff")?,
            messages: pairs(value.member("messages")?)?,
            tasks: pairs(value.member("tasks")?)?,
            proposals: texts(value.member("proposals")?),
            summaries: texts(value.member("summaries")?),
            more: value.flag("more"),
            reason: value.maybe_text("reason"),
            done: value.maybe_int("done"),
        };
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("purgeId", &self.id);
        w.member_int("requested", self.requested);
        w.member_int("cutoff", self.cutoff);
        put_pairs(&mut w, "messages", &self.messages);
        put_pairs(&mut w, "tasks", &self.tasks);
        put_texts(&mut w, "proposals", &self.proposals);
        put_texts(&mut w, "summaries", &self.summaries);
        w.member_bool("more", self.more);
        put_text(&mut w, "reason", self.reason.as_deref());
        put_int(&mut w, "done", self.done);
        w.end_object();
        w.finish()
    }

    /// The answer. `id` is null where there was nothing to remove.
    pub fn view(&self) -> String {
        let mut w = Writer::new();
        let named = |w: &mut Writer, name: &str, ids: [&str; 2], all: &[(String, String)]| {
            w.key(name);
            w.begin_array();
            for (first, second) in all {
                w.begin_object();
                w.member_str(ids[0], first);
                w.member_str(ids[1], second);
                w.end_object();
            }
            w.end_array();
        };
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
        named(&mut w, "messages", ["senderIncarnationId", "messageId"], &self.messages);
        named(&mut w, "adapterRefs", ["taskId", "incarnationId"], &self.tasks);
        put_texts(&mut w, "proposalIds", &self.proposals);
        put_texts(&mut w, "summaryIds", &self.summaries);
        w.member_bool("hasMore", self.more);
        w.end_object();
        w.finish()
    }
}

fn pairs(value: Value<'_>) -> Flow<Vec<(String, String)>> {
    let text = |item: Value<'_>, place: usize| {
        item.item(place).and_then(|value| value.as_str()).map(String::from).ok_or_else(|| damaged("purge"))
    };
    value.items().map(|item| Ok((text(item, 0)?, text(item, 1)?))).collect()
}

fn texts(value: Value<'_>) -> Vec<String> {
    value.items().filter_map(|item| item.as_str()).map(String::from).collect()
}

fn put_texts(w: &mut Writer, name: &str, texts: &[String]) {
    w.key(name);
    w.begin_array();
    for text in texts {
        w.string(text);
    }
    w.end_array();
}

fn put_pairs(w: &mut Writer, name: &str, pairs: &[(String, String)]) {
    w.key(name);
    w.begin_array();
    for (first, second) in pairs {
        w.begin_array();
        w.string(first);
        w.string(second);
        w.end_array();
    }
    w.end_array();
}
