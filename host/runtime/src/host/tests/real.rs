//! The loop over the real component and the store in memory.

use super::super::{Builder, Cancel, Clock, Host};
use crate::store::MemoryStore;
use crate::wit::{Principal, PrincipalKind, Status};
use crate::{WasmCore, engine};
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn host() -> Host {
    builder().build().expect("a host")
}

fn builder() -> Builder {
    // How long a decision takes is no matter of these tests: the machine may be busy with others.
    let deadline = Duration::from_secs(120);
    let options = engine::Options { deadline, cache: crate::tests_cache(), ..engine::Options::default() };
    let core = WasmCore::with(options).expect("the component loads");
    Host::builder(Arc::new(core), Arc::new(MemoryStore::new()))
}

/// 2026-05-04T08:00:00Z, for good.
struct Morning;

impl Clock for Morning {
    fn wall_ms(&self) -> i64 {
        1_777_881_600_000
    }

    fn steady_ms(&self) -> i64 {
        0
    }
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

/// A grant of alice's from task 1 to task 2; task 1.
fn granted(host: &Host) -> Principal {
    let alice = user("alice");
    for number in [1, 2] {
        host.call(Some(&alice), "tasks.register", &register(number)).expect("an answer");
    }
    let grant = r#"{"grant":{"specVersion":"0.0-draft","grantId":"grant_batch-1","grantVersion":1,
        "relationshipId":"rel_batch","relationshipType":"peer",
        "source":{"taskId":"task-1","incarnationId":"inc_task0001"},
        "target":{"taskId":"task-2","incarnationId":"inc_task0002"},
        "allowedIntents":["notify"],"allowedDeliveryModes":["store-only"],"summaryVisibility":"none",
        "structuredGateResponses":false,"createdAt":"2026-01-01T00:00:00Z"},
        "decision":{"decisionId":"decision_batch-1"},"idempotencyKey":"idem_grant-0001"}"#;
    let reply = host.call(Some(&alice), "relationships.grant", grant).expect("an answer");
    assert_eq!(reply.status, Status::Accepted, "{}", reply.body);
    let incarnation = Some("inc_task0001".into());
    let (id, owner) = ("task-1".into(), Some("user:alice".into()));
    Principal { kind: PrincipalKind::Task, id, incarnation, owner, ..user("task-1") }
}

#[test]
fn the_largest_batch_is_decided_within_the_memory_of_a_session() {
    let host = builder().clock(Morning).build().expect("a host");
    let sender = granted(&host);
    let (created, expires, content) = ("2026-05-04T08:00:00Z", "2026-05-04T09:00:00Z", "x".repeat(15_000));
    let envelopes: Vec<_> = (0..64)
        .map(|number| {
            serde_json::json!({
                "specVersion": "0.0-draft", "messageId": format!("msg_batch-{number:04}"), "messageType": "observation",
                "intent": "notify", "claimStatus": "unverified",
                "sender": {"taskId": "task-1", "incarnationId": "inc_task0001", "harness": "test", "actorType": "agent"},
                "target": {"taskId": "task-2", "incarnationId": "inc_task0002"}, "relationshipId": "rel_batch",
                "content": content, "reason": "A large one.",
                "delivery": {"requestedMode": "store-only", "requiresDisposition": false},
                "createdAt": created, "expiresAt": expires,
            })
        })
        .collect();
    let params = serde_json::json!({"envelopes": envelopes, "idempotencyKey": "idem_batch-0001"}).to_string();
    assert!(params.len() > 900_000);
    let commits = host.counters().commits;
    let reply = host.call(Some(&sender), "messages.sendBatch", &params).expect("an answer");
    assert_eq!(reply.status, Status::Accepted, "{}", reply.body);
    let body: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
    let results = body["value"]["value"]["results"].as_array().expect("results");
    assert_eq!(results.len(), 64);
    assert!(results.iter().all(|result| result["replay"] == false), "{:.500}", reply.body);
    assert_eq!(host.counters().commits, commits + 1);
    let again = host.call(Some(&sender), "messages.sendBatch", &params).expect("an answer");
    assert_eq!(again.status, Status::Replayed, "{:.500}", again.body);
}

/// What an operator says of the clock goes on record with the operator's name.
#[test]
fn only_an_operator_whom_the_rules_take_accepts_the_clock() {
    let host = host();
    let operator = Principal { kind: PrincipalKind::Operator, ..user("op") };
    assert_eq!(host.accept_clock(&operator), Ok(false), "it is not behind");
    let refused = host.accept_clock(&Principal { id: "o\u{200b}p".into(), ..operator }).expect_err("nobody");
    assert_eq!(refused.code(), "authentication-required");
}
