//! What goes wrong, and what is left of it.

use super::*;
use crate::store::StoreError;
use std::collections::HashSet;

#[test]
fn a_trap_leaves_a_replay_file_and_its_entropy_is_not_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("replays");
    let core = Arc::new(Fake::default());
    let host = Host::builder(Arc::clone(&core) as Arc<dyn Core>, Arc::new(MemoryStore::new()))
        .replay_files(ReplayFiles::in_directory(&files, false).unwrap())
        .build()
        .unwrap();
    for _ in 0..2 {
        assert!(matches!(host.call(None, "trap", "secret"), Err(HostError::Core(_))));
    }
    let files: Vec<_> = std::fs::read_dir(files).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap();
    assert_eq!((&record["function"], &record["args"]["request"]["operation"]), (&json!("decide"), &json!("trap")));
    assert_eq!(record["args"]["request"]["params"], "xxxxxx");
    let entropy = core.entropy.lock().unwrap().clone();
    assert_eq!(entropy.iter().collect::<HashSet<_>>().len(), 2);
    assert!(entropy.iter().all(|text| text.len() == 64));
}

#[test]
fn sessions_are_fresh_outside_a_batch_and_bounded_in_one() {
    let core = Arc::new(Fake::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let host = Host::builder(Arc::clone(&core) as Arc<dyn Core>, store).build().unwrap();
    let before = core.sessions.load(Relaxed);
    for _ in 0..3 {
        body(&host, "get", "a");
        body(&host, "add", "a");
    }
    assert_eq!(core.sessions.load(Relaxed) - before, 6);
}

#[test]
fn facts_may_be_asked_for_three_times() {
    let host = memory();
    let error = host.call(None, "forever", "a").unwrap_err();
    assert_eq!(error, HostError::Rounds { limit: 3 });
    assert_eq!(host.counters().commits, 0);
}

#[test]
fn conflicts_are_decided_again_but_not_for_ever() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    store.conflicts.store(3, Relaxed);
    assert_eq!(body(&host, "add", "a"), "1");
    assert_eq!(host.counters().conflicts, 3);
    let error = host.call(None, "wrong", "a").unwrap_err();
    assert_eq!(error, HostError::Conflict { tries: 8 });
    assert_eq!(body(&host, "get", "a"), "1");
}

#[test]
fn a_store_that_gives_no_turn_is_unavailable() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    let busy = StoreError::Busy { waited_ms: 5 };
    *store.begin_fails.lock().unwrap() = Some(busy.clone());
    let error = host.call(None, "add", "a").unwrap_err();
    assert_eq!(error, HostError::Store(busy));
    assert_eq!(error.code(), "store-unavailable");
    assert!(error.retryable());
    assert_eq!(crate::rpc::Refusal::read(&crate::rpc::failed(&error)).code, "store-unavailable");
    *store.begin_fails.lock().unwrap() = None;
    assert!(host.call(None, "add", "a").is_ok());
}

#[test]
fn a_commit_of_unknown_outcome_is_said_to_be_one() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    *store.commit_fails.lock().unwrap() = Some(StoreError::Broken { detail: "fsync".into() });
    let error = host.call(None, "add", "a").unwrap_err();
    assert_eq!(error.code(), "store-outcome-unknown");
}
