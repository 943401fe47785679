//! What a command works on, and as whom: the options that the commands share.

use crate::client::Client;
use crate::command::token;
use crate::database;
use crate::failure::Failure;
use crate::local::Local;
use crate::mesh::Mesh;
use crate::open::{self, Opening};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use threadmesh_server::tokens::{self, Kind, Principal, Secret, TokenError};

/// Which token is shown.
#[derive(Clone, Debug, Args)]
pub struct TokenArguments {
    /// The token's name, as given to `threadmesh token create`; its file lies in FILE.tokens/NAME
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// A file that holds the token
    #[arg(long, value_name = "FILE", env = "THREADMESH_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

impl TokenArguments {
    /// The token. `db` is where `--as` looks; unusable where there is none or its file is.
    pub fn secret(&self, db: Option<&Path>) -> Result<Secret, Failure> {
        if let Some(name) = self.name.as_deref().filter(|name| !tokens::is_name(name)) {
            let detail = format_args!("{name:?} is no name of a token");
            return Err(Failure::unusable("usage", detail, "give its file with --token-file FILE instead"));
        }
        let path = match (&self.name, db, &self.token_file) {
            (Some(name), Some(db), _) => token::place(db, name),
            (_, _, Some(file)) => file.clone(),
            (Some(_), None, None) => return Err(missing("--as needs a database beside which the tokens lie")),
            (None, _, None) => return Err(missing("there is no token to say who is calling")),
        };
        tokens::read_secret(&path).map_err(|error| Failure {
            code: "token-unusable".to_owned(),
            next: match &error {
                TokenError::NoFile { .. } => token::failure(&error).next,
                _ => "make one with `threadmesh token create`, or name its file with --token-file".to_owned(),
            },
            ..token::failure(&error)
        })
    }
}

fn missing(detail: &str) -> Failure {
    Failure::unusable("token-missing", detail, "use --as NAME or --token-file FILE")
}

/// On what operations run, and as whom.
#[derive(Clone, Debug, Args)]
pub struct MeshArguments {
    /// The database; operations run in this process
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    pub db: Option<PathBuf>,
    /// The socket of a running server; operations run there
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The token file, if it is not FILE.tokens.json
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Make the database if it does not exist
    #[arg(long)]
    pub create: bool,
    /// The operator's adapter profiles, for operations that make a call in this process
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,
    #[command(flatten)]
    pub token: TokenArguments,
}

impl MeshArguments {
    /// Opens it. Unusable without a database or server, and without a token: only `doctor` and `component` need none.
    pub fn open(&self) -> Result<Box<dyn Mesh>, Failure> {
        if let Some(socket) = &self.socket {
            let secret = self.token.secret(database::of_socket(socket).as_deref().or(self.db.as_deref()))?;
            return Ok(Box::new(Client::connect(socket, &secret)?));
        }
        let db = self.db.as_deref().ok_or_else(|| {
            let next = "use --db FILE, or --socket PATH for a running server";
            Failure::unusable("database-missing", "there is no database to work on", next)
        })?;
        open::existing(db, self.create)?;
        let secret = self.token.secret(Some(db))?;
        let tokens = self.tokens.clone().unwrap_or_else(|| tokens::default_path(db));
        let profiles = self.profiles.as_deref();
        let opening = Opening { create: self.create, profiles, ..Opening::existing(db) };
        Ok(Box::new(Local::open(&opening, &tokens, &secret)?))
    }
}

/// A message as a command names it.
#[derive(Clone, Debug, Args)]
pub struct SenderArguments {
    /// The incarnation that sent the message
    #[arg(long, value_name = "ID")]
    pub sender: Option<String>,
    /// The owner of that incarnation, as user:alice: needed where owners use the same ids
    #[arg(long, value_name = "KIND:ID", value_parser = owner)]
    pub owner: Option<String>,
}

impl SenderArguments {
    /// The params that name `message`: sent by the named incarnation, else by the caller's own.
    pub fn name(&self, message: &str, principal: &Principal) -> Result<Value, Failure> {
        let sender = self.sender.as_ref().or(principal.incarnation.as_ref()).ok_or_else(|| {
            Failure::unusable("usage", "whose message is it?", "name the sender's incarnation: --sender ID")
        })?;
        let mut name = json!({"senderIncarnationId": sender, "messageId": message});
        if let Some(owner) = &self.owner {
            name["owner"] = json!(owner);
        }
        Ok(name)
    }
}

/// For clap: who owns a task.
pub fn owner(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some(("user" | "policy", id)) if !id.is_empty() => Ok(text.to_owned()),
        _ => Err("an owner is written user:ID or policy:ID, as user:alice".to_owned()),
    }
}

/// A task incarnation as people write it: `TASK@INCARNATION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The task id.
    pub task: String,
    /// The incarnation id.
    pub incarnation: String,
}

impl TaskName {
    /// For clap: an incarnation id has no `@`, a task id may.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.rsplit_once('@') {
            Some((task, incarnation)) if !task.is_empty() && !incarnation.is_empty() => {
                Ok(TaskName { task: task.to_owned(), incarnation: incarnation.to_owned() })
            }
            _ => Err("a task is written TASK@INCARNATION, as build-1@inc_build_0001".to_owned()),
        }
    }

    /// As a TaskRef.
    pub fn to_json(&self) -> Value {
        json!({"taskId": self.task, "incarnationId": self.incarnation})
    }

    /// The task that a token stands for; unusable for one that stands for something else.
    pub fn of(principal: &Principal) -> Result<Self, Failure> {
        match (principal.kind, &principal.incarnation) {
            (Kind::Task, Some(incarnation)) => {
                Ok(TaskName { task: principal.id.clone(), incarnation: incarnation.clone() })
            }
            _ => Err(Failure::unusable(
                "token-unusable",
                "this is for tasks, and the token is none of a task",
                "use the token of a task",
            )),
        }
    }
}

impl std::fmt::Display for TaskName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}", self.task, self.incarnation)
    }
}
