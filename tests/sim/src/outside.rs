//! The world outside: targets that do what they are asked, sometimes late, and what they say about it.
//!
//! Three profiles are called by the host. `steady` keeps its word: when it says that a call will never take effect, it
//! refuses the key from then on. `sloppy` says so too soon, and may act afterwards; its profile does not claim otherwise.
//! `mute` answers no questions. Calls of `own` are made by the receiver's task itself, which
//! also says how it shows messages to a model; the operator declares it, and no host knows more of it.

use crate::world::World;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use threadmesh_protocol::time;
use threadmesh_runtime::adapter::{
    Absence, Adapter, Outcome, Profile, Query, QueryOutcome, QueryPolicy, Reason, Receipt, Submission,
};
use threadmesh_runtime::dispatcher::Time as Steady;

/// How long a call may take.
pub const DEADLINE_MS: i64 = 10_000;
/// How long after it an effect may still arrive.
pub const SETTLE_MS: i64 = 20_000;
/// How late the effect of a target may be that does not keep its word.
pub const LATE_MS_MAX: i64 = 90_000;
/// The profiles, and whether they have a target here.
pub const PROFILES: &[(&str, bool)] = &[("mute", true), ("own", false), ("sloppy", true), ("steady", true)];

/// What really happened.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Effects by key: when.
    effects: BTreeMap<String, i64>,
    /// Effects on their way: when, and for which attempt.
    coming: Vec<(i64, Work)>,
    /// Calls that an adapter is at work on.
    flying: BTreeSet<String>,
    /// Keys that are refused.
    fenced: BTreeSet<String>,
    /// Keys that were asked about.
    asked: BTreeSet<String>,
}

/// One call, as the outside knows it.
#[derive(Clone, Debug)]
pub struct Work {
    /// The attempt.
    pub submission: String,
    /// The key that the target knows it by.
    pub key: String,
}

/// What is true of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It took effect.
    Happened,
    /// It may still.
    Open,
    /// It did not and will not.
    Never,
}

impl Outside {
    /// What is true of the call with this key.
    pub fn truth(&self, key: &str) -> Truth {
        if self.effects.contains_key(key) {
            return Truth::Happened;
        }
        if self.fenced.contains(key) {
            return Truth::Never;
        }
        let open = self.flying.contains(key) || self.coming.iter().any(|(_, work)| work.key == key);
        if open { Truth::Open } else { Truth::Never }
    }

    /// The effect takes place now, unless the key is refused. Whether it did.
    fn strike(&mut self, key: &str, now: i64) -> bool {
        if self.fenced.contains(key) {
            return false;
        }
        self.effects.entry(key.into()).or_insert(now);
        true
    }

    /// The target takes no call with this key any more.
    pub fn fence(&mut self, key: &str) {
        self.fenced.insert(key.into());
        self.coming.retain(|(_, work)| work.key != key);
    }

    /// What is due by `now`.
    fn due(&mut self, now: i64) -> Vec<Work> {
        let (due, coming) = std::mem::take(&mut self.coming).into_iter().partition(|(at, _)| *at <= now);
        self.coming = coming;
        due.into_iter().map(|(_, work)| work).collect()
    }

    /// Whether an adapter is at work on a call with this key.
    pub fn flies(&self, key: &str) -> bool {
        self.flying.contains(key)
    }

    /// Whether anybody asked about this key.
    fn was_asked(&self, key: &str) -> bool {
        self.asked.contains(key)
    }
}

impl World {
    /// Lets an effect take place now; whether it did.
    pub fn strike(&self, work: &Work) -> bool {
        let struck = self.outside(|outside| outside.strike(&work.key, self.time.now()));
        if struck {
            self.oracle(|oracle| oracle.effect(&work.submission));
        }
        struck
    }

