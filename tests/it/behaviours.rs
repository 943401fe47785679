//! Behaviours of `spec/behaviours.json` that take a process to show: what goes on after the file was closed and opened again.

use crate::embedded::{Mesh, grant, message, principal, reference};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use threadmesh_runtime::wit::{Principal, PrincipalKind};
use threadmesh_store_sqlite::{Options, SqliteStore};

/// Another process, as far as the file can tell.
fn open(path: &Path) -> Mesh {
    Mesh::over(Arc::new(SqliteStore::open(path, Options::default()).expect("a store")))
}

/// The cursors and types of the events after `cursor`, and the next cursor.
fn events(mesh: &mut Mesh, task: &Principal, cursor: i64) -> (Vec<(i64, String)>, i64) {
    let page = mesh.call(task, "tasks.wait", json!({"task": reference(task), "afterCursor": cursor, "timeoutMs": 0}));
    let event = |event: &Value| {
        (event["cursor"].as_i64().expect("a cursor"), event["eventType"].as_str().expect("a type").to_owned())
    };
    let events = page["events"].as_array().expect("events").iter().map(event).collect();
    (events, page["nextCursor"].as_i64().expect("a cursor"))
}

fn at(number: usize, revision: u32) -> Value {
    let mut params = message(0, number);
    params["expectedRevision"] = revision.into();
    params
}

#[test]
fn behaviour_107_events_go_on_where_they_were_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mesh.db");
    let (ends, cursor) = {
        let mut mesh = open(&path);
        let ends = mesh.pair("alice", 0);
        mesh.send(&ends, 0, 1);
        let (first, cursor) = events(&mut mesh, &ends.1, 0);
        assert_eq!(
            first.last().map(|(cursor, kind)| (*cursor, kind.as_str())),
            Some((cursor, "message-durably-received"))
        );
        (ends, cursor)
    };
    let mut mesh = open(&path);
    mesh.send(&ends, 0, 2);
    let mut params = at(2, 0);
    params["decision"] = "rejected".into();
    mesh.call(&ends.1, "messages.respond", params);
    let (newer, next) = events(&mut mesh, &ends.1, cursor);
    let expected = [(cursor + 1, "message-durably-received".to_owned()), (cursor + 2, "receiver-decided".to_owned())];
    assert_eq!((newer, next), (expected.to_vec(), cursor + 2));
    assert_eq!(events(&mut mesh, &ends.1, next), (Vec::new(), next), "nothing more, and the cursor stays");
}

#[test]
fn behaviour_128_a_grant_that_is_repeated_after_a_restart_is_a_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mesh.db");
    let alice = principal(PrincipalKind::User, "alice");
    let keyed = |ends: &(Principal, Principal)| {
        let mut params = grant(7, ends);
        params["idempotencyKey"] = "idem_grant-again".into();
        params
    };
    let (ends, first) = {
        let mut mesh = open(&path);
        let ends = mesh.pair("alice", 0);
        let first = mesh.call(&alice, "relationships.grant", keyed(&ends));
        (ends, first)
    };
    assert_eq!(first["operationReplay"], false);
    assert_eq!(first["value"]["grantedBy"]["actorId"], "alice");
    assert!(
        first["value"]["authorization"]["integrity"]["digest"].as_str().is_some_and(|it| it.starts_with("sha256:"))
    );
    let again = open(&path).call(&alice, "relationships.grant", keyed(&ends));
    assert_eq!((&again["operationReplay"], &again["value"]), (&json!(true), &first["value"]));
}

#[test]
fn behaviour_101_mail_decisions_and_unknown_attempts_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mesh.db");
    let (ends, begun) = {
        let mut mesh = open(&path);
        mesh.call(&principal(PrincipalKind::Operator, "ops"), "adapters.declare", profile());
        let ends = mesh.pair("alice", 0);
        (1..=2).for_each(|number| mesh.send(&ends, 0, number));
        let mut params = at(1, 0);
        params["decision"] = "accepted".into();
        mesh.call(&ends.1, "messages.respond", params);
        let prepared = mesh.call(&ends.1, "adapter.prepareSubmission", at(1, 1));
        let id = prepared["value"]["submission"]["submissionId"].clone();
        let begun = mesh.call(&ends.1, "adapter.beginSubmission", json!({"submissionId": id, "expectedRevision": 1}));
        (ends, begun)
    };
    let mut mesh = open(&path);
    let mail = mesh.call(&ends.1, "mailbox.listPending", json!({"receiver": reference(&ends.1)}));
    assert_eq!(mail["items"][0]["envelope"]["messageId"], message(0, 2)["messageId"]);
    let disposition = mesh.call(&ends.0, "messages.getDisposition", message(0, 1));
    assert_eq!((&disposition["decision"], &disposition["revision"]), (&json!("accepted"), &json!(1)));
    // Number 117 of the map: the same attempt under the same key, and no other.
    let again = mesh.call(&ends.1, "adapter.prepareSubmission", at(1, 1));
    let (again, begun) = (&again["value"], &begun["value"]["submission"]);
    assert_eq!((&again["replay"], &again["submission"]["state"]), (&json!(true), &json!("outcome-unknown")));
    for member in ["submissionId", "adapterIdempotencyKey"] {
        assert!(begun[member].is_string(), "{begun}");
        assert_eq!(again["submission"][member], begun[member]);
    }
}

/// The receiver makes its calls itself, so that no dispatcher is needed.
fn profile() -> Value {
    json!({
        "profile": "loop", "digest": format!("sha256:{:064}", 1), "executor": "caller", "deadlineMs": 10_000,
        "settleMs": 20_000, "canQuery": false, "absentFinal": false,
        "capabilities": {
            "specVersion": "0.0-draft", "adapterName": "loop", "adapterVersion": "1.0.0", "intents": ["suggest"],
            "deliveryModes": ["store-only", "checkpoint-offer"],
            "features": {
                "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": true,
                "checkpointEvents": true, "idleWake": false, "contextAdmission": "none", "provenanceRendering": "none",
                "modelTurnCancellation": false, "subprocessCancellation": false, "dispositionCallbacks": false,
                "structuredGateResponses": "none", "durableSubmissionIdempotency": "none",
                "typedInterruptionResults": false,
            },
        },
    })
}
