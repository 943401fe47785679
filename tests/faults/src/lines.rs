//! What workers tell: one JSON object per line, written in one piece, and an acknowledgement never before the answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;

/// An operation that is about to be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Try {
    /// Counts up in one worker.
    pub number: u64,
    /// The task that calls; nothing for the user.
    pub task: Option<String>,
    /// Its name.
    pub operation: String,
    /// Its params.
    pub params: Value,
}

/// An attempt whose outcome was unknown when a worker opened the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unresolved {
    /// The attempt.
    pub submission_id: String,
    /// The key that the target knows.
    pub adapter_idempotency_key: String,
    /// Who began it.
    pub instance: String,
}

/// A line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// The program and its core are loaded; nothing is opened yet.
    Loaded,
    /// The store is open. What was unresolved then, before a dispatcher started.
    Open {
        /// The attempts.
        unresolved: Vec<Unresolved>,
    },
    /// The load begins.
    Ready,
    /// An operation is about to be called.
    Try(Try),
    /// It was answered.
    Ack {
        /// The [`Try::number`].
        number: u64,
        /// Whether it was a replay.
        replayed: bool,
        /// The value of the answer.
        value: Value,
    },
    /// It was refused, or could not be run.
    Fault {
        /// The [`Try::number`].
        number: u64,
        /// The code.
        code: String,
        /// A sentence.
        detail: String,
    },
    /// The dispatcher's record was answered.
    Recorded {
        /// The attempt.
        submission: String,
        /// `receipt`, or the result of a query.
        what: String,
    },
    /// A note of the dispatcher.
    Note {
        /// What it is about.
        event: String,
        /// The attempt.
        submission: String,
        /// Word and sentence.
        detail: String,
    },
    /// A message was sent, claimed and decided on, by a writer; each step was answered.
    Life {
        /// The sender.
        task: String,
        /// The message.
        message: String,
        /// How long each operation took, in microseconds.
        waits: Vec<u64>,
    },
    /// A rival did something.
    Happened(crate::rival::Event),
    /// A rival has ended a round.
    Round {
        /// Which one.
        number: u64,
    },
    /// The worker ends on its own account.
    Done {
        /// How many calls its dispatcher made.
        calls: u64,
        /// How many queries.
        queries: u64,
        /// How many attempts are still unresolved.
        unresolved: usize,
    },
}

/// Writes a line. Whoever cannot be heard ends.
pub fn say(line: &Line) {
    let mut text = serde_json::to_string(line).expect("a line is JSON");
    text.push('\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(3);
    }
}
