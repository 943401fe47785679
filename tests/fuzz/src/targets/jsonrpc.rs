//! JSON-RPC frames: how they are cut, and that every call in them gets a well-formed answer from the rules.

use super::decide::{self, rounds};
use crate::store::Store;
use serde_json::Value as Other;
use threadmesh_protocol::{
    documents,
    generated::limits::BATCH_CALLS_MAX,
    json,
    kernel::{Call, Principal, PrincipalKind, Request, Status, split},
};

/// When the calls are made: 2026-05-04T08:00:00Z.
const NOW: i64 = 1_777_881_600_000;

/// One frame.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = json::text(data) else { return false };
    let frame = split(text);
    assert_eq!(frame, split(text), "cut in another way the second time");
    let most = if frame.batch { usize::try_from(BATCH_CALLS_MAX).expect("small") } else { 1 };
    assert!((1..=most).contains(&frame.calls.len()));
    if frame.batch {
        alone(text, &frame.calls);
    }
    for call in &frame.calls {
        well_formed(call, text);
    }
    let runnable: Vec<&Call> = frame.calls.iter().filter(|call| call.response.is_none()).collect();
    runnable.iter().for_each(|call| answered(call));
    if documents::check("jsonrpc-request", text).is_ok() {
        assert!(!frame.batch && !runnable.is_empty(), "a request that is a sound document is not run");
    }
    !runnable.is_empty()
}

/// A call in a batch is the call that it would be alone.
fn alone(text: &str, calls: &[Call]) {
    let tree = json::parse_document(text).expect("a batch was read");
    assert_eq!(tree.root().len(), calls.len());
    for (item, call) in tree.root().items().zip(calls) {
        // An array in a batch is a fault, and a batch of its own alone.
        let frame = split(item.raw());
        match (frame.batch, frame.calls.as_slice()) {
            (false, [single]) if single.response.is_none() => assert_eq!(single, call),
            (false, [single]) => assert_eq!((&single.id, true), (&call.id, call.response.is_some())),
            _ => assert!(call.response.is_some(), "an array was taken for a call"),
        }
    }
}

/// Either a complete answer, or a method with its parts as they stand in the text.
fn well_formed(call: &Call, text: &str) {
    if let Some(response) = &call.response {
        let answer: Other = serde_json::from_str(response).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["code"].is_i64() && answer["error"]["data"]["code"].is_string());
        let id = call.id.as_deref().expect("a faulty call is answered");
        assert_eq!(serde_json::from_str::<Other>(id).ok().as_ref(), Some(&answer["id"]));
        let checked = documents::check("jsonrpc-response", response);
        assert!(checked.is_ok(), "{checked:?}: {response}");
        return;
    }
    assert!(!call.method.is_empty());
    assert!(call.params == "{}" || text.contains(&call.params), "the params are not as received");
    assert!(serde_json::from_str::<Other>(&call.params).is_ok_and(|params| params.is_object()));
    if let Some(id) = &call.id {
        assert!(text.contains(id.as_str()), "the id is not as received");
        let id: Other = serde_json::from_str(id).expect("an id is JSON");
        assert!(id.is_string() || id.is_number() || id.is_null());
    }
}

/// The call, made by parties that know nobody, on an empty store.
fn answered(call: &Call) {
    let request = |principal| Request {
        operation: call.method.clone(),
        principal,
        params: call.params.clone(),
        instance: "host-1".into(),
        cursor: None,
        context: Vec::new(),
    };
    let store = Store::default();
    let nobody = rounds(&request(None), &store, NOW);
    assert_eq!(nobody.decision().map(|decision| decision.status), Some(Status::Refused), "nobody was served");
    for kind in [PrincipalKind::User, PrincipalKind::Task, PrincipalKind::Host] {
        let task = kind == PrincipalKind::Task;
        let principal = Principal {
            tenant: "default".into(),
            kind,
            id: "somebody".into(),
            incarnation: task.then(|| "inc_somebody-1".into()),
            owner: task.then(|| "user:anybody".into()),
            worker: None,
            authentication: "authn_somebody".into(),
        };
        let request = request(Some(principal));
        if let Some(decision) = rounds(&request, &store, NOW).decision() {
            decide::sound(&request, decision, &store);
        }
    }
}
