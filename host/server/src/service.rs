//! What a connection needs of the process behind it, and how answers are put together.

use crate::tokens::Entry;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;
use threadmesh_runtime::host::Cancel;

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

    /// As [`Service::call`]; a wait ends early when `cancel` says so.
    fn call_until(&self, entry: &Entry, method: &str, params: &str, cancel: &Cancel) -> Answer {
        let _ = cancel;
        self.call(entry, method, params)
    }

    /// Whether the call may wait for others, so that it must not hold up what comes after it.
    fn waits(&self, method: &str, params: &str) -> bool {
        method == "tasks.wait" || (WAITING.contains(&method) && names_a_time(params))
    }

    /// Whether the process can read and write: one of each is tried.
    fn healthy(&self) -> bool {
        true
    }

    /// Ends the calls that wait, now and later: the process is to end.
    fn end_waits(&self) {}
}

/// The reads that wait where their params say for how long.
const WAITING: &[&str] = &["mailbox.listPending", "messages.getDisposition"];

/// Whether params say how long to wait. What they mean is the core's business; here it only decides on which thread the
/// call runs.
fn names_a_time(params: &str) -> bool {
    #[derive(Deserialize)]
    struct Timed {
        #[serde(rename = "timeoutMs")]
        time: Option<Value>,
    }
    serde_json::from_str::<Timed>(params).is_ok_and(|params| params.time.is_some())
}

/// Whether a call of the frame may wait.
pub fn waits(service: &dyn Service, frame: &Frame) -> bool {
    frame.calls.iter().any(|call| call.response.is_none() && service.waits(&call.method, &call.params))
}

/// Runs every call of a frame in order. Nothing comes back where there is nothing to answer.
pub fn run(service: &dyn Service, entry: &Entry, frame: Frame) -> Option<String> {
    run_with(frame, |method, params| service.call(entry, method, params))
}

/// As [`run`]; what waits ends early when `cancel` says so.
pub fn run_until(service: &dyn Service, entry: &Entry, frame: Frame, cancel: &Cancel) -> Option<String> {
    run_with(frame, |method, params| service.call_until(entry, method, params, cancel))
}

fn run_with(frame: Frame, call_one: impl Fn(&str, &str) -> Answer) -> Option<String> {
    let mut answers = Vec::new();
    for call in frame.calls {
        if let Some(response) = call.response {
            answers.push(response);
            continue;
        }
        let answer = match call.method.starts_with("session.") {
            true => Answer::Error(error("method-not-found", "this connection is authenticated already")),
            false => call_one(&call.method, &call.params),
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

/// The answer to every call of a frame that is not run at all.
pub fn refuse(frame: &Frame, problem: &Answer) -> Option<String> {
    let answers: Vec<String> =
        frame.calls.iter().filter_map(|call| Some(respond(call.id.as_deref()?, problem))).collect();
    match (answers.is_empty(), frame.batch) {
        (true, _) => None,
        (false, true) => Some(format!("[{}]", answers.join(","))),
        (false, false) => Some(answers.concat()),
    }
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
