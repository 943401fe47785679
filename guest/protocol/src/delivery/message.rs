//! The message itself: the envelope as received, and where it came from. It never changes until it is purged.

pub(crate) use crate::generated::records::message::{COLLECTION, Forwarding, Hop, Message};

use crate::delivery::names::MessageName;
use crate::json::{Value, Writer};
use crate::kernel::{
    Fact, Query, Stored,
    flow::Flow,
    keys,
    records::{Party, Row, TOMBSTONE, parse},
};
use crate::time;
use alloc::string::String;

/// What is kept of the context of a request that sends: its place in a trace. Other names are none of ours.
pub(crate) fn trace(context: &[Fact]) -> Option<String> {
    let known = |name: &&str| context.iter().find(|fact| fact.name == **name);
    let mut facts = ["traceparent", "tracestate"].iter().filter_map(known).peekable();
    facts.peek()?;
    let mut w = Writer::new();
    w.begin_object();
    for fact in facts {
        w.member_str(&fact.name, &fact.value);
    }
    w.end_object();
    Some(w.finish())
}

impl Forwarding {
    /// As a receiver sees it.
    pub fn view(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.key("origin");
        w.begin_object();
        w.member_str("actorType", &self.actor);
        self.origin.put_ref(&mut w, "source");
        w.member_str("messageId", &self.message);
        w.member_str("envelopeDigest", &self.digest);
        w.member_str("intent", &self.intent);
        w.end_object();
        w.key("hops");
        w.begin_array();
        for hop in &self.hops {
            w.begin_object();
            hop.party.put_ref(&mut w, "source");
            w.member_str("messageId", &hop.message);
            w.member_str("forwardedAt", &time::format(hop.at));
            w.end_object();
        }
        w.end_array();
        w.end_object();
        w.finish()
    }

    /// Whether it came through this task, in whatever incarnation.
    pub fn passed(&self, task: &Party) -> bool {
        let same = |party: &Party| party.task == task.task && party.owner == task.owner;
        same(&self.origin) || self.hops.iter().any(|hop| same(&hop.party))
    }
}

impl Message {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The messages that a name may stand for, whoever owns them.
    pub fn find(tenant: &str, name: MessageName<'_>) -> Query {
        keys::under(COLLECTION, "", &[tenant, name.message, name.sender], 8)
    }

    /// What is left after a purge: the envelope without what its sender wrote freely. It has no digest any more; that of
    /// the whole stands in the life.
    pub fn purge(self) -> Flow<Self> {
        let tree = parse(&self.envelope)?;
        let mut w = Writer::new();
        w.begin_object();
        for (name, value) in tree.root().members() {
            match name {
                "content" | "reason" => w.member_str(name, TOMBSTONE),
                "evidenceRefs" | "freshness" => {}
                "sender" => put_without(&mut w, name, value, "harness", Some(TOMBSTONE)),
                "target" => put_without(&mut w, name, value, "harness", None),
                "causality" => put_without(&mut w, name, value, "traceId", None),
                _ => w.member_raw(name, value.raw()),
            }
        }
        w.end_object();
        Ok(Self { envelope: w.finish(), context: None, purged: true, ..self })
    }
}

/// Writes an object with something else, or nothing, in place of one of its texts.
fn put_without(w: &mut Writer, name: &str, value: Value<'_>, member: &str, instead: Option<&str>) {
    w.key(name);
    w.begin_object();
    for (name, value) in value.members() {
        match instead {
            _ if name != member => w.member_raw(name, value.raw()),
            Some(text) => w.member_str(name, text),
            None => {}
        }
    }
    w.end_object();
}
