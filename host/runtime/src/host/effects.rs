//! Stored effects: what commits ask to be done at least once, performed under a lease.
//!
//! There is one kind so far: emptying the store of what was removed from it. It may be done any number of times, by any
//! process; how it went is told to the core, which says what that means.

use super::{Cancel, Host, HostError, Invocation, wait::lock};
use crate::store::{EffectLease, LeasedEffect, Scrub, StoreError};
use crate::wit::{Principal, PrincipalKind};
use serde::Deserialize;
use serde_json::json;
use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long an effect is this process's own.
const LEASE_MS: i64 = 30_000;
/// How many are leased at once.
const PAGE: u32 = 16;
/// How long emptying the log may hold up writers while it waits for readers.
const SCRUB_WAIT: Duration = Duration::from_millis(250);
/// The first pause before an effect is tried again; doubled with every try.
const RETRY_MS: i64 = 500;
/// The longest such pause.
const RETRY_MS_MAX: i64 = 30_000;
/// How often a performer looks for effects that other processes stored.
const POLL: Duration = Duration::from_millis(500);

/// What a scrub is about. Members that a later core may add are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScrubBody {
    tenant: String,
    purge_id: String,
}

impl Host {
    /// Performs the stored effects that are due now; how many of them are done. What could not be done is due again
    /// later. Errors: the store is down or the clock is wrong.
    pub fn perform_stored(&self) -> Result<usize, HostError> {
        let now = self.now_ms()?;
        let mut done = 0;
        for leased in self.store().lease_effects(now, LEASE_MS, PAGE)? {
            done += usize::from(self.perform_one(&leased)?);
        }
        Ok(done)
    }

    /// Whether the effect is done and gone.
    fn perform_one(&self, leased: &LeasedEffect) -> Result<bool, HostError> {
        let body = match leased.effect.name.as_str() {
            "store.scrub" => serde_json::from_str::<ScrubBody>(&leased.effect.body).ok(),
            _ => None,
        };
        let performed = match body {
            Some(body) => self.scrub(&body, leased.lease),
            // Of a newer core: somebody else may know it.
            None => Ok(false),
        };
        if !matches!(performed, Ok(true)) {
            let tries = leased.lease.fence.clamp(1, 16);
            let pause = RETRY_MS.saturating_mul(1 << (tries - 1)).min(RETRY_MS_MAX);
            self.store().release_effect(leased.lease, self.now_ms()?.saturating_add(pause))?;
        }
        performed
    }

    /// Empties the store and the replay files, and tells the core how that went.
    fn scrub(&self, body: &ScrubBody, lease: EffectLease) -> Result<bool, HostError> {
        let reason = match self.store().scrub(SCRUB_WAIT) {
            Ok(Scrub::Clean) if self.0.replay.as_ref().is_none_or(|files| files.forget_content()) => None,
            Ok(Scrub::Held) | Err(StoreError::Busy { .. }) => Some("log-held"),
            Ok(Scrub::Clean) | Err(StoreError::Io { .. }) => Some("store-failed"),
            Err(error) => return Err(error.into()),
        };
        // The same words have the same key, so that saying them again writes nothing.
        let key = format!("idem_scrub-{}-{}", reason.unwrap_or("done"), body.purge_id);
        let mut params = json!({"purgeId": body.purge_id, "idempotencyKey": key});
        params["result"] = if reason.is_some() { "busy" } else { "done" }.into();
        if let Some(reason) = reason {
            params["reason"] = reason.into();
        }
        let finished = if reason.is_none() { vec![lease] } else { Vec::new() };
        let host = itself(&body.tenant);
        let invocation = Invocation {
            principal: Some(&host),
            operation: "maintenance.recordScrub",
            params: &params.to_string(),
            finished: &finished,
        };
        self.run(invocation, &Cancel::default())?;
        Ok(reason.is_none())
    }
}

/// The host as a caller, which no transport can be.
pub fn itself(tenant: &str) -> Principal {
    Principal {
        tenant: tenant.to_owned(),
        kind: PrincipalKind::Host,
        id: "host".to_owned(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_host-itself".to_owned(),
    }
}

/// A thread that performs stored effects as they fall due. Dropping it ends it without waiting; see [`Performer::stop`].
pub struct Performer {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Performer {
    /// Starts it. Errors: there is no thread to be had.
    pub fn start(host: Host) -> io::Result<Self> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&ended);
        let thread = thread::Builder::new().name("threadmesh-effects".into()).spawn(move || {
            while !pause(&theirs, POLL) {
                // A store that is down is asked again at the next look; what was leased falls due again by itself.
                let _ = host.perform_stored();
            }
        })?;
        Ok(Self { ended, thread: Some(thread) })
    }

    /// Ends it, and waits for the effect in hand.
    pub fn stop(mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn end(&self) {
        *lock(&self.ended.0) = true;
        self.ended.1.notify_all();
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits; true as soon as it is over for good.
fn pause((ended, changed): &(Mutex<bool>, Condvar), limit: Duration) -> bool {
    let state = lock(ended);
    *changed.wait_timeout_while(state, limit, |ended| !*ended).unwrap_or_else(PoisonError::into_inner).0
}
