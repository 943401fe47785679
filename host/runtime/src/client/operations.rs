//! The operations that a transport takes, as `spec/operations.json` has them: what a client or a server must know of one
//! without asking a core.

use super::generated::operations as generated;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// Whether it takes an idempotency key, as whatever writes does.
    pub keyed: bool,
    /// The param that says how long it may wait, in milliseconds, if it can.
    pub waits: Option<&'static str>,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// What clients write into a message of an intent where nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// The intent.
    pub intent: &'static str,
    /// The delivery mode.
    pub delivery_mode: &'static str,
    /// The message type.
    pub message_type: &'static str,
    /// How long it is good for, in seconds.
    pub expires_in_seconds: u64,
}

/// All operations, sorted by name.
pub fn all() -> &'static [Operation] {
    generated::OPERATIONS
}

/// The operation with this name, if there is one.
pub fn find(name: &str) -> Option<&'static Operation> {
    generated::OPERATIONS.iter().find(|operation| operation.name == name)
}

/// What is usual by intent, the weakest intent first.
pub fn usual() -> &'static [Usual] {
    generated::USUAL
}

/// What is usual of messages with this intent; nothing if there is no such intent.
pub fn usual_of(intent: &str) -> Option<&'static Usual> {
    generated::USUAL.iter().find(|usual| usual.intent == intent)
}
