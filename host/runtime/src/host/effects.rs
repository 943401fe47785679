//! Stored effects: what commits ask to be done at least once, performed under a lease.
//!
//! There are two kinds: emptying the store of what was removed from it, and going on with an operation that one commit
//! could not hold. Both may be done any number of times, by any process; the core says what it means.

use super::{Cancel, Done, Host, HostError, Invocation, Job, Reply, follow, wait::lock};
use crate::store::{Effect, EffectLease, LeasedEffect, Scrub, StoreError};
use crate::wit::{Principal, PrincipalKind, Request, Status};
use serde::Deserialize;
use serde_json::json;
use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering::Relaxed},
    thread,
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
/// The pause before what cannot be done as things are is tried again.
const STUCK_MS: i64 = 3_600_000;
/// How often a performer looks for effects that other processes stored.
const POLL: Duration = Duration::from_millis(500);

/// Is told of an effect that this process cannot perform, and why; without an effect, that none can be had.
pub type StuckSink = Arc<dyn Fn(Option<&Effect>, &HostError) + Send + Sync>;

/// What a scrub is about. Members that a later core may add are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScrubBody {
    tenant: String,
    purge_id: String,
}

impl Host {
    /// Performs the stored effects that are due now, each once; how many of them are done. What could not be done is due
    /// again later. Errors: the store is down or the clock is wrong, or the first of what went wrong with an effect.
    pub fn perform_stored(&self) -> Result<usize, HostError> {
        self.perform_each(self.lease_due()?, |leased| Some(self.perform_one(leased)))
    }

    /// The same, soon and on another thread; see [`Host::settle`].
    pub fn perform_soon(&self) {
        self.0.go_on();
    }

    /// Where effects are reported that this process cannot perform, when it finds so. Must return at once.
    pub fn set_stuck_sink(&self, sink: StuckSink) {
        *lock(&self.0.stuck) = Some(sink);
    }

    /// Some of what is due now, under a lease.
    pub(super) fn lease_due(&self) -> Result<Vec<LeasedEffect>, HostError> {
        Ok(self.store().lease_effects(self.now_ms()?, LEASE_MS, PAGE)?)
    }

    /// Performs each by `attempt`, until that says nothing, and puts off what is not done; what is left is due when its
    /// lease is over. How many are done, or the first error.
    pub(super) fn perform_each(
        &self,
        leased: Vec<LeasedEffect>,
        attempt: impl Fn(&LeasedEffect) -> Option<Result<bool, HostError>>,
    ) -> Result<usize, HostError> {
        let (mut done, mut failed) = (0, None);
        for one in leased {
            let Some(performed) = attempt(&one) else { break };
            if performed == Ok(true) {
                done += 1;
                continue;
            }
            let put_off = self.put_off(&one, performed.as_ref().err());
            // The first error says most. Where putting off fails, the effect is due again when its lease is over.
            failed = failed.or(performed.err()).or(put_off.err());
        }
        failed.map_or(Ok(done), Err)
    }

    /// Whether the effect is done and gone. Not where it cannot be done yet, or somebody else has it by now.
    pub(super) fn perform_one(&self, leased: &LeasedEffect) -> Result<bool, HostError> {
        let LeasedEffect { lease, effect, .. } = leased;
        let performed = match effect.name.as_str() {
            "store.scrub" => {
                let body = serde_json::from_str::<ScrubBody>(&effect.body);
                self.scrub(effect, &body.map_err(|error| beyond(effect, &error))?, *lease)
            }
            follow::GO_ON => {
                let request = follow::request(&effect.body, self.instance());
                self.page(effect, request.map_err(|error| beyond(effect, &error))?, *lease)
            }
            _ => Err(beyond(effect, &"it knows none of that name")),
        };
        match performed {
            // Nobody else is in a batch: what is in conflict is the lease, which is over.
            Err(HostError::Conflict { .. }) => Ok(false),
            performed => performed,
        }
    }

