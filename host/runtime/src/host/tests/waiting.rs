//! Waiting calls.

use super::*;
use std::{thread, time::Instant};

/// A call that waits on its own thread, until it really sleeps.
fn waits(host: &Host, cancel: &Cancel) -> thread::JoinHandle<(Result<Reply, HostError>, Instant)> {
    let (asleep, cancel) = (host.clone(), cancel.clone());
    let invocation = || Invocation { operation: "until-one", params: "a", ..Invocation::default() };
    let thread = thread::spawn(move || (asleep.run(invocation(), &cancel), Instant::now()));
    while !host.0.hub.is_listening() {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
    thread
}

#[test]
fn a_commit_wakes_who_waits_for_its_topic() {
    let host = memory();
    let waiting = waits(&host, &Cancel::default());
    body(&host, "add", "b");
    let touched = Instant::now();
    body(&host, "add", "a");
    let (reply, woken) = waiting.join().unwrap();
    assert_eq!(reply.unwrap().body, "1");
    assert!(woken - touched < Duration::from_millis(45), "at once, not at the next look: {:?}", woken - touched);
    assert!(!host.0.hub.is_listening());
}

#[test]
fn commits_of_others_are_seen_soon() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (host, other) = (host(Arc::clone(&store)), host(store));
    let waiting = waits(&host, &Cancel::default());
    let touched = Instant::now();
    body(&other, "add", "a");
    let (reply, woken) = waiting.join().unwrap();
    assert_eq!(reply.unwrap().body, "1");
    assert!(woken - touched < Duration::from_millis(500));
}

/// However many wait, one thread asks the store for all of them, and it ends with the last one.
#[test]
fn one_looks_for_all_who_wait() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let (host, other) = (host(Arc::clone(&store) as Arc<dyn Store>), host(Arc::clone(&store) as Arc<dyn Store>));
    let waiting: Vec<_> = (0..20).map(|_| waits(&host, &Cancel::default())).collect();
    thread::sleep(Duration::from_millis(100));
    let (before, start) = (store.looks.load(SeqCst), Instant::now());
    thread::sleep(Duration::from_millis(500));
    let looks = store.looks.load(SeqCst) - before;
    let most = 4 + start.elapsed().as_millis() as u64 / 40;
    assert!(looks <= most, "{looks} looks of one thread in {:?}", start.elapsed());
    body(&other, "add", "a");
    for (reply, _) in waiting.into_iter().map(|thread| thread.join().unwrap()) {
        assert_eq!(reply.unwrap().body, "1");
    }
    thread::sleep(Duration::from_millis(500));
    let after = store.looks.load(SeqCst);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(store.looks.load(SeqCst), after, "nobody waits, and nobody looks");
}

#[test]
fn what_is_there_already_needs_no_waiting() {
    let host = memory();
    body(&host, "add", "a");
    assert_eq!(body(&host, "until-one", "a"), "1");
}

#[test]
fn the_end_of_the_wait_is_decided_by_the_core() {
    let host = memory();
    let start = Instant::now();
    assert_eq!(body(&host, "until-soon", "120"), "late");
    assert!(start.elapsed() >= Duration::from_millis(115));
}

#[test]
fn waiting_can_be_cancelled() {
    let host = memory();
    let cancel = Cancel::default();
    let waiting = waits(&host, &cancel);
    cancel.cancel();
    assert_eq!(waiting.join().unwrap().0, Err(HostError::Cancelled));
    let again = host.run(Invocation { operation: "until-one", params: "a", ..Invocation::default() }, &cancel);
    assert_eq!(again, Err(HostError::Cancelled), "later calls too");
    let waiting = waits(&host, &Cancel::default());
    host.close();
    assert_eq!(waiting.join().unwrap().0, Err(HostError::Cancelled));
    assert_eq!(body(&host, "add", "a"), "1", "other calls are still answered");
}
