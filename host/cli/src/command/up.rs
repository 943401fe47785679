//! `threadmesh up`: a server with the usual settings.

use crate::command::serve;
use crate::failure::{Exit, Outcome};
use crate::terminal::Printer;
use clap::Args;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Serve a database with the usual settings: its socket, and HTTP on this machine alone.
///
/// Where a server runs on the database already, that is said, and nothing is started. `threadmesh serve` has all settings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh up
  threadmesh up --port 0 --json
  threadmesh up --no-http --db mesh.db

It runs until Ctrl-C (SIGINT) or SIGTERM. HTTP is at 127.0.0.1, port 7400 unless --port names another; 0 is any that is free.")]
pub struct Arguments {
    /// The database; that of this account unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// The port for HTTP at 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    port: u16,
    /// The socket alone, without HTTP
    #[arg(long, conflicts_with = "port")]
    no_http: bool,
    /// The operator's adapter profiles: spec/adapters.md
    #[arg(long, value_name = "FILE")]
    profiles: Option<PathBuf>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let listen = (!arguments.no_http).then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)));
    let usual = serve::Arguments::usual(arguments.db.clone(), listen, arguments.profiles.clone());
    match serve::run(&usual, printer) {
        Err(failure) if failure.code == "socket-in-use" => {
            let socket = usual.socket_place()?;
            printer.show(&json!({"serving": socket, "replay": true}), || {
                vec![format!("a server runs at {} already; it goes on as it was started", socket.display())]
            });
            Ok(Exit::Accepted)
        }
        other => other,
    }
}
