//! A life as a script: the same steps with the same params, whoever runs them and as often as it may be.

use crate::mesh::{Fault, Mesh};
use crate::script;
use serde_json::{Value, json};
use threadmesh_runtime::wit::Principal;

/// The collections that a life writes to.
pub const COLLECTIONS: [&str; 10] =
    ["task", "box", "grant", "message", "life", "evidence", "budget", "profile", "replay", "audit"];

/// The sender and the receiver.
const ENDS: (&str, &str) = ("source0", "target0");

/// What is done in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Do {
    Declare,
    Register(&'static str),
    Grant,
    Send(usize),
    Claim(usize),
    Reject(usize),
    Begin(usize),
    Receipt(usize),
    /// Journal and log are emptied.
    Scrub,
}

/// Two messages go all the way, one is rejected, one is left in a worker's hands.
const STEPS: [Do; 18] = [
    Do::Declare,
    Do::Register(ENDS.0),
    Do::Register(ENDS.1),
    Do::Grant,
    Do::Send(0),
    Do::Claim(0),
    Do::Begin(0),
    Do::Receipt(0),
    Do::Send(1),
    Do::Claim(1),
    Do::Reject(1),
    Do::Scrub,
    Do::Send(2),
    Do::Claim(2),
    Do::Begin(2),
    Do::Receipt(2),
    Do::Send(3),
    Do::Claim(3),
];

/// How many steps there are.
pub const LENGTH: usize = STEPS.len();

/// A life as far as it was acknowledged.
#[derive(Clone, Debug)]
pub struct Life {
    /// When it began, in milliseconds.
    pub now: i64,
    /// What was answered to the steps so far.
    pub answers: Vec<Value>,
}

impl Life {
    /// Nothing is done yet.
    pub fn new() -> Self {
        Self { now: script::now_ms(), answers: Vec::new() }
    }

    /// Runs step `number`, of which all earlier ones were acknowledged: whether it was a replay, and the value.
    pub fn run(&self, number: usize, mesh: &Mesh) -> Result<(bool, Value), Fault> {
        let step = STEPS[number];
        if step == Do::Scrub {
            return mesh.scrub().map(|clean| (false, json!({"clean": clean})));
        }
        let (who, operation, params) = self.call(step);
        mesh.call(&who, operation, &params).map(|done| (done.replayed, done.value))
    }

    /// Whether a repetition of step `number` says whether it was done, when `done` steps are done: what has no key does
    /// not, and a claim is nobody's after its message was decided on.
    pub fn tells(number: usize, done: usize) -> bool {
        match STEPS[number] {
            Do::Scrub => false,
            Do::Claim(message) => {
                !STEPS[..done].iter().any(|step| *step == Do::Reject(message) || *step == Do::Begin(message))
            }
            _ => true,
        }
    }

    /// The answer to `step`, which was acknowledged.
    fn answer(&self, step: Do) -> &Value {
        let number = STEPS.iter().position(|one| *one == step).expect("a step");
        &self.answers[number]
    }

    fn call(&self, step: Do) -> (Principal, &'static str, Value) {
        let (source, target) = (script::task(ENDS.0), script::task(ENDS.1));
        let id = |message: usize| format!("msg_disk-{message:04}");
        let on =
            |message, name: &str, more: Value| script::with(script::on(ENDS.0, &id(message), name, &json!(0)), more);
        let token = |message| self.answer(Do::Claim(message))["claimToken"].clone();
        match step {
            Do::Declare => (script::host("host-1"), "adapters.declare", script::declare("stub")),
            Do::Register(task) => (script::user(), "tasks.register", script::register(task, "stub")),
            Do::Grant => (script::user(), "relationships.grant", script::grant(ENDS.0, ENDS.1)),
            Do::Send(message) => (source, "messages.send", script::send(ENDS.0, ENDS.1, &id(message), self.now)),
            Do::Claim(message) => (target, "mailbox.claim", on(message, "claim", json!({}))),
            Do::Reject(message) => {
                let no = json!({
                    "claimToken": token(message), "decision": "rejected", "reasonCode": "receiver-rejected",
                });
                (target, "mailbox.ack", on(message, "ack", no))
            }
            Do::Begin(message) => {
                (target, "adapter.acceptAndBegin", on(message, "begin", json!({"claimToken": token(message)})))
            }
            Do::Receipt(message) => {
                let begun = self.answer(Do::Begin(message));
                let receipt = json!({
                    "submissionId": begun["submission"]["submissionId"], "expectedRevision": 1,
                    "receipt": {"adapterOperationId": "turn-1", "acceptedAt": "2026-01-01T00:00:00Z"},
                    "idempotencyKey": format!("idem_receipt-{}", id(message)),
                });
                (script::host("host-1"), "adapter.recordReceipt", receipt)
            }
            Do::Scrub => unreachable!("it is no call"),
        }
    }
}

impl Default for Life {
    fn default() -> Self {
        Self::new()
    }
}
