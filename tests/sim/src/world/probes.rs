//! What was committed is looked at, and now and then the store is asked for what it must refuse.

use super::{World, lock};
use crate::{random::Random, store::FaultyStore};
use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};
use threadmesh_runtime::store::{Changes, EffectLease, Write};

/// After how many commits in a hundred the store is asked for what it must refuse.
const PROBES: usize = 10;

/// After how many another process reads what was committed.
const READ_BACK: usize = 25;

/// Collection and id of rows, each with revision and text, or with nothing where the row was removed.
type Left<'a> = BTreeMap<(&'a str, &'a str), Option<(u32, &'a str)>>;

/// What `applied` left.
fn left<'a>(applied: &'a [Changes]) -> Left<'a> {
    let writes = applied.iter().flat_map(|changes| &changes.writes);
    let row = |write: &'a Write| write.body.as_deref().map(|body| (write.expected + 1, body));
    writes.map(|write| ((write.collection.as_str(), write.id.as_str()), row(write))).collect()
}

impl World {
    /// `store` has just committed `applied`: others see it, and nothing that contradicts it is taken. Both are looked at now
    /// and then, by a draw that nothing else comes from: who looks at everything is never behind.
    pub(super) fn look_at(&self, store: &FaultyStore, applied: &[Changes]) {
        let number = self.commits.load(Relaxed);
        let mut random = Random::new(self.seed ^ number.wrapping_mul(0xA076_1D64_78BD_642F));
        let left = left(applied);
        let mut wrong = Vec::new();
        if random.chance(READ_BACK) {
            wrong.extend(self.read_otherwise(store.process(), &left));
        }
        if random.chance(PROBES)
            && let Some((collection, id)) = random.one(&left.keys().copied().collect::<Vec<_>>())
        {
            self.count("store-probed");
            wrong.extend(store.probe(collection, id));
        }
        self.oracle(|oracle| wrong.into_iter().for_each(|wrong| oracle.violation(wrong)));
    }

    /// What another process than `process`, if there is one, does not read as it was left.
    fn read_otherwise(&self, process: u64, left: &Left<'_>) -> Vec<String> {
        let others = lock(&self.slots).iter().filter_map(|slot| slot.node.clone()).find(|node| node.process != process);
        let Some(other) = others else { return Vec::new() };
        self.count("read-back");
        let differs = |((collection, id), row): (&(&str, &str), &Option<(u32, &str)>)| {
            let seen = other.store.row(collection, id);
            let seen = seen.as_ref().map(|row| (row.revision, row.body.as_str()));
            (seen != *row).then(|| format!("{collection}/{id} is committed as {row:?}, and read as {seen:?}"))
        };
        left.iter().filter_map(differs).collect()
    }

    /// `store` has leased an effect: nobody does anything with another fence than that.
    pub fn leased(&self, store: &FaultyStore, lease: EffectLease) {
        self.count("lease-probed");
        let wrong = store.probe_lease(lease);
        self.oracle(|oracle| wrong.into_iter().for_each(|wrong| oracle.violation(wrong)));
    }

    /// The store failed, and no fault was planned.
    pub fn store_failed(&self, error: &dyn std::fmt::Display) {
        self.oracle(|oracle| oracle.violation(format!("the store fails by itself: {error}")));
    }
}
