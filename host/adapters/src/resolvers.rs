//! The sources of evidence in the operator's file: which exist, where they are, and who may have made what they hold.
//!
//! `[resolver.NAME]` sections stand beside the profiles in the same private file. `spec/adapters.md` describes every
//! setting and how to write a resolver.

mod address;
mod build;
mod file;
mod http;

pub use address::Names;
pub use file::FileResolver;
pub use http::{HttpResolver, HttpSettings};

use crate::profiles::check_name;
use build::RawResolver;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;
use std::collections::BTreeMap;
use threadmesh_runtime::resolver::{Canonical, DeclaredResolver};

/// The most resolvers.
const RESOLVERS_MAX: usize = 64;

/// Why the resolvers of a file are not used. None of them is used then.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    /// It is not TOML, or has a setting that does not exist.
    #[error("the profile file is malformed: {0}")]
    Syntax(String),
    /// A setting is unusable.
    #[error("resolver {resolver:?}: {reason}")]
    Invalid {
        /// The resolver.
        resolver: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What resolvers need from the host: the component's own functions.
pub struct Judge<'a> {
    /// `sha256:…` of the canonical form of a JSON text.
    pub digest: &'a dyn Fn(&str) -> Result<String, String>,
    /// The canonical form of a JSON text.
    pub canonical: Canonical,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "profile")]
    _profile: IgnoredAny,
    #[serde(default)]
    resolver: BTreeMap<String, RawResolver>,
}

/// Reads the resolvers of a text, which [`crate::profiles::read`] got out of the operator's file; a host that keeps it
/// elsewhere must keep it as private. What else is in the text is left to [`crate::profiles::parse`].
pub fn parse(text: &str, judge: &Judge<'_>) -> Result<Vec<DeclaredResolver>, ResolverError> {
    let file: File = toml::from_str(text).map_err(|error| ResolverError::Syntax(error.to_string()))?;
    if file.resolver.len() > RESOLVERS_MAX {
        return Err(ResolverError::Syntax(format!("more than {RESOLVERS_MAX} resolvers")));
    }
    let mut resolvers = Vec::new();
    for (name, raw) in &file.resolver {
        let invalid = |reason: String| ResolverError::Invalid { resolver: name.clone(), reason };
        check_name(name).map_err(invalid)?;
        let digest = (judge.digest)(&digested(name, raw)).map_err(invalid)?;
        resolvers.push(build::resolver(name, raw, digest, &judge.canonical).map_err(invalid)?);
    }
    Ok(resolvers)
}

/// What a resolver's digest covers: the settings as they are written, as with profiles.
/// INVARIANT: equal digests mean equal declarations. Whoever changes a default or a derived value counts up the format.
fn digested(name: &str, raw: &RawResolver) -> String {
    json!({"format": "threadmesh-resolver/1", "name": name, "settings": raw}).to_string()
}

#[cfg(test)]
mod tests;
