//! Why a tool did not do what it was asked, and what a model can do about it.

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

    /// What to do next, as a sentence.
    fn next(&self) -> &'static str {
        match self.code.as_str() {
            "arguments-invalid" | "params-invalid" | "envelope-invalid" => {
                "Mend the arguments; the tool's schema says what they may be."
            }
            "authentication-required" => "The token is no longer valid: ask the owner of this task for another.",
            "principal-mismatch" => "Ask the owner to start this server with the token of a task.",
            "not-visible" => {
                "Check the ids: use exactly those of inbox, wait or related. Near names are never matched."
            }
            "policy-denied" => "Without a grant for this it cannot be done: see related, and propose one.",
            "consent-denied" => "The receiver does not take this now; leave it, or send with a lower intent.",
            "backpressure" => "Wait before you send more, and send less.",
            "mailbox-busy" => "Another worker of this task holds the message: leave it to that worker.",
            "mailbox-not-before" => "It was deferred until a time that has not come.",
            "mailbox-claim-expired" | "mailbox-claim-invalid" | "revision-conflict" => {
                "Somebody was faster: look at status, then decide again."
            }
            "transition-illegal" | "state-conflict" => {
                "Its state does not allow this: look at status; to read a message, accept it with ack first."
            }
            "admission-unsupported" => {
                "Only a suggestion that may be offered at a checkpoint can be read: ask its sender for one."
            }
            "message-expired" => "It is too late for this message; nothing is lost by leaving it.",
            "task-retired" => "This task has ended; its successor has a token of its own.",
            "idempotency-conflict" => "This id stands for other content: use a new one, or look at status.",
            "external-outcome-unknown" => "What happened outside is being established; do not repeat it.",
            "server-lost" => {
                "Whether it was done is not known: call the same tool again with the same arguments and messageId, or look at status."
            }
            "wait-cancelled" => "Call wait again with the same cursor.",
            _ if self.retryable => "Try again later.",
            _ => "Repeating the call will not help.",
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
