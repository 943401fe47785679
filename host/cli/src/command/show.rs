//! `threadmesh show MESSAGE`: what became of a message, and who did what.

use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::Mesh;
use crate::target::{self, MeshArguments, SenderArguments};
use crate::terminal::Printer;
use crate::words;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Show a message: who sent it to whom and in answer to what, its three states, its submissions and its audit trail.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh show msg_0000001 --as plan
  threadmesh show msg_0000001 --as build --content
  threadmesh show msg_0000001 --sender plan --as alice --json
  threadmesh show msg_0000001 --sender inc_review_0001 --owner user:alice --db mesh.db --as operator

A task means a message that it sent, else one that it was sent; for everybody else, --sender says whose it is. Texts are
shown with --content only: they are the sender's words.")]
pub struct Arguments {
    /// The message
    message: String,
    /// Show the text, the reason and the evidence too
    #[arg(long)]
    content: bool,
    #[command(flatten)]
    sender: SenderArguments,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let names = arguments.mesh.place.names()?;
    let mut mesh = arguments.mesh.open(printer)?;
    let mut about = arguments.sender.name(&arguments.message, &names, mesh.principal())?;
    let snapshot = match mesh.value("inspector.snapshot", &about) {
        Err(failure) if failure.code == "not-visible" && arguments.sender.sender.is_none() => {
            about = target::received(mesh.as_mut(), &arguments.message)?.ok_or(failure)?;
            mesh.value("inspector.snapshot", &about)?
        }
        other => other?,
    };
    let events = trail(mesh.as_mut(), &about)?;
    let submissions = submissions(mesh.as_mut(), &events)?;
    let mut report = json!({
        "messageId": arguments.message,
        "senderIncarnationId": about["senderIncarnationId"],
        "disposition": snapshot["disposition"],
        "submissions": submissions,
        "events": events,
    });
    for name in ["provenance", "lifecycle", "outcomeEvidence", "interruption"] {
        if !snapshot[name].is_null() {
            report[name] = snapshot[name].clone();
        }
    }
    if arguments.content {
        report["content"] = snapshot["content"].clone();
        report["evidence"] = snapshot["evidence"].clone();
    }
    printer.show(&report, || {
        let mut lines = head(&arguments.message, &snapshot);
        lines.extend(words::states(&snapshot["disposition"]));
        lines.extend(seen(&snapshot));
        if arguments.content {
            lines.extend(content(&snapshot));
        }
        lines.extend(submissions.iter().flat_map(submission_lines));
        lines.extend(events.iter().rfind(|event| event["detail"]["purgeId"].is_string()).map(purge_line));
        lines.push("  audit trail".to_owned());
        lines.extend(events.iter().map(event_line));
        lines
    });
    Ok(Exit::Accepted)
}

/// What the message is, and between whom.
fn head(message: &str, snapshot: &Value) -> Vec<String> {
    let about = &snapshot["provenance"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let end = |end: &Value| {
        let harness = end["harness"].as_str().map(|harness| format!(" ({harness})")).unwrap_or_default();
        let claimed = end["claimedHarness"].as_str().map(|label| format!(", calls itself {label}")).unwrap_or_default();
        format!("{}@{}{harness}{claimed}", text(&end["taskId"]), text(&end["incarnationId"]))
    };
    let mut lines = vec![
        format!(
            "{message}  {} ({}), {}",
            text(&about["intent"]),
            text(&about["messageType"]),
            text(&about["requestedMode"])
        ),
        format!("  from               {}, {}", end(&about["source"]), text(&about["authorship"])),
        format!("  to                 {}, under {}", end(&about["target"]), text(&about["relationshipId"])),
    ];
    for (name, value) in [
        ("answers", &about["causality"]["parentMessageId"]),
        ("trace", &about["causality"]["traceId"]),
        ("first sent as", &about["forwarding"]["origin"]["messageId"]),
        ("meant for run", &about["freshness"]["expectedRunId"]),
        ("for objective", &about["freshness"]["expectedObjectiveVersion"]),
        ("for checkpoint", &about["freshness"]["expectedCheckpoint"]),
        ("not before", &snapshot["lifecycle"]["notBefore"]),
        ("good until", &snapshot["lifecycle"]["expiresAt"]),
    ] {
        let shown = value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|number| number.to_string()));
        lines.extend(shown.map(|shown| format!("  {name:18} {shown}")));
    }
    lines
}

/// What was seen to happen.
fn seen(snapshot: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let evidence = &snapshot["outcomeEvidence"];
    let interruption = &snapshot["interruption"];
    let mut lines = Vec::new();
    if evidence.is_object() {
        lines.push(format!("  outcome evidence   {} {}", text(&evidence["source"]), text(&evidence["recordedAt"])));
    }
    if interruption.is_object() {
        lines.push(format!(
            "  interruption       {} ({})",
            text(&interruption["state"]),
            text(&interruption["source"])
        ));
    }
    lines
}

/// The sender's words, as far as they are shown.
fn content(snapshot: &Value) -> Vec<String> {
    let (content, evidence) = (&snapshot["content"], &snapshot["evidence"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = match content["value"].as_str() {
        Some(value) => {
            vec![format!("  reason             {}", text(&content["reason"])), format!("  text               {value}")]
        }
        None => vec![format!("  text               not shown: {}", text(&content["reason"]))],
    };
    let refs = evidence["refs"].as_array().into_iter().flatten();
    lines.extend(refs.map(|one| format!("  evidence           {}", text(one))));
    lines
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
