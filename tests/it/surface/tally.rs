//! What was sent and what came of it.

use super::model::{Made, Model};
use crate::differential::logs::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Codes that say that a request was none: no valid request gets one.
const SHAPE: &[&str] = &["params-invalid", "jsonrpc-invalid", "method-not-found"];
/// Codes that no request may lead to.
const OURS: &[&str] = &[
    "core-trap",
    "host-misuse",
    "record-damaged",
    "store-unavailable",
    "store-outcome-unknown",
    "clock-stopped",
    "clock-behind",
    "wait-cancelled",
];

/// Whether the next request is a valid one: a little more often than not, so that half of them are in any run.
pub fn valid_next(random: &mut Random) -> bool {
    random.below(100) < 55
}

/// The counts of one surface.
#[derive(Default)]
pub struct Tally {
    counts: Mutex<Counts>,
}

/// Counts.
#[derive(Default)]
pub struct Counts {
    /// Requests that the schemas allow.
    pub valid: u64,
    /// Requests that are broken.
    pub broken: u64,
    /// Of the valid calls, those that were carried out.
    pub accepted: u64,
    /// Of the valid calls, those that were refused, by code.
    pub refused: BTreeMap<String, u64>,
    /// Requests by endpoint or kind.
    pub kinds: BTreeMap<String, u64>,
    /// Accepted calls by method.
    pub methods: BTreeMap<String, u64>,
    /// HTTP answers by status; 0 where the connection ended without one.
    pub statuses: BTreeMap<u16, u64>,
    /// What must not be, with the request.
    pub faults: Vec<String>,
}

impl Tally {
    /// The counts so far.
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that must not be.
    pub fn fault(&self, what: &str, sent: &[u8], got: &str) {
        let cut = |text: &str| text.chars().take(1500).collect::<String>();
        let mut counts = self.counts();
        if counts.faults.len() < 40 {
            counts.faults.push(format!("{what}\n  sent {}\n  got {}", cut(&String::from_utf8_lossy(sent)), cut(got)));
        }
    }

    /// One more request of a kind.
    pub fn sent(&self, kind: &str, valid: bool) {
        let mut counts = self.counts();
        *(if valid { &mut counts.valid } else { &mut counts.broken }) += 1;
        *counts.kinds.entry(kind.to_owned()).or_default() += 1;
    }

    /// A status of HTTP.
    pub fn status(&self, status: u16, sent: &[u8], body: &str) {
        *self.counts().statuses.entry(status).or_default() += 1;
        if status >= 500 {
            self.fault("a server error", sent, body);
        }
    }

    /// The answer to a valid call.
    pub fn answered(&self, model: &Mutex<Model>, made: &Made, answer: &Value) {
        let asked = serde_json::to_vec(&made.params).unwrap_or_default();
        if answer["result"].is_object() {
            self.counts().accepted += 1;
            *self.counts().methods.entry(made.method.clone()).or_default() += 1;
            return model.lock().unwrap_or_else(PoisonError::into_inner).learn(made, &answer["result"]);
        }
        let Some(code) = answer["error"]["data"]["code"].as_str() else {
            return self.fault("neither result nor error", &asked, &answer.to_string());
        };
        *self.counts().refused.entry(code.to_owned()).or_default() += 1;
        if SHAPE.contains(&code) || code.starts_with("json-") || OURS.contains(&code) {
            self.fault(&format!("{} of a valid call", made.method), &asked, &answer.to_string());
        }
    }

    /// The answer to a broken frame: an error with its own id or none, and none that is ours.
    pub fn refused(&self, how: &str, sent: &[u8], answer: &Value) {
        let first = if answer.is_array() { &answer[0] } else { answer };
        let code = first["error"]["data"]["code"].as_str().unwrap_or_default();
        if code.is_empty() || OURS.contains(&code) {
            self.fault(&format!("{how} was not refused as it should"), sent, &answer.to_string());
        }
    }

    /// Fails where something must not have been; says what was counted.
    pub fn judge(&self, what: &str) {
        let counts = self.counts();
        let total = counts.valid + counts.broken;
        let answered = counts.accepted + counts.refused.values().sum::<u64>();
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "{what}: {total} requests, {:.1} % valid; of {answered} valid calls {:.1} % accepted, by {} methods",
            share(counts.valid, total),
            share(counts.accepted, answered),
            counts.methods.len(),
        );
        println!("  kinds {:?}\n  statuses {:?}\n  refused {:?}", counts.kinds, counts.statuses, counts.refused);
        println!("  accepted {:?}", counts.methods);
        assert!(counts.faults.is_empty(), "{} faults, the first:\n{}", counts.faults.len(), counts.faults.join("\n"));
        let valid = share(counts.valid, total);
        assert!((50.0..62.0).contains(&valid), "{valid:.1} % are valid");
        let accepted = share(counts.accepted, answered);
        assert!(accepted >= 25.0, "only {accepted:.1} % of the valid calls are accepted");
    }
}
