//! Many callers at once.

use super::*;
use crate::store::StoreError;
use std::{
    collections::HashSet,
    sync::{Barrier, mpsc},
    thread,
};

fn slow(millis: u64) -> (Arc<Watched<MemoryStore>>, Host) {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    *store.commit_takes.lock().unwrap() = Duration::from_millis(millis);
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    (store, host)
}

/// Runs `method` on many threads; the first one is alone in its batch, since the others wait for its commit.
fn crowd(host: &Host, threads: usize, method: &'static str) -> Vec<Result<Reply, HostError>> {
    let barrier = Arc::new(Barrier::new(threads));
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (host, barrier) = (host.clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                host.call(None, method, "a")
            })
        })
        .collect();
    workers.into_iter().map(|worker| worker.join().unwrap()).collect()
}

#[test]
fn callers_share_commits() {
    let (_, host) = slow(20);
    let replies = crowd(&host, 64, "add");
    let numbers: HashSet<String> = replies.into_iter().map(|reply| reply.unwrap().body).collect();
    assert_eq!(numbers.len(), 64, "each saw the writes of those before it");
    let stats = host.counters();
    assert_eq!(stats.shared, 64);
    assert!(stats.commits <= 4, "{stats:?}");
}

#[test]
fn a_batch_has_at_most_64_members() {
    let (_, host) = slow(30);
    crowd(&host, 200, "add").into_iter().for_each(|reply| drop(reply.unwrap()));
    let stats = host.counters();
    assert!(stats.commits >= 4, "{stats:?}");
    assert_eq!(body(&host, "get", "a"), "200");
}

#[test]
fn no_answer_leaves_before_its_commit() {
    let (_, host) = slow(100);
    let (sender, receiver) = mpsc::channel();
    let send = |method| {
        let (host, sender) = (host.clone(), sender.clone());
        thread::spawn(move || sender.send(host.call(None, method, "a")).unwrap());
    };
    let commits = |count| {
        while host.counters().commits < count {
            thread::sleep(Duration::from_millis(1));
        }
    };
    send("add");
    commits(1);
    send("add");
    send("refuse");
    while host.0.group.waiting() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(receiver.try_recv().is_err(), "the first commit is not done");
    receiver.recv().unwrap().unwrap();
    commits(2);
    assert!(receiver.try_recv().is_err(), "neither the write nor the refusal that saw it leaves before the commit");
    receiver.recv().unwrap().unwrap();
    receiver.recv().unwrap().unwrap();
}

#[test]
fn a_trap_concerns_only_its_own_request() {
    let (_, host) = slow(20);
    let others = {
        let host = host.clone();
        thread::spawn(move || crowd(&host, 20, "add"))
    };
    let trapped = crowd(&host, 5, "trap");
    assert!(others.join().unwrap().iter().all(Result::is_ok));
    assert!(trapped.iter().all(|error| matches!(error, Err(HostError::Core(_)))));
    assert_eq!(body(&host, "get", "a"), "20");
    assert_eq!(host.counters().traps, 5);
}

#[test]
fn a_failed_commit_is_answered_to_all_whose_answers_rest_on_it() {
    let (store, host) = slow(500);
    let first = {
        let host = host.clone();
        thread::spawn(move || host.call(None, "add", "first"))
    };
    while host.counters().commits == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let crowd = {
        let host = host.clone();
        thread::spawn(move || crowd(&host, 10, "add"))
    };
    let trapped = {
        let host = host.clone();
        thread::spawn(move || host.call(None, "trap", "a"))
    };
    while host.0.group.waiting() < 11 {
        thread::sleep(Duration::from_millis(1));
    }
    // The first commit is under way and no longer looks at this.
    let full = StoreError::Full { detail: "disk".into() };
    *store.commit_fails.lock().unwrap() = Some(full.clone());
    *store.commit_takes.lock().unwrap() = Duration::ZERO;
    first.join().unwrap().unwrap();
    let results = crowd.join().unwrap();
    assert!(results.iter().all(|result| *result == Err(HostError::Store(full.clone()))), "{results:?}");
    assert!(matches!(trapped.join().unwrap(), Err(HostError::Core(_))));
    assert_eq!(body(&host, "get", "a"), "0", "nothing was done, and nobody was told that it was");
    assert_eq!(body(&host, "add", "a"), "1");
}

#[test]
fn a_leader_who_panics_tells_the_others() {
    let (_, host) = slow(500);
    let first = {
        let host = host.clone();
        thread::spawn(move || host.call(None, "add", "a"))
    };
    while host.counters().commits == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let panics = {
        let host = host.clone();
        thread::spawn(move || host.call(None, "panic", "a"))
    };
    while host.0.group.waiting() < 1 {
        thread::sleep(Duration::from_millis(1));
    }
    let after: Vec<_> = (0..3)
        .map(|_| {
            let host = host.clone();
            thread::spawn(move || host.call(None, "add", "a"))
        })
        .collect();
    first.join().unwrap().unwrap();
    assert!(panics.join().is_err());
    for other in after {
        let _ = other.join().unwrap();
    }
    assert!(host.call(None, "add", "a").is_ok(), "the host goes on");
}
