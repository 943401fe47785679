//! A stand-in for the core in tests of the dispatcher and of adapters: the submission part alone, in memory, with a clock
//! that the test moves. It judges like the core where the dispatcher depends on it (settled points 2, 3 and 6), and it
//! keeps every operation that it was asked for.

use super::{CallEffect, Caller, Refusal};
use crate::{
    adapter::{Profile, Receipt},
    resolver::DeclaredResolver,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Decides whether an operation fails before it is looked at.
pub type Fault = Box<dyn Fn(&str, &Value) -> Option<Refusal> + Send>;

/// One attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// `outcome-unknown`, `receipt-recorded`, `confirmed-not-submitted` or `manual-reconciliation`.
    pub state: &'static str,
    /// The receipt on record.
    pub receipt: Option<Value>,
    /// How many queries were recorded.
    pub queries: u32,
    /// The disposition's revision, which a receipt must name.
    pub revision: u32,
    instance: String,
    settle_at: u64,
    lease_until: u64,
    profile: String,
    profile_digest: String,
    session: Option<String>,
    envelope_digest: String,
}

/// Something to be looked at.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// How often it was looked at.
    pub asked: u32,
    /// Not to be looked at again before.
    pub due_at: u64,
    /// The params that decided it, or `unresolved` where it was asked often enough.
    pub fact: Option<Value>,
    owner: String,
    resolver: String,
    resolver_digest: String,
}

/// How long after a look the next one may be.
pub const LOOK_AGAIN_MS: u64 = 1_000;
/// How often is looked at most.
pub const LOOKS_MAX: u32 = 3;

#[derive(Default)]
struct State {
    attempts: BTreeMap<String, Attempt>,
    inquiries: BTreeMap<String, Wanted>,
    operations: Vec<(String, String, Value)>,
    now_ms: u64,
    fault: Option<Fault>,
}

/// The store and the rules, shared by all hosts of a test.
#[derive(Clone, Default)]
pub struct FakeCore(Arc<(Mutex<State>, Condvar)>);

/// The core as one host instance sees it.
pub struct FakeHost {
    core: FakeCore,
    instance: String,
}

impl FakeCore {
    /// An empty core at time 1 000 000.
    pub fn new() -> Self {
        let core = Self::default();
        core.lock().now_ms = 1_000_000;
        core
    }

    /// The view of a host that calls itself `instance`.
    pub fn host(&self, instance: &str) -> Arc<FakeHost> {
        Arc::new(FakeHost { core: self.clone(), instance: instance.to_owned() })
    }

    /// Begins attempt `id` of `profile` by `instance`, as `adapter.acceptAndBegin` would. The lease ends with `settleAt`.
    pub fn begin(&self, id: &str, profile: &Profile, instance: &str) -> CallEffect {
        self.begin_with(id, profile, instance, |_| {})
    }

