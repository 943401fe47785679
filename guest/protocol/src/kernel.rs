//! The pure step: one operation, decided from facts that the host was asked for.
//!
//! The types mirror `wit/world.wit` one to one. See `ARCHITECTURE.md` for the loop that a host runs around
//! [`decide`](crate::operations::decide).

pub(crate) mod audit;
pub(crate) mod boxes;
pub(crate) mod context;
pub(crate) mod decide;
pub(crate) mod evaluate;
pub(crate) mod fields;
pub(crate) mod flow;
mod frame;
pub(crate) mod guard;
pub(crate) mod keys;
pub(crate) mod names;
pub(crate) mod operation;
pub(crate) mod pages;
pub(crate) mod purging;
pub(crate) mod records;
pub(crate) mod replay;
pub(crate) mod streams;

use crate::Error;
use alloc::{string::String, vec::Vec};

/// What kind of party the transport authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A policy of the organisation.
    Policy,
    /// A task incarnation.
    Task,
    /// Whoever runs the host.
    Operator,
    /// The host itself; never from a transport.
    Host,
}

/// The authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The tenant; part of every key.
    pub tenant: String,
    /// What kind of party.
    pub kind: PrincipalKind,
    /// Its id; for a task its task id.
    pub id: String,
    /// For a task, the incarnation.
    pub incarnation: Option<String>,
    /// For a task, the scope that registered it (`user:alice`).
    pub owner: Option<String>,
    /// The worker, where the credential or the connection names one.
    pub worker: Option<String>,
    /// Names the authentication in audit records.
    pub authentication: String,
}

/// A name and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name; one that is not known is ignored.
    pub name: String,
    /// The text.
    pub value: String,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name, as in the operations table.
    pub operation: String,
    /// Who calls; absent if not authenticated.
    pub principal: Option<Principal>,
    /// The params as received.
    pub params: String,
    /// Names the running host.
    pub instance: String,
    /// Continues a decision that said `proceed`.
    pub cursor: Option<String>,
    /// Where the call belongs in a trace. Outside every digest, never judged, never in the audit.
    pub context: Vec<Fact>,
}

/// Rows that the core wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The collection.
    pub collection: String,
    /// The index; empty for the row ids.
    pub index: String,
    /// The first key, or the only one.
    pub start: String,
    /// The key before which the range ends; absent for exactly `start`.
    pub end: Option<String>,
    /// Whether the last keys come first.
    pub reverse: bool,
    /// How many rows at most.
    pub limit: u32,
    /// How many bytes of bodies at most, after the first row; 0 for no bound.
    pub bytes: u32,
}

/// A stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its id in the collection.
    pub id: String,
    /// The key under which it was found.
    pub key: String,
    /// Its revision, from 1.
    pub revision: u32,
    /// Its text.
    pub body: String,
}

/// The rows for one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The query, echoed.
    pub query: Query,
    /// What is stored.
    pub rows: Vec<Stored>,
    /// Whether the range has more rows than `limit` or `bytes` let through.
    pub more: bool,
}

/// The rows for a query, where it is known which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is stored.
    pub rows: Vec<Stored>,
    /// Whether the range has more rows than `limit` or `bytes` let through.
    pub more: bool,
}

/// What a policy of the user is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The policy.
    pub policy: String,
    /// Where it is asked.
    pub hook: String,
    /// About what.
    pub input: String,
}

/// How an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// What was asked.
    pub evaluation: Evaluation,
    /// How it ended: `answered`, or anything else.
    pub end: String,
    /// What the policy said.
    pub verdict: Option<String>,
    /// Recorded with the decision.
    pub facts: Vec<Fact>,
}

/// An index key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The index.
    pub index: String,
    /// The key.
    pub key: String,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The collection.
    pub collection: String,
    /// The id.
    pub id: String,
    /// The revision that the row must have; 0 for a new one.
    pub expected: u32,
    /// The text; absent to remove the row.
    pub body: Option<String>,
    /// All its index keys.
    pub entries: Vec<Entry>,
}

/// How often an effect may be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// At most once, by the process whose commit returned it, from memory.
    Call,
    /// At least once, from the outbox.
    Repeatable,
}

/// Something to do outside after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// How often.
    pub kind: EffectKind,
    /// What.
    pub name: String,
    /// About what.
    pub key: String,
    /// JSON arguments.
    pub body: String,
}

/// An audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its text.
    pub body: String,
    /// Under which keys it is found.
    pub entries: Vec<Entry>,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was done now.
    Accepted,
    /// It had been done before.
    Replayed,
    /// It was not done.
    Refused,
}

/// What to commit and what to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How it ended.
    pub status: Status,
    /// The `result` or `error` member of the JSON-RPC response.
    pub response: String,
    /// Why it was refused, in full: for the host's log, not for the caller.
    pub problem: Option<Error>,
    /// Rows to write.
    pub writes: Vec<Write>,
    /// Effects after the commit.
    pub effects: Vec<Effect>,
    /// Audit records.
    pub audit: Vec<AuditRecord>,
    /// What this commit touches.
    pub topics: Vec<String>,
    /// Continues in another commit.
    pub proceed: Option<String>,
    /// What it was about, for logs and traces: ids, codes, digests. Never content.
    pub facts: Vec<Fact>,
}

/// What a step asks of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Answers to queries, verdicts of policies, or both.
    Needs {
        /// What is to be read.
        queries: Vec<Query>,
        /// What is to be evaluated.
        evaluations: Vec<Evaluation>,
    },
    /// Commit and answer.
    Ready(Decision),
    /// Try again when one of the topics is touched, or at the time.
    Wait {
        /// Topics.
        topics: Vec<String>,
        /// Milliseconds since the epoch.
        until: i64,
    },
}

/// An operation of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// Whether it never writes.
    pub read_only: bool,
    /// Whether only the host may call it; absent from the JSON-RPC table.
    pub internal: bool,
    /// Its row of `spec/operations.json` without the prose for readers of the specification, as JSON.
    pub row: &'static str,
}

/// One JSON-RPC call, cut from a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The raw id; absent for a notification.
    pub id: Option<String>,
    /// The method.
    pub method: String,
    /// The raw params.
    pub params: String,
    /// The complete answer, where there is nothing to run.
    pub response: Option<String>,
}

/// A JSON-RPC frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether it is a batch.
    pub batch: bool,
    /// Its calls.
    pub calls: Vec<Call>,
}

/// Why no operation takes this principal as its caller, if that is so.
pub fn check_principal(principal: &Principal) -> Option<Error> {
    decide::authenticated(Some(principal)).err()
}

/// Cuts a JSON-RPC frame into its calls.
pub fn split(text: &str) -> Frame {
    frame::split(text)
}
