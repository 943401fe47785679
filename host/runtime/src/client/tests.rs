//! The client over a transport that plays a server.

use super::types::{MessagesGetDisposition, TaskRef, TasksGet, TasksWait};
use super::*;
use crate::codes;
use serde_json::json;
use std::sync::Mutex;

/// Answers in turn, and remembers what it was asked.
struct Played {
    answers: Mutex<Vec<Result<Answer, TransportError>>>,
    asked: Mutex<Vec<Value>>,
}

impl Played {
    fn new(mut answers: Vec<Result<Answer, TransportError>>) -> Client<Self> {
        answers.reverse();
        Client::new(Played { answers: Mutex::new(answers), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Played {
    fn call(&self, method: &str, params: &str) -> Result<Answer, TransportError> {
        let params: Value = serde_json::from_str(params).expect("params are JSON");
        self.asked.lock().unwrap().push(json!({"method": method, "params": params}));
        self.answers.lock().unwrap().pop().expect("an answer")
    }
}

fn result(value: Value) -> Result<Answer, TransportError> {
    Ok(Answer::Result(value.to_string()))
}

fn task() -> TaskRef {
    TaskRef::new("plan-1".into(), "inc_plan_0001".into())
}

fn wait() -> TasksWait {
    let mut wait = TasksWait::new(task());
    wait.after_cursor = Some(7);
    wait
}

fn message() -> MessagesGetDisposition {
    MessagesGetDisposition::new("inc_plan_0001".into(), "msg_one_00001".into())
}

#[test]
fn a_call_sent_again_keeps_its_key_and_its_params() {
    let consent = types::TasksSetConsentConsent { mute: Some(true), do_not_disturb_until: None };
    let muted =
        types::TasksSetConsent { task: task(), consent, expected_revision: 0, owner: None, idempotency_key: None };
    let client = Played::new(vec![Err(TransportError::new("gone")), Err(TransportError::new("gone"))]);
    let call = client.tasks_set_consent(&muted);
    let key = call.idempotency_key().expect("a key").to_owned();
    assert!(call.send().is_err() && call.send().is_err());
    let asked = client.transport().asked();
    assert_eq!(asked[0], asked[1]);
    assert_eq!(asked[0]["params"]["idempotencyKey"], key);
    assert_ne!(client.tasks_set_consent(&muted).idempotency_key(), Some(key.as_str()), "another call has its own");
    let given = types::TasksSetConsent { idempotency_key: Some("idem_mine-1".into()), ..muted };
    assert_eq!(client.tasks_set_consent(&given).idempotency_key(), Some("idem_mine-1"));
    assert_eq!(client.tasks_wait(&wait()).idempotency_key(), None);
}

#[test]
fn absent_members_are_not_sent() {
    let empty = json!({"method": "tasks.wait", "value": {"events": [], "nextCursor": 7, "head": 7, "timedOut": true}});
    let client = Played::new(vec![result(empty)]);
    assert!(client.tasks_wait(&wait()).send().expect("an answer").timed_out);
    let params = json!({"task": {"taskId": "plan-1", "incarnationId": "inc_plan_0001"}, "afterCursor": 7});
    assert_eq!(client.transport().asked(), [json!({"method": "tasks.wait", "params": params})]);
}

#[test]
fn a_refusal_says_what_it_was() {
    let error = rpc::error("store-unavailable", "");
    let client = Played::new(vec![Ok(Answer::Error(error))]);
    let refused = client.messages_get_disposition(&message()).send().expect_err("a refusal");
    let ClientError::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!(
        (refusal.code.as_str(), refusal.group.as_str(), refusal.retryable),
        ("store-unavailable", "store", true)
    );
    assert_eq!(refusal.public_code, "threadmesh_store_unavailable");
    assert_eq!(refusal.number, i64::from(codes::STORE_UNAVAILABLE.rpc));
}

#[test]
fn answers_of_another_version_are_unreadable() {
    let good = json!({"revision": 0, "delivery": "durably-received", "decision": "pending", "outcome": "not-observed"});
    let named = |value: Value| json!({"method": "messages.getDisposition", "value": value});
    let mut more = good.clone();
    more["mood"] = json!("calm");
    let mut other = good.clone();
    other["decision"] = json!("maybe");
    let wrong = json!({"method": "tasks.get", "value": good});
    let client = Played::new(vec![
        result(named(good)),
        result(named(more)),
        result(named(other)),
        result(wrong),
        result(json!({"value": {}})),
    ]);
    let call = client.messages_get_disposition(&message());
    assert_eq!(call.send().expect("an answer").decision, types::MessageStatesDecision::Pending);
    for _ in 0..4 {
        assert!(matches!(call.send(), Err(ClientError::Unreadable { .. })));
    }
}

#[test]
fn what_may_be_null_must_be_there() {
    let mut task = json!({
        "taskId": "plan-1", "incarnationId": "inc_plan_0001", "harness": "mine", "state": "idle", "adapterRef": null,
        "runtime": {}, "consent": {"mute": false}, "revision": 0,
    });
    let named = |task: &Value| result(json!({"method": "tasks.get", "value": task}));
    let with = named(&task);
    task.as_object_mut().expect("an object").remove("adapterRef");
    let client = Played::new(vec![with, named(&task)]);
    let call = client.tasks_get(&TasksGet::new(self::task()));
    assert_eq!(call.send().expect("an answer").adapter_ref, None);
    assert!(matches!(call.send(), Err(ClientError::Unreadable { .. })));
}
