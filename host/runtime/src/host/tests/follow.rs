//! What commits leave to do.

use super::super::follow::left;
use super::*;
use crate::store::{Changes, ReadSet, StoreError};

/// Stores an effect, as a commit of somebody else would.
fn leave(store: &MemoryStore, effect: crate::store::Effect) {
    let mut batch = store.begin().unwrap();
    batch.apply(&ReadSet::default(), &Changes { effects: vec![effect], ..Changes::default() }).unwrap();
    batch.commit().unwrap();
}

fn request(operation: &str) -> Request {
    let (operation, params, instance) = (operation.into(), "a".into(), "another".into());
    Request { operation, principal: None, params, instance, cursor: None, context: Vec::new() }
}

fn by_hand(store: &Arc<MemoryStore>) -> Host {
    Host::builder(Arc::new(Fake::default()), Arc::clone(store) as Arc<dyn Store>).by_hand().build().unwrap()
}

#[test]
fn continuations_run_after_their_caller_left() {
    let host = memory();
    assert_eq!(body(&host, "pages", "a"), "1");
    assert!(host.settle(Duration::from_secs(10)));
    assert_eq!(body(&host, "get", "a"), "4");
    assert_eq!(host.counters().continuations, 3);
}

#[test]
fn another_process_goes_on_with_what_one_left() {
    let store = Arc::new(MemoryStore::new());
    let first = by_hand(&store);
    assert_eq!(body(&first, "pages", "a"), "1");
    assert_eq!(first.perform_stored(), Ok(1));
    drop(first);
    let second = by_hand(&store);
    assert_eq!([second.perform_stored(), second.perform_stored(), second.perform_stored()], [Ok(1), Ok(1), Ok(0)]);
    assert_eq!(body(&second, "get", "a"), "4");
    assert_eq!(store.next_effect_due(), Ok(None));
}

/// Of two processes with the same page, the one whose lease is over changes nothing.
#[test]
fn a_page_is_done_once() {
    let store = Arc::new(MemoryStore::new());
    let host = by_hand(&store);
    assert_eq!(body(&host, "pages", "a"), "1");
    let now = host.now_ms().unwrap();
    let slow = store.lease_effects(now, 0, 1).unwrap().remove(0);
    while host.perform_stored().unwrap() > 0 {}
    assert_eq!(body(&host, "get", "a"), "4");
    assert_eq!(host.perform_one(&slow), Ok(false));
    assert_eq!(body(&host, "get", "a"), "4");
}

/// Nobody would ask again for a page of a continuation: its caller has its answer.
#[test]
fn a_page_that_the_store_did_not_take_is_tried_again() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    store.commits_first.store(1, Relaxed);
    *store.commit_fails.lock().unwrap() = Some(StoreError::Busy { waited_ms: 1 });
    assert_eq!(body(&host, "pages", "a"), "1");
    assert!(host.settle(Duration::from_secs(10)));
    assert!(store.commit_fails.lock().unwrap().is_none(), "no page met the failure");
    assert_eq!(body(&host, "get", "a"), "4");
}

#[test]
fn what_is_refused_or_not_understood_is_kept_and_keeps_nothing_else() {
    let store = Arc::new(MemoryStore::new());
    let host = by_hand(&store);
    leave(&store, left(&request("refuse"), "1".into()));
    leave(&store, crate::store::Effect { body: "{}".into(), ..left(&request("pages"), "1".into()) });
    leave(&store, left(&request("trap"), "1".into()));
    leave(&store, left(&request("pages"), "0".into()));
    leave(&store, crate::store::Effect { name: "of.later".into(), ..left(&request("newer"), "0".into()) });
    let told = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&told);
    host.set_stuck_sink(Arc::new(move |effect, error| {
        theirs.lock().unwrap().push((effect.unwrap().key.clone(), error.code().to_owned()));
    }));
    assert!(matches!(host.perform_stored(), Err(HostError::Effect { .. })), "the first failure is told");
    assert_eq!(body(&host, "get", "a"), "1", "what comes after it is done");
    let damaged = |key: &str| (key.to_owned(), "record-damaged".to_owned());
    assert_eq!(
        *told.lock().unwrap(),
        [damaged("refuse"), damaged("pages"), ("trap".into(), "core-trap".into()), damaged("newer")]
    );
    let kept = |after: i64| -> Vec<String> {
        let due = store.lease_effects(host.now_ms().unwrap() + after, 1, 9).unwrap();
        due.into_iter().map(|one| one.effect.key).collect()
    };
    assert_eq!(kept(60_000), [""; 0], "nobody tries in vain again and again");
    assert_eq!(kept(3_600_000), ["refuse", "pages", "trap", "newer"], "nothing is dropped");
}

#[test]
fn after_a_panic_there_is_another_thread() {
    let host = memory();
    host.0.write_soon(vec![request("panic")]);
    assert!(host.settle(Duration::from_secs(10)));
    host.0.write_soon(vec![request("add")]);
    assert!(host.settle(Duration::from_secs(10)));
    assert_eq!(body(&host, "get", "a"), "1");
}

/// Damage keeps everything that is left to do: somebody has to know.
#[test]
fn that_nothing_can_be_had_is_told_once() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    let told = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&told);
    host.set_stuck_sink(Arc::new(move |effect, error| {
        theirs.lock().unwrap().push((effect.is_none(), error.code().to_owned()))
    }));
    *store.lease_fails.lock().unwrap() = Some(StoreError::Damaged { detail: "a fence".into() });
    for _ in 0..3 {
        host.perform_soon();
        assert!(host.settle(Duration::from_secs(10)));
    }
    assert_eq!(*told.lock().unwrap(), [(true, "record-damaged".to_owned())]);
}

/// Whoever has closed takes nothing away from others.
#[test]
fn after_the_close_nothing_is_leased() {
    let store = Arc::new(MemoryStore::new());
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    host.close();
    leave(&store, left(&request("pages"), "0".into()));
    // As by a thread that was at work when it was closed.
    host.perform_due();
    assert_eq!(store.lease_effects(host.now_ms().unwrap(), 1, 9).unwrap()[0].lease.fence, 1);
}
