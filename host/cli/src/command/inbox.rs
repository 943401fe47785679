//! `threadmesh inbox`: what is waiting for a decision.

use crate::command::wait::WAIT_MS_MAX;
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::Mesh;
use crate::target::{MeshArguments, TaskName};
use crate::terminal::Printer;
use clap::Args;
use serde_json::{Value, json};

/// List the undecided messages of a task. Texts are shown with --content only: they are the sender's words.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh inbox --db mesh.db --as builder
  threadmesh inbox --db mesh.db --as builder --content --json
  threadmesh inbox --db mesh.db --as builder --follow

With --follow it shows what is there, waits for more and shows that, until it is stopped.")]
pub struct Arguments {
    /// Show messages after this cursor
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Show at most so many (1 to 100)
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: u32,
    /// Show the texts and reasons too
    #[arg(long)]
    content: bool,
    /// Wait for further messages, and show them as they come
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut mesh = arguments.mesh.open(printer)?;
    let receiver = TaskName::of(mesh.principal())?;
    let (mut after, mut patience) = (arguments.after, 0);
    loop {
        let mut page = page(mesh.as_mut(), &receiver, after, arguments.limit, patience)?;
        if !arguments.content {
            withhold(&mut page);
        }
        let empty = page["items"].as_array().is_none_or(Vec::is_empty);
        if !(arguments.follow && empty) {
            printer.show(&page, || for_people(&receiver, &page, arguments));
        }
        if !arguments.follow {
            return Ok(Exit::Accepted);
        }
        after = page["nextCursor"].as_u64().unwrap_or(after);
        patience = WAIT_MS_MAX;
    }
}

/// Takes the senders' words out of a page.
fn withhold(page: &mut Value) {
    for item in page.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        for member in ["content", "reason"] {
            item.get_mut("envelope").and_then(Value::as_object_mut).map(|envelope| envelope.remove(member));
        }
    }
}

/// One page of the mailbox, the first in which there is something; where there is nothing at all, it is waited for up to
/// `patience` milliseconds.
pub fn page(
    mesh: &mut dyn Mesh,
    receiver: &TaskName,
    mut after: u64,
    limit: u32,
    patience: u64,
) -> Result<Value, Failure> {
    loop {
        let params =
            json!({"receiver": receiver.to_json(), "afterCursor": after, "limit": limit, "timeoutMs": patience});
        let page = mesh.value("mailbox.listPending", &params)?;
        // What nobody can act on any more is passed over.
        let next = page["nextCursor"].as_u64().filter(|next| *next > after);
        match next.filter(|_| page["hasMore"] == true && page["items"].as_array().is_some_and(Vec::is_empty)) {
            Some(next) => after = next,
            None => return Ok(page),
        }
    }
}

fn for_people(receiver: &TaskName, page: &Value, arguments: &Arguments) -> Vec<String> {
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        return vec![format!("nothing is waiting for {receiver}")];
    }
    let mut lines: Vec<String> = items.iter().flat_map(|item| one(item, arguments.content)).collect();
    if !arguments.follow && page["hasMore"] == true {
        lines.push(format!("there is more: --after {}", page["nextCursor"]));
    }
    lines
}

fn one(item: &Value, content: bool) -> Vec<String> {
    let envelope = &item["envelope"];
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let sender = &envelope["sender"];
    let mut lines = vec![
        format!("{}  {}  {}", item["cursor"], text(&envelope["messageId"]), text(&envelope["intent"])),
        format!(
            "    from     {}@{} of {} ({})",
            text(&sender["taskId"]),
            text(&sender["incarnationId"]),
            text(&item["owner"]),
            text(&sender["actorType"])
        ),
        format!("    decision {}, good until {}", text(&item["disposition"]["decision"]), text(&envelope["expiresAt"])),
    ];
    for (name, member) in [("answers", "parentMessageId"), ("trace", "traceId")] {
        lines.extend(envelope["causality"][member].as_str().map(|id| format!("    {name:8} {id}")));
    }
    lines.extend(item["forwarding"]["origin"]["messageId"].as_str().map(|id| format!("    first    {id}")));
    if let Some(until) = item["claim"]["expiresAt"].as_str() {
        lines.push(format!("    claimed until {until}"));
    }
    if let Some(time) = item["notBefore"].as_str() {
        lines.push(format!("    not before {time}"));
    }
    if content {
        lines.push(format!("    reason   {}", text(&envelope["reason"])));
        lines.push(format!("    text     {}", text(&envelope["content"])));
    }
    lines
}
