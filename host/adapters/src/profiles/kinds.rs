//! The kinds of adapters: what each is called in the file, which settings are its own, and what performs its calls.
//!
//! A new adapter is a module of its own and a row of [`KINDS`].

use super::build::{absolute, bounded};
use super::raw::RawProfile;
use crate::{
    carrier::{CarrierCommand, KILL_MS},
    command::{CommandAdapter, CommandSettings},
    http::{HttpAdapter, HttpSettings, Template},
};
use std::{fs, sync::Arc, time::Duration};
use threadmesh_runtime::adapter::Adapter;

const GRACE_MS: (u64, u64, u64) = (0, 1_000, 30_000);
/// What is left, beside grace and killing, for the carrier to start and to report.
const CARRIER_MS: u64 = 1_000;
const OUTPUT_BYTES: (u64, u64, u64) = (1, 65_536, 1_048_576);

/// A kind of adapter.
pub(super) struct Kind {
    /// What `kind` says in the file.
    pub word: &'static str,
    /// The settings that not every kind has.
    pub settings: &'static [&'static str],
    /// Whether its calls run under a carrier.
    pub carrier: bool,
    /// Whether its target can be asked what became of a call.
    pub can_query: fn(&RawProfile) -> bool,
    /// The least and the usual settle bound in milliseconds, or what is wrong with the settings that they follow from.
    pub settle: fn(&RawProfile) -> Result<(u64, u64), String>,
    /// What performs its calls, or what is wrong with its settings; nothing where the receiver's own task does.
    pub make: Option<Make>,
}

/// Makes an adapter of settings.
type Make = fn(&RawProfile, Option<&CarrierCommand>) -> Result<Arc<dyn Adapter>, String>;

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        word: "command",
        settings: &[
            "program",
            "args",
            "cwd",
            "pass_env",
            "env",
            "secret_env",
            "grace_ms",
            "output_bytes_max",
            "can_query",
            "trust_not_submitted",
        ],
        carrier: true,
        can_query: |raw| raw.can_query.unwrap_or(false),
        settle: |raw| {
            let least = bounded("grace_ms", raw.grace_ms, GRACE_MS)? + KILL_MS + CARRIER_MS;
            Ok((least, least + 1_000))
        },
        make: Some(command),
    },
    Kind {
        word: "http",
        settings: &[
            "submit_url",
            "query_url",
            "allow_plaintext",
            "idempotency_header",
            "headers",
            "secret_headers",
            "refusal_status",
            "absent_final_status",
            "response_bytes_max",
            "tls_ca_file",
            "trust_not_submitted",
        ],
        carrier: false,
        can_query: |raw| raw.query_url.is_some(),
        settle: |_| Ok((0, 30_000)),
        make: Some(http),
    },
    // The receiver's own task performs its calls.
    Kind { word: "caller", settings: &[], carrier: false, can_query: |_| false, settle: |_| Ok((0, 0)), make: None },
];

impl Kind {
    /// The kind that a profile names. An error says which kinds there are.
    pub(super) fn of(raw: &RawProfile) -> Result<&'static Self, String> {
        let words: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
        let word = raw.kind.as_deref().ok_or_else(|| format!("kind is missing: one of {}", words.join(", ")))?;
        let known = KINDS.iter().find(|kind| kind.word == word);
        known.ok_or_else(|| format!("there is no kind {word:?}, but {}", words.join(", ")))
    }
}

/// Whether a setting belongs to other kinds only.
pub(super) fn is_foreign(setting: &str, kind: &Kind) -> bool {
    !kind.settings.contains(&setting) && KINDS.iter().any(|other| other.settings.contains(&setting))
}

fn command(raw: &RawProfile, carrier: Option<&CarrierCommand>) -> Result<Arc<dyn Adapter>, String> {
    let program = raw.program.clone().ok_or("program is missing")?;
    for path in [Some(&program), raw.cwd.as_ref()].into_iter().flatten() {
        absolute(path)?;
    }
    let secret_env = raw.secret_env.clone().unwrap_or_default();
    secret_env.values().try_for_each(|path| absolute(path))?;
    let env = raw.env.clone().unwrap_or_default();
    let pass_env = raw.pass_env.clone().unwrap_or_default();
    for name in env.keys().chain(secret_env.keys()).chain(&pass_env) {
        if name.is_empty() || name.contains(['=', '\0']) || name.starts_with("THREADMESH_") {
            return Err(format!("{name:?} cannot be set in the environment"));
        }
    }
    if env.values().chain(raw.args.iter().flatten()).any(|text| text.contains('\0')) {
        return Err("arguments and values cannot hold a NUL".into());
    }
    let settings = CommandSettings {
        program,
        args: raw.args.clone().unwrap_or_default(),
        cwd: raw.cwd.clone(),
        pass_env,
        env,
        secret_env,
        grace: Duration::from_millis(bounded("grace_ms", raw.grace_ms, GRACE_MS)?),
        output_bytes_max: bounded("output_bytes_max", raw.output_bytes_max, OUTPUT_BYTES)? as usize,
        trust_not_submitted: raw.trust_not_submitted.unwrap_or(false),
    };
    let carrier = carrier.ok_or("this host cannot run programs")?.clone();
    Ok(Arc::new(CommandAdapter::new(settings, carrier)))
}

fn http(raw: &RawProfile, _: Option<&CarrierCommand>) -> Result<Arc<dyn Adapter>, String> {
    let plaintext = raw.allow_plaintext.unwrap_or(false);
    let template = |text: &String| Template::parse(text, plaintext).map_err(|error| error.to_string());
    let secret_headers = raw.secret_headers.clone().unwrap_or_default();
    secret_headers.values().try_for_each(|path| absolute(path))?;
    let tls_ca_pem = match &raw.tls_ca_file {
        Some(path) => {
            absolute(path)?;
            Some(fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?)
        }
        None => None,
    };
    let settings = HttpSettings {
        submit_url: template(raw.submit_url.as_ref().ok_or("submit_url is missing")?)?,
        query_url: raw.query_url.as_ref().map(template).transpose()?,
        idempotency_header: raw.idempotency_header.clone().unwrap_or_else(|| "Idempotency-Key".into()),
        headers: raw.headers.clone().unwrap_or_default(),
        secret_headers,
        refusal_status: raw.refusal_status.clone().unwrap_or_default(),
        absent_final_status: raw.absent_final_status.clone().unwrap_or_default(),
        response_bytes_max: bounded("response_bytes_max", raw.response_bytes_max, OUTPUT_BYTES)?,
        tls_ca_pem,
        trust_not_submitted: raw.trust_not_submitted.unwrap_or(false),
    };
    Ok(Arc::new(HttpAdapter::new(settings)?))
}
