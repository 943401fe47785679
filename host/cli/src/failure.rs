//! Why a command did not do what it was asked, and the exit code for it.

use crate::terminal::Printer;
use serde_json::json;
use std::fmt;
use threadmesh_runtime::{codes, driver, wit};

/// How a command ends. The greater of two is the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: accepted.
    Accepted = 0,
    /// 1: refused: the input or the request breaks a rule.
    Refused = 1,
    /// 2: unusable: bad usage, an unreadable file, no database, a broken store.
    Unusable = 2,
}

impl Exit {
    /// Where something was not done by the fault of a group of spec/errors.md.
    pub fn of(group: &str) -> Self {
        match group {
            "input" | "authority" | "state" | "budget" | "unsupported" | "outside" => Exit::Refused,
            _ => Exit::Unusable,
        }
    }
}

/// What went wrong, where, and what to do next.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Refused or unusable.
    pub exit: Exit,
    /// A code of spec/errors.md, or one of the program's own (spec/cli.md).
    pub code: String,
    /// A JSON Pointer into the input; empty for the whole of it.
    pub pointer: String,
    /// What is wrong, as a sentence.
    pub detail: String,
    /// What to do next, as a sentence; empty where the detail says it all.
    pub next: String,
}

/// What a command returns.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// The program cannot do its work.
    pub fn unusable(code: &str, detail: impl fmt::Display, next: impl Into<String>) -> Self {
        let (code, detail, next) = (code.to_owned(), detail.to_string(), next.into());
        Failure { exit: Exit::Unusable, code, pointer: String::new(), detail, next }
    }

    /// The request is refused.
    pub fn refused(code: &str, detail: impl fmt::Display, next: impl Into<String>) -> Self {
        Failure { exit: Exit::Refused, ..Failure::unusable(code, detail, next) }
    }

    /// The core refuses its input.
    pub fn core(error: &wit::Error) -> Self {
        let exit = Exit::of(driver::group_name(error.group));
        let failure = Failure::refused(&error.code, &error.detail, codes::next(&error.code, &error.detail));
        Failure { exit, pointer: error.pointer.clone(), ..failure }
    }

    /// The object that stands for it in JSON output.
    pub fn to_json(&self) -> serde_json::Value {
        json!({"error": self.members()})
    }

    /// The members of the error object alone.
    pub fn members(&self) -> serde_json::Value {
        json!({"code": self.code, "pointer": self.pointer, "detail": self.detail})
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let place = if self.pointer.is_empty() { String::new() } else { format!(" at {}", self.pointer) };
        format!("{}{place}: {}", self.code, self.detail)
    }

    /// Prints it: on standard error for people, on standard output as JSON.
    pub fn print(&self, printer: Printer) {
        if printer.json() {
            printer.show(&self.to_json(), Vec::new);
            return;
        }
        printer.warn(&format!("threadmesh: {}", self.line()));
        if !self.next.is_empty() {
            printer.warn(&format!("  next: {}", self.next));
        }
    }
}

impl From<threadmesh_runtime::CoreError> for Failure {
    fn from(error: threadmesh_runtime::CoreError) -> Self {
        Failure::unusable("core-failed", error, "run `threadmesh doctor`; a trap is a defect worth reporting")
    }
}
