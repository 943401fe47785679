//! `threadmesh check KIND FILE…`: are these valid documents?

use crate::core::{flat, with_session};
use crate::failure::{Exit, Failure, Outcome};
use crate::{input, terminal::Printer};
use clap::Args;
use serde_json::{Value, json};
use threadmesh_runtime::Session;

/// Check documents by every rule that needs no clock and no store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh check envelope message.json
  threadmesh check grant a.json b.json --json
  cat frame.json | threadmesh check jsonrpc-request -

One line for each FILE; the exit code is the worst of all: 0 accepted, 1 refused, 2 unusable.")]
pub struct Arguments {
    /// envelope, capabilities, disposition, grant, relationship-proposal, task-summary, audit-event, auth-context,
    /// adapter-submission, interruption-result, verification-attestation, jsonrpc-request or jsonrpc-response
    kind: String,
    /// Files to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    with_session(|session| {
        let kinds = session.kinds()?;
        if !kinds.contains(&arguments.kind) {
            let detail = format!("there is no kind {:?}", arguments.kind);
            return Err(Failure::unusable("unknown-kind", detail, format!("use one of: {}", kinds.join(", "))));
        }
        let mut worst = Exit::Accepted;
        for file in &arguments.files {
            worst = worst.max(one(session, &arguments.kind, file, printer));
        }
        Ok(worst)
    })
}

fn one(session: &mut dyn Session, kind: &str, file: &str, printer: Printer) -> Exit {
    let checked = input::text(file).and_then(|text| flat(session.check(kind, &text)));
    let mut report = json!({"file": file, "kind": kind, "accepted": checked.is_ok()});
    match &checked {
        Ok(checked) => report["digest"] = Value::from(checked.digest.clone()),
        Err(failure) => report["error"] = failure.members(),
    }
    printer.show(&report, || {
        vec![match &checked {
            Ok(checked) => format!("{file}: accepted {}", checked.digest),
            Err(failure) if failure.exit == Exit::Refused => format!("{file}: refused {}", failure.line()),
            Err(failure) => format!("{file}: unusable {}", failure.line()),
        }]
    });
    checked.map_or_else(|failure| failure.exit, |_| Exit::Accepted)
}