    /// Lets others try, later with every time. What cannot be performed as things are waits longer, and is reported:
    /// another version may know how.
    fn put_off(&self, leased: &LeasedEffect, error: Option<&HostError>) -> Result<(), HostError> {
        let tries = leased.lease.fence;
        let stuck = error.filter(|error| error.lasts(tries));
        let pause = match stuck {
            Some(_) => STUCK_MS,
            None => RETRY_MS.saturating_mul(1 << (tries.clamp(1, 16) - 1)).min(RETRY_MS_MAX),
        };
        let until = self.now_ms()?.saturating_add(pause);
        let released = self.store().release_effect(leased.lease, until, stuck.map(ToString::to_string).as_deref())?;
        if let (true, Some(error)) = (released, stuck) {
            self.tell_stuck(Some(&leased.effect), error);
        }
        Ok(())
    }

    /// Reports what cannot be performed, or that nothing can be had.
    pub(super) fn tell_stuck(&self, effect: Option<&Effect>, error: &HostError) {
        let sink = lock(&self.0.stuck).clone();
        if let Some(sink) = sink {
            sink(effect, error);
        }
    }

    /// Whether something is due. Not where the store or the clock does not say.
    fn has_due(&self) -> bool {
        let due = self.store().next_effect_due().ok().flatten();
        due.is_some_and(|due| self.now_ms().is_ok_and(|now| due <= now))
    }

    /// Goes on with an operation, in one more commit. The core took the first one; where it refuses this one, it is of
    /// another version.
    fn page(&self, effect: &Effect, request: Request, lease: EffectLease) -> Result<bool, HostError> {
        self.0.counters.continuations.fetch_add(1, Relaxed);
        match self.0.write(Job { request, finished: vec![lease] })? {
            Done::Wait(..) => Err(beyond(effect, &"it waits")),
            Done::Reply(reply) => {
                taken(effect, &reply)?;
                self.0.sink(reply.calls);
                Ok(true)
            }
        }
    }

    /// Empties the store and the replay files, and tells the core how that went.
    fn scrub(&self, effect: &Effect, body: &ScrubBody, lease: EffectLease) -> Result<bool, HostError> {
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
            ..Invocation::default()
        };
        taken(effect, &self.run(invocation, &Cancel::default())?)?;
        Ok(reason.is_none())
    }
}

/// An effect that this version cannot perform.
fn beyond(effect: &Effect, why: &dyn ToString) -> HostError {
    HostError::Effect { name: effect.name.clone(), about: effect.key.clone(), why: why.to_string() }
}

/// An effect says what the core said earlier: it refuses none of its own version.
fn taken(effect: &Effect, reply: &Reply) -> Result<(), HostError> {
    match reply.status {
        Status::Refused => {
            Err(beyond(effect, &reply.problem.as_ref().map_or(&*reply.body, |problem| &*problem.detail)))
        }
        Status::Accepted | Status::Replayed => Ok(()),
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

/// A thread that has stored effects performed as they fall due, as by [`Host::perform_soon`]. It ends when this is dropped.
pub struct Performer {
    ended: Arc<(Mutex<bool>, Condvar)>,
}

impl Performer {
    /// Starts it. Errors: there is no thread to be had.
    pub fn start(host: Host) -> io::Result<Self> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&ended);
        thread::Builder::new().name("threadmesh-effects".into()).spawn(move || {
            // The first look is at once: others may have left something.
            let mut limit = Duration::ZERO;
            while !pause(&theirs, limit) {
                if host.has_due() {
                    host.perform_soon();
                }
                limit = POLL;
            }
        })?;
        Ok(Self { ended })
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        *lock(&self.ended.0) = true;
        self.ended.1.notify_all();
    }
}

/// Waits; true as soon as it is over for good.
fn pause((ended, changed): &(Mutex<bool>, Condvar), limit: Duration) -> bool {
    let state = lock(ended);
    *changed.wait_timeout_while(state, limit, |ended| !*ended).unwrap_or_else(PoisonError::into_inner).0
}
