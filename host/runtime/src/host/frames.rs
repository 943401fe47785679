//! JSON-RPC frames: cut by the core, run in order, answers put together as text.

use super::{Cancel, Host, HostError, Reply};
use crate::codes;
use crate::wit::{Call, Effect, Principal, Status};
use serde_json::json;

impl Host {
    /// Runs the calls of a frame in order. The answer frame, if any is due, and the external calls that this process
    /// may now perform.
    pub fn frame(&self, principal: Option<&Principal>, text: &str, cancel: &Cancel) -> (Option<String>, Vec<Effect>) {
        let frame = match self.split(text) {
            Ok(frame) => frame,
            Err(error) => return (Some(error_response("null", &error)), Vec::new()),
        };
        let mut effects = Vec::new();
        let mut answers = Vec::new();
        for call in frame.calls {
            answers.extend(self.answer(principal, &call, cancel, &mut effects));
        }
        let text = match (frame.batch, answers.is_empty()) {
            (_, true) => None,
            (true, false) => Some(format!("[{}]", answers.join(","))),
            (false, false) => answers.pop(),
        };
        (text, effects)
    }

    fn answer(
        &self,
        principal: Option<&Principal>,
        call: &Call,
        cancel: &Cancel,
        effects: &mut Vec<Effect>,
    ) -> Option<String> {
        if let Some(ready) = &call.response {
            return Some(ready.clone());
        }
        let outcome = self.call_until(principal, &call.method, &call.params, cancel);
        let outcome = outcome.map(|mut reply| {
            effects.append(&mut reply.calls);
            reply
        });
        let id = call.id.as_deref()?;
        Some(match outcome {
            Ok(reply) => response(id, &reply),
            Err(error) => error_response(id, &error),
        })
    }
}

/// The response to a call that was run.
fn response(id: &str, reply: &Reply) -> String {
    let member = if reply.status == Status::Refused { "error" } else { "result" };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{}}}", reply.body)
}

/// The response to a call that could not be run. What the host knows of the cause stays in its log.
pub fn error_response(id: &str, error: &HostError) -> String {
    let code = error.code();
    let body = json!({
        "code": codes::rpc(code),
        "message": codes::public(code),
        "data": {
            "threadmeshCode": codes::public(code),
            "retryable": error.retryable(),
            "code": codes::name(code),
            "pointer": "",
            "detail": codes::meaning(code),
        },
    });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{body}}}")
}
