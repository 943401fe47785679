//! The operator's profile file: which targets exist, how they are reached, and what the operator vouches for.
//!
//! It is the only place where a program, a URL, a header or a variable of the environment can be named (settled point 5).
//! It must belong to the user that runs the host and be closed to everybody else. `spec/adapters.md` describes every
//! setting.

mod build;
mod kinds;
mod raw;

use crate::{carrier::CarrierCommand, private};
pub(crate) use build::{absolute, bounded};
use kinds::Kind;
use raw::{File, RawProfile};
use serde_json::json;
use std::path::Path;
use threadmesh_runtime::adapter::Profile;

pub use crate::private::PrivateError;

/// The longest profile file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most profiles.
const PROFILES_MAX: usize = 256;

/// Why a profile file is not used. Nothing of it is used then.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It cannot be read, or others could.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// It is not TOML, or has a setting that does not exist.
    #[error("the profile file is malformed: {0}")]
    Syntax(String),
    /// A setting is unusable.
    #[error("profile {profile:?}: {reason}")]
    Invalid {
        /// The profile.
        profile: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What the profiles need from the host.
pub struct Surroundings<'a> {
    /// `sha256:…` of the canonical form of a JSON text: the component's own.
    pub digest: &'a dyn Fn(&str) -> Result<String, String>,
    /// Starts carriers; profiles of kind `command` need it. It is probed once if there is one.
    pub carrier: Option<CarrierCommand>,
}

/// Reads the profiles of a file.
pub fn load(path: &Path, surroundings: &Surroundings<'_>) -> Result<Vec<Profile>, ProfileError> {
    parse(&read(path)?, surroundings)
}

/// The text of the operator's file, for [`parse`] and [`crate::resolvers::parse`].
pub fn read(path: &Path) -> Result<String, PrivateError> {
    private::read(path, FILE_BYTES_MAX)
}

/// Reads the profiles of a text. For tests and for hosts that keep them elsewhere; they must keep them as private.
pub fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<Vec<Profile>, ProfileError> {
    let file: File = toml::from_str(text).map_err(|error| ProfileError::Syntax(error.to_string()))?;
    if file.profile.len() > PROFILES_MAX {
        return Err(ProfileError::Syntax(format!("more than {PROFILES_MAX} profiles")));
    }
    let mut profiles = Vec::new();
    let mut probed = false;
    for (name, raw) in &file.profile {
        let invalid = |reason: String| ProfileError::Invalid { profile: name.clone(), reason };
        check_name(name).map_err(invalid)?;
        let digest = (surroundings.digest)(&digested(name, raw)).map_err(invalid)?;
        if Kind::of(raw).is_ok_and(|kind| kind.carrier) && !probed {
            probe(surroundings).map_err(invalid)?;
            probed = true;
        }
        profiles.push(build::profile(name, raw, digest, surroundings.carrier.as_ref()).map_err(invalid)?);
    }
    Ok(profiles)
}

/// What a profile's digest covers: the settings as they are written. Secrets are in other files, of which only the names
/// are settings; and a setting that a later version adds does not change the digest of a file that does not use it.
/// INVARIANT: equal digests mean equal declarations. Whoever changes a default or a derived value counts up the format.
fn digested(name: &str, raw: &RawProfile) -> String {
    json!({"format": "threadmesh-profile/1", "name": name, "settings": raw}).to_string()
}

/// Whether a section may have this name.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !starts || name.len() > 64 || !name.bytes().all(inner) {
        return Err(
            "a name is 1 to 64 characters of a-z, 0-9, '-', '_' and '.', and starts with a letter or digit".into()
        );
    }
    Ok(())
}

fn probe(surroundings: &Surroundings<'_>) -> Result<(), String> {
    let carrier = surroundings.carrier.as_ref().ok_or("this host cannot run programs: it has no carrier")?;
    carrier.probe().map_err(|reason| format!("the carrier does not work: {reason}"))
}

#[cfg(test)]
mod tests;
