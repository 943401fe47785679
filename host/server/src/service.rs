//! What a connection needs of the process behind it.

use crate::standing::Standing;
use crate::tokens::Entry;
use serde::de::IgnoredAny;
use std::collections::HashMap;
use threadmesh_runtime::client::operations;
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{self, Answer, Call, Frame};
use threadmesh_runtime::wit::Fact;

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

    /// As [`Service::call_until`], for a call that belongs to a trace: `context` are its `traceparent` and `tracestate`.
    fn call_with(&self, entry: &Entry, method: &str, params: &str, context: &[Fact], cancel: &Cancel) -> Answer {
        let _ = context;
        self.call_until(entry, method, params, cancel)
    }

    /// Whether the call may wait for others, so that it must not hold up what comes after it.
    fn waits(&self, method: &str, params: &str) -> bool {
        operations::find(method).and_then(|operation| operation.waits).is_some_and(|member| names(params, member))
    }

    /// Whether the process can read and write: one of each is tried.
    fn healthy(&self) -> bool {
        true
    }

    /// Is cancelled by [`Service::end_waits`].
    fn ending(&self) -> Cancel {
        Cancel::default()
    }

    /// Ends the calls that wait, now and later: the process is to end.
    fn end_waits(&self) {}
}

/// Whether params have a member, as the one that says how long to wait. What it means is the core's business; here it only
/// decides on which thread the call runs.
fn names(params: &str, member: &str) -> bool {
    let members = serde_json::from_str::<HashMap<String, IgnoredAny>>(params);
    members.is_ok_and(|members| members.contains_key(member))
}

/// Whether a call of the frame may wait.
pub fn waits(service: &dyn Service, frame: &Frame) -> bool {
    frame.calls.iter().any(|call| call.response.is_none() && service.waits(&call.method, &call.params))
}

/// Runs every call of a frame in order, each as the caller stands then; the frame belongs to a trace by `context` (see
/// [`Service::call_with`]), and what waits ends early when `cancel` says so. Nothing comes back where there is nothing to
/// answer.
pub fn run(
    service: &dyn Service,
    caller: &Standing,
    frame: &Frame,
    context: &[Fact],
    cancel: &Cancel,
) -> Option<String> {
    let run = |call: &Call| caller.call(service, &call.method, &call.params, context, cancel);
    rpc::run(frame, |call| own(call).unwrap_or_else(|| run(call)))
}

/// The answer to a call that is about the connection.
fn own(call: &Call) -> Option<Answer> {
    let session = call.method.starts_with("session.");
    session.then(|| Answer::Error(rpc::error("method-not-found", "this connection is authenticated already")))
}
