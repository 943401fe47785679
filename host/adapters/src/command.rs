//! The `command` adapter: runs a program with a JSON request on its standard input and one JSON object on its standard
//! output, under a [`crate::carrier`].
//!
//! Only what happens before the program runs counts as "not submitted". From then on everything but a well-formed receipt
//! from a program that exits with status 0 is unknown.

use crate::{
    answer::Expected,
    carrier::{self, Carried, CarrierCommand, Order, Report, carry},
    private,
    subject::Subject,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::{
    collections::BTreeMap,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use threadmesh_runtime::adapter::{Adapter, Outcome, Query, QueryOutcome, Reason, Submission};

/// The names of this process's environment that a program may be passed, and what it is given besides.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// How much of a program's standard error goes to the log.
const STDERR_MAX: usize = 64 * 1024;

/// What the operator configured.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The program, an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory; the host's own if none.
    pub cwd: Option<PathBuf>,
    /// Names of the host's environment that are passed on; everything else is not.
    pub pass_env: Vec<String>,
    /// Fixed variables.
    pub env: BTreeMap<String, String>,
    /// Variables whose values are read from private files at each call.
    pub secret_env: BTreeMap<String, PathBuf>,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The most bytes on standard output.
    pub output_bytes_max: usize,
    /// Whether a program that says `not-submitted` is believed.
    pub trust_not_submitted: bool,
}

/// Runs a program per call.
#[derive(Debug)]
pub struct CommandAdapter {
    settings: CommandSettings,
    carrier: CarrierCommand,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    contract: &'static str,
    operation: &'static str,
    submission_id: &'a str,
    idempotency_key: &'a str,
    tenant: &'a str,
    profile: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a BTreeMap<String, String>>,
    deadline_ms: u64,
}

/// The name of what is said on the standard streams.
const CONTRACT: &str = "threadmesh-command/1";

impl CommandAdapter {
    /// An adapter that runs its program under `carrier`.
    pub fn new(settings: CommandSettings, carrier: CarrierCommand) -> Self {
        Self { settings, carrier }
    }

    fn order(&self, operation: &str, submission_id: &str, input: String, left: Duration) -> Result<Order, Reason> {
        runnable(&self.settings.program)?;
        let nonce = carrier::nonce();
        let mut env = self.environment()?;
        env.insert(carrier::MARK.into(), nonce.clone());
        env.insert("THREADMESH_OPERATION".into(), operation.into());
        env.insert(mark_of(operation).into(), submission_id.into());
        Ok(Order {
            nonce,
            program: self.settings.program.clone(),
            args: self.settings.args.clone(),
            cwd: self.settings.cwd.clone(),
            env,
            input,
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            grace_ms: u64::try_from(self.settings.grace.as_millis()).unwrap_or(u64::MAX),
            stdout_max: self.settings.output_bytes_max,
            stderr_max: STDERR_MAX,
        })
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, Reason> {
        let settings = &self.settings;
        let mut env = BTreeMap::from([("PATH".to_owned(), PATH_DEFAULT.to_owned())]);
        for name in &settings.pass_env {
            if let Ok(value) = std::env::var(name) {
                env.insert(name.clone(), value);
            }
        }
        env.extend(settings.env.clone());
        for (name, path) in &settings.secret_env {
            let secret = private::secret(path);
            let secret = secret.map_err(|error| Reason::new("secret-unreadable", error.to_string()))?;
            env.insert(name.clone(), secret);
        }
        Ok(env)
    }
}

impl Adapter for CommandAdapter {
    fn submit(&self, call: &Submission, deadline: Instant) -> Outcome {
        let envelope = match RawValue::from_string(call.payload.text.clone()) {
            Ok(envelope) => envelope,
            Err(error) => return Outcome::NotSubmitted(Reason::new("envelope-unreadable", error.to_string())),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let request = Request {
            contract: CONTRACT,
            operation: "submit",
            submission_id: &call.submission_id,
            idempotency_key: &call.idempotency_key,
            tenant: &call.tenant,
            profile: &call.profile,
            session: call.session.as_deref(),
            subject: Subject::of_call(&call.holder, &call.scope, &call.payload, &envelope),
            context: Some(&call.context).filter(|context| !context.is_empty()),
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        };
        let order = match self.order("submit", &call.submission_id, text(&request), left) {
            Ok(order) => order,
            Err(reason) => return Outcome::NotSubmitted(reason),
        };
        let expected = Expected {
            key: &call.idempotency_key,
            session: call.session.as_deref(),
            trust_not_submitted: self.settings.trust_not_submitted,
        };
        match carry(&self.carrier, &order) {
            Carried::NotStarted(detail) => Outcome::NotSubmitted(Reason::new("spawn-failed", detail)),
            Carried::Lost(detail) => Outcome::Unknown(Reason::new("carrier-lost", detail)),
            Carried::Report(report) if !report.started => {
                Outcome::NotSubmitted(Reason::new("spawn-failed", report.error))
            }
            Carried::Report(report) => match printed(&report) {
                Ok(output) => expected.submitted(output),
                Err(reason) => Outcome::Unknown(reason),
            },
        }
    }

    fn query(&self, query: &Query, deadline: Instant) -> QueryOutcome {
        let left = deadline.saturating_duration_since(Instant::now());
        let request = Request {
            contract: CONTRACT,
            operation: "query",
            submission_id: &query.submission_id,
            idempotency_key: &query.idempotency_key,
            tenant: &query.tenant,
            profile: &query.profile,
            session: query.session.as_deref(),
            subject: Subject::of_query(&query.holder, &query.scope, &query.payload_digest),
            context: None,
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        };
        let order = match self.order("query", &query.submission_id, text(&request), left) {
            Ok(order) => order,
            Err(reason) => return QueryOutcome::Unanswerable(reason),
        };
        let session = query.session.as_deref();
        let expected = Expected { key: &query.idempotency_key, session, trust_not_submitted: false };
        match carry(&self.carrier, &order) {
            Carried::NotStarted(detail) | Carried::Lost(detail) => {
                QueryOutcome::Unanswerable(Reason::new("carrier-lost", detail))
            }
            Carried::Report(report) if !report.started => {
                QueryOutcome::Unanswerable(Reason::new("spawn-failed", report.error))
            }
            Carried::Report(report) => match printed(&report) {
                Ok(output) => no_carrier_left(expected.queried(output), &query.submission_id),
                Err(reason) => QueryOutcome::Unanswerable(reason),
            },
        }
    }
}

/// Settled point 3: an absence is final only if the carrier of the call is dead. A process of the call that still lives,
/// also after the host was started again, is found by its mark.
fn no_carrier_left(answer: QueryOutcome, submission_id: &str) -> QueryOutcome {
    let QueryOutcome::AbsentFinal(absence) = answer else { return answer };
    match carrier::procs::marked(&format!("{}={submission_id}", mark_of("submit"))) {
        Some(left) if left.is_empty() => QueryOutcome::AbsentFinal(absence),
        Some(_) => QueryOutcome::AbsentNow(Reason::new("carrier-alive", "a process of the call still runs")),
        None => QueryOutcome::AbsentNow(Reason::new("carrier-unproven", "the processes cannot be looked through here")),
    }
}

/// The variable that carries the attempt: another for queries, which are no carriers of the call.
fn mark_of(operation: &str) -> &'static str {
    if operation == "submit" { "THREADMESH_SUBMISSION" } else { "THREADMESH_QUERIED" }
}

/// What a program printed, if it ended as it should.
fn printed(report: &Report) -> Result<&str, Reason> {
    let reason = |code, what: String| Reason::new(code, format!("{what}; standard error: {}", tail(&report.stderr)));
    if report.flooded {
        return Err(reason("output-too-long", "the program printed too much and was killed".into()));
    }
    if report.timed_out {
        let left = if report.empty { "was killed" } else { "could not be killed altogether" };
        return Err(reason("timeout", format!("the program did not end in time and {left}")));
    }
    if let Some(signal) = report.signal {
        return Err(reason("killed", format!("the program died of signal {signal}")));
    }
    if report.exit != Some(0) {
        return Err(reason("exit-status", format!("exit status {:?}", report.exit)));
    }
    report.stdout.as_deref().ok_or_else(|| reason("output-encoding", "the output is not UTF-8".into()))
}

/// The end of a program's standard error.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(2_000);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Whether the program is there and may be run, as far as can be seen without running it.
fn runnable(program: &Path) -> Result<(), Reason> {
    let missing = |detail: String| Reason::new("program-missing", detail);
    let meta = program.metadata().map_err(|error| missing(format!("{}: {error}", program.display())))?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return Err(missing(format!("{} is not an executable file", program.display())));
    }
    Ok(())
}

fn text(request: &Request<'_>) -> String {
    serde_json::to_string(request).unwrap_or_default()
}