    /// The same, with a last change of the effect's body.
    pub fn begin_with(&self, id: &str, profile: &Profile, instance: &str, edit: impl FnOnce(&mut Value)) -> CallEffect {
        let envelope = format!(r#"{{"specVersion":"0.0-draft","messageId":"msg_{id}"}}"#);
        let mut state = self.lock();
        let deadline_ms = profile.deadline.as_millis() as u64;
        let settle_at = state.now_ms + deadline_ms + profile.settle.as_millis() as u64;
        let mut body = json!({
            "submissionId": id, "adapterIdempotencyKey": format!("adp_{id}"), "messageId": format!("msg_{id}"),
            "senderIncarnationId": "inc_sender", "profile": profile.name, "profileDigest": profile.digest,
            "deadlineMs": deadline_ms, "settleAt": settle_at, "expectedRevision": 3,
            "envelope": serde_json::value::RawValue::from_string(envelope.clone()).unwrap(),
            "envelopeDigest": digest(&envelope), "tenant": "default",
        });
        edit(&mut body);
        let attempt = Attempt {
            state: "outcome-unknown",
            receipt: None,
            queries: 0,
            revision: 3,
            instance: instance.to_owned(),
            settle_at,
            lease_until: settle_at,
            profile: profile.name.clone(),
            profile_digest: body["profileDigest"].as_str().unwrap_or_default().to_owned(),
            session: body["session"].as_str().map(str::to_owned),
            envelope_digest: digest(&envelope),
        };
        assert!(state.attempts.insert(id.to_owned(), attempt).is_none(), "attempt {id} begins twice");
        // `Value` would sort the members of the envelope: put the text back as it was.
        let text = body.to_string().replace(&body["envelope"].to_string(), &envelope);
        CallEffect { name: "adapter.submit".into(), key: id.to_owned(), body: text }
    }

    /// Wants the evidence of event `id` of `owner` looked at, as a commit would that counts the first look.
    pub fn want(&self, id: &str, owner: &str, resolver: &DeclaredResolver) -> CallEffect {
        let mut state = self.lock();
        let wanted = Wanted {
            asked: 1,
            due_at: state.now_ms + LOOK_AGAIN_MS,
            fact: None,
            owner: owner.to_owned(),
            resolver: resolver.name.clone(),
            resolver_digest: resolver.digest.clone(),
        };
        let body = look_of(id, &wanted).to_string();
        assert!(state.inquiries.insert(id.to_owned(), wanted).is_none(), "inquiry {id} is wanted twice");
        CallEffect { name: "inquiry.ask".into(), key: format!("{id}#{FENCE}"), body }
    }

    /// The inquiry as it is now.
    pub fn wanted(&self, id: &str) -> Wanted {
        self.lock().inquiries.get(id).cloned().expect("the inquiry exists")
    }

    /// The attempt as it is now.
    pub fn attempt(&self, id: &str) -> Attempt {
        self.lock().attempts.get(id).cloned().expect("the attempt exists")
    }

    /// Changes an attempt behind the dispatcher's back.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut Attempt)) {
        change(self.lock().attempts.get_mut(id).expect("the attempt exists"));
        self.0.1.notify_all();
    }

    /// Waits until the attempt is in `state`; panics with what it is after a generous time.
    pub fn wait_state(&self, id: &str, state: &str) {
        self.wait(|core| core.attempt(id).state == state, || format!("{id} to be {state}: {:?}", self.attempt(id)));
    }

    /// Waits until `holds`; panics after a generous time.
    pub fn wait(&self, holds: impl Fn(&Self) -> bool, what: impl FnOnce() -> String) {
        let until = Instant::now() + Duration::from_secs(60);
        while !holds(self) {
            assert!(Instant::now() < until, "waited in vain for {}", what());
            let guard = self.lock();
            drop(self.0.1.wait_timeout(guard, Duration::from_millis(20)));
        }
    }

    /// Every operation so far: who asked (the instance), the method, the params.
    pub fn operations(&self) -> Vec<(String, String, Value)> {
        self.lock().operations.clone()
    }

    /// How many operations of this method with this `result` (empty: any) were asked for.
    pub fn count(&self, method: &str, result: &str) -> usize {
        let hit = |params: &Value| result.is_empty() || params["result"] == result;
        self.lock().operations.iter().filter(|(_, name, params)| name == method && hit(params)).count()
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        self.lock().now_ms += by.as_millis() as u64;
    }

