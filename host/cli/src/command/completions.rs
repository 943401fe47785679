//! `threadmesh completions SHELL`.

use crate::Program;
use crate::failure::{Exit, Failure, Outcome};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Print the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh completions bash > ~/.local/share/bash-completion/completions/threadmesh
  threadmesh completions zsh > \"${fpath[1]}/_threadmesh\"")]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs it. The script is the same with `--json`: it is for a shell.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Program::command(), "threadmesh", &mut script);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(&script).and_then(|()| out.flush());
    written.map_err(|error| Failure::unusable("output-failed", error, "")).map(|()| Exit::Accepted)
}
