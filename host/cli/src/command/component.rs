//! `threadmesh component -o FILE`: the built-in component, for other hosts.

use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Write the WebAssembly component that this program runs to a file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh component -o threadmesh.wasm
  threadmesh component --world verifier -o verifier.wasm --force")]
pub struct Arguments {
    /// Which world: everything, or verification alone
    #[arg(long, value_enum, default_value = "core")]
    world: World,
    /// Where to write it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// The worlds of `wit/`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum World {
    /// Everything.
    Core,
    /// Canonical JSON and attestations.
    Verifier,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let (world, bytes, digest) = match arguments.world {
        World::Core => ("core", threadmesh_artifact::CORE, threadmesh_artifact::CORE_DIGEST),
        World::Verifier => ("verifier", threadmesh_artifact::VERIFIER, threadmesh_artifact::VERIFIER_DIGEST),
    };
    let file = arguments.output.display().to_string();
    write(arguments, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::unusable("file-exists", format_args!("{file} exists"), "use --force to replace it")
        }
        _ => Failure::unusable(
            "file-unwritable",
            format_args!("{file}: {error}"),
            "name a file in a folder that you may write",
        ),
    })?;
    let report = json!({"world": world, "file": file, "bytes": bytes.len(), "digest": digest});
    printer.show(&report, || vec![format!("{digest}  {file}  ({world}, {} bytes)", bytes.len())]);
    Ok(Exit::Accepted)
}

fn write(arguments: &Arguments, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(!arguments.force).create(true).truncate(true);
    let mut file = options.open(&arguments.output)?;
    file.write_all(bytes)?;
    file.sync_all()
}
