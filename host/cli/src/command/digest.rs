//! `threadmesh digest FILE…`: the SHA-256 of the RFC 8785 form.

use crate::core::{flat, with_session};
use crate::failure::{Exit, Outcome};
use crate::{input, terminal::Printer};
use clap::Args;
use serde_json::json;

/// Print the digest of a JSON text: the SHA-256 of its RFC 8785 form.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh digest envelope.json
  threadmesh digest a.json b.json --json")]
pub struct Arguments {
    /// Files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    with_session(|session| {
        let mut worst = Exit::Accepted;
        for file in &arguments.files {
            match input::text(file).and_then(|text| flat(session.digest(&text))) {
                Ok(digest) => {
                    printer.show(&json!({"file": file, "digest": digest}), || vec![format!("{digest}  {file}")]);
                }
                Err(failure) => {
                    worst = worst.max(failure.exit);
                    let report = json!({"file": file, "error": failure.members()});
                    match printer.json() {
                        true => printer.show(&report, Vec::new),
                        false => printer.warn(&format!("{file}: {}", failure.line())),
                    }
                }
            }
        }
        Ok(worst)
    })
}
