//! Getting facts into the store: tried at once, kept in memory while the store is down, given up only if the core says
//! no. Repeating a record is harmless: each carries its own idempotency key. Repeating a call is not, and never happens.

use super::{Caller, Refusal, Time, lock, resume};
use crate::adapter::Receipt;
use serde_json::{Map, Value, json};
use std::{
    io,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How often a record is tried before it is kept for later.
const TRIES: u32 = 3;
/// How often a moved revision is followed.
const REVISIONS_MAX: u32 = 8;
/// The pause between tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Why a record is not in the store.
#[derive(Debug)]
pub(super) enum Refused {
    /// The core said no, for good.
    Core(Refusal),
    /// The store did not take it; it is kept and tried again.
    Held,
}

/// A fact for the core.
pub(super) struct Record {
    pub tenant: String,
    pub submission_id: String,
    pub method: &'static str,
    /// `receipt`, or the result of the query.
    pub label: &'static str,
    params: Map<String, Value>,
    /// Whether `expectedRevision` follows the current one. The receipt is a fact whatever else moved meanwhile.
    follows_revision: bool,
}

impl Record {
    /// A receipt for an attempt of this process.
    pub fn receipt(keys: &Recorder, tenant: &str, submission_id: &str, revision: u32, receipt: &Receipt) -> Self {
        let params = json!({"submissionId": submission_id, "expectedRevision": revision, "receipt": receipt});
        Self::new(keys, tenant, submission_id, ("adapter.recordReceipt", "receipt"), params)
    }

    /// What a query (or this process itself) found out. `receipt` goes with `found`.
    pub fn query(
        keys: &Recorder,
        tenant: &str,
        submission_id: &str,
        result: &'static str,
        receipt: Option<&Receipt>,
        evidence: Vec<String>,
    ) -> Self {
        let mut params = json!({"submissionId": submission_id, "result": result, "evidenceRefs": evidence});
        if let Some(receipt) = receipt {
            params["receipt"] = json!(receipt);
        }
        Self::new(keys, tenant, submission_id, ("adapter.recordQuery", result), params)
    }

    /// What was seen of an inquiry; `params` without the key.
    pub fn fact(keys: &Recorder, tenant: &str, inquiry_id: &str, params: Value) -> Self {
        Self::new(keys, tenant, inquiry_id, ("inquiries.record", "fact"), params)
    }

    fn new(
        keys: &Recorder,
        tenant: &str,
        id: &str,
        (method, label): (&'static str, &'static str),
        params: Value,
    ) -> Self {
        let mut params = match params {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        params.insert("idempotencyKey".into(), keys.new_key().into());
        let follows_revision = label == "receipt";
        Self { tenant: tenant.to_owned(), submission_id: id.to_owned(), method, label, params, follows_revision }
    }

    fn text(&self) -> String {
        Value::Object(self.params.clone()).to_string()
    }
}

/// Hands records to the core.
pub(super) struct Recorder {
    held: Mutex<Held>,
    emptied: Condvar,
    nonce: String,
    counter: AtomicU64,
    time: Arc<dyn Time>,
}

#[derive(Default)]
struct Held {
    records: Vec<Record>,
    /// The attempts of all held records, also of those that are being tried at this moment.
    ids: Vec<String>,
}

impl Recorder {
    /// A recorder with keys of its own: those of `nonce`, or random ones. The error is that of the operating system's
    /// randomness.
    pub fn new(nonce: Option<String>, time: Arc<dyn Time>) -> io::Result<Self> {
        let nonce = nonce.map_or_else(random, Ok)?;
        Ok(Self { held: Mutex::default(), emptied: Condvar::new(), nonce, counter: AtomicU64::new(0), time })
    }

    /// An idempotency key that nobody used before.
    pub fn new_key(&self) -> String {
        format!("idem_host.{}.{}", self.nonce, self.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// Records, or says why not.
    pub fn record(&self, caller: &dyn Caller, mut record: Record) -> Result<(), Refused> {
        for left in (0..TRIES).rev() {
            match self.attempt(caller, &mut record) {
                Err(refusal) if refusal.retryable && left > 0 => self.time.sleep(PAUSE),
                Err(refusal) if refusal.retryable => break,
                other => return other.map_err(Refused::Core),
            }
        }
        let mut held = lock(&self.held);
        held.ids.push(record.submission_id.clone());
        held.records.push(record);
        Err(Refused::Held)
    }

    /// Tries everything that is held once more. `done` hears of each record that the core took or refused for good.
    pub fn retry(&self, caller: &dyn Caller, mut done: impl FnMut(&Record, Result<(), Refusal>)) {
        let records = std::mem::take(&mut lock(&self.held).records);
        for mut record in records {
            let result = self.attempt(caller, &mut record);
            let mut held = lock(&self.held);
            if result.as_ref().is_err_and(|refusal| refusal.retryable) {
                held.records.push(record);
                continue;
            }
            drop(held);
            done(&record, result);
            let mut held = lock(&self.held);
            if let Some(at) = held.ids.iter().position(|id| *id == record.submission_id) {
                held.ids.swap_remove(at);
            }
        }
        if lock(&self.held).ids.is_empty() {
            self.emptied.notify_all();
        }
    }

    /// How many records are held.
    pub fn held(&self) -> usize {
        lock(&self.held).ids.len()
    }

    /// Whether a record about this attempt is held.
    pub fn holds(&self, submission_id: &str) -> bool {
        lock(&self.held).ids.iter().any(|id| id == submission_id)
    }

    /// Waits until nothing is held, at most until `until`. Whether it is so.
    pub fn wait_empty(&self, until: Instant) -> bool {
        let mut held = lock(&self.held);
        while !held.ids.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            held = match self.emptied.wait_timeout(held, left) {
                Ok((held, _)) => held,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        true
    }

    fn attempt(&self, caller: &dyn Caller, record: &mut Record) -> Result<(), Refusal> {
        for _ in 0..REVISIONS_MAX {
            let refusal = match caller.call(&record.tenant, record.method, &record.text()) {
                Ok(_) => return Ok(()),
                Err(refusal) => refusal,
            };
            if !record.follows_revision || refusal.code != "revision-conflict" {
                return Err(refusal);
            }
            match resume::current_revision(caller, &record.tenant, &record.submission_id)? {
                Some(now) if record.params.get("expectedRevision") != Some(&json!(now)) => {
                    record.params.insert("expectedRevision".into(), now.into());
                    record.params.insert("idempotencyKey".into(), self.new_key().into());
                }
                _ => return Err(refusal),
            }
        }
        Err(Refusal { code: "revision-conflict".into(), detail: "the revision keeps moving".into(), retryable: true })
    }
}

fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 12];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
