//! The settings as they are written. Every member is optional and every unknown one is refused; what a kind does not
//! know is refused by name in `build.rs`.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub profile: BTreeMap<String, RawProfile>,
}

/// What performs the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A program of this machine.
    Command,
    /// A service.
    Http,
    /// The receiver's own task.
    Caller,
}

macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }
    };
}

settings! {
    /// One profile.
    RawProfile {
        kind: Kind,
        deadline_ms: u64,
        settle_ms: u64,
        can_query: bool,
        absent_final: bool,
        trust_not_submitted: bool,
        query: RawQuery,
        capabilities: RawCapabilities,
        program: PathBuf,
        args: Vec<String>,
        cwd: PathBuf,
        pass_env: Vec<String>,
        env: BTreeMap<String, String>,
        secret_env: BTreeMap<String, PathBuf>,
        grace_ms: u64,
        output_bytes_max: u64,
        submit_url: String,
        query_url: String,
        allow_plaintext: bool,
        idempotency_header: String,
        headers: BTreeMap<String, String>,
        secret_headers: BTreeMap<String, PathBuf>,
        refusal_status: Vec<u16>,
        absent_final_status: Vec<u16>,
        response_bytes_max: u64,
        tls_ca_file: PathBuf,
    }
}

settings! {
    /// How it is asked.
    RawQuery {
        deadline_ms: u64,
        backoff_ms: u64,
        backoff_ms_max: u64,
        attempts_max: u32,
    }
}

settings! {
    /// What it is declared to be able to do.
    RawCapabilities {
        intents: Vec<String>,
        delivery_modes: Vec<String>,
        features: RawFeatures,
    }
}

settings! {
    /// The features of the draft's capability document.
    RawFeatures {
        related_task_discovery: String,
        task_incarnation: bool,
        objective_versioning: bool,
        checkpoint_events: bool,
        idle_wake: bool,
        model_turn_cancellation: bool,
        subprocess_cancellation: bool,
        disposition_callbacks: bool,
        typed_interruption_results: bool,
        context_admission: String,
        provenance_rendering: String,
        durable_submission_idempotency: String,
    }
}

impl RawProfile {
    /// Whether its calls run under a carrier.
    pub fn needs_carrier(&self) -> bool {
        self.kind == Some(Kind::Command)
    }

    /// The settings that belong to one kind only and are set, with that kind.
    pub fn particular(&self) -> Vec<(&'static str, Kind)> {
        let set = [
            ("program", Kind::Command, self.program.is_some()),
            ("args", Kind::Command, self.args.is_some()),
            ("cwd", Kind::Command, self.cwd.is_some()),
            ("pass_env", Kind::Command, self.pass_env.is_some()),
            ("env", Kind::Command, self.env.is_some()),
            ("secret_env", Kind::Command, self.secret_env.is_some()),
            ("grace_ms", Kind::Command, self.grace_ms.is_some()),
            ("output_bytes_max", Kind::Command, self.output_bytes_max.is_some()),
            ("can_query", Kind::Command, self.can_query.is_some()),
            ("submit_url", Kind::Http, self.submit_url.is_some()),
            ("query_url", Kind::Http, self.query_url.is_some()),
            ("allow_plaintext", Kind::Http, self.allow_plaintext.is_some()),
            ("idempotency_header", Kind::Http, self.idempotency_header.is_some()),
            ("headers", Kind::Http, self.headers.is_some()),
            ("secret_headers", Kind::Http, self.secret_headers.is_some()),
            ("refusal_status", Kind::Http, self.refusal_status.is_some()),
            ("absent_final_status", Kind::Http, self.absent_final_status.is_some()),
            ("response_bytes_max", Kind::Http, self.response_bytes_max.is_some()),
            ("tls_ca_file", Kind::Http, self.tls_ca_file.is_some()),
        ];
        set.into_iter().filter(|(_, _, is_set)| *is_set).map(|(name, kind, _)| (name, kind)).collect()
    }
}
