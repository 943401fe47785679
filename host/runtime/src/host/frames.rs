//! JSON-RPC frames: cut by the core, run in order, answers put together as text.

use super::{Cancel, Host};
use crate::rpc::{self, Answer};
use crate::wit::{Effect, Principal, Status};

impl Host {
    /// Runs the calls of a frame in order. The answer frame, if any is due, and the external calls that this process
    /// may now perform.
    pub fn frame(&self, principal: Option<&Principal>, text: &str, cancel: &Cancel) -> (Option<String>, Vec<Effect>) {
        let frame = match self.split(text) {
            Ok(frame) => frame,
            Err(error) => return (Some(rpc::respond("null", &Answer::Error(rpc::failed(&error)))), Vec::new()),
        };
        let mut effects = Vec::new();
        let text = rpc::run(&frame, |call| match self.call_until(principal, &call.method, &call.params, cancel) {
            Ok(mut reply) => {
                effects.append(&mut reply.calls);
                reply.into_answer()
            }
            Err(error) => Answer::Error(rpc::failed(&error)),
        });
        (text, effects)
    }
}

impl super::Reply {
    /// What is answered to the caller.
    pub fn into_answer(self) -> Answer {
        match self.status {
            Status::Refused => Answer::Error(self.body),
            Status::Accepted | Status::Replayed => Answer::Result(self.body),
        }
    }
}
