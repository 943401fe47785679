//! Names that people use for tasks and users: those of the token file. Nothing else keeps them.

use crate::command::token;
use crate::failure::Failure;
use crate::target::TaskName;
use std::io;
use std::path::Path;
use threadmesh_server::tokens::{self, Entry, Kind, TokenError};

/// The entries of a token file, as names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    entries: Vec<Entry>,
}

/// A task that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its ids.
    pub task: TaskName,
    /// Who owns it, as `user:alice`; none where the name does not tell.
    pub owner: Option<String>,
}

impl Names {
    /// Those of the token file at `path`; none where there is no file.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        match tokens::load(path) {
            Ok(file) => Ok(Names { entries: file.entries }),
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Names::default()),
            Err(error) => Err(token::failure(&error)),
        }
    }

    /// All entries, in the order of their making.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The entries of tasks, in the order of their making.
    pub fn tasks(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.principal.kind == Kind::Task)
    }

    /// The entry of this name, of whatever kind.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The task that `name` stands for: ids as TASK@INCARNATION, the name of a token, or a task id that only one has.
    pub fn task(&self, name: &str) -> Result<Named, Failure> {
        if let Ok(task) = TaskName::parse(name) {
            let owner = self.tasks().find(|entry| ids(entry).as_ref() == Some(&task));
            return Ok(Named { owner: owner.and_then(|entry| entry.principal.owner.clone()), task });
        }
        let by_name = self.named(name).filter(|entry| entry.principal.kind == Kind::Task);
        let mut found: Vec<Named> = match by_name {
            Some(entry) => named(entry).into_iter().collect(),
            None => self.tasks().filter(|entry| entry.principal.id == name).filter_map(named).collect(),
        };
        found.dedup();
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(one),
            (Some(_), false) => {
                let detail = format_args!("more than one task has the id {name:?}");
                Err(Failure::unusable("name-ambiguous", detail, "write it as TASK@INCARNATION: `threadmesh task list`"))
            }
            (None, _) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let other = self.named(name).map(|entry| format!("{name:?} is no task: it stands for {}", token::title(entry)));
        let detail = other.unwrap_or_else(|| format!("no task is called {name:?} here"));
        let all: Vec<&str> = self.tasks().map(|entry| entry.name.as_str()).collect();
        let known = if all.is_empty() { String::new() } else { format!("; there are {}", all.join(", ")) };
        Failure::unusable("name-unknown", detail, format!("make it with `threadmesh task add NAME`{known}"))
    }

    /// The only user. Unusable where there is none, or more than one.
    pub fn only_user(&self) -> Result<&Entry, Failure> {
        let users: Vec<&Entry> = self.entries.iter().filter(|entry| entry.principal.kind == Kind::User).collect();
        match users.as_slice() {
            [user] => Ok(user),
            [] => {
                let next = "make one with `threadmesh init`, or name another token";
                Err(Failure::unusable("token-missing", "there is no user here to act as", next))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|entry| entry.name.as_str()).collect();
                let next = format!("say as whom: --as NAME (for a link --by NAME), one of {}", names.join(", "));
                Err(Failure::unusable("token-missing", "there is more than one user here", next))
            }
        }
    }

    /// All names, for a sentence: `alice (user), build (task)`.
    pub fn known(&self) -> String {
        const SHOWN: usize = 12;
        let name = |entry: &Entry| format!("{} ({})", entry.name, entry.principal.kind.as_str());
        let mut all: Vec<String> = self.entries.iter().take(SHOWN).map(name).collect();
        if self.entries.len() > SHOWN {
            all.push(format!("{} more", self.entries.len() - SHOWN));
        }
        all.join(", ")
    }
}

fn ids(entry: &Entry) -> Option<TaskName> {
    TaskName::of(&entry.principal).ok()
}

fn named(entry: &Entry) -> Option<Named> {
    Some(Named { task: ids(entry)?, owner: entry.principal.owner.clone() })
}
