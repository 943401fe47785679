//! What a connection needs of the process behind it, and how answers are put together.

use crate::tokens::Entry;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// One call of a frame, cut by raw slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The raw text of the id; nothing for a notification.
    pub id: Option<String>,
    /// The method.
    pub method: String,
    /// The params as received.
    pub params: String,
    /// The complete answer, where the call is faulty and there is nothing to run.
    pub response: Option<String>,
}

/// A frame: one call, or a batch of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether the answer is an array.
    pub batch: bool,
    /// The calls in their order.
    pub calls: Vec<Call>,
}

/// How a call ended: the JSON text of the `result` or of the `error` member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was carried out.
    Result(String),
    /// It was refused, or could not be carried out.
    Error(String),
}

/// The process behind the transports: the host with its core, or a stand-in of the tests.
pub trait Service: Send + Sync {
    /// Cuts a frame. A faulty frame is a call with a ready response. An error is the `error` member of an answer for
    /// the whole frame: the core is not available.
    fn split(&self, text: &str) -> Result<Frame, String>;

    /// Runs one operation as the principal of `entry`.
    fn call(&self, entry: &Entry, method: &str, params: &str) -> Answer;

    /// Whether the method may wait for others, so that it must not hold up what comes after it.
    fn waits(&self, method: &str) -> bool {
        method == "tasks.wait"
    }

    /// Ends the calls that wait, now and later: the process is to end.
    fn end_waits(&self) {}
}

/// Runs every call of a frame in order. Nothing comes back where there is nothing to answer.
pub fn run(service: &dyn Service, entry: &Entry, frame: Frame) -> Option<String> {
    let mut answers = Vec::new();
    for call in frame.calls {
        if let Some(response) = call.response {
            answers.push(response);
            continue;
        }
        let answer = match call.method.starts_with("session.") {
            true => Answer::Error(error("method-not-found", "this connection is authenticated already")),
            false => service.call(entry, &call.method, &call.params),
        };
        if let Some(id) = call.id {
            answers.push(respond(&id, &answer));
        }
    }
    match (frame.batch, answers.is_empty()) {
        (_, true) => None,
        (true, false) => Some(format!("[{}]", answers.join(","))),
        (false, false) => Some(answers.concat()),
    }
}

/// A whole JSON-RPC response. `id` is raw JSON text.
pub fn respond(id: &str, answer: &Answer) -> String {
    match answer {
        Answer::Result(text) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{text}}}"),
        Answer::Error(text) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{text}}}"),
    }
}

/// The `error` member for a fault that the transport found itself, in the same form as the core's.
pub fn error(code: &str, detail: &str) -> String {
    error_at(code, "", detail)
}

/// As [`error`], with a JSON Pointer into the input.
pub fn error_at(code: &str, pointer: &str, detail: &str) -> String {
    let known = CODES.iter().find(|known| known["code"] == code);
    let member = |name: &str| known.map_or(Value::Null, |known| known[name].clone());
    let (public, rpc) = match known {
        Some(_) => (member("public"), member("rpc")),
        None => (json!("threadmesh_internal_error"), json!(-32603)),
    };
    json!({
        "code": rpc,
        "message": public,
        "data": {
            "threadmeshCode": public,
            "code": code,
            "pointer": pointer,
            "retryable": member("retryable").as_bool().unwrap_or(false),
            "detail": detail,
        },
    })
    .to_string()
}

/// The table of error codes, as in spec/errors.md.
static CODES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let table: Value = serde_json::from_str(include_str!("../../../spec/errors.json")).unwrap_or_default();
    table["codes"].as_array().cloned().unwrap_or_default()
});

/// Whose fault an error code stands for: `denied`, `malformed`, `limit`, `unsupported`, `violation`, `conflict`,
/// `misuse`, `unavailable` or `outcome-unknown`. Nothing for a code that spec/errors.md does not have.
pub fn group(code: &str) -> Option<&'static str> {
    CODES.iter().find(|known| known["code"] == code)?["group"].as_str()
}
