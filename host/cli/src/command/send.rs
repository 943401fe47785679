//! `threadmesh send`: writes an envelope and sends it.

mod earlier;
mod route;

use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::names::Named;
use crate::target::{self, MeshArguments, TaskName};
use crate::terminal::Printer;
use crate::{input, time, words};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};
use std::time::Duration;
use threadmesh_runtime::client::operations::{Usual, usual, usual_of};
use threadmesh_server::tokens::{Kind, random_id};

/// Send a message to a task. It is queued durably; what the receiver decides is another matter: `threadmesh wait`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh send 'The parser test fails on line 40' --as review --to build
  threadmesh send 'Start with the parser' --as lead --to build --intent steer --expect-objective 3 \\
      --reason 'the objective changed'
  threadmesh send - --to build-1@inc_build_0001 --relationship rel_ci --db mesh.db --as reviewer < text

The receiver is a task that a link allows the sender to send to: threadmesh link FROM TO. With the same --message-id the same
message is sent once, however often the command is repeated.
A steer or an interrupt names the run or objective that it is meant for, and is refused when that has moved on.")]
pub struct Arguments {
    /// The text; `-` is standard input
    content: String,
    /// The receiver: its name, or TASK@INCARNATION
    #[arg(long, value_name = "TASK")]
    to: String,
    /// The relationship whose grant allows it; the one that there is unless given
    #[arg(long, value_name = "ID")]
    relationship: Option<String>,
    /// Why it is sent
    #[arg(long, value_name = "TEXT", default_value = "sent by hand")]
    reason: String,
    /// What the message wants
    #[arg(long, value_parser = intents(), default_value = "suggest")]
    intent: &'static Usual,
    /// How it should be delivered; by intent unless given: store-only to notify, checkpoint-offer to suggest, active-steer
    /// or interrupt-request. Where a link allows no more for a suggestion it is store-only, which no agent can read over MCP
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The message type; by intent unless given: observation, suggestion or action-request
    #[arg(long = "type", value_name = "TYPE")]
    message_type: Option<String>,
    /// The sending task, for a user: its name, or TASK@INCARNATION; a task sends as itself
    #[arg(long, value_name = "TASK")]
    from: Option<String>,
    /// The owner of the sending task, as user:alice; for a policy, where owners use the same ids
    #[arg(long, value_name = "KIND:ID", value_parser = target::owner)]
    owner: Option<String>,
    /// How long it is good for; 1h, or 10m for a steer or an interrupt, unless given
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    expires_in: Option<Duration>,
    /// The run that it is meant for
    #[arg(long, value_name = "ID")]
    expect_run: Option<String>,
    /// The objective version that it is meant for
    #[arg(long, value_name = "NUMBER")]
    expect_objective: Option<u32>,
    /// The checkpoint that it is meant for, beside a run or an objective
    #[arg(long, value_name = "ID")]
    expect_checkpoint: Option<String>,
    /// A reference to evidence; may be given more than once
    #[arg(long, value_name = "REF")]
    evidence: Vec<String>,
    /// The message that this one answers
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A trace id, to follow a conversation across tasks
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Its id; new unless given
    #[arg(long, value_name = "ID")]
    message_id: Option<String>,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// One of the intents of the specification, with what is usual of it.
fn intents() -> impl TypedValueParser<Value = &'static Usual> {
    let words = usual().iter().map(|usual| usual.intent);
    PossibleValuesParser::new(words).try_map(|word| usual_of(&word).ok_or("there is no such intent"))
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let content = match arguments.content.as_str() {
        "-" => input::text("-")?,
        text => text.to_owned(),
    };
    let names = arguments.mesh.place.names()?;
    let from = arguments.from.as_ref().map(|from| names.task(from)).transpose()?;
    let mut mesh = arguments.mesh.open(printer)?;
    let own = match &from {
        Some(from) => from.task.clone(),
        None => TaskName::of(mesh.principal())?,
    };
    let owner = arguments.owner.clone().or(from.and_then(|Named { owner, .. }| owner));
    let Usual { intent, delivery_mode, .. } = arguments.intent;
    let asked = route::Asked {
        sender: &own,
        owner: owner.as_deref(),
        to: &arguments.to,
        relationship: arguments.relationship.as_deref(),
        intent,
        mode: arguments.mode.as_deref().unwrap_or(delivery_mode),
    };
    let mut route = route::find(mesh.as_mut(), &names, &asked)?;
    if let Some(mode) = &arguments.mode {
        route.mode.clone_from(mode);
    }
    let sender = sender(arguments, mesh.as_mut(), &own, owner.as_deref())?;
    let message = arguments.message_id.clone().unwrap_or_else(|| format!("msg_{}", random_id()));
    let envelope = envelope(arguments, &content, sender, &route, &message);
    let params = owned(owner.as_deref(), json!({"envelope": envelope, "idempotencyKey": fresh_key()}));
    let sent = match mesh.value("messages.send", &params) {
        Err(failure) if failure.code == "idempotency-conflict" && arguments.message_id.is_some() => {
            earlier::same(mesh.as_mut(), &envelope, owner.as_deref(), failure)?
        }
        sent => sent.map_err(|failure| advise(failure, arguments, &own, &message))?,
    };
    let mut report = sent.as_object().cloned().unwrap_or_default();
    report.insert("messageId".to_owned(), json!(message));
    report.insert("senderIncarnationId".to_owned(), json!(own.incarnation));
    report.insert("target".to_owned(), route.target.to_json());
    report.insert("relationshipId".to_owned(), json!(route.relationship));
    printer.show(&Value::Object(report), || {
        let replay = sent["replay"] == true;
        let mut lines = vec![words::queued(&message, &route.target.to_string(), replay)];
        lines.extend(words::states(&sent["disposition"]));
        lines
    });
    Ok(Exit::Accepted)
}

