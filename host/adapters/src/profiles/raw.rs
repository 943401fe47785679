//! The settings as they are written. Every member is optional and every unknown one is refused; what a kind does not
//! know is refused by name in `kinds.rs`.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{collections::BTreeMap, path::PathBuf};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub profile: BTreeMap<String, RawProfile>,
    /// Left to [`crate::resolvers`].
    #[serde(rename = "resolver")]
    pub _resolver: IgnoredAny,
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
        kind: String,
        deadline_ms: u64,
        settle_ms: u64,
        can_query: bool,
        absent_final: bool,
        trust_not_submitted: bool,
        query: RawQuery,
        context_admission: RawAdmission,
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
    /// Which evidence of a context admission its harness gives.
    RawAdmission {
        evidence: String,
        snapshot_digest: String,
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
    /// The settings that are set.
    pub fn set(&self) -> Vec<String> {
        let written = serde_json::to_value(self).unwrap_or_default();
        written.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}
