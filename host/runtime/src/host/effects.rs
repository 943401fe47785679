//! Stored effects: what commits ask to be done at least once, performed under a lease.
//!
//! There are two kinds: emptying the store of what was removed from it, and going on with an operation that one commit
//! could not hold. Both may be done any number of times, by any process; the core says what it means.

use super::{Cancel, Done, Host, HostError, Invocation, Job, follow, wait::lock};
use crate::store::{EffectLease, LeasedEffect, Scrub, StoreError};
use crate::wit::{Principal, PrincipalKind, Request, Status};
use serde::Deserialize;
use serde_json::json;
use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering::Relaxed},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
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

/// How often whoever ends a performer looks whether it has.
const LOOK: Duration = Duration::from_millis(10);

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
        self.perform_while(|| true)
    }

    /// The same, and begins none as soon as it may not go on.
    fn perform_while(&self, goes_on: impl Fn() -> bool) -> Result<usize, HostError> {
        let (mut done, mut failed) = (0, None);
        for leased in self.lease_due()?.into_iter().take_while(|_| goes_on()) {
            match self.perform_one(&leased) {
                Ok(true) => done += 1,
                Ok(false) => self.put_off(&leased)?,
                Err(error) => {
                    // The first error says more; without this, the effect is due again when its lease is over.
                    let _ = self.put_off(&leased);
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }

    /// The same, soon and on another thread; see [`Host::settle`].
    pub fn perform_soon(&self) {
        self.0.go_on();
    }

    /// Some of what is due now, under a lease.
    pub(super) fn lease_due(&self) -> Result<Vec<LeasedEffect>, HostError> {
        Ok(self.store().lease_effects(self.now_ms()?, LEASE_MS, PAGE)?)
    }

    /// Whether the effect is done and gone. Not where somebody else has it by now.
    pub(super) fn perform_one(&self, leased: &LeasedEffect) -> Result<bool, HostError> {
        let LeasedEffect { lease, effect, .. } = leased;
        let performed = match effect.name.as_str() {
            "store.scrub" => match serde_json::from_str::<ScrubBody>(&effect.body) {
                Ok(body) => self.scrub(&body, *lease),
                Err(_) => Ok(false),
            },
            follow::GO_ON => match follow::request(&effect.body, self.instance()) {
                Some(request) => self.page(request, *lease),
                None => Ok(false),
            },
            // Of a newer core: somebody else may know it.
            _ => Ok(false),
        };
        match performed {
            // Nobody else is in a batch: what is in conflict is the lease, which is over.
            Err(HostError::Conflict { .. }) => Ok(false),
            performed => performed,
        }
    }

    /// Lets others try, later with every time.
    pub(super) fn put_off(&self, leased: &LeasedEffect) -> Result<(), HostError> {
        let tries = leased.lease.fence.clamp(1, 16);
        let pause = RETRY_MS.saturating_mul(1 << (tries - 1)).min(RETRY_MS_MAX);
        self.store().release_effect(leased.lease, self.now_ms()?.saturating_add(pause))?;
        Ok(())
    }

    /// Goes on with an operation, in one more commit. Where the core refuses that, there is nothing to go on with.
    fn page(&self, request: Request, lease: EffectLease) -> Result<bool, HostError> {
        self.0.counters.continuations.fetch_add(1, Relaxed);
        match self.0.write(Job { request, finished: vec![lease] })? {
            Done::Wait(..) => return Ok(false),
            Done::Reply(reply) if reply.status == Status::Refused => {
                self.store().complete_effect(lease)?;
            }
            Done::Reply(reply) => self.0.sink(reply.calls),
        }
        Ok(true)
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
    thread: JoinHandle<()>,
}

impl Performer {
    /// Starts it. Errors: there is no thread to be had.
    pub fn start(host: Host) -> io::Result<Self> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&ended);
        let thread = thread::Builder::new().name("threadmesh-effects".into()).spawn(move || {
            while !pause(&theirs, POLL) {
                // A store that is down is asked again at the next look; what was leased falls due again by itself.
                let _ = host.perform_while(|| !*lock(&theirs.0));
            }
        })?;
        Ok(Self { ended, thread })
    }

    /// Ends it, and waits for the effect in hand, at most for `patience`: it falls due again when its lease is over.
    pub fn stop(self, patience: Duration) {
        self.end();
        let until = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(LOOK);
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
