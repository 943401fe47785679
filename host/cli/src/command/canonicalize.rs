//! `threadmesh canonicalize FILE`: the RFC 8785 form.

use crate::core::{flat, with_session};
use crate::failure::{Exit, Failure, Outcome};
use crate::{input, terminal::Printer};
use clap::Args;
use serde_json::json;
use std::io::{self, IsTerminal, Write};

/// Print the RFC 8785 form of a JSON text.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh canonicalize grant.json > grant.canonical.json
  threadmesh canonicalize grant.json | sha256sum

The bytes are exact and end without a line feed. On a terminal, characters that act on it are escaped.")]
pub struct Arguments {
    /// The file; `-` is standard input
    file: String,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let text = input::text(&arguments.file)?;
    let (canonical, digest) =
        with_session(|session| Ok((flat(session.canonicalize(&text))?, flat(session.digest(&text))?)))?;
    if printer.json() || io::stdout().is_terminal() {
        let report = json!({"file": arguments.file, "canonical": canonical, "digest": digest});
        printer.show(&report, || vec![canonical]);
        return Ok(Exit::Accepted);
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(canonical.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::unusable("output-failed", error, "")).map(|()| Exit::Accepted)
}
