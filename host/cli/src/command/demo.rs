//! `threadmesh demo`: the whole job on a real database with real processes, told in plain words.

mod stage;
mod story;
mod target;

use crate::failure::{Exit, Outcome};
use crate::terminal::Printer;
use clap::Args;
use serde_json::json;
use stage::Stage;
use std::path::PathBuf;
use std::time::Instant;

/// See the whole job done, in under a minute: messages, decisions, a crash in the middle of an effect, and what is known
/// of it afterwards.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh demo
  threadmesh demo --dir /tmp/look-at-this

Everything happens in the folder, which is kept: the database, the ledger of effects, the tokens, the server's log. A
folder that is there and was not made by a demo is left alone.")]
pub struct Arguments {
    /// The folder
    #[arg(long, value_name = "DIR", default_value = "threadmesh-demo")]
    dir: PathBuf,
    /// Be the program that the demo's adapter runs, with this ledger
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "dir")]
    target: Option<PathBuf>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    if let Some(ledger) = &arguments.target {
        return target::run(ledger);
    }
    let began = Instant::now();
    let mut stage = Stage::set(&arguments.dir)?;
    let told = story::tell(&mut stage, printer);
    // Whatever happened: no process of the demo is left.
    stage.clear();
    told?;
    let seconds = began.elapsed().as_secs_f64();
    let report = json!({"step": "end", "seconds": seconds, "folder": stage.folder().display().to_string()});
    printer.show(&report, || ending(&stage, seconds));
    Ok(Exit::Accepted)
}

fn ending(stage: &Stage, seconds: f64) -> Vec<String> {
    let db = stage.db().display().to_string();
    // As it was called: `cargo run` calls a path.
    let program = std::env::args_os().next().unwrap_or_else(|| "threadmesh".into());
    let program = program.to_string_lossy();
    vec![
        String::new(),
        format!("That took {seconds:.1} seconds. Everything is still there; look at it:"),
        format!("  {program} show {} --db {db} --as planner", story::SUGGESTION),
        format!("  {program} show {} --db {db} --as planner", story::STEER),
        format!("  {program} doctor --db {db}"),
        format!("  cat {}", stage.ledger().display()),
    ]
}
