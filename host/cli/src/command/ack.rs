//! `threadmesh ack MESSAGE --decision …`: the receiver's decision.

use crate::command::inbox;
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::target::{MeshArguments, TaskName};
use crate::terminal::Printer;
use crate::words;
use clap::Args;
use serde_json::{Value, json};

/// Claim a message and decide it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh ack msg_0000001 --decision accepted --db mesh.db --as builder
  threadmesh ack msg_0000001 --decision rejected --reason evidence-insufficient --db mesh.db --as builder
  threadmesh ack msg_0000001 --decision deferred --not-before 2026-12-01T09:00:00Z --db mesh.db --as builder")]
pub struct Arguments {
    /// The message
    message: String,
    /// accepted, rejected or deferred
    #[arg(long, value_name = "DECISION")]
    decision: String,
    /// A reason code that goes with the decision
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// A deferral's earliest time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// The sender's incarnation; looked up in the inbox unless given
    #[arg(long, value_name = "ID")]
    sender: Option<String>,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut mesh = arguments.mesh.open()?;
    let (sender, revision) = find(arguments, mesh.as_mut())?;
    let about = json!({"senderIncarnationId": sender, "messageId": arguments.message});
    let with = |members: Value| {
        let mut params = about.clone();
        params
            .as_object_mut()
            .into_iter()
            .for_each(|params| params.extend(members.as_object().cloned().unwrap_or_default()));
        params["idempotencyKey"] = json!(fresh_key());
        params
    };
    let claim = mesh.value("mailbox.claim", &with(json!({"expectedRevision": revision})))?;
    let mut decision = json!({
        "claimToken": claim["claimToken"],
        "decision": arguments.decision,
        "expectedRevision": claim["expectedRevision"],
    });
    if let Some(reason) = &arguments.reason {
        decision["reasonCode"] = json!(reason);
    }
    if let Some(time) = &arguments.not_before {
        decision["notBefore"] = json!(time);
    }
    let disposition = mesh.value("mailbox.ack", &with(decision))?;
    let report = json!({"messageId": arguments.message, "senderIncarnationId": sender, "disposition": disposition});
    printer.show(&report, || {
        let mut lines = vec![format!("{} is decided", arguments.message)];
        lines.extend(words::states(&disposition));
        lines
    });
    Ok(Exit::Accepted)
}

/// The sender and the revision of the message.
fn find(arguments: &Arguments, mesh: &mut dyn Mesh) -> Result<(Value, Value), Failure> {
    if let Some(sender) = &arguments.sender {
        let params = json!({"senderIncarnationId": sender, "messageId": arguments.message});
        let disposition = mesh.value("messages.getDisposition", &params)?;
        return Ok((json!(sender), disposition["revision"].clone()));
    }
    let item = in_inbox(mesh, &arguments.message)?;
    Ok((item["envelope"]["sender"]["incarnationId"].clone(), item["disposition"]["revision"].clone()))
}

/// The one message with this id in the caller's inbox. Two senders may use the same id; then the sender must be named.
fn in_inbox(mesh: &mut dyn Mesh, message: &str) -> Result<Value, Failure> {
    let receiver = TaskName::of(mesh.principal())?;
    let mut found: Option<Value> = None;
    let mut after = 0;
    loop {
        let mut page = inbox::page(mesh, &receiver, after, 100, 0)?;
        let next = page["nextCursor"].as_u64().unwrap_or(after);
        for item in page.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            if item["envelope"]["messageId"] == message && found.replace(item.take()).is_some() {
                let next = "name the sender's incarnation: --sender ID";
                return Err(Failure::refused("message-ambiguous", "two senders sent a message with this id", next));
            }
        }
        if next <= after {
            let missing = || {
                Failure::refused(
                    "not-visible",
                    format_args!("no undecided message {message} is in the inbox of {receiver}"),
                    "see `threadmesh inbox`",
                )
            };
            return found.ok_or_else(missing);
        }
        after = next;
    }
}
