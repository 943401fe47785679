//! Looking at evidence: what the core wants looked at, at once from the effect of a commit and later from a sweep.
//!
//! An inquiry is no call: looking twice harms nobody, so that any host may. The commit that wants it returns an effect,
//! which makes it prompt; the row stands in an index until a fact is on record, which makes it certain. Every look after the
//! first is counted by the core before it is made (`inquiries.begin`), and every fact names the look that it is of
//! (`fence`), so that a late one decides nothing.

use super::{
    CallEffect, Core, Refusal, StartError, millis,
    pool::{Job, Place, Pool},
    record::Record,
    resume::read,
};
use crate::resolver::{DeclaredResolver, Fact, Question};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The name of the effect.
pub(super) const ASK: &str = "inquiry.ask";
/// Inquiries per page.
const PAGE: u32 = 100;
/// Pages per sweep.
const PAGES_MAX: u32 = 100;

/// What the core wants looked at: the body of the effect, and the result of `inquiries.begin`. Members that a later core
/// may add are ignored.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Look {
    inquiry_id: String,
    tenant: String,
    /// The two owners that it is between: pairs take turns.
    pair: String,
    resolver: String,
    resolver_digest: String,
    address: String,
    pointer: Option<String>,
    bytes_max: Option<f64>,
    /// Which look it is.
    fence: u32,
}

/// An inquiry that may be looked at again.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Due {
    inquiry_id: String,
    tenant: String,
    pair: String,
    resolver: String,
    resolver_digest: String,
    fence: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    items: Vec<Due>,
    next_cursor: Option<String>,
}

/// One look on its way to a resolver.
pub(super) struct Inquiry {
    step: Step,
    resolver: Arc<DeclaredResolver>,
    overrun: Duration,
}

enum Step {
    /// Counted by the commit that wants it.
    Counted(Look),
    /// To be counted first.
    Due(Due),
}

impl Inquiry {
    fn id(&self) -> &str {
        match &self.step {
            Step::Counted(look) => &look.inquiry_id,
            Step::Due(due) => &due.inquiry_id,
        }
    }
}

impl Job for Inquiry {
    fn key(&self) -> &str {
        self.id()
    }
    fn allowance(&self, _now: Instant) -> Duration {
        self.resolver.deadline + self.overrun
    }
    fn lane(&self) -> &str {
        match &self.step {
            Step::Counted(look) => &look.pair,
            Step::Due(due) => &due.pair,
        }
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
                "kind": resolver.kind,
                "producers": resolver.producers,
                "deadlineMs": millis(resolver.deadline),
                "bytesMax": resolver.bytes_max,
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
            Ok(look) => {
                let resolver = self.known(&look.inquiry_id, &look.resolver, &look.resolver_digest)?;
                Some(Inquiry { step: Step::Counted(look), resolver, overrun: self.config.overrun })
            }
            Err(error) => {
                self.stats.unperformed.add();
                self.note("effect-not-performed", &effect.key, "", "effect-unreadable", &error.to_string());
                None
            }
        }
    }

    /// The resolver in the version that an inquiry is pinned to.
    fn known(&self, id: &str, name: &str, digest: &str) -> Option<Arc<DeclaredResolver>> {
        let resolver = self.resolvers.get(name).filter(|resolver| resolver.digest == digest);
        if resolver.is_none() {
            let detail = "this host does not have the resolver in the version that the inquiry is pinned to";
            self.note_once(id, "inquiry-foreign", name, "resolver-changed", detail);
        }
        resolver.map(Arc::clone)
    }

    /// Queues what may be looked at again, unless it is being looked at.
    pub(super) fn sweep_inquiries(&self, inquiries: &Pool<Inquiry>, stopping: impl Fn() -> bool) {
        if self.resolvers.is_empty() {
            return;
        }
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = match self.due(cursor.as_deref()) {
                Ok(page) => page,
                Err(refusal) => return self.note("sweep-failed", "", "", &refusal.code, &refusal.detail),
            };
            for due in page.items {
                if stopping() {
                    return;
                }
                if inquiries.place(&due.inquiry_id) != Place::Absent || self.recorder.holds(&due.inquiry_id) {
                    continue;
                }
                if let Some(resolver) = self.known(&due.inquiry_id, &due.resolver, &due.resolver_digest) {
                    let inquiry = Inquiry { step: Step::Due(due), resolver, overrun: self.config.overrun };
                    // A closed pool means that the host is stopping; whoever comes next asks.
                    let _ = inquiries.push(inquiry);
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return;
            }
        }
    }

    fn due(&self, cursor: Option<&str>) -> Result<Page, Refusal> {
        let mut params = json!({"limit": PAGE});
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        read(&self.caller.call(&self.config.tenant, "inquiries.listDue", &params.to_string())?)
    }

    /// Looks, and records what was seen. Never fails and never panics on the resolver's account.
    pub(super) fn inquire(&self, inquiry: Inquiry) {
        if self.closing() {
            return;
        }
        let Inquiry { step, resolver, .. } = inquiry;
        let look = match step {
            Step::Counted(look) => look,
            Step::Due(due) => match self.begin_look(&due) {
                Ok(look) => look,
                // Another host was faster, or it is decided meanwhile; the next sweep knows.
                Err(refusal) => {
                    return self.note(
                        "inquiry-not-begun",
                        &due.inquiry_id,
                        &due.resolver,
                        &refusal.code,
                        &refusal.detail,
                    );
                }
            },
        };
        (self.config.pause)("after-inquiry-before-look");
        let question = Question {
            address: look.address.clone(),
            pointer: look.pointer.clone(),
            bytes_max: look.bytes_max.map_or(u64::MAX, |bytes| bytes.max(0.0) as u64),
        };
        self.stats.looks.add();
        let deadline = Instant::now() + resolver.deadline;
        let fact = resolver.look(&question, deadline);
        (self.config.pause)("after-look-before-record");
        if let Some(reason) = fact.reason() {
            self.note("evidence-not-seen", &look.inquiry_id, &resolver.name, reason.code, &reason.detail);
        }
        let fact = params(&look, &fact);
        // A refusal is noted by `record`; the row stays due, and the core counts the looks.
        let _ = self.record(Record::fact(&self.recorder, &look.tenant, &look.inquiry_id, fact));
    }

    fn begin_look(&self, due: &Due) -> Result<Look, Refusal> {
        let params = json!({
            "inquiryId": due.inquiry_id, "fence": due.fence, "idempotencyKey": self.recorder.new_key(),
        });
        read(&self.caller.call(&due.tenant, "inquiries.begin", &params.to_string())?)
    }
}

/// The params of `inquiries.record`, but for the key.
fn params(look: &Look, fact: &Fact) -> Value {
    let mut seen = Map::new();
    seen.insert("result".into(), fact.word().into());
    if let Fact::Found(found) = fact {
        seen.insert("digest".into(), found.digest.clone().into());
        seen.insert("length".into(), found.length.into());
        // As a text: what is in it is for the core to read.
        if let Some(value) = &found.value {
            seen.insert("value".into(), value.clone().into());
        }
    }
    if let Some(reason) = fact.reason() {
        seen.insert("reason".into(), reason.code.into());
    }
    json!({
        "inquiryId": look.inquiry_id, "fence": look.fence, "resolverDigest": look.resolver_digest, "fact": seen,
    })
}
