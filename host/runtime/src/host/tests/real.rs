//! The loop over the real component and the store in memory.

use super::super::{Cancel, Host};
use crate::store::MemoryStore;
use crate::wit::{Principal, PrincipalKind, Status};
use crate::{WasmCore, engine};
use std::sync::{Arc, Barrier};

fn host() -> Host {
    let options = engine::Options { cache: crate::tests_cache(), ..engine::Options::default() };
    let core = WasmCore::with(options).expect("the component loads");
    Host::builder(Arc::new(core), Arc::new(MemoryStore::new())).build().expect("a host")
}

fn user(id: &str) -> Principal {
    Principal {
        tenant: "default".into(),
        kind: PrincipalKind::User,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_test0".into(),
    }
}

fn register(number: usize) -> String {
    format!(
        r#"{{"task":{{"taskId":"task-{number}","incarnationId":"inc_task{number:04}","harness":"test"}},"idempotencyKey":"idem_register{number:04}"}}"#
    )
}

#[test]
fn a_registered_task_is_read_back() {
    let host = host();
    let alice = user("alice");
    let reply = host.call(Some(&alice), "tasks.register", &register(1)).expect("an answer");
    assert_eq!(reply.status, Status::Accepted, "{}", reply.body);
    let again = host.call(Some(&alice), "tasks.register", &register(1)).expect("an answer");
    assert_eq!(again.status, Status::Replayed, "{}", again.body);
    let get = r#"{"task":{"taskId":"task-1","incarnationId":"inc_task0001"}}"#;
    let read = host.call(Some(&alice), "tasks.get", get).expect("an answer");
    assert!(read.body.contains("task-1"), "{}", read.body);
    let foreign = host.call(Some(&user("bob")), "tasks.get", get).expect("an answer");
    assert_eq!(foreign.status, Status::Refused);
    assert_eq!(host.counters().commits, 1, "a replay and a read commit nothing");
}

#[test]
fn many_callers_share_commits_and_all_are_answered() {
    const CALLERS: usize = 64;
    let (host, start) = (Arc::new(host()), Arc::new(Barrier::new(CALLERS)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let (host, start) = (Arc::clone(&host), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                host.call(Some(&user("alice")), "tasks.register", &register(number)).expect("an answer").status
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.join().expect("no panic"), Status::Accepted);
    }
    assert!(host.counters().commits <= CALLERS as u64);
}

#[test]
fn frames_are_answered_as_json_rpc_says() {
    let host = host();
    let alice = user("alice");
    let ask = |text: &str| host.frame(Some(&alice), text, &Cancel::default()).0;
    assert!(ask("{").expect("an answer").contains("-32700"));
    assert!(ask(r#"{"jsonrpc":"2.0","id":1,"method":"no.such"}"#).expect("an answer").contains("-32601"));
    assert_eq!(ask(r#"{"jsonrpc":"2.0","method":"tasks.get","params":{}}"#), None, "a notification has no answer");
    let batch = ask(r#"[{"jsonrpc":"2.0","id":"a","method":"x"},{"jsonrpc":"2.0","method":"y"}]"#).expect("an answer");
    assert!(batch.starts_with('[') && batch.ends_with(']') && batch.contains("\"id\":\"a\""), "{batch}");
}
