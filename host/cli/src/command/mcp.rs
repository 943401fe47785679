//! `threadmesh mcp`: the tools of spec/mcp.md for a harness, over standard input and output.

mod setup;

use crate::client;
use crate::command::token;
use crate::core;
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::sync::Arc;
use threadmesh_runtime::{Core, rpc};
use threadmesh_server::client::{ConnectError, SocketClient};
use threadmesh_server::mcp;
use threadmesh_server::tokens::{self, Kind, Secret};

/// Serve MCP tools to a harness over standard input and output, as the task that a token stands for.
///
/// It speaks to a running server (`threadmesh serve`) and never opens a database.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  threadmesh mcp --socket mesh.db.run/socket --token-file mesh.db.tokens/builder
  threadmesh mcp --socket mesh.db.run/socket --token-fd 3 3< mesh.db.tokens/builder
  threadmesh mcp setup --harness codex --as build

Give each session, and each sub-agent, a token of its own: threadmesh task add, or threadmesh token create with --worker."
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The socket of the server
    #[arg(long, value_name = "PATH", required = true)]
    socket: Option<PathBuf>,
    /// The file that holds the token, closed to other accounts
    #[arg(long, value_name = "FILE", required_unless_present = "token_fd", conflicts_with = "token_fd")]
    token_file: Option<PathBuf>,
    /// An open file descriptor from which the token is read
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(3..))]
    token_fd: Option<u32>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print what to write into a harness's configuration: paths, and no token
    Setup(setup::Arguments),
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    if let Some(Action::Setup(setup)) = &arguments.action {
        return setup::run(setup, printer);
    }
    let secret = secret(arguments)?;
    let socket = arguments.socket.clone().unwrap_or_default();
    let client = SocketClient::connect(&socket, secret).map_err(|error| unconnected(&error))?.repeating();
    if client.principal().kind != Kind::Task {
        let detail = "the token is none of a task, and these tools are for tasks";
        return Err(Failure::unusable("token-unusable", detail, "make one: threadmesh token create --kind task"));
    }
    let core = core::load()?;
    let split: mcp::Split = Arc::new(move |text| {
        let cut = core.session().and_then(|mut session| session.split(text));
        cut.map_err(|_| rpc::error("core-trap", "the line could not be looked at"))
    });
    mcp::serve_stdio(Arc::new(client), split).map_err(|error| Failure::unusable("output-failed", error, ""))?;
    Ok(Exit::Accepted)
}

/// Why there is no connection. This command works on a server alone.
fn unconnected(error: &ConnectError) -> Failure {
    let failure = client::failure(error);
    match error {
        ConnectError::Unreachable { .. } => {
            let next = "start one with `threadmesh serve --db FILE`, and name its socket: --socket FILE.run/socket";
            Failure { next: next.to_owned(), ..failure }
        }
        _ => failure,
    }
}

fn secret(arguments: &Arguments) -> Result<Secret, Failure> {
    let read = match (&arguments.token_file, arguments.token_fd) {
        (Some(file), _) => tokens::read_secret(file),
        (None, Some(number)) => tokens::read_secret_from(number),
        (None, None) => return Err(Failure::unusable("token-missing", "there is no token", "use --token-file FILE")),
    };
    read.map_err(|error| Failure { code: "token-unusable".to_owned(), ..token::failure(&error) })
}
