//! What the doctor finds.

use serde_json::{Value, json};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// It works, but must be put right.
    Bad,
    /// It cannot be used.
    Broken,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at.
    pub about: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub detail: String,
    /// What to do; empty where there is nothing.
    pub next: String,
}

impl Finding {
    /// For machines.
    pub fn to_json(&self) -> Value {
        json!({"about": self.about, "level": self.level.word(), "detail": self.detail, "next": self.next})
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{:6}  {:12}  {}", self.level.word(), self.about, self.detail)];
        if !self.next.is_empty() {
            lines.push(format!("{:22}next: {}", "", self.next));
        }
        lines
    }
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Level::Fine => "ok",
            Level::Note => "note",
            Level::Bad => "bad",
            Level::Broken => "broken",
        }
    }
}

/// As it should be.
pub fn fine(about: &'static str, detail: String) -> Finding {
    Finding { about, level: Level::Fine, detail, next: String::new() }
}

/// Worth knowing.
pub fn note(about: &'static str, detail: String, next: &str) -> Finding {
    Finding { about, level: Level::Note, detail, next: next.to_owned() }
}

/// It works, but must be put right.
pub fn bad(about: &'static str, detail: String, next: &str) -> Finding {
    Finding { about, level: Level::Bad, detail, next: next.to_owned() }
}

/// It cannot be used.
pub fn broken(about: &'static str, detail: String, next: &str) -> Finding {
    Finding { about, level: Level::Broken, detail, next: next.to_owned() }
}
