//! The program `threadmesh`. What each command prints, and with which exit code, is in spec/cli.md.

mod client;
mod command;
mod conformance;
mod core;
mod database;
mod failure;
mod faults;
mod input;
mod local;
mod log;
mod memory;
mod mesh;
mod names;
mod open;
mod outside;
mod target;
mod terminal;
mod time;
mod words;

use clap::Parser;
use clap::error::ErrorKind;
use failure::{Exit, Failure};
use std::process::ExitCode;
use terminal::Printer;

/// Coordinates tasks of agents: messages under grants, decisions, effects that happen at most once, and a record of it.
#[derive(Debug, Parser)]
#[command(
    name = "threadmesh",
    version,
    propagate_version = true,
    after_help = "Exit codes:
  0  accepted: what was asked is done
  1  refused: the input or the request breaks a rule; nothing changed
  2  unusable: bad usage, an unreadable file, no database, a broken store

Start here:
  threadmesh init
  threadmesh task add plan build
  threadmesh link plan build
  threadmesh send 'Look at line 40' --as plan --to build
  threadmesh inbox --content --as build
or watch: threadmesh demo"
)]
pub struct Program {
    /// Answer with one JSON object a line instead of text for people
    #[arg(long, global = true)]
    json: bool,
    /// Show each JSON-RPC request that is sent, on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    // The program is also the small process between a host and the programs that it runs: spec/adapters.md.
    threadmesh_adapters::carrier::intercept();
    memory::set_up();
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(error) => return usage(&error),
    };
    let printer = Printer::new(program.json).verbose(program.verbose);
    let exit = program.command.run(printer).unwrap_or_else(|failure| {
        failure.print(printer);
        failure.exit
    });
    end(exit)
}

/// The exit code; an answer that could not be written is as good as none.
fn end(exit: Exit) -> ExitCode {
    let Some(fault) = terminal::unwritten() else { return ExitCode::from(exit as u8) };
    let next = "what was asked may be done: look before you ask again";
    Failure::unusable("output-failed", fault, next).print(Printer::new(false));
    ExitCode::from(exit.max(Exit::Unusable) as u8)
}

/// Help goes to standard output and is no error; bad usage is unusable.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        terminal::written(error.print());
        return end(Exit::Accepted);
    }
    let text = error.to_string();
    let lines = text.lines().map(|line| line.trim_start_matches("error: ")).filter(|line| !line.is_empty());
    let json = std::env::args_os().any(|argument| argument == "--json");
    if json {
        // What is wrong may take several lines, such as the options that are missing; the usage comes after it.
        let more = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
        let wrong: Vec<_> = lines.take_while(|line| !more(line)).map(str::trim).collect();
        Failure::unusable("usage", wrong.join(" "), "").print(Printer::new(true));
    } else {
        lines.for_each(|line| Printer::new(false).warn(line));
    }
    end(Exit::Unusable)
}
