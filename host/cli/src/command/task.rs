//! `threadmesh task add|list`: tasks by the names that people give them.

mod add;
mod list;

use crate::failure::{Failure, Outcome};
use crate::target::{PlaceArguments, TokenArguments};
use crate::terminal::Printer;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use threadmesh_server::tokens::{Kind, Principal};

/// Add tasks by name, and list them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh task add plan build
  threadmesh task add review --harness codex
  threadmesh task list

A task is one agent's piece of work: it has a mailbox, and a token by which whoever works on it proves that it is the task.
The name serves wherever a task or a token is asked for: --to build, --as build.")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Register tasks, each with a token of its own. What is there already stays as it is
    Add(add::Arguments),
    /// List the tasks that have a token here: harness, state, token file, undecided messages
    List(list::Arguments),
}

/// Where tasks are, and as whom they are asked for.
#[derive(Debug, Args)]
struct Owned {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    token: TokenArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    match &arguments.action {
        Action::Add(add) => add::run(add, printer),
        Action::List(list) => list::run(list, printer),
    }
}

impl Owned {
    /// The database beside which the tokens lie, and the token file.
    fn files(&self) -> Result<(PathBuf, PathBuf), Failure> {
        let missing = || {
            let detail = "a socket at an unusual place does not tell where the tokens lie";
            Failure::unusable("usage", detail, "name the database too: --db FILE")
        };
        let db = self.place.database()?.ok_or_else(missing)?;
        Ok((db, self.place.token_file()?.ok_or_else(missing)?))
    }
}

/// The owner that a principal is, as `user:alice`; none for a task or the operator.
fn owner(principal: &Principal) -> Option<String> {
    matches!(principal.kind, Kind::User | Kind::Policy).then(|| format!("{}:{}", principal.kind.as_str(), principal.id))
}
