//! `threadmesh replay FILE`: what the component says to the arguments of a call that failed.

use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use crate::{core, input};
use clap::Args;
use serde_json::{Value, json};
use threadmesh_runtime::{Core, driver};

/// Run the arguments of a replay file through the built-in component.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh replay mesh.db.replay/20261130T120000-1.json

When the component traps, the host writes its arguments to a replay file; texts in it are blotted out unless it was told to
keep them. Exit codes: 0 the component answers now, 1 it fails again, 2 the file is none.")]
pub struct Arguments {
    /// The replay file; `-` is standard input
    file: String,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let text = input::text(&arguments.file)?;
    let file: Value = serde_json::from_str(&text).unwrap_or_default();
    let (Some(function), Some(args)) = (file["function"].as_str(), file.get("args")) else {
        return Err(Failure::unusable("file-unreadable", format_args!("{}: no replay file", arguments.file), ""));
    };
    let core = core::load()?;
    let answer = driver::answer(core.session()?.as_mut(), function, args);
    let failed = answer.get("trap").is_some();
    let report = json!({"file": arguments.file, "function": function, "failedThen": file["error"], "answer": answer});
    printer.show(&report, || {
        let now = if failed { "it fails again" } else { "it answers now" };
        vec![format!("{}: {function}: {now}", arguments.file), format!("  {answer}")]
    });
    Ok(if failed { Exit::Refused } else { Exit::Accepted })
}
