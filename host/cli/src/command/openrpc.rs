//! `threadmesh openrpc`: the operations as an OpenRPC document.

use crate::failure::{Exit, Outcome};
use crate::terminal::Printer;
use clap::Args;
use threadmesh_server::functions::OPENRPC;

/// Print the operations as an OpenRPC document, which a server also answers to rpc.discover.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh openrpc > openrpc.json
  threadmesh openrpc --json | jq -r '.methods[].name'

With --json it is on one line.")]
pub struct Arguments {}

/// Runs it.
pub fn run(_: &Arguments, printer: Printer) -> Outcome {
    let document = include_str!("../../../../spec/openrpc.json");
    printer.raw(&OPENRPC, || document.lines().map(str::to_owned).collect());
    Ok(Exit::Accepted)
}
