//! Where operations run: in this process on a database, or on a server behind its socket.

use crate::failure::{Exit, Failure};
use serde_json::Value;
use threadmesh_runtime::codes;
use threadmesh_runtime::rpc::Refusal;
use threadmesh_server::tokens::Principal;

/// The text of a `result` member, or the refusal.
pub type Reply = Result<String, Failure>;

/// Something that runs operations as one principal.
pub trait Mesh {
    /// Runs one operation. The outer error: it could not be run at all, or nobody knows whether it was.
    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure>;

    /// Who is calling.
    fn principal(&self) -> &Principal;

    /// Runs one operation that must be carried out, and parses what it answers.
    fn value(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let text = self.call(method, &params.to_string())??;
        value(method, &text)
    }
}

/// What an operation answers, out of its `result` member: `value`, and in it, for an operation that takes an idempotency
/// key, the `value` beside `operationReplay`.
pub fn value(method: &str, result: &str) -> Result<Value, Failure> {
    let mut result: Value = serde_json::from_str(result)
        .map_err(|error| Failure::unusable("answer-unreadable", format_args!("{method}: {error}"), ""))?;
    let mut value = result.get_mut("value").map(Value::take).unwrap_or_default();
    match value.get("operationReplay") {
        Some(_) => Ok(value.get_mut("value").map(Value::take).unwrap_or_default()),
        None => Ok(value),
    }
}

/// A new idempotency key.
pub fn fresh_key() -> String {
    format!("idem_{}", threadmesh_server::tokens::random_id())
}

/// The `error` member of a JSON-RPC answer as a failure: refused, or unusable where the fault is not the caller's.
pub fn reply(error: &str) -> Failure {
    let refusal = Refusal::read(error);
    let exit = Exit::of(&refusal.group);
    let usual = match (exit, refusal.retryable) {
        _ if refusal.group == "unknown" => "",
        (Exit::Unusable, true) => "try again; `threadmesh doctor` says what is wrong",
        (Exit::Unusable, false) => "run `threadmesh doctor`",
        (_, true) => "this may pass: look again, then try again",
        (_, false) => "",
    };
    let Refusal { code, pointer, detail, .. } = refusal;
    let known = codes::next(&code, &detail);
    let next = if known.is_empty() { usual } else { known }.to_owned();
    Failure { exit, code, pointer, detail, next }
}
