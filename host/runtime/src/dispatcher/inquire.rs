//! Looking at evidence: what the core wants looked at, at once from the effect of a commit and later from a sweep.
//!
//! An inquiry is no call: looking twice harms nobody, so that any host may. The commit that wants it returns an effect,
//! which makes it prompt; the row stands in an index until a fact is on record, which makes it certain. Every look after the
//! first is counted by the core before it is made (`inquiries.begin`), and every fact names the inquiry that it
//! answers (`fence`), so that a late one decides nothing.

use super::{
    CallEffect, Core, Refusal, StartError, lock,
    pool::{Job, Place, Pool},
    record::Record,
    resume::read,
};
use crate::resolver::{DeclaredResolver, Fact, Question};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The name of the effect.
pub(super) const ASK: &str = "inquiry.ask";
/// Inquiries per sweep; what is begun makes place for others.
const PAGE: u32 = 100;
/// How long an inquiry that is not for this host is left to others.
const FOREIGN_PATIENCE: Duration = Duration::from_secs(60);
/// How many of them are remembered.
const FOREIGN_MAX: usize = 65_536;

/// What the core wants looked at: the body of the effect, and an item of `inquiries.listDue`. Members that a later core may
/// add are ignored.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Look {
    message_id: String,
    sender_incarnation_id: String,
    /// The owner of the source, on whose account the look is made: owners take turns.
    owner: String,
    /// Which inquiry of the event it is; a fact about another one decides nothing.
    fence: u64,
    resolver: String,
    resolver_digest: String,
    address: String,
    /// The JSON Pointer to the value that is wanted.
    answer: Option<String>,
}

impl Look {
    /// Names the inquiry in pools, logs and memory.
    fn id(&self) -> String {
        format!("{}/{}/{}#{}", self.owner, self.sender_incarnation_id, self.message_id, self.fence)
    }
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Look>,
}

/// What is read of the event that `inquiries.begin` returns.
#[derive(Deserialize)]
struct Begun {
    /// There once the evidence is judged: it was asked often enough.
    checked: Option<String>,
}

/// One look on its way to a resolver.
pub(super) struct Inquiry {
    id: String,
    look: Look,
    /// Whether the commit that wants it has counted it.
    counted: bool,
    resolver: Arc<DeclaredResolver>,
    overrun: Duration,
}

impl Job for Inquiry {
    fn key(&self) -> &str {
        &self.id
    }
    fn allowance(&self, _now: Instant) -> Duration {
        self.resolver.deadline + self.overrun
    }
    fn lane(&self) -> &str {
        &self.look.owner
    }
    fn source(&self) -> &str {
        &self.resolver.name
    }
}

impl Core {
    /// Tells the core every resolver. The keys are new each time, as with profiles.
    pub(super) fn declare_resolvers(&self) -> Result<(), StartError> {
        for resolver in self.resolvers.values() {
            let params = json!({
                "resolver": resolver.name,
                "digest": resolver.digest,
                "producers": resolver.producers,
                "idempotencyKey": self.recorder.new_key(),
            });
            let declared = self.caller.call(&self.config.tenant, "resolvers.declare", &params.to_string());
            declared.map_err(|refusal| StartError::DeclareResolver { resolver: resolver.name.clone(), refusal })?;
        }
        Ok(())
    }

    /// Reads an effect. One that cannot be read, or that asks for what is not here, is left to the sweep of whoever can.
    pub(super) fn inquiry(&self, effect: &CallEffect) -> Option<Inquiry> {
        match serde_json::from_str::<Look>(&effect.body) {
            Ok(look) => self.queued(look, true),
            Err(error) => {
                self.stats.unperformed.add();
                self.note("effect-not-performed", &effect.key, "", "effect-unreadable", &error.to_string());
                None
            }
        }
    }

    /// The look with its resolver, if this host has it in the version that the inquiry is pinned to.
    fn queued(&self, look: Look, counted: bool) -> Option<Inquiry> {
        let resolver = self.resolvers.get(&look.resolver);
        let resolver = resolver.filter(|resolver| resolver.digest == look.resolver_digest).map(Arc::clone);
        let Some(resolver) = resolver else {
            self.foreign_inquiry(&look, counted);
            return None;
        };
        Some(Inquiry { id: look.id(), look, counted, resolver, overrun: self.config.overrun })
    }

