mod denials;
mod fake;
mod fault;
mod follow;
mod real;
mod time;
mod together;
mod waiting;

use super::*;
use crate::store::MemoryStore;
use crate::wit::Group;
use fake::{Fake, Watched};
use std::sync::atomic::Ordering::SeqCst;

fn host(store: Arc<dyn Store>) -> Host {
    Host::builder(Arc::new(Fake::default()), store).build().unwrap()
}

fn memory() -> Host {
    host(Arc::new(MemoryStore::new()))
}

fn body(host: &Host, method: &str, params: &str) -> String {
    host.call(None, method, params).unwrap().body
}

#[test]
fn an_operation_is_decided_from_facts_and_committed() {
    let host = memory();
    assert_eq!(body(&host, "add", "a"), "1");
    assert_eq!(body(&host, "add", "a"), "2");
    assert_eq!(body(&host, "get", "a"), "2");
    assert_eq!(body(&host, "get", "b"), "0");
    let stats = host.counters();
    assert_eq!((stats.batches, stats.shared, stats.commits), (2, 2, 2), "reading takes no transaction");
}

#[test]
fn a_refusal_is_a_reply_and_writes_nothing() {
    let host = memory();
    let reply = host.call(None, "refuse", "").unwrap();
    assert_eq!((reply.status, reply.body.as_str()), (Status::Refused, "{\"no\":1}"));
    assert_eq!(host.counters().commits, 0);
}

#[test]
fn what_the_table_does_not_know_takes_no_lock() {
    let host = memory();
    let error = host.call(None, "unknown", "").unwrap_err();
    assert!(matches!(error, HostError::Misuse(_)));
    assert_eq!(host.counters().batches, 0);
}

/// The core of tomorrow has other codes: their group and whether they may be retried say all that a host needs.
#[test]
fn a_code_that_no_host_knows_goes_by_its_group() {
    let error = memory().call(None, "unknown", "").unwrap_err();
    assert_eq!((error.code(), error.group(), error.retryable()), ("toys-used-up", Group::Budget, true));
    assert!(crate::codes::known(error.code()).is_none());
    let told = crate::rpc::Refusal::read(&crate::rpc::failed(&error));
    assert_eq!((told.code.as_str(), told.group.as_str()), ("toys-used-up", "budget"));
    assert_eq!((told.retryable, told.number), (true, -32603));
}

#[test]
fn an_operation_that_reads_only_may_not_write_without_a_transaction() {
    let host = memory();
    assert_eq!(body(&host, "sneak", "a"), "1");
    assert_eq!(host.counters().commits, 1);
}

#[test]
fn all_rounds_of_a_read_see_one_moment() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    let other = host.clone();
    // Between the two rounds, somebody commits.
    store.before_read(move |reads| {
        if reads == 2 {
            body(&other, "add", "a");
            body(&other, "add", "b");
        }
    });
    assert_eq!(body(&host, "both", "a b"), "0 0");
    assert_eq!(body(&host, "both", "a b"), "1 1");
}

/// Issue of use: 8 workers settled messages, and lists of what waited ended in too many rounds, since each round found
/// another message first.
#[test]
fn a_read_ends_though_what_it_follows_moves_on() {
    let store = Arc::new(Watched::new(MemoryStore::new()));
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    body(&host, "add", "a");
    let other = host.clone();
    store.before_read(move |_| drop(body(&other, "add", "a")));
    assert_eq!(body(&host, "follow", "a"), "2", "as it was when it first looked");
}

#[test]
fn calls_come_back_once_and_repeatable_effects_are_stored() {
    let store = Arc::new(MemoryStore::new());
    let host = host(Arc::clone(&store) as Arc<dyn Store>);
    let reply = host.call(None, "effects", "x").unwrap();
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].name, "do");
    let leased = store.lease_effects(host.now_ms().unwrap() + 1, 1000, 10).unwrap();
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].effect.name, "wake");
    let finished = [leased[0].lease];
    let run = |method| Invocation { operation: method, params: "x", finished: &finished, ..Invocation::default() };
    host.run(run("refuse"), &Cancel::default()).unwrap();
    assert!(store.next_effect_due().unwrap().is_some(), "a refusal finishes nothing");
    host.run(run("add"), &Cancel::default()).unwrap();
    assert_eq!(store.next_effect_due().unwrap(), None);
}

#[test]
fn frames_are_answered_in_order() {
    let host = memory();
    let ask = |text| host.frame(None, text, &Cancel::default());
    assert_eq!(ask("1 add a").0.unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}");
    assert_eq!(ask("- add a").0, None, "a notification");
    let (batch, calls) = ask("1 get a;- add a;\"x\" refuse a;! ready;3 trap a;4 effects e");
    let answers: serde_json::Value = serde_json::from_str(&batch.unwrap()).unwrap();
    assert_eq!(answers[0], json!({ "jsonrpc": "2.0", "id": 1, "result": 2 }));
    assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": "x", "error": { "no": 1 } }));
    assert_eq!(answers[2], "ready");
    assert_eq!(answers[3]["error"]["data"]["code"], "core-trap");
    assert_eq!(answers[3]["error"]["message"], "threadmesh_internal_error");
    assert_eq!(answers[4]["id"], 4);
    assert_eq!(calls.len(), 1);
}
