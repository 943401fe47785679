//! Refusals that are the host's fault, for its log: each cause once a minute, with what to do about it.

use crate::log::Log;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use threadmesh_runtime::host::{ClockError, FaultSink, HostError};
use threadmesh_runtime::store::StoreError;

/// How long a cause that was told is not told again.
const PAUSE: Duration = Duration::from_secs(60);

/// What was told lately, by cause: when, and how often it happened since.
#[derive(Default)]
struct Told(HashMap<&'static str, (Instant, u64)>);

/// Writes the causes of such refusals to `log`.
pub fn told_to(log: &Log) -> FaultSink {
    let (log, told) = (log.clone(), Mutex::new(Told::default()));
    Arc::new(move |error| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = told.count(cause(error).0, Instant::now()) {
            log.line(&line(error, since));
        }
    })
}

impl Told {
    /// Counts a refusal; how many were not told since the last one of its cause that was, if this one is to be told.
    fn count(&mut self, cause: &'static str, now: Instant) -> Option<u64> {
        match self.0.get_mut(cause) {
            Some((last, since)) if now.duration_since(*last) < PAUSE => {
                *since += 1;
                None
            }
            known => {
                let since = known.map_or(0, |(_, since)| *since);
                self.0.insert(cause, (now, 0));
                Some(since)
            }
        }
    }
}

fn line(error: &HostError, since: u64) -> Value {
    let (cause, next) = cause(error);
    let (code, detail) = (error.code(), error.to_string());
    json!({"event": "refused", "cause": cause, "code": code, "detail": detail, "next": next, "untold": since})
}

/// A word for the cause, and what to do.
fn cause(error: &HostError) -> (&'static str, &'static str) {
    match error {
        HostError::Store(error) | HostError::Clock(ClockError::Store(error)) => of_store(error),
        HostError::Clock(ClockError::Behind { .. }) => {
            ("clock-behind", "set the clock; if the commit's time was wrong, `threadmesh clock accept`")
        }
        HostError::Clock(ClockError::Jumped { .. }) => {
            ("clock-stopped", "set the clock right, and start this process again")
        }
        HostError::Core(_) | HostError::Misuse(_) | HostError::Rounds { .. } | HostError::Effect { .. } => {
            ("core", "report it, with what lies in FILE.replay")
        }
        HostError::Conflict { .. } => {
            ("conflict", "nothing, unless it goes on: then the machine is too slow for its writers")
        }
        HostError::Entropy { .. } => ("entropy", "see why the system gives no randomness"),
        HostError::Cancelled => ("cancelled", ""),
    }
}

fn of_store(error: &StoreError) -> (&'static str, &'static str) {
    match error {
        StoreError::Full { .. } => ("disk-full", "make room on the disk; nothing that was refused was committed"),
        StoreError::Io { .. } => ("disk-error", "see what the system says of the disk and of the file's permissions"),
        StoreError::Damaged { .. } => {
            ("damaged", "end this process, keep the file as it is, and restore a copy beside it")
        }
        StoreError::ReadOnly { .. } => ("read-only", "let this account write the file and its folder"),
        StoreError::Busy { .. } => ("busy", "see which other process holds the database"),
        StoreError::Broken { .. } => {
            ("outcome-unknown", "start this process again, and ask `threadmesh doctor --db FILE`")
        }
        StoreError::Stopped { .. } => {
            ("stopped", "end all processes that use the database, and ask `threadmesh doctor --db FILE`")
        }
        StoreError::Misuse { .. } => ("core", "report it, with what lies in FILE.replay"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_a_minute_and_counted_meanwhile() {
        let (mut told, start) = (Told::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(told.count("disk-full", after(0)), Some(0));
        assert_eq!(told.count("clock-stopped", after(1)), Some(0), "another cause");
        for second in 1..60 {
            assert_eq!(told.count("disk-full", after(second)), None);
        }
        assert_eq!(told.count("disk-full", after(60)), Some(59));
        assert_eq!(told.count("disk-full", after(119)), None);
        assert_eq!(told.count("disk-full", after(120)), Some(1));
    }

    #[test]
    fn a_line_has_its_cause_and_what_to_do() {
        let full = HostError::Store(StoreError::Full { detail: "no room".into() });
        let line = line(&full, 3);
        assert_eq!(
            (&line["event"], &line["cause"], &line["untold"]),
            (&json!("refused"), &json!("disk-full"), &json!(3))
        );
        assert_eq!(line["code"], "store-unavailable");
        assert!(line["next"].as_str().is_some_and(|next| next.starts_with("make room")));
    }
}
