//! The pure functions of the core as methods `core.*`: for conformance runs against a server, and for clients that have
//! no component of their own. Params and answers are those of spec/conformance/README.md; errors are the core's.

use serde_json::{Value, json};
use std::sync::LazyLock;
use threadmesh_runtime::rpc::{self, Answer, error};
use threadmesh_runtime::{Core, driver};

/// Function and method.
const METHODS: &[(&str, &str)] = &[
    ("canonicalize", "core.canonicalize"),
    ("digest", "core.digest"),
    ("parse-time", "core.parseTime"),
    ("check", "core.check"),
    ("describe", "core.describe"),
    ("kinds", "core.kinds"),
    ("verify", "core.verify"),
    ("check-anchors", "core.checkAnchors"),
    ("verify-disposition", "core.verifyDisposition"),
    ("step", "core.step"),
    ("check-reason", "core.checkReason"),
    ("check-combination", "core.checkCombination"),
    ("split", "core.split"),
    ("decide", "core.decide"),
    ("check-principal", "core.checkPrincipal"),
    ("operations", "core.operations"),
];

/// The method for a function of the conformance vectors, if it has one.
pub fn method(function: &str) -> Option<&'static str> {
    METHODS.iter().find(|(name, _)| *name == function).map(|(_, method)| *method)
}

/// The operations as an OpenRPC document, on one line.
pub static OPENRPC: LazyLock<String> =
    LazyLock::new(|| include_str!("../../../spec/openrpc.json").lines().map(str::trim_start).collect());

/// Answers a `core.*` method in a fresh session of `core`, and `rpc.discover`, whose result is [`OPENRPC`]; nothing where
/// the method is none of these.
pub fn answer(core: &dyn Core, method: &str, params: &str) -> Option<Answer> {
    if method == "rpc.discover" {
        return Some(Answer::Result(OPENRPC.clone()));
    }
    let (function, method) = METHODS.iter().find(|(_, name)| *name == method)?;
    let mut params: Value = match serde_json::from_str(params) {
        Ok(params) => params,
        Err(problem) => return Some(Answer::Error(error("params-invalid", &problem.to_string()))),
    };
    read_time(&mut params);
    let answer = match core.session() {
        Ok(mut session) => driver::answer(session.as_mut(), function, &params),
        Err(fault) => json!({"trap": fault.to_string()}),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(if let Some(ok) = answer.get("ok") {
        Answer::Result(json!({"method": method, "value": ok}).to_string())
    } else if let Some(refusal) = answer.get("error") {
        Answer::Error(rpc::object(&driver::error_from(refusal)))
    } else if let Some(what) = answer.get("unusable") {
        Answer::Error(error("params-invalid", &text(what)))
    } else {
        Answer::Error(error("core-trap", "the core gave no answer; nothing was changed"))
    })
}

/// A frame holds no whole number beyond 2^53-1, so that such a `now` comes as a string.
fn read_time(params: &mut Value) {
    let number = params["now"].as_str().and_then(|text| text.parse::<f64>().ok());
    if let Some(number) = number.and_then(serde_json::Number::from_f64) {
        params["now"] = Value::Number(number);
    }
}
