//! `threadmesh show MESSAGE`: what became of a message, and who did what.

use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::Mesh;
use crate::target::{MeshArguments, SenderArguments};
use crate::terminal::Printer;
use crate::words;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Show the three states of a message, its submissions and its audit trail.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh show msg_0000001 --db mesh.db --as reviewer
  threadmesh show msg_0000001 --sender inc_review_0001 --db mesh.db --as alice --json
  threadmesh show msg_0000001 --sender inc_review_0001 --owner user:alice --db mesh.db --as operator

The sender is the caller itself unless --sender names another incarnation.")]
pub struct Arguments {
    /// The message
    message: String,
    #[command(flatten)]
    sender: SenderArguments,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut mesh = arguments.mesh.open()?;
    let about = arguments.sender.name(&arguments.message, mesh.principal())?;
    let disposition = mesh.value("messages.getDisposition", &about)?;
    let events = trail(mesh.as_mut(), &about)?;
    let submissions = submissions(mesh.as_mut(), &events)?;
    let report = json!({
        "messageId": arguments.message,
        "senderIncarnationId": about["senderIncarnationId"],
        "disposition": disposition,
        "submissions": submissions,
        "events": events,
    });
    printer.show(&report, || {
        let sender = about["senderIncarnationId"].as_str().unwrap_or_default();
        let mut lines = vec![format!("{} from {sender}", arguments.message)];
        lines.extend(words::states(&disposition));
        lines.extend(submissions.iter().flat_map(submission_lines));
        lines.extend(events.iter().rfind(|event| event["detail"]["purgeId"].is_string()).map(purge_line));
        lines.push("  audit trail".to_owned());
        lines.extend(events.iter().map(event_line));
        lines
    });
    Ok(Exit::Accepted)
}

/// The whole audit trail of a message, page by page.
pub fn trail(mesh: &mut dyn Mesh, about: &Value) -> Result<Vec<Value>, Failure> {
    let mut events: Vec<Value> = Vec::new();
    let mut params = about.clone();
    params["limit"] = json!(100);
    loop {
        let Value::Array(page) = mesh.value("audit.list", &params)? else { return Ok(events) };
        let last = page.last().and_then(|event| event["cursor"].as_u64());
        let known = events.last().and_then(|event| event["cursor"].as_u64());
        events.extend(page);
        match last.filter(|last| known.is_none_or(|known| *last > known)) {
            Some(last) => params["afterCursor"] = json!(last),
            None => return Ok(events),
        }
    }
}

/// The submissions that the trail names. Some callers may see the trail and not these.
fn submissions(mesh: &mut dyn Mesh, events: &[Value]) -> Result<Vec<Value>, Failure> {
    let ids: BTreeSet<&str> = events.iter().filter_map(|event| event["detail"]["submissionId"].as_str()).collect();
    let mut found = Vec::new();
    for id in ids {
        match mesh.value("adapter.getSubmission", &json!({"submissionId": id})) {
            Ok(answer) => found.push(answer["submission"].clone()),
            Err(failure) if failure.exit == Exit::Refused => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}

/// What became of the content, where a purge reached it.
fn purge_line(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    format!("  content            {} {}", text("eventType"), text("occurredAt"))
}

fn submission_lines(submission: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut lines = vec![format!(
        "  submission         {} {}",
        text(&submission["submissionId"]).unwrap_or_default(),
        text(&submission["state"]).unwrap_or_default()
    )];
    for (name, value) in [
        ("attempt started", &submission["attemptStartedAt"]),
        ("receipt", &submission["receipt"]["adapterOperationId"]),
        ("resolved as", &submission["reconciliation"]["resolution"]),
    ] {
        lines.extend(text(value).map(|value| format!("    {name:16} {value}")));
    }
    lines
}

/// One line of the audit trail.
pub fn event_line(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let detail = match &event["detail"] {
        Value::Object(members) => {
            let shown = |(name, value): (&String, &Value)| match value.as_str() {
                Some(value) => format!("{name}={}", short(value)),
                None => format!("{name}={value}"),
            };
            members.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    format!("    {}  {:28} {detail}", text(&event["occurredAt"]), text(&event["eventType"])).trim_end().to_owned()
}

/// A digest for people: its beginning. `--json` has all of it.
fn short(text: &str) -> String {
    match text.strip_prefix("sha256:").and_then(|hex| hex.get(..12)) {
        Some(start) => format!("sha256:{start}…"),
        None => text.to_owned(),
    }
}
