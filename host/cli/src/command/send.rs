//! `threadmesh send`: writes an envelope and sends it.

use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
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
  threadmesh send 'The parser test fails on line 40' --to build-1@inc_build_0001 --relationship rel_ci \\
      --reason 'found while reviewing' --db mesh.db --as reviewer
  threadmesh send - --to build-1@inc_build_0001 --relationship rel_ci --intent steer --expect-objective 3 \\
      --reason 'the objective changed' --db mesh.db --as lead < text

A steer or an interrupt names the run or objective that it is meant for, and is refused when that has moved on.")]
pub struct Arguments {
    /// The text; `-` is standard input
    content: String,
    /// The receiver
    #[arg(long, value_name = "TASK@INCARNATION", value_parser = TaskName::parse)]
    to: TaskName,
    /// The relationship whose grant allows it
    #[arg(long, value_name = "ID")]
    relationship: String,
    /// Why it is sent
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// What the message wants
    #[arg(long, value_parser = intents(), default_value = "suggest")]
    intent: &'static Usual,
    /// How it should be delivered; by intent unless given: store-only to notify, checkpoint-offer to suggest, active-steer
    /// or interrupt-request
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The message type; by intent unless given: observation, suggestion or action-request
    #[arg(long = "type", value_name = "TYPE")]
    message_type: Option<String>,
    /// The sending task, for a user; a task sends as itself
    #[arg(long, value_name = "TASK@INCARNATION", value_parser = TaskName::parse)]
    from: Option<TaskName>,
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
    let mut mesh = arguments.mesh.open()?;
    let sender = sender(arguments, mesh.as_mut())?;
    let sender_incarnation = sender["incarnationId"].clone();
    let message = arguments.message_id.clone().unwrap_or_else(|| format!("msg_{}", random_id()));
    let envelope = envelope(arguments, &content, sender, &message);
    let params = owned(arguments, json!({"envelope": envelope, "idempotencyKey": fresh_key()}));
    let sent = mesh.value("messages.send", &params).map_err(|failure| Failure {
        next: match failure.code.as_str() {
            "server-lost" => format!("whether it was sent is unknown: see `threadmesh show {message}`"),
            _ => failure.next.clone(),
        },
        ..failure
    })?;
    let mut report = sent.as_object().cloned().unwrap_or_default();
    report.insert("messageId".to_owned(), json!(message));
    report.insert("senderIncarnationId".to_owned(), sender_incarnation);
    printer.show(&Value::Object(report), || {
        let replay = sent["replay"] == true;
        let mut lines = vec![words::queued(&message, &arguments.to.to_string(), replay)];
        lines.extend(words::states(&sent["disposition"]));
        lines
    });
    Ok(Exit::Accepted)
}

/// Params that say who owns the sending task, where that was said.
fn owned(arguments: &Arguments, mut params: Value) -> Value {
    if let Some(owner) = &arguments.owner {
        params["owner"] = json!(owner);
    }
    params
}

/// The sender as the envelope names it. The harness is what the task was registered with.
fn sender(arguments: &Arguments, mesh: &mut dyn Mesh) -> Result<Value, Failure> {
    let principal = mesh.principal().clone();
    let (task, actor) = match (&arguments.from, principal.kind) {
        (None, _) => (TaskName::of(&principal)?, "agent"),
        (Some(from), Kind::Task) => (from.clone(), "agent"),
        (Some(from), Kind::Policy) => (from.clone(), "policy"),
        (Some(from), Kind::User | Kind::Operator) => (from.clone(), "user"),
    };
    let own = mesh.value("tasks.get", &owned(arguments, json!({"task": task.to_json()})))?;
    let mut sender = task.to_json();
    sender["harness"] = own["harness"].clone();
    sender["actorType"] = json!(actor);
    if actor != "agent" {
        sender["actorId"] = json!(principal.id);
    }
    Ok(sender)
}

fn envelope(arguments: &Arguments, content: &str, sender: Value, message: &str) -> Value {
    let Usual { intent, delivery_mode, message_type, expires_in_seconds } = arguments.intent;
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
        "target": arguments.to.to_json(),
        "relationshipId": arguments.relationship,
        "content": content,
        "reason": arguments.reason,
        "delivery": {"requestedMode": given(&arguments.mode, delivery_mode), "requiresDisposition": true},
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
