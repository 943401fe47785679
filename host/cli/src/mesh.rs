//! Where operations run: in this process on a database, or on a server behind its socket.

use crate::failure::{Exit, Failure};
use crate::terminal::Printer;
use serde_json::Value;
use threadmesh_runtime::codes;
use threadmesh_runtime::rpc::Refusal;
use threadmesh_server::tokens::{Principal, Secret};

/// The text of a `result` member, or the refusal.
pub type Reply = Result<String, Failure>;

/// Something that runs operations as one principal.
pub trait Mesh {
    /// Runs one operation. The outer error: it could not be run at all, or nobody knows whether it was.
    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure>;

    /// Who is calling.
    fn principal(&self) -> &Principal;

    /// Has the calls from here on made as the principal of another token. Unusable where nobody is let in by it.
    fn switch(&mut self, secret: &Secret) -> Result<(), Failure>;

    /// Runs one operation that must be carried out, and parses what it answers.
    fn value(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let text = self.call(method, &params.to_string())??;
        value(method, &text)
    }
}

/// A place that shows each request before it runs it, for whoever asked to see requests.
pub struct Shown {
    mesh: Box<dyn Mesh>,
    printer: Printer,
    sent: u64,
}

impl Shown {
    /// `mesh`, seen through `printer`.
    pub fn new(mesh: Box<dyn Mesh>, printer: Printer) -> Self {
        Shown { mesh, printer, sent: 0 }
    }
}

impl Mesh for Shown {
    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure> {
        self.sent += 1;
        let (id, name) = (self.sent, Value::from(method));
        self.printer.sent(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{name},\"params\":{params}}}"));
        self.mesh.call(method, params)
    }

    fn principal(&self) -> &Principal {
        self.mesh.principal()
    }

    fn switch(&mut self, secret: &Secret) -> Result<(), Failure> {
        self.mesh.switch(secret)
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