/// What to do where it was not sent, or nobody knows.
fn advise(failure: Failure, arguments: &Arguments, own: &TaskName, message: &str) -> Failure {
    let (from, to) = (arguments.from.as_deref().unwrap_or(&own.task), &arguments.to);
    let next = match failure.code.as_str() {
        "server-lost" => format!(
            "whether it was sent is unknown: see `threadmesh show {message}`, or repeat it with --message-id {message}"
        ),
        "policy-denied" if failure.detail.starts_with("PO-10") || failure.detail.starts_with("PO-11") => {
            format!("let the link allow it: `threadmesh link {from} {to} --change --may …`")
        }
        _ => failure.next.clone(),
    };
    Failure { next, ..failure }
}

/// Params that say who owns the sending task, where that was said.
fn owned(owner: Option<&str>, mut params: Value) -> Value {
    if let Some(owner) = owner {
        params["owner"] = json!(owner);
    }
    params
}

/// The sender as the envelope names it. The harness is what the task was registered with.
fn sender(arguments: &Arguments, mesh: &mut dyn Mesh, task: &TaskName, owner: Option<&str>) -> Result<Value, Failure> {
    let principal = mesh.principal().clone();
    let actor = match (&arguments.from, principal.kind) {
        (None, _) | (Some(_), Kind::Task) => "agent",
        (Some(_), Kind::Policy) => "policy",
        (Some(_), Kind::User | Kind::Operator) => "user",
    };
    let own = mesh.value("tasks.get", &owned(owner, json!({"task": task.to_json()})))?;
    let mut sender = task.to_json();
    sender["harness"] = own["harness"].clone();
    sender["actorType"] = json!(actor);
    if actor != "agent" {
        sender["actorId"] = json!(principal.id);
    }
    Ok(sender)
}

fn envelope(arguments: &Arguments, content: &str, sender: Value, route: &route::Route, message: &str) -> Value {
    let Usual { intent, message_type, expires_in_seconds, .. } = arguments.intent;
    let now = time::now_ms();
    let lifetime = arguments.expires_in.unwrap_or(Duration::from_secs(*expires_in_seconds));
    let expires = now.saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX / 2));
    let given = |text: &Option<String>, usual: &str| text.clone().unwrap_or_else(|| usual.to_owned());
    let mut envelope = json!({
        "specVersion": "0.0-draft",
        "messageId": message,
        "messageType": given(&arguments.message_type, message_type),
        "intent": intent,
        "claimStatus": if arguments.evidence.is_empty() { "sender-asserted" } else { "evidence-referenced" },
        "sender": sender,
        "target": route.target.to_json(),
        "relationshipId": route.relationship,
        "content": content,
        "reason": arguments.reason,
        "delivery": {"requestedMode": route.mode, "requiresDisposition": true},
        "createdAt": time::format(now),
        "expiresAt": time::format(expires),
    });
    if !arguments.evidence.is_empty() {
        envelope["evidenceRefs"] = json!(arguments.evidence);
    }
    let groups = [
        (
            "freshness",
            vec![
                ("expectedRunId", json!(arguments.expect_run)),
                ("expectedObjectiveVersion", json!(arguments.expect_objective)),
                ("expectedCheckpoint", json!(arguments.expect_checkpoint)),
            ],
        ),
        ("causality", vec![("traceId", json!(arguments.trace)), ("parentMessageId", json!(arguments.parent))]),
    ];
    for (name, members) in groups {
        let members: Map<String, Value> = members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        if !members.is_empty() {
            envelope[name] = Value::Object(members);
        }
    }
    envelope
}
