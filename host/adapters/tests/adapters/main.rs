//! The adapters against real child processes and a real service on this machine.
//!
//! Nothing here sleeps for luck: tests wait for conditions, up to a bound that a working program never reaches.

mod command;
mod dispatch;
mod host_killed;
mod http;
mod looking;
mod looking_at_files;
mod looking_at_services;
mod processes;
mod service;
mod tls;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use threadmesh_adapters::{
    carrier::{self, CarrierCommand},
    profiles::{Surroundings, parse},
};
use threadmesh_runtime::{
    adapter::{Adapter, ENVELOPE, Holder, Outcome, Payload, Profile, Query, QueryOutcome, Submission},
    dispatcher::fake,
};

/// Never reached by a working program.
const SOON: Duration = Duration::from_secs(60);

/// This test program, started again to be the carrier. As a test of its own it does nothing.
#[test]
fn carrier_entry() {
    if std::env::args().any(|argument| argument == "carrier_entry") {
        carrier::run();
    }
}

fn carrier() -> CarrierCommand {
    CarrierCommand::new(std::env::current_exe().unwrap(), ["carrier_entry", "--exact", "--nocapture"])
}

/// A folder for one test, with a ledger that programs append to.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A profile `target` that runs a shell script in this folder; `more` are further settings.
    fn script(&self, script: &str, more: &str) -> Profile {
        let path = self.path("script.sh");
        fs::write(&path, script).unwrap();
        let quoted = |path: &Path| format!("{:?}", path.to_str().unwrap());
        profile(&format!(
            "kind = \"command\"\nprogram = \"/bin/sh\"\nargs = [{}]\ncwd = {}\n{more}",
            quoted(&path),
            quoted(self.0.path()),
        ))
    }
}

/// A profile `target` with these settings.
fn profile(settings: &str) -> Profile {
    try_profile(settings).unwrap()
}

fn try_profile(settings: &str) -> Result<Profile, String> {
    let digest = |text: &str| Ok(fake::digest(text));
    let surroundings = Surroundings { digest: &digest, carrier: Some(carrier()) };
    let profiles = parse(&format!("[profile.target]\n{settings}"), &surroundings);
    profiles.map(|mut profiles| profiles.remove(0)).map_err(|error| error.to_string())
}

fn submission(id: &str) -> Submission {
    Submission {
        submission_id: format!("sub_{id}"),
        idempotency_key: format!("adp_{id}"),
        tenant: "default".into(),
        scope: format!("adp_{id}"),
        holder: Holder::Message { id: format!("msg_{id}"), sender_incarnation_id: "inc_sender".into() },
        profile: "target".into(),
        session: Some("ses/1".into()),
        payload: Payload {
            kind: ENVELOPE.into(),
            text: r#"{"z":1,"a":1.50,"content":"ä\u00e4"}"#.into(),
            digest: "sha256:0".into(),
        },
        context: BTreeMap::from([(
            "traceparent".into(),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        )]),
    }
}

/// A call that hands over another text.
fn with_text(text: String) -> Submission {
    let call = submission("1");
    Submission { payload: Payload { text, ..call.payload.clone() }, ..call }
}

fn query_of(call: &Submission) -> Query {
    Query {
        submission_id: call.submission_id.clone(),
        idempotency_key: call.idempotency_key.clone(),
        tenant: call.tenant.clone(),
        scope: call.scope.clone(),
        holder: call.holder.clone(),
        profile: call.profile.clone(),
        session: call.session.clone(),
        payload_digest: call.payload.digest.clone(),
    }
}

/// Submits within `deadline`, and checks that it does not take unduly longer.
fn submit_within(profile: &Profile, call: &Submission, deadline: Duration) -> Outcome {
    let start = Instant::now();
    let outcome = adapter(profile).submit(call, start + deadline);
    assert!(start.elapsed() < deadline + SOON, "submit took {:?}", start.elapsed());
    outcome
}

fn submit(profile: &Profile, call: &Submission) -> Outcome {
    submit_within(profile, call, SOON)
}

fn query(profile: &Profile, call: &Submission) -> QueryOutcome {
    adapter(profile).query(&query_of(call), Instant::now() + SOON)
}

fn adapter(profile: &Profile) -> &dyn Adapter {
    profile.adapter.as_deref().unwrap()
}

/// The outcome as `submitted`, `not-submitted CODE` or `unknown CODE`.
fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Submitted(_) => "submitted".into(),
        Outcome::NotSubmitted(reason) => format!("not-submitted {}", reason.code),
        Outcome::Unknown(reason) => format!("unknown {}", reason.code),
    }
}

fn answer(outcome: &QueryOutcome) -> String {
    match outcome {
        QueryOutcome::Found(_) => "found".into(),
        QueryOutcome::AbsentFinal(_) => "absent-final".into(),
        QueryOutcome::AbsentNow(reason) => format!("absent-now {}", reason.code),
        QueryOutcome::Unanswerable(reason) => format!("unanswerable {}", reason.code),
    }
}

/// Waits until `holds`.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
