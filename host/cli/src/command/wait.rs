//! `threadmesh wait`: until a message is decided, or until something is in the inbox.

use crate::command::inbox;
use crate::failure::{Exit, Failure, Outcome};
use crate::target::{MeshArguments, SenderArguments, TaskName};
use crate::terminal::Printer;
use crate::{time, words};
use clap::Args;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Wait until the receiver has decided a message, or until the inbox has one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh wait msg_0000001 --db mesh.db --as reviewer
  threadmesh wait msg_0000001 --for delivery=adapter-submitted --timeout 2m --db mesh.db --as reviewer
  threadmesh wait --inbox --timeout 10m --db mesh.db --as builder

Without --for it waits for any decision, without --sender for one on a message of the caller's own. Exit codes: 0 it came, 1 it did not come in time.")]
pub struct Arguments {
    /// The message
    #[arg(required_unless_present = "inbox", conflicts_with = "inbox")]
    message: Option<String>,
    /// Wait for any message in the caller's inbox
    #[arg(long)]
    inbox: bool,
    #[command(flatten)]
    sender: SenderArguments,
    /// A state to wait for, as decision=accepted; with more than one, any of them will do
    #[arg(long = "for", value_name = "MACHINE=STATE")]
    states: Vec<String>,
    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = time::duration, default_value = "60s")]
    timeout: Duration,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// How long one call waits at most: `wait_ms_max` of spec/limits.md.
pub const WAIT_MS_MAX: u64 = 55_000;
/// Messages in one look at the inbox. What can no longer be acted on is passed over by its cursor.
const PAGE: u32 = 50;

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let wanted = arguments.states.iter().map(|text| wanted(text)).collect::<Result<Vec<_>, _>>()?;
    let names = arguments.mesh.place.names()?;
    let mut mesh = arguments.mesh.open(printer)?;
    let (seen, came) = match &arguments.message {
        Some(message) => {
            let mut params = arguments.sender.name(message, &names, mesh.principal())?;
            watch(arguments.timeout, |patience| {
                params["timeoutMs"] = patience.into();
                let disposition = mesh.value("messages.getDisposition", &params)?;
                params["afterRevision"] = disposition["revision"].clone();
                let met = wanted.iter().any(|(machine, state)| disposition[machine.as_str()] == state.as_str());
                let came = if wanted.is_empty() { words::decided(&disposition) } else { met };
                Ok((disposition, came))
            })?
        }
        None => {
            let receiver = TaskName::of(mesh.principal())?;
            let mut after = 0;
            watch(arguments.timeout, |patience| {
                let page = inbox::page(mesh.as_mut(), &receiver, after, PAGE, patience)?;
                after = page["nextCursor"].as_u64().unwrap_or(after);
                let came = page["items"].as_array().is_some_and(|items| !items.is_empty());
                Ok((page, came))
            })?
        }
    };
    report(arguments, &seen, came, printer);
    Ok(if came { Exit::Accepted } else { Exit::Refused })
}

fn report(arguments: &Arguments, seen: &Value, came: bool, printer: Printer) {
    let value = match &arguments.message {
        Some(message) => json!({"messageId": message, "timedOut": !came, "disposition": seen}),
        None => json!({"timedOut": !came, "pending": came}),
    };
    printer.show(&value, || {
        let end = if came { "" } else { ": not in time" };
        match &arguments.message {
            Some(message) => {
                let mut lines = vec![format!("{message}{end}")];
                lines.extend(words::states(seen));
                lines
            }
            None if came => vec!["there is something in the inbox".to_owned()],
            None => vec!["nothing came in time".to_owned()],
        }
    });
}

/// Looks at once, and then looks that wait for a change, until what is awaited is there or the time is up. `look` is told
/// for how many milliseconds it may wait.
fn watch(
    timeout: Duration,
    mut look: impl FnMut(u64) -> Result<(Value, bool), Failure>,
) -> Result<(Value, bool), Failure> {
    let deadline = Instant::now().checked_add(timeout);
    let mut patience = 0;
    loop {
        let (seen, came) = look(patience)?;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Part of a millisecond counts as one: a look without patience would come back at once.
        let left =
            left.map_or(WAIT_MS_MAX, |left| u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(WAIT_MS_MAX));
        if came || left == 0 {
            return Ok((seen, came));
        }
        patience = left.min(WAIT_MS_MAX);
    }
}

fn wanted(text: &str) -> Result<(String, String), Failure> {
    let machine = |name: &str| ["delivery", "decision", "outcome"].contains(&name);
    match text.split_once('=') {
        Some((name, state)) if machine(name) && !state.is_empty() => Ok((name.to_owned(), state.to_owned())),
        _ => Err(Failure::unusable(
            "usage",
            format_args!("{text:?} is no state to wait for"),
            "write delivery=…, decision=… or outcome=…",
        )),
    }
}
