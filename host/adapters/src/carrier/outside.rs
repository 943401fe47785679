//! The host's side of the carrier: starts it, waits for its report, and cleans up if it is lost.

use super::{ARGUMENT, KILL_MS, MARK, Order, Report, procs, report_prefix};
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How much longer than its own bounds the carrier is waited for.
const MARGIN: Duration = Duration::from_secs(3);
/// The longest report: the output, escaped.
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How a carrier is started.
#[derive(Clone, Debug)]
pub struct CarrierCommand {
    program: PathBuf,
    args: Vec<OsString>,
}

impl CarrierCommand {
    /// This executable again. Its `main` must begin with [`super::intercept`].
    pub fn this_program() -> io::Result<Self> {
        // The link still leads to this file after an upgrade has replaced it.
        let link = Path::new("/proc/self/exe");
        let program = if link.exists() { link.to_owned() } else { std::env::current_exe()? };
        Ok(Self::new(program, [ARGUMENT]))
    }

    /// Another executable that becomes the carrier with these arguments.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Whether it really is a carrier. The error says what went wrong; nothing was run but the carrier itself.
    pub fn probe(&self) -> Result<(), String> {
        let order = Order {
            nonce: nonce(),
            // A program that cannot exist: a carrier reports that, and anything else does not.
            program: PathBuf::from("/dev/null/none"),
            args: Vec::new(),
            cwd: None,
            env: BTreeMap::new(),
            input: String::new(),
            deadline_ms: 1_000,
            grace_ms: 0,
            stdout_max: 0,
            stderr_max: 0,
        };
        match carry(self, &order) {
            Carried::Report(report) if !report.started => Ok(()),
            Carried::Report(_) => Err("the carrier ran what cannot be run".into()),
            Carried::NotStarted(reason) | Carried::Lost(reason) => Err(reason),
        }
    }
}

/// What became of an order.
pub(crate) enum Carried {
    /// The carrier could not be started: nothing happened.
    NotStarted(String),
    /// The carrier reported.
    Report(Report),
    /// The carrier was started and did not report: anything may have happened.
    Lost(String),
}

/// A text that no other run has.
pub(crate) fn nonce() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{}-{nanos}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// Runs an order, and returns within its bounds plus a small margin.
pub(crate) fn carry(command: &CarrierCommand, order: &Order) -> Carried {
    let text = match serde_json::to_string(order) {
        Ok(text) => text,
        Err(error) => return Carried::NotStarted(error.to_string()),
    };
    let mut carrier = match spawn(command) {
        Ok(child) => child,
        Err(error) => return Carried::NotStarted(format!("the carrier did not start: {error}")),
    };
    let bound = Duration::from_millis(order.deadline_ms + order.grace_ms + KILL_MS) + MARGIN;
    let output = converse(&mut carrier, text, bound);
    let report = output.as_deref().and_then(|output| find_report(output, &order.nonce));
    if report.is_none() {
        let _ = carrier.kill();
        kill_marked(&order.nonce);
    }
    let _ = carrier.wait();
    match report {
        Some(report) => Carried::Report(report),
        None => Carried::Lost("the carrier did not report".into()),
    }
}

/// The carrier has no environment and no terminal, and is in a group of its own: an interrupt from the terminal is not
/// for it.
fn spawn(command: &CarrierCommand) -> io::Result<Child> {
    let mut carrier = Command::new(&command.program);
    carrier.args(&command.args).env_clear().process_group(0);
    carrier.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// Hands over the order and reads to the end of the output, or gives up when the bound is over.
fn converse(carrier: &mut Child, order: String, bound: Duration) -> Option<String> {
    let (mut stdin, stdout) = (carrier.stdin.take()?, carrier.stdout.take()?);
    thread::spawn(move || stdin.write_all(order.as_bytes()));
    let (tell, output) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(REPORT_BYTES_MAX).read_to_end(&mut bytes);
        let _ = tell.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    output.recv_timeout(bound).ok()?.ok()
}

fn find_report(output: &str, nonce: &str) -> Option<Report> {
    let prefix = report_prefix(nonce);
    let line = output.lines().find_map(|line| line.strip_prefix(prefix.as_str()))?;
    serde_json::from_str(line).ok()
}

/// Kills what a lost carrier left. Without the carrier's subreaper this is best effort: a process that cleared its
/// environment is not found.
fn kill_marked(nonce: &str) {
    let variable = format!("{MARK}={nonce}");
    let end = Instant::now() + Duration::from_millis(KILL_MS);
    while Instant::now() < end {
        let left = procs::marked(&variable).unwrap_or_default();
        if left.is_empty() {
            return;
        }
        procs::signal_all(&left, Signal::KILL);
        thread::sleep(Duration::from_millis(20));
    }
}
