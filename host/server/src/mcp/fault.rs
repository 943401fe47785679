//! Why a tool did not do what it was asked, and what a model can do about it.

use super::generated::next;
use serde_json::{Value, json};
use threadmesh_runtime::client::{ClientError, Refusal};

/// A tool's error.
#[derive(Clone, Debug)]
pub struct ToolFault {
    /// A code of spec/errors.md, or `arguments-invalid`, `server-lost`, `backpressure`.
    pub code: String,
    /// What is wrong, as a sentence.
    pub detail: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ToolFault {
    /// One that repeating does not mend.
    pub fn new(code: &str, detail: impl Into<String>) -> Self {
        ToolFault { code: code.to_owned(), detail: detail.into(), retryable: false }
    }

    /// As it is told.
    pub fn to_json(&self) -> Value {
        json!({
            "error": {
                "code": self.code,
                "detail": self.detail,
                "retryable": self.retryable,
                "next": self.next(),
            },
        })
    }

    /// What to do next, as a sentence: as `spec/errors.json` has it for models, but for faults of tools themselves.
    fn next(&self) -> &'static str {
        match self.code.as_str() {
            "arguments-invalid" => next("params-invalid").unwrap_or_default(),
            "server-lost" => {
                "Whether it was done is not known: call the same tool again with the same arguments and messageId, or look at status."
            }
            code => next(code).unwrap_or(match self.retryable {
                true => "Try again later.",
                false => "Repeating the call will not help.",
            }),
        }
    }
}

impl From<ClientError> for ToolFault {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(refusal) => {
                let Refusal { code, pointer, detail, retryable, .. } = *refusal;
                let detail = if pointer.is_empty() { detail } else { format!("{pointer}: {detail}") };
                ToolFault { code, detail, retryable }
            }
            // Paths and causes are for whoever runs the server.
            ClientError::Transport(_) => ToolFault {
                code: "server-lost".to_owned(),
                detail: "the ThreadMesh server does not answer".to_owned(),
                retryable: true,
            },
            ClientError::Unreadable { method, .. } => {
                ToolFault::new("server-lost", format!("the answer to {method} is of another version"))
            }
        }
    }
}