    /// Lets everything take place that is due.
    pub fn tick(&self) {
        for work in self.outside(|outside| outside.due(self.time.now())) {
            if self.outside(|outside| outside.was_asked(&work.key)) && self.strike(&work) {
                self.count("effect-after-query");
            } else {
                self.strike(&work);
            }
        }
    }
}

/// The target of one profile, as one host process reaches it.
struct Target {
    world: Weak<World>,
    process: u64,
    alive: Arc<AtomicBool>,
    steady: bool,
}

/// The profiles of a host process. `version` changes their digests.
pub fn profiles(world: &Weak<World>, process: u64, alive: &Arc<AtomicBool>, version: u32) -> Vec<Profile> {
    let profile = |&(name, hosted): &(&str, bool)| {
        let steady = keeps_word(name);
        let target = Target { world: world.clone(), process, alive: Arc::clone(alive), steady };
        Profile {
            name: name.into(),
            digest: digest(name, version),
            capabilities: crate::cast::capabilities(name).to_string(),
            admission: None,
            deadline: Duration::from_millis(DEADLINE_MS as u64),
            settle: Duration::from_millis(settle_ms(name) as u64),
            can_query: matches!(name, "steady" | "sloppy"),
            absent_final: keeps_word(name),
            query: QueryPolicy {
                deadline: Duration::from_secs(5),
                backoff: Duration::from_secs(1),
                backoff_max: Duration::from_secs(8),
                attempts_max: 3,
            },
            adapter: hosted.then(|| Arc::new(target) as Arc<dyn Adapter>),
        }
    };
    PROFILES.iter().filter(|(_, hosted)| *hosted).map(profile).collect()
}

/// How long after the deadline an effect may arrive, as a profile says: one says less than its host keeps its lease.
pub fn settle_ms(name: &str) -> i64 {
    if name == "sloppy" { 1_000 } else { SETTLE_MS }
}

/// Whether what the target of this profile calls final is.
pub fn keeps_word(name: &str) -> bool {
    name == "steady"
}

/// The digest of a profile's configuration.
pub fn digest(name: &str, version: u32) -> String {
    let place = PROFILES.iter().position(|(known, _)| *known == name).unwrap_or(0);
    format!("sha256:{place:032}{version:032}")
}

/// The receipt that the target gives for a key, always the same.
pub fn receipt(key: &str) -> Receipt {
    Receipt {
        adapter_operation_id: format!("op-{key}"),
        accepted_at: time::format(crate::time::START),
        evidence_refs: vec![format!("target:{key}")],
    }
}

fn unknown(detail: &str) -> Outcome {
    Outcome::Unknown(Reason::new("simulated", detail))
}

impl Target {
    fn act(&self, world: &World, call: &Submission, deadline: Instant) -> Outcome {
        let work = Work { submission: call.submission_id.clone(), key: call.idempotency_key.clone() };
        let Some(kind) = world.next_submit() else { return self.done(world, &work) };
        world.count(kind);
        match kind {
            "call-refused" => Outcome::NotSubmitted(Reason::new("simulated", "the target says no")),
            "call-lost-before" => unknown("lost on the way"),
            "call-late" => {
                let left = deadline.saturating_duration_since(Steady::now(&world.time)).as_millis() as i64;
                // One that keeps its word is still when it has promised to be; from others the effect comes when it comes.
                let most = if self.steady { SETTLE_MS } else { LATE_MS_MAX };
                let due = world.time.now() + left + 1 + (world.meanwhile_salt() % most as u64) as i64;
                world.outside(|outside| outside.coming.push((due, work)));
                unknown("no answer in time")
            }
            "call-hangs" => {
                world.meanwhile(self.process);
                self.done(world, &work)
            }
            "call-crashes-before" => {
                world.kill(self.process);
                unknown("this process died")
            }
            "call-panics-before" => std::panic::resume_unwind(Box::new("simulated")),
            _ => {
                let done = self.done(world, &work);
                self.spoilt(world, kind, done)
            }
        }
    }

