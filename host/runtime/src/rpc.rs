//! JSON-RPC 2.0, in one place: how frames are run, and what requests, responses, notifications and errors look like.
//!
//! Every transport, every client and the tests use this. What a frame says is cut by the core alone
//! ([`crate::Host::split`]), so that no two transports can disagree about it; ids and params stay as they were written.

mod error;
#[cfg(test)]
mod tests;

pub use crate::wit::{Call, Frame};
pub use error::{Refusal, error, failed, object};

use serde::Deserialize;
use serde_json::value::RawValue;

/// How many bytes the answers of a batch may have before the rest of its calls is refused.
const ANSWERS_BYTES_MAX: usize = 8 << 20;

/// How a call ended: the text of the `result` or of the `error` member of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was carried out.
    Result(String),
    /// It was refused, or could not be carried out.
    Error(String),
}

/// A whole response. `id` is raw JSON text.
pub fn respond(id: &str, answer: &Answer) -> String {
    match answer {
        Answer::Result(text) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{text}}}"),
        Answer::Error(text) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{text}}}"),
    }
}

/// The response where it is not known what is asked, or by which id: an error of `code` under the id null.
pub fn fault(code: &str, detail: &str) -> String {
    respond("null", &Answer::Error(error(code, detail)))
}

/// A whole request on one line. `id` and `params` are raw JSON text.
pub fn request(id: &str, method: &str, params: &str) -> String {
    let method = serde_json::Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{}}}", one_line(params))
}

/// A whole notification on one line. `params` is raw JSON text.
pub fn notification(method: &str, params: &str) -> String {
    let method = serde_json::Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{}}}", one_line(params))
}

/// JSON text without line ends: between the tokens they mean no more than a space, and inside of them there are none.
pub fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// Runs every call of a frame in order, each with `run`: the text to answer with, if anything is to be answered. A faulty
/// call is answered with what the core made ready, and a notification is run and not answered.
///
/// The answers of a batch have a bound of bytes together: the call that would begin behind it is not run, nor are those after
/// it, and each is refused with `backpressure`.
pub fn run(frame: &Frame, mut run: impl FnMut(&Call) -> Answer) -> Option<String> {
    let (mut answers, mut bytes) = (Vec::new(), 0_usize);
    for call in &frame.calls {
        let answer = match &call.response {
            Some(ready) => Some(ready.clone()),
            None if bytes > ANSWERS_BYTES_MAX => {
                let full =
                    error("backpressure", "the answers of this batch are too long together; this call was not run");
                call.id.as_deref().map(|id| respond(id, &Answer::Error(full)))
            }
            None => {
                let answer = run(call);
                call.id.as_deref().map(|id| respond(id, &answer))
            }
        };
        bytes += answer.as_ref().map_or(0, String::len);
        answers.extend(answer);
    }
    together(frame.batch, answers)
}

/// The answer to a frame of which nothing is run: `error`, an `error` member, for each call that has an id.
pub fn refuse(frame: &Frame, error: &str) -> Option<String> {
    let answer = Answer::Error(error.to_owned());
    let answers = frame.calls.iter().filter_map(|call| Some(respond(call.id.as_deref()?, &answer)));
    together(frame.batch, answers.collect())
}

fn together(batch: bool, mut answers: Vec<String>) -> Option<String> {
    match (answers.is_empty(), batch) {
        (true, _) => None,
        (false, true) => Some(format!("[{}]", answers.join(","))),
        (false, false) => answers.pop(),
    }
}

/// A response, as its receiver reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The raw text of the id.
    pub id: String,
    /// How the call ended.
    pub answer: Answer,
}

impl Response {
    /// Reads one response; nothing where the text is none: with both or neither of `result` and `error`, or without an id.
    pub fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
            #[serde(borrow)]
            result: Option<&'a RawValue>,
            #[serde(borrow)]
            error: Option<&'a RawValue>,
        }
        let Members { id, result, error } = serde_json::from_str(text).ok()?;
        let answer = match (result, error) {
            (Some(result), None) => Answer::Result(result.get().to_owned()),
            (None, Some(error)) => Answer::Error(error.get().to_owned()),
            _ => return None,
        };
        Some(Response { id: id.get().to_owned(), answer })
    }
}
