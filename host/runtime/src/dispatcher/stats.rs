//! Counters of what a dispatcher did, and the notes that it hands to the host's log.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a dispatcher did since it started, and how much it has in hand.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Calls waiting for a worker.
            pub queued: u64,
            /// Calls in flight.
            pub running: u64,
            /// Calls in flight beyond their deadline.
            pub overdue: u64,
            /// Facts that the store did not take yet.
            pub held: u64,
        }

        /// The live counters.
        #[derive(Default)]
        pub(super) struct Counters { $(pub $name: Counter,)* }

        impl Counters {
            /// The counts of this moment; what is in hand is left at zero.
            pub fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.get(),)* ..Stats::default() }
            }
        }
    };
}

counters! {
    /// Calls made to an adapter.
    calls,
    /// Receipts recorded.
    submitted,
    /// Attempts that this process knows were never made, recorded as such.
    not_submitted,
    /// Calls that ended without anybody knowing.
    unknown,
    /// Calls that ended after their deadline.
    late,
    /// Adapter calls that panicked.
    panics,
    /// Effects that came a second time and were not performed.
    duplicates,
    /// Effects that this host does not know how to perform, or cannot read.
    unperformed,
    /// Facts that the core refused.
    refused,
    /// Queries made.
    queries,
    /// Queries that found the effect.
    found,
    /// Queries that proved there is none.
    absent_final,
    /// Queries that proved nothing.
    absent_now,
    /// Queries without a usable answer.
    failed_queries,
    /// Attempts left to people.
    unanswerable,
    /// Unresolved attempts of profiles that this host does not have in that version.
    foreign,
    /// Looks at evidence.
    looks,
    /// Facts about evidence that are on record.
    facts,
    /// Sweeps over the unresolved attempts.
    sweeps,
}

impl Counters {
    /// Counts a record that is in the store, by its label.
    pub fn count(&self, label: &str) {
        match label {
            "receipt" => self.submitted.add(),
            "not-submitted" => self.not_submitted.add(),
            "found" => self.found.add(),
            "absent-final" => self.absent_final.add(),
            "fact" => self.facts.add(),
            "unanswerable" => self.unanswerable.add(),
            _ => {}
        }
    }
}

/// One counter.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Something for the host's log. `detail` may hold text of a target: escape it before a terminal sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// What happened, kebab-case.
    pub event: &'static str,
    /// The attempt, empty if the note is about none.
    pub submission_id: String,
    /// The profile, empty if the note is about none.
    pub profile: String,
    /// The reason, kebab-case, or the core's error code.
    pub code: String,
    /// A sentence for the operator.
    pub detail: String,
}
