//! The vectors: those in the program, or those of a folder.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// Every vector file of `spec/conformance` at the time of the build: its name below that folder, and its text.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// One vector.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Unique in its file.
    pub name: String,
    /// The rules it is about.
    #[allow(dead_code, reason = "part of the format, which is checked")]
    pub rules: Vec<String>,
    /// What is called.
    pub function: String,
    /// With what.
    pub args: Map<String, Value>,
    /// The answer of an accepted call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<Value>,
    /// The code, and perhaps the pointer and the rule, of a refused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// What the answer of an accepted call has at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Value>,
}

/// One file of vectors.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name below the folder, as `lifecycle/steps.json`.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its vectors.
    pub vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    group: String,
    #[serde(default)]
    #[allow(dead_code, reason = "part of the format, which is checked")]
    generated: Option<Value>,
    vectors: Vec<Vector>,
}

/// The vectors that this program was built with.
pub fn embedded() -> Result<Vec<File>, Failure> {
    EMBEDDED.iter().map(|(name, text)| parse(name, text)).collect()
}

/// The vectors under `root`: one folder for each group.
pub fn under(root: &Path) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for group in entries(root)?.into_iter().filter(|path| path.is_dir()) {
        for path in entries(&group)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
            files.push(parse(&name, &text)?);
        }
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = read().map_err(|error| unreadable(folder, &error))?;
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let next = "name a folder laid out like spec/conformance";
    Failure::unusable("file-unreadable", format_args!("{}: {error}", path.display()), next)
}

fn parse(name: &str, text: &str) -> Result<File, Failure> {
    let bad = |what: String| {
        Failure::unusable("vectors-invalid", format_args!("{name}: {what}"), "see spec/conformance/README.md")
    };
    let raw: Raw = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    if let Some(odd) = raw.vectors.iter().find(|vector| vector.ok.is_some() == vector.error.is_some()) {
        return Err(bad(format!("{:?} has not exactly one of ok and error", odd.name)));
    }
    Ok(File { name: name.to_owned(), group: raw.group, vectors: raw.vectors })
}
