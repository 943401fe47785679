//! The local token file: which bearer token stands for which principal.
//!
//! The file holds digests only; a token itself is shown once, or written to a file of its own, when it is made. Whoever
//! can write this file is the operator (settled: authority, 8), so it must be a regular file of this account that nobody
//! else can read. Deliberately not here: what a principal may do. That is the core's.

mod book;
mod file;
mod secret;
#[cfg(test)]
mod tests;

pub use book::TokenBook;
pub use file::{default_path, load, read_secret, read_secret_from, update, write_secret};
pub(crate) use secret::digest;
pub use secret::{Secret, random_id};

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether the rules take the principal of an entry as a caller: see [`crate::hosted::check_principal`]. Error: that cannot
/// be said now.
pub type CheckPrincipal = std::sync::Arc<dyn Fn(&Entry) -> Result<bool, String> + Send + Sync>;

/// What is wrong with a token file, an entry of it, or a file that holds a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file belongs to another account, or is open to others.
    #[error("{path}: {reason}")]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence part.
        reason: String,
    },
    /// There is something that is no regular file: a folder, a device.
    #[error("{path}: is no regular file")]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// The text is not a token file, or an entry of it breaks a rule.
    #[error("{path}: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence part.
        reason: String,
    },
    /// No entry has this name.
    #[error("no token is named {0:?}")]
    Unknown(String),
    /// An entry of this name exists.
    #[error("a token named {0:?} exists already")]
    Exists(String),
}

/// What kind of party a principal is. `host` is missing on purpose: no credential can give it (settled: effects, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A person.
    User,
    /// A policy engine of the operator.
    Policy,
    /// One incarnation of a task.
    Task,
    /// Whoever runs this store.
    Operator,
}

impl Kind {
    /// The kind's word, as in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Policy => "policy",
            Kind::Task => "task",
            Kind::Operator => "operator",
        }
    }
}

/// Who a token stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Principal {
    /// The tenant; `default` locally.
    pub tenant: String,
    /// User, policy, task or operator.
    pub kind: Kind,
    /// The party's id; a task's task id.
    pub id: String,
    /// The incarnation of a task; absent for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<String>,
    /// The scope that registered the task, as `user:alice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Which worker of the task this is, where several share its mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// One line of the token file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// What a person calls it; also the name of the file that holds the token.
    pub name: String,
    /// `sha256:` and 64 hex digits: the digest of the token's text.
    pub token_digest: String,
    /// Who it stands for.
    pub principal: Principal,
    /// The id of this credential, `authn_…`: idempotency does not outlive it.
    pub authentication_id: String,
}

/// The content of a token file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenFile {
    /// The version of this format: 1.
    pub version: u32,
    /// The entries, in the order of their making.
    pub entries: Vec<Entry>,
}

impl Default for TokenFile {
    fn default() -> Self {
        TokenFile { version: 1, entries: Vec::new() }
    }
}

impl TokenFile {
    /// The entry whose digest is that of `token`. Every entry is compared, in full, so that the time tells nothing.
    pub fn resolve(&self, token: &str) -> Option<&Entry> {
        let digest = secret::digest(token);
        let mut found = None;
        for entry in &self.entries {
            if secret::equal(entry.token_digest.as_bytes(), digest.as_bytes()) {
                found = Some(entry);
            }
        }
        found
    }

    /// The entry called `name`.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Adds an entry for a new token and returns the token. [`TokenError::Exists`] for a name in use; `path`
    /// is only named in errors. Whether the rules take the principal as a caller is for the core to say.
    pub fn create(&mut self, path: &std::path::Path, name: &str, principal: Principal) -> Result<Secret, TokenError> {
        if self.named(name).is_some() {
            return Err(TokenError::Exists(name.to_owned()));
        }
        let token = Secret::generate();
        let authentication_id = format!("authn_{}", secret::random_id());
        let entry =
            Entry { name: name.to_owned(), token_digest: secret::digest(token.text()), principal, authentication_id };
        check_entry(&entry).map_err(|reason| TokenError::Invalid { path: path.to_owned(), reason })?;
        self.entries.push(entry);
        Ok(token)
    }

    /// Removes the entry called `name`: from then on its token is worth nothing.
    pub fn remove(&mut self, name: &str) -> Result<Entry, TokenError> {
        let position = self.entries.iter().position(|entry| entry.name == name);
        position.map(|at| self.entries.remove(at)).ok_or_else(|| TokenError::Unknown(name.to_owned()))
    }

    /// Checks the whole file: version, every entry, and that nothing is there twice.
    fn check(&self) -> Result<(), String> {
        if self.version != 1 {
            return Err(format!("version {} of the token file is not known to this program", self.version));
        }
        for (at, entry) in self.entries.iter().enumerate() {
            check_entry(entry)?;
            for other in self.entries.iter().take(at) {
                let twice = other.name == entry.name
                    || other.token_digest == entry.token_digest
                    || other.authentication_id == entry.authentication_id;
                if twice {
                    return Err(format!(
                        "entries {:?} and {:?} share a name, a token or an id",
                        other.name, entry.name
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether a token can be called so: 1 to 64 letters, digits, '.', '_', '-', the first a letter or a digit.
pub fn is_name(text: &str) -> bool {
    let name = text.as_bytes();
    name.first().is_some_and(u8::is_ascii_alphanumeric) && name.len() <= 64 && name.iter().all(plain)
}

fn plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(byte)
}

fn check_entry(entry: &Entry) -> Result<(), String> {
    if !is_name(&entry.name) {
        return Err(format!("{:?} is no name: 1 to 64 letters, digits, '.', '_', '-'", entry.name));
    }
    let hex = entry.token_digest.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(format!("{:?}: tokenDigest is not sha256: and 64 hex digits", entry.name));
    }
    let tail = entry.authentication_id.strip_prefix("authn_").unwrap_or_default();
    if !(5..=191).contains(&tail.len()) || !tail.bytes().all(|byte| plain(&byte) || byte == b':') {
        return Err(format!("{:?}: authenticationId is not authn_ and 5 to 191 letters or digits", entry.name));
    }
    Ok(())
}
