//! What to do about one unresolved attempt now: a pure function, and the memory that it needs between sweeps.

use super::Unresolved;
use crate::{
    adapter::{Profile, QueryPolicy},
    dispatcher::pool::Place,
};
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

/// What this process remembers about unresolved attempts. Losing it costs a query too many, nothing else.
#[derive(Default)]
pub(in crate::dispatcher) struct Backlog {
    /// Own attempts whose call has ended, without a record of how.
    ended: HashSet<String>,
    attempts: HashMap<String, Memory>,
}

#[derive(Clone, Copy, Default)]
struct Memory {
    /// Not to be asked about before.
    next: Option<Instant>,
    /// Queries made, for the back-off.
    asked: u32,
    /// Queries without a usable answer; unlike absences they are not counted in the record.
    failures: u32,
    /// Whether the operator was told that its profile is not here.
    told: bool,
}

impl Backlog {
    /// The call of an own attempt has ended and nobody knows how.
    pub fn ended(&mut self, submission_id: &str) {
        self.ended.insert(submission_id.to_owned());
    }

    /// Whether it is an own attempt whose call has ended.
    pub fn has_ended(&self, submission_id: &str) -> bool {
        self.ended.contains(submission_id)
    }

    /// Notes a query, so that the next one waits.
    pub fn asked(&mut self, submission_id: &str, policy: &QueryPolicy, now: Instant, failed: bool) {
        let memory = self.attempts.entry(submission_id.to_owned()).or_default();
        memory.next = Some(now + pause(policy, memory.asked));
        memory.asked = memory.asked.saturating_add(1);
        if failed {
            memory.failures = memory.failures.saturating_add(1);
        }
    }

    /// Notes that the core did not take the answer to the latest query.
    pub fn failed(&mut self, submission_id: &str) {
        let memory = self.attempts.entry(submission_id.to_owned()).or_default();
        memory.failures = memory.failures.saturating_add(1);
    }

    /// Whether the operator must still be told that the profile of this attempt is not here.
    pub fn tell_once(&mut self, submission_id: &str) -> bool {
        !std::mem::replace(&mut self.attempts.entry(submission_id.to_owned()).or_default().told, true)
    }

    /// Forgets what is not unresolved any more.
    pub fn keep_only(&mut self, unresolved: &HashSet<String>, busy: impl Fn(&str) -> bool) {
        self.ended.retain(|id| unresolved.contains(id) || busy(id));
        self.attempts.retain(|id, _| unresolved.contains(id));
    }

    /// What to do about `item` now.
    pub fn plan(&self, item: &Unresolved, profile: Option<&Profile>, place: Place, clocks: Clocks) -> Plan {
        if place == Place::Present {
            return Plan::Leave;
        }
        let Some(profile) = profile.filter(|profile| profile.digest == item.profile_digest) else {
            return Plan::Foreign;
        };
        if profile.adapter.is_none() {
            return Plan::Leave;
        }
        let settled = clocks.wall_ms >= ms(item.settle_at) && clocks.wall_ms >= ms(item.lease_until);
        if !settled && !self.has_ended(&item.submission_id) {
            return Plan::Leave;
        }
        let memory = self.attempts.get(&item.submission_id).copied().unwrap_or_default();
        if memory.next.is_some_and(|next| clocks.now < next) {
            return Plan::Leave;
        }
        let spent = item.queries.saturating_add(memory.failures) >= profile.query.attempts_max;
        match (profile.can_query && !spent, settled) {
            (true, settled) => Plan::Ask { settled, last: last(item, memory, profile) },
            (false, true) => Plan::GiveUp,
            (false, false) => Plan::Leave,
        }
    }
}

/// The two clocks of one moment.
#[derive(Clone, Copy)]
pub(in crate::dispatcher) struct Clocks {
    /// For back-off.
    pub now: Instant,
    /// What the core calls now.
    pub wall_ms: u64,
}

/// What to do about an unresolved attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dispatcher) enum Plan {
    /// Nothing now.
    Leave,
    /// The profile, in the version that the attempt is pinned to, is not on this host.
    Foreign,
    /// Ask the target. `settled`: an absence counts. `last`: one more absence is the last.
    Ask { settled: bool, last: bool },
    /// It cannot be answered here: leave it to people.
    GiveUp,
}

fn last(item: &Unresolved, memory: Memory, profile: &Profile) -> bool {
    item.queries.saturating_add(memory.failures).saturating_add(1) >= profile.query.attempts_max
}

/// The pause after the `asked`-th query (from 0): doubled each time, up to the longest.
fn pause(policy: &QueryPolicy, asked: u32) -> Duration {
    let factor = 1_u32.checked_shl(asked.min(31)).unwrap_or(u32::MAX);
    policy.backoff.checked_mul(factor).unwrap_or(policy.backoff_max).min(policy.backoff_max)
}

fn ms(time: f64) -> u64 {
    time.max(0.0) as u64
}

#[cfg(test)]
mod tests;