    /// Nobody here can look. Others may; where nobody does for a while, it counts as a look that saw nothing, so that the
    /// event is not examined for ever.
    fn foreign_inquiry(&self, look: &Look, counted: bool) {
        let (id, now) = (look.id(), self.config.time.now());
        let since = {
            let mut foreign = lock(&self.foreign);
            if foreign.len() >= FOREIGN_MAX {
                foreign.clear();
            }
            *foreign.entry(id.clone()).or_insert(now)
        };
        if since == now {
            let detail = "this host does not have the resolver in the version that the inquiry is pinned to";
            self.note("inquiry-foreign", &id, &look.resolver, "resolver-changed", detail);
        }
        if !counted && now.saturating_duration_since(since) >= FOREIGN_PATIENCE {
            lock(&self.foreign).remove(&id);
            if let Err(refusal) = self.begin_look(look) {
                self.note("inquiry-not-begun", &id, &look.resolver, &refusal.code, &refusal.detail);
            }
        }
    }

    /// Queues what may be looked at again, unless it is being looked at.
    pub(super) fn sweep_inquiries(&self, inquiries: &Pool<Inquiry>, stopping: impl Fn() -> bool) {
        if self.resolvers.is_empty() {
            return;
        }
        let params = json!({"limit": PAGE}).to_string();
        let page = self.caller.call(&self.config.tenant, "inquiries.listDue", &params);
        let page: Page = match page.and_then(|page| read(&page)) {
            Ok(page) => page,
            Err(refusal) => return self.note("sweep-failed", "", "", &refusal.code, &refusal.detail),
        };
        for look in page.items {
            let id = look.id();
            if stopping() {
                return;
            }
            if inquiries.place(&id) == Place::Absent
                && !self.recorder.holds(&id)
                && let Some(inquiry) = self.queued(look, false)
            {
                // A closed pool means that the host is stopping; whoever comes next asks.
                let _ = inquiries.push(inquiry);
            }
        }
    }

    /// Looks, and records what was seen. Never fails and never panics on the resolver's account.
    pub(super) fn inquire(&self, inquiry: Inquiry) {
        if self.closing() {
            return;
        }
        let Inquiry { id, look, counted, resolver, .. } = inquiry;
        if !counted {
            match self.begin_look(&look) {
                Ok(true) => {}
                Ok(false) => return,
                // It is decided meanwhile, or the store is busy; the next sweep knows.
                Err(refusal) => {
                    return self.note("inquiry-not-begun", &id, &look.resolver, &refusal.code, &refusal.detail);
                }
            }
        }
        (self.config.pause)("after-inquiry-before-look");
        let question =
            Question { address: look.address.clone(), pointer: look.answer.clone(), bytes_max: resolver.bytes_max };
        self.stats.looks.add();
        let fact = resolver.look(&question, Instant::now() + resolver.deadline);
        (self.config.pause)("after-look-before-record");
        if let Some(reason) = fact.reason() {
            self.note("evidence-not-seen", &id, &resolver.name, reason.code, &reason.detail);
        }
        // A refusal is noted by `record`; what is not decided stays due, and the core counts the looks.
        let _ = self.record(Record::fact(&self.recorder, &self.config.tenant, &id, params(&look, &fact)));
    }

    /// Counts a look before it is made. Whether it may be made: the core ends an inquiry that was asked often enough.
    fn begin_look(&self, look: &Look) -> Result<bool, Refusal> {
        let params = json!({
            "messageId": look.message_id, "senderIncarnationId": look.sender_incarnation_id, "owner": look.owner,
            "fence": look.fence, "idempotencyKey": self.recorder.new_key(),
        });
        let begun: Begun = read(&self.caller.call(&self.config.tenant, "inquiries.begin", &params.to_string())?)?;
        Ok(begun.checked.is_none())
    }
}

/// The params of `inquiries.record`, but for the key.
fn params(look: &Look, fact: &Fact) -> Value {
    let mut params = json!({
        "messageId": look.message_id, "senderIncarnationId": look.sender_incarnation_id, "owner": look.owner,
        "fence": look.fence, "resolverDigest": look.resolver_digest, "result": fact.word(),
    });
    // The value is in canonical form: what cannot be read again is no value.
    if let Fact::Found(found) = fact
        && let Some(value) = found.value.as_deref().and_then(|value| serde_json::from_str(value).ok())
    {
        params["value"] = value;
    }
    params
}
