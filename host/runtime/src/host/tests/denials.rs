//! Refusals are counted and recorded in pages, however many there are.

use super::super::Host;
use crate::store::{MemoryStore, Query, Store};
use crate::wit::{Principal, PrincipalKind, Status};
use crate::{WasmCore, engine};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn host(store: &Arc<MemoryStore>, every: Duration) -> Host {
    let options = engine::Options { cache: crate::tests_cache(), ..engine::Options::default() };
    let core = WasmCore::with(options).expect("the component loads");
    let store = Arc::clone(store) as Arc<dyn Store>;
    Host::builder(Arc::new(core), store).denials_every(every).build().expect("a host")
}

fn task(tenant: &str, id: &str) -> Principal {
    Principal {
        tenant: tenant.into(),
        kind: PrincipalKind::Task,
        id: id.into(),
        incarnation: Some(format!("inc_{id}-0001")),
        owner: Some("user:alice".into()),
        worker: None,
        authentication: "authn_test0".into(),
    }
}

/// A call that every task is denied: there is nothing of that name that it may see.
fn denied(host: &Host, who: &Principal, number: u32) {
    let params = format!(r#"{{"messageId":"msg_none-{number:06}","senderIncarnationId":"inc_nobody-0001"}}"#);
    let reply = host.call(Some(who), "messages.getDisposition", &params).expect("an answer");
    assert_eq!(reply.status, Status::Refused);
}

/// The details of all recorded denials, with the stream that each stands in.
fn recorded(store: &MemoryStore) -> Vec<(String, Value)> {
    let all = Query {
        collection: "audit".into(),
        index: "stream".into(),
        start: String::new(),
        end: Some("~".into()),
        reverse: false,
        limit: 10_000,
        bytes: 0,
    };
    let answer = store.read(&[all]).expect("an answer").remove(0);
    let bodies = answer.rows.into_iter().map(|row| serde_json::from_str::<Value>(&row.body).expect("JSON"));
    let denials = bodies.filter(|body| body["eventType"] == "denials-counted");
    denials
        .map(|body| (body["streams"][0]["name"].as_str().unwrap_or_default().into(), body["detail"].clone()))
        .collect()
}

fn total(recorded: &[(String, Value)]) -> u64 {
    recorded.iter().map(|(_, detail)| detail["count"].as_str().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn a_flood_of_denials_is_one_record_of_its_caller() {
    let store = Arc::new(MemoryStore::new());
    let host = host(&store, Duration::from_secs(3600));
    let before = store.changes().expect("a number");
    for number in 0..2_000 {
        denied(&host, &task("default", "mallory"), number);
    }
    assert_eq!(host.counters().commits, 0, "a denial costs no commit");
    assert_eq!(store.changes().expect("a number"), before);
    host.close();
    assert_eq!(host.counters().commits, 1);
    let recorded = recorded(&store);
    assert_eq!(total(&recorded), 2_000);
    // Two where the minute changed meanwhile.
    assert!((1..=3).contains(&recorded.len()), "{recorded:?}");
    for (stream, detail) in &recorded {
        assert_eq!(stream, "default/inc_mallory-0001/mallory/user:alice");
        assert_eq!(detail["code"], "not-visible");
    }
    host.close();
    assert_eq!(host.counters().commits, 1, "nothing is recorded twice");
}

#[test]
fn what_is_due_goes_with_a_later_call_of_anybody() {
    let store = Arc::new(MemoryStore::new());
    let host = host(&store, Duration::ZERO);
    denied(&host, &task("default", "mallory"), 1);
    assert_eq!(recorded(&store).len(), 0);
    denied(&host, &task("default", "trent"), 2);
    assert!(host.settle(Duration::from_secs(60)));
    let first = recorded(&store);
    assert_eq!((first.len(), total(&first)), (1, 1));
    host.close();
    assert_eq!(total(&recorded(&store)), 2);
}

#[test]
fn callers_without_number_share_their_room() {
    let store = Arc::new(MemoryStore::new());
    let host = host(&store, Duration::from_secs(3600));
    let most = u32::try_from(super::super::denials::KEYS_MAX).unwrap() + 500;
    for number in 0..most {
        denied(&host, &task("default", &format!("mallory-{number:05}")), number);
    }
    host.close();
    let recorded = recorded(&store);
    assert_eq!(total(&recorded), u64::from(most));
    assert!(recorded.len() <= super::super::denials::KEYS_MAX + 8, "{} records", recorded.len());
    assert!(recorded.iter().any(|(stream, _)| stream == "default/operator:others"));
    assert!(host.counters().commits <= 20, "{} commits", host.counters().commits);
}

#[test]
fn other_refusals_and_other_tenants_are_told_apart() {
    let store = Arc::new(MemoryStore::new());
    let host = host(&store, Duration::from_secs(3600));
    denied(&host, &task("red", "mallory"), 1);
    denied(&host, &task("blue", "mallory"), 1);
    let malformed = host.call(Some(&task("red", "mallory")), "messages.getDisposition", "{").expect("an answer");
    assert_eq!(malformed.status, Status::Refused);
    let nobody = host.call(None, "messages.getDisposition", "{}").expect("an answer");
    assert_eq!(nobody.status, Status::Refused);
    host.record_denials();
    let mut streams: Vec<String> = recorded(&store).into_iter().map(|(stream, _)| stream).collect();
    streams.sort();
    assert_eq!(
        json!(streams),
        json!(["blue/inc_mallory-0001/mallory/user:alice", "red/inc_mallory-0001/mallory/user:alice"])
    );
}

/// One caller whom no document could name takes nobody else's account away.
#[test]
fn who_is_not_taken_as_a_caller_is_not_counted() {
    let store = Arc::new(MemoryStore::new());
    let host = host(&store, Duration::from_secs(3_600));
    let (known, unknown) =
        (task("default", "writer"), Principal { id: "wri\u{200b}ter".into(), ..task("default", "x") });
    denied(&host, &known, 1);
    denied(&host, &unknown, 2);
    host.record_denials();
    let recorded = recorded(&store);
    assert_eq!((recorded.len(), total(&recorded)), (1, 1), "{recorded:?}");
}
