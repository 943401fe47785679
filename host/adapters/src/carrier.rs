//! The carrier: a small process of our own that stands between the host and a program it runs.
//!
//! It bounds the program in time and output, and when the program is over it leaves no process behind: as a *child
//! subreaper* every descendant that loses its parent becomes the carrier's own child, also one that made itself a
//! session leader, so "the carrier has no child any more" (`ECHILD`) proves that nothing of the call is left. And because
//! it is a process of its own, the bound holds when the host is killed in the middle of a call.
//!
//! The host starts its own executable again for this: [`intercept`] must stand first in `main`.

mod inside;
mod outside;
pub(crate) mod procs;

pub use outside::CarrierCommand;
pub(crate) use outside::{Carried, carry, nonce};

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The argument by which a program that calls [`intercept`] knows that it is to be the carrier.
pub const ARGUMENT: &str = "adapter-carrier";

/// How long killing may take after the grace, before the carrier reports that something is left.
pub(crate) const KILL_MS: u64 = 2_000;

/// The environment variable that marks every process of one run.
pub(crate) const MARK: &str = "THREADMESH_CALL";

/// What the carrier is told, as one JSON document on its standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Order {
    /// Marks the report and the processes of this run.
    pub nonce: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// The whole environment of the program.
    pub env: BTreeMap<String, String>,
    /// What the program reads on its standard input.
    pub input: String,
    pub deadline_ms: u64,
    /// Between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    pub stdout_max: usize,
    pub stderr_max: usize,
}

/// What the carrier says at the end.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Report {
    /// Whether the program ran at all. `false`: the operating system refused, and nothing happened.
    pub started: bool,
    /// Why it did not start.
    pub error: String,
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// More output than allowed; the program was killed for it.
    pub flooded: bool,
    /// None if it is not UTF-8.
    pub stdout: Option<String>,
    /// The end of it, for the log.
    pub stderr: String,
    /// Processes that were still there after the program had exited.
    pub left_behind: usize,
    /// Whether it is proven that no process of the run is left.
    pub empty: bool,
}

/// Becomes the carrier if the command line says so, and then never returns. Call it first in `main`.
pub fn intercept() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        run();
    }
}

/// Is the carrier: reads its order, runs it, reports, and ends the process. For programs that recognise the carrier's
/// command line themselves; others call [`intercept`].
pub fn run() -> ! {
    std::process::exit(inside::main())
}

fn report_line(nonce: &str, report: &Report) -> String {
    let json = serde_json::to_string(report).unwrap_or_default();
    format!("\n{}{json}\n", report_prefix(nonce))
}

/// What a report's line starts with. Whatever else the embedding program prints is not taken for one.
fn report_prefix(nonce: &str) -> String {
    format!("@threadmesh-carrier {nonce} ")
}
