//! Stored effects: at least once, and under a lease.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::Factory;
use super::help::*;
use crate::store::{Changes, Conflict, EffectKind, EffectLease, ReadSet, Store};

fn store_effects(store: &dyn Store, time: i64, names: &[&str]) {
    let effects = names.iter().map(|name| effect(name)).collect();
    commit(store, &Changes { time, effects, ..Changes::default() });
}

fn lease_one(store: &dyn Store, now: i64, lease_ms: i64) -> Option<EffectLease> {
    store.lease_effects(now, lease_ms, 1).expect("lease").pop().map(|leased| leased.lease)
}

pub(super) fn lease_and_complete(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 100, &["wake"]);
    assert_eq!(store.next_effect_due(), Ok(Some(100)));
    assert_eq!(lease_one(&*store, 99, 10), None, "not due");
    let leased = store.lease_effects(100, 10, 5).expect("lease").remove(0);
    assert_eq!(leased.effect, effect("wake"));
    assert_eq!(leased.effect.kind, EffectKind::Repeatable);
    assert_eq!((leased.lease.fence, leased.lease_until), (1, 110));
    assert_eq!(store.next_effect_due(), Ok(Some(110)));
    assert_eq!(lease_one(&*store, 109, 10), None, "in a lease");
    assert_eq!(store.complete_effect(leased.lease), Ok(true));
    assert_eq!(store.complete_effect(leased.lease), Ok(false), "gone");
    assert_eq!(store.next_effect_due(), Ok(None));
    assert_eq!(lease_one(&*store, 10_000, 10), None);
    assert_eq!(store.last_time(), Ok(100), "the outbox has no part in the clock");
}

pub(super) fn expired_lease(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 0, &["wake"]);
    let first = lease_one(&*store, 0, 10).expect("first");
    let second = lease_one(&*store, 10, 10).expect("a lease ends at its end");
    assert_eq!(second.id, first.id);
    assert!(second.fence > first.fence);
    assert_eq!(store.complete_effect(first), Ok(false), "the old holder is too late");
    assert_eq!(store.release_effect(first, 0, None), Ok(false));
    assert_eq!(store.complete_effect(EffectLease { fence: 0, ..first }), Ok(false));
    assert_eq!(store.complete_effect(second), Ok(true));
    // An id is never used again, so that an old lease cannot end another effect.
    store_effects(&*store, 0, &["other"]);
    let other = lease_one(&*store, 20, 10).expect("other");
    assert_ne!(other.id, first.id);
    assert_eq!(store.complete_effect(first), Ok(false));
    assert_eq!(store.complete_effect(other), Ok(true));
}

pub(super) fn two_leasers(factory: Factory<'_>) {
    let store = factory();
    let names: Vec<String> = (0..40).map(|number| format!("effect {number}")).collect();
    store_effects(&*store, 0, &names.iter().map(|name| &**name).collect::<Vec<_>>());
    let performed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let leased = store.lease_effects(1, 1_000, 3).expect("lease");
                    if leased.is_empty() {
                        break;
                    }
                    for one in leased {
                        performed.lock().expect("lock").push(one.effect.name);
                        assert_eq!(store.complete_effect(one.lease), Ok(true));
                    }
                }
            });
        }
    });
    let performed = performed.into_inner().expect("lock");
    assert_eq!(performed.len(), names.len(), "each once while leases hold");
    assert_eq!(performed.into_iter().collect::<BTreeSet<_>>(), names.into_iter().collect());
}

pub(super) fn release(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 0, &["wake"]);
    let first = lease_one(&*store, 5, 1_000).expect("first");
    assert_eq!(store.release_effect(first, 50, Some("no")), Ok(true));
    assert_eq!((store.next_effect_due(), lease_one(&*store, 49, 10)), (Ok(Some(50)), None));
    let second = lease_one(&*store, 50, 10).expect("second");
    assert!(second.fence > first.fence);
    assert_eq!(store.complete_effect(second), Ok(true));
    assert_eq!(store.release_effect(second, 0, None), Ok(false));
}

pub(super) fn set_back(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 900, &["wake"]);
    store_effects(&*store, 0, &["query"]);
    let held = lease_one(&*store, 5, 1_000).expect("held");
    assert_eq!(store.advance_effects(100), Ok(()));
    assert_eq!((store.next_effect_due(), lease_one(&*store, 99, 10)), (Ok(Some(100)), None));
    let names = store.lease_effects(100, 10, 9).expect("lease").into_iter().map(|leased| leased.effect.name);
    assert_eq!(names.collect::<BTreeSet<_>>(), ["query".to_owned(), "wake".into()].into(), "a lease ends with it");
    assert_eq!(store.complete_effect(held), Ok(false));
}

pub(super) fn finished_with_a_commit(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 0, &["query"]);
    let old = lease_one(&*store, 0, 10).expect("old");
    let lease = lease_one(&*store, 10, 10).expect("new");
    let result = |id: &str, finished: Vec<EffectLease>| Changes { finished, ..writes(vec![put("c", id, 0, "", &[])]) };
    let nothing = ReadSet::default();
    assert_conflict(try_commit(&*store, &nothing, &result("a", vec![old])), Conflict::Lease { finished: 0 });
    assert_conflict(try_commit(&*store, &nothing, &result("a", vec![lease, lease])), Conflict::Lease { finished: 1 });
    let mut batch = begin(&*store);
    batch.apply(&nothing, &result("a", vec![lease])).expect("apply");
    assert_conflict(batch.apply(&nothing, &result("b", vec![lease])), Conflict::Lease { finished: 0 });
    drop(batch);
    assert_eq!(store.next_effect_due(), Ok(Some(20)), "rolled back with its result");
    commit(&*store, &result("a", vec![lease]));
    assert_eq!(store.next_effect_due(), Ok(None));
    assert_eq!(ids(&*store, &range("c", "", "", "zz")), ["a"]);
}

pub(super) fn order(factory: Factory<'_>) {
    let store = factory();
    store_effects(&*store, 30, &["c", "d"]);
    store_effects(&*store, 10, &["a"]);
    store_effects(&*store, 20, &["b"]);
    let names = |now, limit| -> String {
        store.lease_effects(now, 1_000, limit).expect("lease").into_iter().map(|leased| leased.effect.name).collect()
    };
    assert_eq!(names(25, 0), "");
    assert_eq!(names(25, 10), "ab");
    assert_eq!(names(40, 1), "c");
    assert_eq!(names(1_100, 10), "dabc", "as they fell due");
}

pub(super) fn rollback(factory: Factory<'_>) {
    let store = factory();
    let mut batch = begin(&*store);
    let changes = Changes { effects: vec![effect("x")], ..Changes::default() };
    batch.apply(&ReadSet::default(), &changes).expect("apply");
    assert_eq!(store.next_effect_due(), Ok(None), "not before the commit");
    drop(batch);
    assert_eq!(lease_one(&*store, 100, 10), None);
    commit(&*store, &changes);
    assert!(lease_one(&*store, 100, 10).is_some());
}