    /// Sets or lifts a fault.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.lock().fault = fault;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for FakeHost {
    fn call(&self, tenant: &str, method: &str, params: &str) -> Result<String, Refusal> {
        let params: Value = serde_json::from_str(params).map_err(|e| refuse("params-invalid", &e.to_string()))?;
        let mut state = self.core.lock();
        state.operations.push((self.instance.clone(), method.to_owned(), params.clone()));
        if let Some(refusal) = state.fault.as_ref().and_then(|fault| fault(method, &params)) {
            return Err(refusal);
        }
        if tenant != "default" {
            return Err(refuse("not-visible", "no such tenant"));
        }
        let result = match method {
            "adapters.declare" | "resolvers.declare" => Ok(json!({})),
            "inquiries.listDue" => Ok(list_due(&state)),
            "inquiries.begin" => begin_look(&mut state, &params),
            "inquiries.record" => record_fact(&mut state, &params),
            "adapter.listUnresolved" => Ok(list(&state, &params)),
            "adapter.recordReceipt" => record_receipt(&mut state, &params),
            "adapter.recordQuery" => record_query(&mut state, &self.instance, &params),
            _ => Err(refuse("method-not-found", method)),
        };
        self.core.0.1.notify_all();
        result.map(|value| value.to_string())
    }

    fn digest(&self, text: &str) -> Result<String, Refusal> {
        Ok(digest(text))
    }

    fn now_ms(&self) -> u64 {
        self.core.lock().now_ms
    }
}

/// Not a cryptographic digest: only different for different texts, and of the right shape.
pub fn digest(text: &str) -> String {
    let part = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    format!("sha256:{}", (0..4).map(part).collect::<String>())
}

fn refuse(code: &str, detail: &str) -> Refusal {
    Refusal { code: code.to_owned(), detail: detail.to_owned(), retryable: false }
}

/// Two attempts per page, so that paging is always exercised.
fn list(state: &State, params: &Value) -> Value {
    let after = params["cursor"].as_str().unwrap_or_default();
    let open = |(id, attempt): &(&String, &Attempt)| id.as_str() > after && attempt.state == "outcome-unknown";
    let page: Vec<_> = state.attempts.iter().filter(open).take(2).collect();
    let next = (page.len() == 2).then(|| page[1].0.clone());
    let item = |(id, a): (&String, &Attempt)| {
        json!({
            "submissionId": id, "adapterIdempotencyKey": format!("adp_{id}"), "tenant": "default",
            "profile": a.profile, "profileDigest": a.profile_digest, "session": a.session, "settleAt": a.settle_at,
            "leaseUntil": a.lease_until, "instance": a.instance, "queries": a.queries,
            "expectedRevision": a.revision, "envelopeDigest": a.envelope_digest,
            "messageId": format!("msg_{id}"), "senderIncarnationId": "inc_sender",
        })
    };
    json!({"items": page.into_iter().map(item).collect::<Vec<_>>(), "nextCursor": next})
}

/// The fence of every inquiry here.
const FENCE: u32 = 7;

fn list_due(state: &State) -> Value {
    let due = |(_, wanted): &(&String, &Wanted)| wanted.fact.is_none() && wanted.due_at <= state.now_ms;
    let items: Vec<_> = state.inquiries.iter().filter(due).map(|(id, wanted)| look_of(id, wanted)).collect();
    json!({"items": items})
}

fn look_of(id: &str, wanted: &Wanted) -> Value {
    json!({
        "messageId": id, "senderIncarnationId": "inc_sender", "owner": wanted.owner, "fence": FENCE,
        "resolver": wanted.resolver, "resolverDigest": wanted.resolver_digest, "address": id, "answer": "/a",
        "asked": wanted.asked, "next": "2026-01-01T00:00:00Z",
    })
}

fn begin_look(state: &mut State, params: &Value) -> Result<Value, Refusal> {
    let now = state.now_ms;
    let wanted = find_wanted(state, params)?;
    if wanted.asked >= LOOKS_MAX {
        wanted.fact = Some(json!("unresolved"));
        return Ok(json!({"checked": "unresolved"}));
    }
    (wanted.asked, wanted.due_at) = (wanted.asked + 1, now + LOOK_AGAIN_MS);
    Ok(json!({}))
}

fn record_fact(state: &mut State, params: &Value) -> Result<Value, Refusal> {
    let wanted = find_wanted(state, params)?;
    if params["resolverDigest"] != *wanted.resolver_digest {
        return Err(refuse("state-conflict", "it is of another version of the resolver"));
    }
    if params["result"] != "unreachable" {
        wanted.fact = Some(json!({"result": params["result"], "value": params["value"]}));
    }
    Ok(json!({}))
}

