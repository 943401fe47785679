//! From settings to a resolver: defaults, bounds, and what does not go together.

use super::{
    file::{self, FileResolver},
    http::{HttpResolver, HttpSettings},
};
use crate::profiles::{absolute, bounded};
use serde::{Deserialize, Serialize};
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use threadmesh_runtime::resolver::{Canonical, DeclaredResolver, Resolver};

const DEADLINE_MS: (u64, u64, u64) = (1, 5_000, 10_000);
const BYTES_MAX: (u64, u64, u64) = (1, 1_048_576, 1_048_576);
/// The most producers of one source.
const PRODUCERS_MAX: usize = 16;
/// The longest name of a producer, in characters.
const PRODUCER_CHARS_MAX: usize = 200;
/// Anybody.
const ANYBODY: &str = "*";

macro_rules! settings {
    ($($field:ident: $type:ty,)*) => {
        /// One resolver as it is written.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct RawResolver {
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }
    };
}

settings! {
    kind: String,
    producers: Producers,
    deadline_ms: u64,
    bytes_max: u64,
    root: PathBuf,
    origin: String,
    allow_plaintext: bool,
    allow_private: bool,
    tls_ca_file: PathBuf,
}

/// Who may have made what is found: a list, or `"*"`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Producers {
    Word(String),
    List(Vec<String>),
}

/// Makes what looks, or says in a sentence what is wrong with its settings.
type Make = fn(&RawResolver, &Canonical) -> Result<Arc<dyn Resolver>, String>;

/// A kind of source.
struct Kind {
    /// What `kind` says in the file.
    word: &'static str,
    /// The settings that not every kind has.
    settings: &'static [&'static str],
    make: Make,
}

/// All of them. A new resolver is a module of its own and a row here.
const KINDS: &[Kind] = &[
    Kind { word: "file", settings: &["root"], make: file },
    Kind { word: "http", settings: &["origin", "allow_plaintext", "allow_private", "tls_ca_file"], make: http },
];

/// Builds a resolver, or says in a sentence what is wrong with it.
pub(super) fn resolver(
    name: &str,
    raw: &RawResolver,
    digest: String,
    canonical: &Canonical,
) -> Result<DeclaredResolver, String> {
    let words = || KINDS.iter().map(|kind| kind.word).collect::<Vec<_>>().join(", ");
    let word = raw.kind.as_deref().ok_or_else(|| format!("kind is missing: one of {}", words()))?;
    let kind = KINDS.iter().find(|kind| kind.word == word);
    let kind = kind.ok_or_else(|| format!("there is no kind {word:?}, but {}", words()))?;
    if let Some(setting) = set(raw).into_iter().find(|setting| is_foreign(setting, kind)) {
        return Err(format!("{setting} does not go with this kind"));
    }
    Ok(DeclaredResolver {
        name: name.to_owned(),
        digest,
        kind: kind.word,
        producers: producers(raw.producers.as_ref())?,
        deadline: Duration::from_millis(bounded("deadline_ms", raw.deadline_ms, DEADLINE_MS)?),
        bytes_max: bounded("bytes_max", raw.bytes_max, BYTES_MAX)?,
        resolver: (kind.make)(raw, canonical)?,
    })
}

/// The settings that are set.
fn set(raw: &RawResolver) -> Vec<String> {
    let written = serde_json::to_value(raw).unwrap_or_default();
    written.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn is_foreign(setting: &str, kind: &Kind) -> bool {
    !kind.settings.contains(&setting) && KINDS.iter().any(|other| other.settings.contains(&setting))
}

/// Without a word about them anybody may have made what is found, so that it is nobody's independent word.
fn producers(raw: Option<&Producers>) -> Result<Vec<String>, String> {
    let list = match raw {
        None => vec![ANYBODY.to_owned()],
        Some(Producers::Word(word)) if word == ANYBODY => vec![word.clone()],
        Some(Producers::Word(_)) => return Err("producers is a list of principals, or \"*\"".into()),
        Some(Producers::List(list)) => list.clone(),
    };
    let fits = |name: &String| {
        let chars = name.chars().count();
        chars > 0 && chars <= PRODUCER_CHARS_MAX && name.trim() == name && !name.chars().any(char::is_control)
    };
    if list.is_empty() || list.len() > PRODUCERS_MAX || !list.iter().all(fits) {
        return Err(format!(
            "producers must be 1 to {PRODUCERS_MAX} principals of 1 to {PRODUCER_CHARS_MAX} characters"
        ));
    }
    if list.len() > 1 && list.iter().any(|name| name == ANYBODY) {
        return Err("producers: \"*\" stands alone".into());
    }
    if list.iter().enumerate().any(|(at, name)| list[..at].contains(name)) {
        return Err("producers: a principal is there twice".into());
    }
    Ok(list)
}

fn file(raw: &RawResolver, canonical: &Canonical) -> Result<Arc<dyn Resolver>, String> {
    let root = raw.root.clone().ok_or("root is missing")?;
    file::check_root(&root)?;
    Ok(Arc::new(FileResolver::new(root, canonical.clone())?))
}

fn http(raw: &RawResolver, canonical: &Canonical) -> Result<Arc<dyn Resolver>, String> {
    let tls_ca_pem = match &raw.tls_ca_file {
        Some(path) => {
            absolute(path)?;
            Some(fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?)
        }
        None => None,
    };
    let settings = HttpSettings {
        origin: raw.origin.clone().ok_or("origin is missing")?,
        allow_plaintext: raw.allow_plaintext.unwrap_or(false),
        allow_private: raw.allow_private.unwrap_or(false),
        tls_ca_pem,
    };
    Ok(Arc::new(HttpResolver::new(&settings, canonical.clone())?))
}
