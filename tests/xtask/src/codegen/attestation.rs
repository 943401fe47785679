//! Conformance vectors of attestation verification, signed here.
//!
//! The keys are made from fixed seeds, so every run writes the same bytes. They are for tests only: whoever reads this
//! folder can sign with them, and no anchor outside the vectors may name them.

mod anchors;
mod dispositions;
pub(super) mod documents;
mod keys;
mod signatures;
mod subjects;
mod trust;

pub(super) use keys::base64url;

use super::Output;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

/// 2026-03-01T12:00:00Z, at which the attestations of the vectors say that they were verified.
const VERIFIED_AT: i64 = 1_772_366_400_000;
/// A minute later: the time at which the vectors are judged.
const NOW: i64 = VERIFIED_AT + 60_000;

/// What an attestation says, for scenarios to vary.
pub(super) fn payload() -> Value {
    documents::payload()
}

/// `payload` signed by the key that [`trusted`] has.
pub(super) fn signed(payload: Value) -> Value {
    documents::sealed(payload, &documents::verifier(), documents::KEY_ID)
}

/// The trust anchors of the vectors.
pub(super) fn trusted() -> Value {
    documents::anchors()
}

/// The digest of a document's RFC 8785 form.
pub(super) fn digest(document: &Value) -> String {
    documents::digest(documents::canonical(document))
}

#[derive(Serialize)]
struct Vector {
    name: String,
    rules: Vec<String>,
    function: &'static str,
    args: Value,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Ok(Value),
    Error(Fault),
}

#[derive(Serialize)]
struct Fault {
    code: &'static str,
    pointer: String,
}

impl Expected {
    fn error(code: &'static str, pointer: impl Into<String>) -> Self {
        Self::Error(Fault { code, pointer: pointer.into() })
    }
}

/// The ids of rules.
fn rules(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("AT-{number}")).collect()
}

pub(super) fn generate() -> Result<Vec<Output>> {
    Ok(vec![
        file("anchors", &anchors::vectors())?,
        file("trust", &trust::vectors())?,
        file("signatures", &signatures::vectors())?,
        file("subjects", &subjects::vectors())?,
        file("dispositions", &dispositions::vectors())?,
    ])
}

/// One vector a line, so that a change shows as the lines that it changes.
fn file(name: &str, vectors: &[Vector]) -> Result<Output> {
    let lines: Vec<String> = vectors.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let text = format!(
        "{{\n\"group\": \"attestation\",\n\"generated\": \"by cargo xtask codegen; the keys are for tests only\",\n\"vectors\": [\n{}\n]\n}}\n",
        lines.join(",\n")
    );
    Ok((format!("spec/conformance/attestation/{name}.json"), text))
}