/// The inquiry that params name, if it stands.
fn find_wanted<'a>(state: &'a mut State, params: &Value) -> Result<&'a mut Wanted, Refusal> {
    let id = params["messageId"].as_str().unwrap_or_default();
    let wanted = state.inquiries.get_mut(id).ok_or_else(|| refuse("not-visible", "no such event"))?;
    let stands = wanted.fact.is_none() && params["fence"] == FENCE && params["owner"] == *wanted.owner;
    if stands { Ok(wanted) } else { Err(refuse("state-conflict", "the inquiry does not stand")) }
}

fn record_receipt(state: &mut State, params: &Value) -> Result<Value, Refusal> {
    let receipt = checked_receipt(&params["receipt"])?;
    let attempt = find(state, params)?;
    if attempt.state == "receipt-recorded" {
        let same = attempt.receipt.as_ref() == Some(&receipt);
        return if same { Ok(json!({})) } else { Err(refuse("receipt-conflict", "another receipt is on record")) };
    }
    if params["expectedRevision"] != attempt.revision {
        return Err(refuse("revision-conflict", "the disposition has moved"));
    }
    if attempt.state != "outcome-unknown" {
        return Err(refuse("submission-state", attempt.state));
    }
    (attempt.state, attempt.receipt) = ("receipt-recorded", Some(receipt));
    Ok(json!({}))
}

fn record_query(state: &mut State, instance: &str, params: &Value) -> Result<Value, Refusal> {
    if params["evidenceRefs"].as_array().is_none_or(Vec::is_empty) {
        return Err(refuse("reconciliation-evidence-required", "no evidence"));
    }
    let now = state.now_ms;
    let attempt = find(state, params)?;
    if attempt.state != "outcome-unknown" {
        return Err(refuse("submission-state", attempt.state));
    }
    let result = params["result"].as_str().unwrap_or_default();
    let own = attempt.instance == instance;
    let settled = now >= attempt.settle_at && now >= attempt.lease_until;
    match result {
        "not-submitted" if own => attempt.state = "confirmed-not-submitted",
        "found" if own || settled => {
            attempt.receipt = Some(checked_receipt(&params["receipt"])?);
            attempt.state = "receipt-recorded";
        }
        "absent-final" if settled => attempt.state = "confirmed-not-submitted",
        "absent-now" if settled => attempt.queries += 1,
        "unanswerable" if settled => attempt.state = "manual-reconciliation",
        "not-submitted" => return Err(refuse("reconciliation-authority", "not this instance's attempt")),
        "found" | "absent-final" | "absent-now" | "unanswerable" => {
            return Err(refuse("submission-settling", "too early"));
        }
        _ => return Err(refuse("params-invalid", "no such result")),
    }
    Ok(json!({}))
}

fn find<'a>(state: &'a mut State, params: &Value) -> Result<&'a mut Attempt, Refusal> {
    let id = params["submissionId"].as_str().unwrap_or_default();
    state.attempts.get_mut(id).ok_or_else(|| refuse("not-visible", "no such attempt"))
}

/// A rough look at `acceptedAt`, which the core parses in earnest.
fn checked_receipt(value: &Value) -> Result<Value, Refusal> {
    let receipt = Receipt::deserialize(value).map_err(|e| refuse("receipt-invalid", &e.to_string()))?;
    receipt.check().map_err(|reason| refuse("receipt-invalid", &reason.detail))?;
    let at = receipt.accepted_at.as_bytes();
    let shaped = at.len() >= 20 && at[4] == b'-' && at[10] == b'T' && at[13] == b':' && at.ends_with(b"Z");
    if !shaped {
        return Err(refuse("receipt-invalid", "acceptedAt is not a date-time"));
    }
    Ok(value.clone())
}
