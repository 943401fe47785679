//! `threadmesh ack MESSAGE --decision …`: the receiver's decision.

use crate::command::inbox;
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::target::{MeshArguments, SenderArguments, TaskName};
use crate::terminal::Printer;
use crate::words;
use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};
use threadmesh_runtime::client::types::MailboxAckDecision;

/// Claim a message and decide it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh ack msg_0000001 --decision accepted --db mesh.db --as builder
  threadmesh ack msg_0000001 --decision rejected --reason evidence-insufficient --db mesh.db --as builder
  threadmesh ack msg_0000001 --decision deferred --not-before 2026-12-01T09:00:00Z --db mesh.db --as builder

The message is looked for in the inbox, unless --sender says whose it is.")]
pub struct Arguments {
    /// The message
    message: String,
    /// What is decided
    #[arg(long, value_name = "DECISION", value_parser = PossibleValuesParser::new(MailboxAckDecision::WORDS))]
    decision: String,
    /// A reason code that goes with the decision
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// A deferral's earliest time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    #[command(flatten)]
    sender: SenderArguments,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut mesh = arguments.mesh.open()?;
    let (about, revision) = find(arguments, mesh.as_mut())?;
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
    let sender = &about["senderIncarnationId"];
    let report = json!({"messageId": arguments.message, "senderIncarnationId": sender, "disposition": disposition});
    printer.show(&report, || {
        let mut lines = vec![format!("{} is decided", arguments.message)];
        lines.extend(words::states(&disposition));
        lines
    });
    Ok(Exit::Accepted)
}

/// The params that name the message, and its revision.
fn find(arguments: &Arguments, mesh: &mut dyn Mesh) -> Result<(Value, Value), Failure> {
    if arguments.sender.sender.is_some() {
        let name = arguments.sender.name(&arguments.message, mesh.principal())?;
        let disposition = mesh.value("messages.getDisposition", &name)?;
        return Ok((name, disposition["revision"].clone()));
    }
    let item = in_inbox(mesh, arguments)?;
    let sender = &item["envelope"]["sender"]["incarnationId"];
    let name = json!({"senderIncarnationId": sender, "messageId": arguments.message, "owner": item["owner"]});
    Ok((name, item["disposition"]["revision"].clone()))
}

/// The one message with this id in the caller's inbox. Two senders may use the same id; then the sender must be named, or
/// its owner where their incarnations have the same id as well.
fn in_inbox(mesh: &mut dyn Mesh, arguments: &Arguments) -> Result<Value, Failure> {
    let message = &arguments.message;
    let meant = |item: &Value| arguments.sender.owner.as_ref().is_none_or(|owner| item["owner"] == owner.as_str());
    let receiver = TaskName::of(mesh.principal())?;
    let mut found: Option<Value> = None;
    let mut after = 0;
    loop {
        let mut page = inbox::page(mesh, &receiver, after, 100, 0)?;
        let next = page["nextCursor"].as_u64().unwrap_or(after);
        for item in page.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            if item["envelope"]["messageId"] == message.as_str() && meant(item) && found.replace(item.take()).is_some()
            {
                let next = "name the sender's incarnation or its owner: --sender ID, --owner KIND:ID";
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
