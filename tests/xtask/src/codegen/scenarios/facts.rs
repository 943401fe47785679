//! Stored rows and queries, for vectors of single steps. See spec/records.md.

use super::START;
use super::cast::{BUILDER, WRITER, message_id};
use crate::codegen::{attestation::base64url, records::Rows};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The row ids of the two tasks, which are those of their boxes.
pub(super) const WRITER_ROW: &str = "default/inc_writer-0001/writer/user:alice";
pub(super) const BUILDER_ROW: &str = "default/inc_builder-0001/builder/user:bob";
/// The row id of the grant.
pub(super) const GRANT_ROW: &str = "default/grant_work-1/policy:guard";
/// The place of the grant on its route.
pub(super) const ROUTE: &str = "default/inc_builder-0001/inc_writer-0001/rel_work/writer/builder/user:alice/user:bob";

/// The row of message 1, and of its life.
pub(super) fn message_row() -> String {
    format!("default/{}/{WRITER}/writer/user:alice", message_id(1))
}

/// The one row with this id.
pub(super) fn row(collection: &str, id: &str) -> Value {
    json!({"collection": collection, "index": "", "start": id, "reverse": false, "limit": 1, "bytes": 0})
}

/// Rows whose key starts with `prefix` and a slash.
pub(super) fn under(collection: &str, index: &str, prefix: &str, limit: u32) -> Value {
    let (start, end) = (format!("{prefix}/"), format!("{prefix}0"));
    json!({"collection": collection, "index": index, "start": start, "end": end, "reverse": false, "limit": limit, "bytes": 0})
}

/// The row in which the use of an idempotency key by writer is stored.
pub(super) fn key_row(operation: &str, key: &str) -> String {
    key_row_of("default/task/writer/inc_writer-0001/user:alice", operation, key)
}

/// The same for a caller of this scope, without a worker.
pub(super) fn key_row_of(scope: &str, operation: &str, key: &str) -> String {
    format!("default/{}", base64url(&Sha256::digest([scope, operation, "", key].join("\0"))))
}

/// The id of an event with these numbers in the streams of these boxes.
pub(super) fn event_id(places: &[(&str, u32)]) -> String {
    let text: String = places.iter().map(|(row, number)| format!("{row}#{number:016}")).collect();
    format!("evt_{}", &hex(&text)[..32])
}

/// What `purpose` is given as a secret under this entropy.
pub(super) fn secret(purpose: &str, entropy: &str) -> String {
    format!("sha256:{}", hex(&[purpose, entropy].join("\0")))
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands for a row id in keys of indexes.
pub(super) fn part(id: &str) -> String {
    base64url(&Sha256::digest(id))[..22].to_owned()
}

/// The arguments of a step, with the members of stored rows in the order in which the core writes them.
pub(super) fn laid_out(mut args: Value) -> Value {
    static ORDER: LazyLock<Rows> = LazyLock::new(|| Rows::load(&crate::root()).expect("spec/records.json"));
    for answer in args.get_mut("answers").and_then(Value::as_array_mut).into_iter().flatten() {
        let collection = answer["query"]["collection"].as_str().unwrap_or_default().to_owned();
        for row in answer["rows"].as_array_mut().into_iter().flatten() {
            let text = row["body"].as_str().unwrap_or_default();
            // What is not as a value prints is meant to be as it is.
            let body = serde_json::from_str::<Value>(text)
                .ok()
                .filter(|body| serde_json::to_string(body).is_ok_and(|whole| whole == text));
            if let Some(body) = body {
                row["body"] = ORDER.text(&collection, &body).into();
            }
        }
    }
    args
}

/// The answer to a query. Of a range, a full page is one of several.
pub(super) fn answer(query: Value, rows: Vec<Value>) -> Value {
    let limit = query["limit"].as_u64().unwrap_or_default();
    let more = query.get("end").is_some() && rows.len() as u64 >= limit;
    json!({"query": query, "rows": rows, "more": more})
}

/// A stored row that was found by its id.
pub(super) fn stored(id: &str, body: &Value) -> Value {
    json!({"id": id, "key": id, "revision": 1, "body": body.to_string()})
}

/// The same, found by another key.
pub(super) fn stored_at(id: &str, key: &str, body: &Value) -> Value {
    json!({"id": id, "key": key, "revision": 1, "body": body.to_string()})
}

fn party(task: &str, incarnation: &str, owner: &str) -> Value {
    json!({"taskId": task, "incarnationId": incarnation, "owner": owner})
}

pub(super) fn writer_party() -> Value {
    party("writer", WRITER, "user:alice")
}

pub(super) fn builder_party() -> Value {
    party("builder", BUILDER, "user:bob")
}

/// A live task.
pub(super) fn task(mut party: Value) -> Value {
    let more = json!({
        "harness": "codex", "state": "idle", "runId": "run-1", "objectiveVersion": 4, "mute": false,
        "registered": format!("sha256:{:064}", 7), "revision": 0,
    });
    let members = party.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    party
}

/// The grant of the scenarios: a supervisor's.
pub(super) fn grant() -> Value {
    json!({
        "document": {}, "grantId": "grant_work-1", "version": 1, "relationship": "rel_work", "kind": "supervisor",
        "source": writer_party(), "target": builder_party(), "intents": ["notify", "suggest", "steer"],
        "modes": ["store-only", "checkpoint-offer", "active-steer"], "draft": format!("sha256:{:064}", 8),
        "issuer": "policy:guard", "superseded": false, "sourcePlace": 2, "targetPlace": 2,
    })
}

/// The counters of a party.
pub(super) fn counters(open: i64, interruptions: i64) -> Value {
    json!({
        "cursor": open, "open": open, "window": START, "interruptions": interruptions, "sequence": 3,
    })
}

/// What a principal sent since the start.
pub(super) fn budget(sends: i64, urgent: i64, roots: i64, receivers: usize) -> Value {
    let receivers: Vec<String> = (0..receivers).map(|number| format!("{number:016x}")).collect();
    json!({"window": START, "sends": sends, "urgent": urgent, "roots": roots, "receivers": receivers})
}

/// The life of message 1, pending.
pub(super) fn life() -> Value {
    json!({
        "messageId": message_id(1), "sender": writer_party(), "receiver": builder_party(), "relationship": "rel_work",
        "intent": "suggest", "mode": "checkpoint-offer", "expires": START + 3_600_000, "digest": format!("sha256:{:064}", 5),
        "cursor": 1, "hops": 0, "binding": {"grant": GRANT_ROW, "grantId": "grant_work-1", "version": 1}, "revision": 0,
        "delivery": "durably-received", "decision": "pending", "outcome": "not-observed", "updated": START, "past": [],
        "events": 1,
    })
}
