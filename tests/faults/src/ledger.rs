//! The adapter's program: a target of its own that writes down every effect and never de-duplicates.
//!
//! `calls` gets a line for every submission that arrives, before anything else happens; `effects` one for every effect,
//! synced before the answer; `queries` one for every question. By its key a submission may die before or after the
//! effect, unless a file `calm` is there. While a file `gate` is there, submissions wait before their effect.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

/// A line of a ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The idempotency key.
    pub key: String,
    /// The attempt.
    pub submission: String,
    /// The message.
    pub message: String,
    /// The process that made the call.
    pub caller: u32,
}

/// Where a submission ends early, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is answered.
    Answered,
    /// It dies before the effect.
    Before,
    /// It dies between effect and answer.
    After,
}

/// The fate of a key.
pub fn fate(key: &str) -> Fate {
    let sum = key.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    match sum % 16 {
        0 => Fate::Before,
        1 | 2 => Fate::After,
        _ => Fate::Answered,
    }
}

/// All lines of `name` in `folder`. A line without an end was never finished.
pub fn read(folder: &Path, name: &str) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("a ledger line")).collect()
}

/// Is the program: one JSON object in, one out. `answer` is what a query says of an absent key.
pub fn main(folder: &Path, answer: &str) -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let input: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let word = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let entry = Entry {
        key: word("idempotencyKey"),
        submission: word("submissionId"),
        message: word("messageId"),
        caller: caller(),
    };
    let output = match word("operation").as_str() {
        "submit" => submit(folder, &entry)?,
        _ => query(folder, &entry, answer)?,
    };
    println!("{output}");
    Ok(())
}

fn submit(folder: &Path, entry: &Entry) -> Result<Value, String> {
    append(folder, "calls", entry)?;
    while folder.join("gate").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let fate = if folder.join("calm").exists() { Fate::Answered } else { fate(&entry.key) };
    if fate == Fate::Before {
        std::process::abort();
    }
    append(folder, "effects", entry)?;
    if fate == Fate::After {
        std::process::abort();
    }
    Ok(json!({"outcome": "submitted", "receipt": receipt(entry), "idempotencyKey": entry.key}))
}

fn query(folder: &Path, entry: &Entry, answer: &str) -> Result<Value, String> {
    append(folder, "queries", entry)?;
    let found = read(folder, "effects").into_iter().find(|effect| effect.key == entry.key);
    Ok(match found {
        Some(effect) => json!({"result": "found", "idempotencyKey": entry.key, "receipt": receipt(&effect)}),
        None => json!({"result": answer, "idempotencyKey": entry.key}),
    })
}

fn receipt(entry: &Entry) -> Value {
    json!({
        "adapterOperationId": format!("ledger-{}", entry.submission),
        "acceptedAt": "2026-01-01T00:00:00Z",
        "evidenceRefs": [format!("ledger:{}", entry.key)],
    })
}

fn append(folder: &Path, name: &str, entry: &Entry) -> Result<(), String> {
    let mut line = serde_json::to_string(entry).map_err(|error| error.to_string())?;
    line.push('\n');
    let written = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(folder.join(name))?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|error| error.to_string())
}

/// The process id of the host that made the call: the first part of the mark that carriers set.
fn caller() -> u32 {
    let mark = std::env::var("THREADMESH_CALL").unwrap_or_default();
    mark.split('-').next().and_then(|pid| pid.parse().ok()).unwrap_or_default()
}
