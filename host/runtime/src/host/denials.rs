//! Refusals, counted by caller, code and minute, and recorded through the core in pages: a flood of them costs neither a
//! commit for each nor memory without bound. Which of them are denials, and where they are recorded, the core says.

use super::effects::itself;
use super::{Host, HostError, Inner, Job, wait::lock};
use crate::driver;
use crate::wit::{Principal, PrincipalKind, Request};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The internal operation that takes the counts.
const OPERATION: &str = "audit.recordDenials";
/// How long counts stay in memory.
pub(super) const EVERY: Duration = Duration::from_secs(60);
/// How many counts are kept; callers for whom there is no room are counted together.
pub(super) const KEYS_MAX: usize = 4096;
/// How many counts one commit takes.
const PAGE: usize = 256;
/// Under which id callers are counted for whom there is no room.
const OTHERS: &str = "others";

/// What is counted.
pub(super) struct Denials {
    every: Duration,
    /// Whether there is a count at all, so that most calls take no lock.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: BTreeMap<Key, u64>,
    since: Option<Instant>,
}

/// Who was refused with which code, in which minute since the Unix epoch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    tenant: String,
    kind: &'static str,
    id: String,
    incarnation: Option<String>,
    owner: Option<String>,
    code: String,
    minute: i64,
}

impl Denials {
    /// Nothing counted yet; counts are due after `every`.
    pub fn new(every: Duration) -> Self {
        Self { every, any: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Counts a refusal of `principal` at `wall_ms`.
    pub fn count(&self, principal: &Principal, code: &str, wall_ms: i64) {
        // The host's own calls are not counted.
        if principal.kind == PrincipalKind::Host {
            return;
        }
        let key = Key {
            tenant: principal.tenant.clone(),
            kind: driver::kind_name(principal.kind),
            id: principal.id.clone(),
            incarnation: principal.incarnation.clone(),
            owner: principal.owner.clone(),
            code: code.to_owned(),
            minute: wall_ms.div_euclid(60_000),
        };
        let mut state = lock(&self.state);
        let full = state.counts.len() >= KEYS_MAX && !state.counts.contains_key(&key);
        let key = if full { key.together() } else { key };
        *state.counts.entry(key).or_default() += 1;
        state.since.get_or_insert_with(Instant::now);
        self.any.store(true, Relaxed);
    }

    /// Whether counts have been kept long enough.
    fn due(&self) -> bool {
        self.any.load(Relaxed) && lock(&self.state).since.is_some_and(|since| since.elapsed() >= self.every)
    }

    /// All counts; none are left.
    fn take(&self) -> Vec<(Key, u64)> {
        let mut state = lock(&self.state);
        self.any.store(false, Relaxed);
        state.since = None;
        std::mem::take(&mut state.counts).into_iter().collect()
    }
}

impl Key {
    /// The key that callers without room share: one for each tenant, code and minute.
    fn together(self) -> Self {
        Self { kind: "operator", id: OTHERS.into(), incarnation: None, owner: None, ..self }
    }

    fn counted(&self, count: u64) -> Value {
        let mut counted = json!({
            "kind": self.kind, "id": self.id, "code": self.code, "minute": self.minute,
            "count": count.min(i32::MAX as u64),
        });
        for (name, value) in [("incarnation", &self.incarnation), ("owner", &self.owner)] {
            if let Some(value) = value {
                counted[name] = value.as_str().into();
            }
        }
        counted
    }
}

impl Host {
    /// Records what was refused so far, and returns when that is durable. What the store does not take is lost.
    pub fn record_denials(&self) {
        for request in self.0.denial_requests() {
            // There is nobody to tell: the counts are an account of refusals, not one that anything rests on.
            let _ = self.0.write(Job { request, finished: Vec::new() });
        }
    }
}

impl Inner {
    /// Hands counts that are due to the thread that follows up.
    pub(super) fn record_due_denials(self: &Arc<Self>) {
        if !self.follow.by_hand() && self.denials.due() {
            self.write_soon(self.denial_requests());
        }
    }

    /// The requests that record all counts, a page of a tenant each.
    fn denial_requests(&self) -> Vec<Request> {
        let counts = self.denials.take();
        let tenants = counts.chunk_by(|(left, _), (right, _)| left.tenant == right.tenant);
        let pages = tenants.flat_map(|tenant| tenant.chunks(PAGE));
        pages.filter_map(|page| self.denial_request(page).ok()).collect()
    }

    fn denial_request(&self, page: &[(Key, u64)]) -> Result<Request, HostError> {
        let tenant = page.first().map(|(key, _)| key.tenant.clone()).unwrap_or_default();
        let denials: Vec<Value> = page.iter().map(|(key, count)| key.counted(*count)).collect();
        let name = self.entropy.draw()?;
        let params =
            json!({"denials": denials, "idempotencyKey": format!("idem_denials-{}", name.get(..32).unwrap_or(&name))});
        Ok(Request {
            operation: OPERATION.into(),
            principal: Some(itself(&tenant)),
            params: params.to_string(),
            instance: self.instance.clone(),
            cursor: None,
            context: Vec::new(),
        })
    }
}
