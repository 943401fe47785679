//! `threadmesh ack MESSAGE --decision …`: the receiver's decision.

use crate::command::inbox;
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::names::Names;
use crate::target::{self, MeshArguments, SenderArguments, TaskName};
use crate::terminal::Printer;
use crate::words;
use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};
use threadmesh_runtime::client::types::MailboxAckDecision;

/// Claim a message and decide it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh ack --decision accepted --as build
  threadmesh ack msg_0000001 --decision rejected --reason evidence-insufficient --as build
  threadmesh ack msg_0000001 --decision deferred --not-before 2026-12-01T09:00:00Z --db mesh.db --as builder

Without a message it is the one that waits in the inbox; where more than one does, name it. The message is looked for in the
inbox, unless --sender says whose it is. A message that is decided so already stays as it is.")]
pub struct Arguments {
    /// The message; the only one in the inbox unless given
    message: Option<String>,
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

/// A message, and how it stands.
struct Found {
    /// The params that name it.
    about: Value,
    /// Its three states.
    disposition: Value,
    /// The earliest time of a deferral, if it is deferred.
    not_before: Value,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let names = arguments.mesh.place.names()?;
    let mut mesh = arguments.mesh.open(printer)?;
    let found = find(arguments, &names, mesh.as_mut())?;
    let stands = stands(arguments, &found)?;
    let disposition = match stands {
        true => found.disposition.clone(),
        false => decide(arguments, &found, mesh.as_mut())?,
    };
    let (message, sender) = (&found.about["messageId"], &found.about["senderIncarnationId"]);
    let report =
        json!({"messageId": message, "senderIncarnationId": sender, "disposition": disposition, "replay": stands});
    printer.show(&report, || {
        let already = if stands { " already" } else { "" };
        let mut lines = vec![format!("{} is decided{already}", message.as_str().unwrap_or_default())];
        lines.extend(words::states(&disposition));
        lines
    });
    Ok(Exit::Accepted)
}

/// Whether the message is decided as asked. Refused where it is decided otherwise.
fn stands(arguments: &Arguments, found: &Found) -> Result<bool, Failure> {
    let (known, reason) = (&found.disposition["decision"], &found.disposition["decisionReasonCode"]);
    let same = *known == arguments.decision.as_str()
        && arguments.reason.as_ref().is_none_or(|code| *reason == code.as_str())
        && arguments.not_before.as_ref().is_none_or(|time| found.not_before == time.as_str());
    if same || !words::decided(&found.disposition) || !found.not_before.is_null() {
        return Ok(same);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut detail = format!("{} is decided already: {}", text(&found.about["messageId"]), text(known));
    if known != reason {
        detail = format!("{detail} ({})", text(reason));
    }
    Err(Failure::refused("state-conflict", detail, "a decision stands; tell the sender in a message of its own"))
}

/// Claims the message and decides it.
fn decide(arguments: &Arguments, found: &Found, mesh: &mut dyn Mesh) -> Result<Value, Failure> {
    let with = |members: Value| {
        let mut params = found.about.clone();
        params
            .as_object_mut()
            .into_iter()
            .for_each(|params| params.extend(members.as_object().cloned().unwrap_or_default()));
        params["idempotencyKey"] = json!(fresh_key());
        params
    };
    let claim = mesh.value("mailbox.claim", &with(json!({"expectedRevision": found.disposition["revision"]})))?;
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
    mesh.value("mailbox.ack", &with(decision))
}

/// The message that is meant, and how it stands.
fn find(arguments: &Arguments, names: &Names, mesh: &mut dyn Mesh) -> Result<Found, Failure> {
    if let (Some(message), Some(_)) = (&arguments.message, &arguments.sender.sender) {
        let about = arguments.sender.name(message, names, mesh.principal())?;
        return looked_up(mesh, about);
    }
    if let Some(item) = in_inbox(mesh, arguments)? {
        let envelope = &item["envelope"];
        let about = json!({
            "senderIncarnationId": envelope["sender"]["incarnationId"],
            "messageId": envelope["messageId"],
            "owner": item["owner"],
        });
        return Ok(Found { about, disposition: item["disposition"].clone(), not_before: item["notBefore"].clone() });
    }
    let receiver = TaskName::of(mesh.principal())?;
    let Some(message) = &arguments.message else {
        let detail = format_args!("nothing waits in the inbox of {receiver}");
        return Err(Failure::refused("not-visible", detail, "wait for it: `threadmesh wait --inbox`"));
    };
    // What is decided is in no inbox any more; the task's own events say who sent it.
    match target::received(mesh, message)? {
        Some(mut about) => {
            if let Some(owner) = &arguments.sender.owner {
                about["owner"] = json!(owner);
            }
            looked_up(mesh, about)
        }
        None => {
            let detail = format_args!("no message {message} was sent to {receiver}");
            Err(Failure::refused("not-visible", detail, "see `threadmesh inbox`"))
        }
    }
}

fn looked_up(mesh: &mut dyn Mesh, about: Value) -> Result<Found, Failure> {
    let disposition = mesh.value("messages.getDisposition", &about)?;
    Ok(Found { about, disposition, not_before: Value::Null })
}

/// The one message that is meant in the caller's inbox. Two senders may use the same id; then the sender must be named, or
/// its owner where their incarnations have the same id as well.
fn in_inbox(mesh: &mut dyn Mesh, arguments: &Arguments) -> Result<Option<Value>, Failure> {
    let named = |item: &Value| arguments.message.as_ref().is_none_or(|id| item["envelope"]["messageId"] == id.as_str());
    let owned = |item: &Value| arguments.sender.owner.as_ref().is_none_or(|owner| item["owner"] == owner.as_str());
    let receiver = TaskName::of(mesh.principal())?;
    let mut found: Option<Value> = None;
    let mut after = 0;
    loop {
        let mut page = inbox::page(mesh, &receiver, after, 100, 0)?;
        let next = page["nextCursor"].as_u64().unwrap_or(after);
        for item in page.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            if named(item) && owned(item) && found.replace(item.take()).is_some() {
                return Err(ambiguous(arguments));
            }
        }
        if next <= after {
            return Ok(found);
        }
        after = next;
    }
}

fn ambiguous(arguments: &Arguments) -> Failure {
    match &arguments.message {
        Some(_) => {
            let next = "name the sender or its owner: --sender TASK, --owner KIND:ID";
            Failure::refused("message-ambiguous", "two senders sent a message with this id", next)
        }
        None => {
            let next = "name the one that is meant: `threadmesh inbox` lists them";
            Failure::refused("message-ambiguous", "more than one message waits in the inbox", next)
        }
    }
}
