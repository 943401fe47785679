//! The message itself: the envelope as received, and where it came from. It never changes until it is purged.

use crate::delivery::names::MessageName;
use crate::json::{Value, Writer};
use crate::kernel::{
    Fact, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, TOMBSTONE, parse, put_raw},
};
use crate::time;
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
    /// Where it came from, if it was passed on.
    pub forwarding: Option<Forwarding>,
    /// Where the call that sent it belongs in a trace: a JSON object, see [`trace`].
    pub context: Option<String>,
    /// Whether its content was removed.
    pub purged: bool,
}

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

/// The provenance of a message that was passed on: what its first sender wrote, and through whom it came.
#[derive(Clone, Debug)]
pub(crate) struct Forwarding {
    /// Who wrote it.
    pub origin: Party,
    /// The kind of actor that wrote it.
    pub actor: String,
    /// `messageId` of the first message.
    pub message: String,
    /// The digest of its envelope.
    pub digest: String,
    /// Its intent.
    pub intent: String,
    /// Who passed it on, in order.
    pub hops: Vec<Hop>,
}

/// One task that passed a message on.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    /// The task.
    pub party: Party,
    /// `messageId` under which it did.
    pub message: String,
    /// When.
    pub at: i64,
}

impl Forwarding {
    fn read(value: Value<'_>) -> Flow<Self> {
        let mut hops = Vec::new();
        for hop in value.member("hops")?.items() {
            let (party, message) = (Party::read(hop.member("task")?)?, hop.text("messageId")?.into());
            hops.push(Hop { party, message, at: hop.int("at")? });
        }
        Ok(Self {
            origin: Party::read(value.member("origin")?)?,
            actor: value.text("actorType")?.into(),
            message: value.text("messageId")?.into(),
            digest: value.text("envelopeDigest")?.into(),
            intent: value.text("intent")?.into(),
            hops,
        })
    }

    fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        self.origin.put(&mut w, "origin");
        w.member_str("actorType", &self.actor);
        w.member_str("messageId", &self.message);
        w.member_str("envelopeDigest", &self.digest);
        w.member_str("intent", &self.intent);
        w.key("hops");
        w.begin_array();
        for hop in &self.hops {
            w.begin_object();
            hop.party.put(&mut w, "task");
            w.member_str("messageId", &hop.message);
            w.member_int("at", hop.at);
            w.end_object();
        }
        w.end_array();
        w.end_object();
        w.finish()
    }

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
    /// The messages that a name may stand for, whoever owns them.
    pub fn find(tenant: &str, name: MessageName<'_>) -> Query {
        keys::under(COLLECTION, "", &[tenant, name.message, name.sender], 8)
    }

    pub(crate) fn read(row: &Stored) -> Flow<Self> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let ancestors = value.member("ancestors")?.items().filter_map(|item| item.as_str()).map(Into::into).collect();
        let forwarding = value.get("forwarding").map(Forwarding::read).transpose()?;
        let envelope = value.member("envelope")?.raw().into();
        Ok(Self { envelope, ancestors, forwarding, context: value.maybe_raw("context"), purged: value.flag("purged") })
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
        put_raw(&mut w, "forwarding", self.forwarding.as_ref().map(Forwarding::text).as_deref());
        put_raw(&mut w, "context", self.context.as_deref());
        w.member_bool("purged", self.purged);
        w.end_object();
        w.finish()
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
