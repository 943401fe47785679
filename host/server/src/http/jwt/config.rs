//! The configuration of access tokens: a TOML file of the operator's.

use crate::tokens::{Kind, Principal};
use jsonwebtoken::Algorithm;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// No configuration or key file is larger.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// More than five minutes is no difference between clocks.
const LEEWAY_SECONDS_MAX: u64 = 300;
/// A day: what lives longer is no access token.
const LIFETIME_SECONDS_MAX: u64 = 86_400;

/// Why access tokens cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum JwtError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence part.
        reason: String,
    },
}

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Config {
    /// Exactly the `iss` of every token.
    pub issuer: String,
    /// One of the `aud` of every token.
    pub audience: String,
    /// The algorithms that are allowed, all of them with public keys.
    pub algorithms: Vec<Algorithm>,
    /// The file of public keys; beside this file unless absolute.
    jwks: PathBuf,
    /// How far the clocks may differ.
    #[serde(default = "leeway")]
    pub leeway_seconds: u64,
    /// How long a token may live.
    #[serde(default = "lifetime")]
    pub max_lifetime_seconds: u64,
    /// The tenant of everybody who is let in.
    #[serde(default = "tenant")]
    tenant: String,
    /// Which claim names a user.
    user: Option<UserClaims>,
    /// Which claims name a task.
    task: Option<TaskClaims>,
}

/// The claims of a user.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserClaims {
    id: String,
}

/// The claims of a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskClaims {
    id: String,
    incarnation: String,
    /// The user who registered it.
    owner: String,
    worker: Option<String>,
}

const fn leeway() -> u64 {
    30
}

const fn lifetime() -> u64 {
    3_600
}

fn tenant() -> String {
    "default".to_owned()
}

impl Config {
    /// Reads and checks a file.
    pub fn load(path: &Path) -> Result<Self, JwtError> {
        let invalid = |reason: String| JwtError::Invalid { path: path.to_owned(), reason };
        let text = read(path)?;
        let config: Config = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        config.check().map_err(invalid)?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let secret =
            |algorithm: &Algorithm| matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512);
        if self.issuer.is_empty() || self.audience.is_empty() || self.tenant.is_empty() {
            return Err("issuer, audience and tenant are not empty".to_owned());
        }
        if self.algorithms.is_empty() || self.algorithms.iter().any(secret) {
            return Err("algorithms are one or more with public keys: RS…, PS…, ES… or EdDSA".to_owned());
        }
        if self.leeway_seconds > LEEWAY_SECONDS_MAX {
            return Err(format!("leeway-seconds is at most {LEEWAY_SECONDS_MAX}"));
        }
        if !(1..=LIFETIME_SECONDS_MAX).contains(&self.max_lifetime_seconds) {
            return Err(format!("max-lifetime-seconds is 1 to {LIFETIME_SECONDS_MAX}"));
        }
        if self.user.is_none() && self.task.is_none() {
            return Err("there is neither [user] nor [task]: nobody could be let in".to_owned());
        }
        Ok(())
    }

    /// Where the public keys are, for a configuration at `path`.
    pub fn key_file(&self, path: &Path) -> PathBuf {
        path.parent().unwrap_or(Path::new(".")).join(&self.jwks)
    }

    /// Who the claims stand for: a task where they name one, else a user. Nothing where they name a task by halves.
    pub fn principal(&self, claims: &Map<String, Value>) -> Option<Principal> {
        let text = |name: &String| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let tenant = self.tenant.clone();
        // Whatever names part of a task is meant for a task, and never gets the wider rights of its user.
        let parts = |task: &'_ TaskClaims| {
            let named = [Some(&task.id), Some(&task.incarnation), task.worker.as_ref()];
            named.into_iter().flatten().any(|name| claims.contains_key(name))
        };
        if let Some(task) = self.task.as_ref().filter(|task| parts(task)) {
            let worker = match &task.worker {
                Some(name) if claims.contains_key(name) => Some(text(name)?),
                _ => None,
            };
            let owner = text(&task.owner).filter(|owner| !owner.is_empty())?;
            return Some(Principal {
                tenant,
                kind: Kind::Task,
                id: text(&task.id)?,
                incarnation: Some(text(&task.incarnation)?),
                owner: Some(format!("user:{owner}")),
                worker,
            });
        }
        Some(self.user(text(&self.user.as_ref()?.id)?))
    }

    /// The user with this id.
    pub fn user(&self, id: String) -> Principal {
        let tenant = self.tenant.clone();
        Principal { tenant, kind: Kind::User, id, incarnation: None, owner: None, worker: None }
    }
}

/// Reads a file that others may read, but that only this account or the system's may write.
pub(super) fn read(path: &Path) -> Result<String, JwtError> {
    let io = |source: std::io::Error| JwtError::Io { path: path.to_owned(), source };
    let meta = fs::metadata(path).map_err(io)?;
    let owned = [rustix::process::geteuid().as_raw(), 0].contains(&meta.uid());
    let reason = if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        "is no regular file of a sensible size"
    } else if !owned || meta.mode() & 0o022 != 0 {
        "can be written by others: chmod go-w"
    } else {
        return fs::read_to_string(path).map_err(io);
    };
    Err(JwtError::Invalid { path: path.to_owned(), reason: reason.to_owned() })
}