    fn done(&self, world: &World, work: &Work) -> Outcome {
        if world.strike(work) {
            Outcome::Submitted(receipt(&work.key))
        } else {
            Outcome::NotSubmitted(Reason::new("simulated", "the target refuses this key"))
        }
    }

    /// The effect took place, and then something goes wrong.
    fn spoilt(&self, world: &World, kind: &str, done: Outcome) -> Outcome {
        match (kind, done) {
            ("receipt-malformed", Outcome::Submitted(receipt)) => {
                Outcome::Submitted(Receipt { evidence_refs: Vec::new(), ..receipt })
            }
            ("receipt-refused", Outcome::Submitted(receipt)) => {
                Outcome::Submitted(Receipt { accepted_at: "yesterday".into(), ..receipt })
            }
            ("call-crashes-after", _) => {
                world.kill(self.process);
                unknown("this process died")
            }
            ("call-panics-after", _) => std::panic::resume_unwind(Box::new("simulated")),
            _ => unknown("the answer was lost"),
        }
    }

    fn ask(&self, world: &World, key: &str) -> QueryOutcome {
        let kind = world.next_query();
        kind.iter().for_each(|kind| world.count(kind));
        match kind {
            Some("query-silent") => return QueryOutcome::Unanswerable(Reason::new("simulated", "no answer")),
            Some("query-panics") => std::panic::resume_unwind(Box::new("simulated")),
            Some("query-forgets") => return QueryOutcome::AbsentNow(Reason::new("simulated", "not found")),
            Some("query-hangs") => world.meanwhile(self.process),
            _ => {}
        }
        let malformed = kind == Some("query-malformed");
        let truth = world.outside(|outside| {
            outside.asked.insert(key.into());
            outside.truth(key)
        });
        let final_absence = self.steady && (truth == Truth::Never || world.meanwhile_salt().is_multiple_of(2));
        match truth {
            Truth::Happened => {
                let receipt = receipt(key);
                let id = if malformed { String::new() } else { receipt.adapter_operation_id.clone() };
                QueryOutcome::Found(Receipt { adapter_operation_id: id, ..receipt })
            }
            _ if final_absence => {
                world.outside(|outside| outside.fence(key));
                absent_final(malformed)
            }
            // What a sloppy target calls final is nothing of the kind.
            _ if !self.steady && !world.meanwhile_salt().is_multiple_of(3) => absent_final(malformed),
            _ => QueryOutcome::AbsentNow(Reason::new("simulated", "not found")),
        }
    }
}

fn absent_final(malformed: bool) -> QueryOutcome {
    let evidence_refs = vec!["target:absent".to_owned(); if malformed { 2 } else { 1 }];
    QueryOutcome::AbsentFinal(Absence { reason: Reason::new("simulated", "it never came"), evidence_refs })
}

impl Adapter for Target {
    fn submit(&self, call: &Submission, deadline: Instant) -> Outcome {
        let Some(world) = self.world.upgrade().filter(|_| self.alive.load(Relaxed)) else { return unknown("dead") };
        world.oracle(|oracle| oracle.called(&call.submission_id, self.process));
        world.outside(|outside| outside.flying.insert(call.idempotency_key.clone()));
        let landed = Landing(&world, &call.idempotency_key);
        let outcome = self.act(&world, call, deadline);
        drop(landed);
        outcome
    }

    fn query(&self, query: &Query, _deadline: Instant) -> QueryOutcome {
        let dead = || QueryOutcome::Unanswerable(Reason::new("simulated", "dead"));
        let Some(world) = self.world.upgrade().filter(|_| self.alive.load(Relaxed)) else { return dead() };
        world.asked(&query.submission_id, self.process);
        self.ask(&world, &query.idempotency_key)
    }
}

/// Ends a flight, also where the adapter panics.
struct Landing<'w>(&'w World, &'w str);

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        self.0.outside(|outside| outside.flying.remove(self.1));
    }
}
