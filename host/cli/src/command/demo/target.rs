//! The outside world of the demo: a program that has an effect which everybody can count, a line in a ledger.
//!
//! It is a `command` adapter's program (spec/adapters.md). It appends every call and never looks whether one was there
//! before, so that an effect that happened twice would be two lines.

use crate::failure::{Exit, Failure, Outcome};
use crate::time;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs it with this ledger: one JSON object in, one out.
pub fn run(ledger: &Path) -> Outcome {
    let failed = |error: io::Error| Failure::unusable("output-failed", error, "");
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
    let order: Value = serde_json::from_str(&text).unwrap_or_default();
    let answer = match order["operation"].as_str() {
        Some("submit") => submit(ledger, &order),
        _ => Ok(query(ledger, &order)),
    };
    let answer = answer.map_err(failed)?;
    io::stdout().lock().write_all(answer.to_string().as_bytes()).map_err(failed)?;
    Ok(Exit::Accepted)
}

/// Has the effect. Where the demo asks for it, it then never comes to its answer.
fn submit(ledger: &Path, order: &Value) -> io::Result<Value> {
    let line = json!({
        "idempotencyKey": order["idempotencyKey"],
        "submissionId": order["submissionId"],
        "messageId": order["messageId"],
        "at": time::format(time::now_ms()),
        "pid": std::process::id(),
    });
    let mut file = File::options().append(true).create(true).open(ledger)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    while hold(ledger).exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(json!({
        "outcome": "submitted",
        "idempotencyKey": order["idempotencyKey"],
        "receipt": receipt(&line, lines(ledger).len()),
    }))
}

/// Answers what became of a call, without any effect.
fn query(ledger: &Path, order: &Value) -> Value {
    let lines = lines(ledger);
    let key = &order["idempotencyKey"];
    match lines.iter().position(|line| line["idempotencyKey"] == *key) {
        Some(at) => json!({"result": "found", "idempotencyKey": key, "receipt": receipt(&lines[at], at + 1)}),
        None => json!({"result": "absent-now", "idempotencyKey": key}),
    }
}

fn receipt(line: &Value, number: usize) -> Value {
    let name = format!("ledger-line-{number}");
    json!({"adapterOperationId": name, "acceptedAt": line["at"], "evidenceRefs": [format!("ledger:{number}")]})
}

/// The lines of the ledger.
pub fn lines(ledger: &Path) -> Vec<Value> {
    let text = fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// While this file is there, the program does not come to its answer.
pub fn hold(ledger: &Path) -> PathBuf {
    crate::database::beside(ledger, ".hold")
}
