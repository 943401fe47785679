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

/// A wall clock that a test moves while the steady one goes on.
#[derive(Clone, Default)]
struct Stepped(Arc<std::sync::atomic::AtomicI64>);

impl Clock for Stepped {
    fn wall_ms(&self) -> i64 {
        SystemClock.wall_ms() + self.0.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        SystemClock.steady_ms()
    }
}

#[test]
fn a_step_of_the_wall_clock_makes_no_wait_longer_or_shorter() {
    for step_ms in [4_000, -4_000] {
        let clock = Stepped::default();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let host = Host::builder(Arc::new(Fake::default()), store).clock(clock.clone()).build().unwrap();
        let start = Instant::now();
        let waiting = {
            let host = host.clone();
            thread::spawn(move || body(&host, "until-soon", "400"))
        };
        while !host.0.hub.is_listening() {
            thread::sleep(Duration::from_millis(1));
        }
        clock.0.store(step_ms, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(waiting.join().unwrap(), "late");
        let waited = start.elapsed();
        assert!(waited >= Duration::from_millis(395), "{step_ms}: {waited:?}");
        assert!(waited < Duration::from_millis(3_000), "{step_ms}: {waited:?}");
    }
}

#[test]
fn a_cancellation_reaches_what_was_made_of_it() {
    let all = Cancel::default();
    let (one, other) = (all.child(), all.child());
    one.cancel();
    assert!(one.is_cancelled() && !other.is_cancelled() && !all.is_cancelled());
    let waiting = waits(&memory(), &other);
    all.cancel();
    assert_eq!(waiting.join().unwrap().0, Err(HostError::Cancelled));
    assert!(all.child().is_cancelled(), "later ones too");
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
