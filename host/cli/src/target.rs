//! What a command works on, and as whom: the options that the commands share.

use crate::client::Client;
use crate::command::token;
use crate::database;
use crate::failure::Failure;
use crate::local::Local;
use crate::mesh::{Mesh, Shown};
use crate::names::Names;
use crate::open::{self, Opening};
use crate::terminal::Printer;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use threadmesh_server::tokens::{self, Kind, Principal, Secret, TokenError};

/// Which token is shown.
#[derive(Clone, Debug, Default, Args)]
pub struct TokenArguments {
    /// As whom: the name of a task, a user or another token; its file lies in FILE.tokens/NAME
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
            (Some(_), None, None) => return Err(missing("--as needs a database beside which the tokens lie", db)),
            (None, _, None) => return Err(missing("there is no token to say who is calling", db)),
        };
        tokens::read_secret(&path).map_err(|error| Failure {
            code: "token-unusable".to_owned(),
            next: match &error {
                TokenError::NoFile { .. } => token::failure(&error).next,
                _ => "make one with `threadmesh task add` or `threadmesh token create`, or name its file with --token-file"
                    .to_owned(),
            },
            ..token::failure(&error)
        })
    }

    /// As [`TokenArguments::secret`]; where nothing was said, that of the only user of the database.
    pub fn secret_of_user(&self, db: Option<&Path>, names: &Names) -> Result<Secret, Failure> {
        match (&self.name, &self.token_file, db) {
            (None, None, Some(db)) => {
                let name = Some(names.only_user()?.name.clone());
                TokenArguments { name, token_file: None }.secret(Some(db))
            }
            _ => self.secret(db),
        }
    }
}

fn missing(detail: &str, db: Option<&Path>) -> Failure {
    // A token file that cannot be read is not what was asked about.
    let names = db.and_then(|db| Names::load(&tokens::default_path(db)).ok()).unwrap_or_default();
    let known = names.known();
    let known = if known.is_empty() { known } else { format!("; there are {known}") };
    Failure::unusable("token-missing", detail, format!("use --as NAME or --token-file FILE{known}"))
}

/// On what operations run: a database, or the server of one.
#[derive(Clone, Debug, Args)]
pub struct PlaceArguments {
    /// The database; operations run in this process. Unless given that of this account: ~/.local/share/threadmesh/mesh.db
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    pub db: Option<PathBuf>,
    /// The socket of a running server; operations run there
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The token file, if it is not FILE.tokens.json
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
}

impl PlaceArguments {
    /// The database beside which the tokens lie. None for a socket at an unusual place, if no database was named either.
    pub fn database(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.socket {
            Some(socket) => Ok(database::of_socket(socket).or_else(|| self.db.clone())),
            None => database::chosen(self.db.as_deref()).map(Some),
        }
    }

    /// The token file, where it can be known.
    pub fn token_file(&self) -> Result<Option<PathBuf>, Failure> {
        let beside = |db: PathBuf| tokens::default_path(&db);
        Ok(self.tokens.clone().or(self.database()?.map(beside)))
    }

    /// The names of the token file; none where it cannot be known, or is not there.
    pub fn names(&self) -> Result<Names, Failure> {
        self.token_file()?.map_or_else(|| Ok(Names::default()), |path| Names::load(&path))
    }

    /// Opens it with the token that `secret` finds, given the database. Unusable without a database or server, and without
    /// a token: only `doctor` and `component` need none.
    pub fn open(
        &self,
        printer: Printer,
        opening: &Opening<'_>,
        secret: impl FnOnce(Option<&Path>) -> Result<Secret, Failure>,
    ) -> Result<Box<dyn Mesh>, Failure> {
        if let Some(socket) = &self.socket {
            let secret = secret(self.database()?.as_deref())?;
            return Ok(Box::new(Shown::new(Box::new(Client::connect(socket, &secret)?), printer)));
        }
        let db = database::chosen(self.db.as_deref())?;
        open::existing(&db, opening.create)?;
        let secret = secret(Some(&db))?;
        let tokens = self.tokens.clone().unwrap_or_else(|| tokens::default_path(&db));
        let local = Local::open(&Opening { db: &db, ..opening.clone() }, &tokens, &secret)?;
        Ok(Box::new(Shown::new(Box::new(local), printer)))
    }

    /// Opens it as a user or policy: as `token` says, else as the only user that there is.
    pub fn open_as_user(&self, printer: Printer, token: &TokenArguments) -> Result<Box<dyn Mesh>, Failure> {
        let names = self.names()?;
        self.open(printer, &Opening::existing(Path::new("")), |db| token.secret_of_user(db, &names))
    }
}

/// On what operations run, and as whom.
#[derive(Clone, Debug, Args)]
pub struct MeshArguments {
    #[command(flatten)]
    pub place: PlaceArguments,
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
    /// Opens it. Unusable without a database or server, and without a token.
    pub fn open(&self, printer: Printer) -> Result<Box<dyn Mesh>, Failure> {
        let opening =
            Opening { create: self.create, profiles: self.profiles.as_deref(), ..Opening::existing(Path::new("")) };
        self.place.open(printer, &opening, |db| self.token.secret(db))
    }
}

/// A message as a command names it.
#[derive(Clone, Debug, Args)]
pub struct SenderArguments {
    /// Who sent the message: the name of a task, or the id of an incarnation
    #[arg(long, value_name = "TASK")]
    pub sender: Option<String>,
    /// The owner of that incarnation, as user:alice: needed where owners use the same ids
    #[arg(long, value_name = "KIND:ID", value_parser = owner)]
    pub owner: Option<String>,
}

impl SenderArguments {
    /// The params that name `message`: sent by the named task, else by the caller itself.
    pub fn name(&self, message: &str, names: &Names, principal: &Principal) -> Result<Value, Failure> {
        let (sender, owner) = match (&self.sender, &principal.incarnation) {
            (Some(id), _) if id.starts_with("inc_") => (id.clone(), None),
            (Some(name), _) => names.task(name).map(|named| (named.task.incarnation, named.owner))?,
            (None, Some(own)) => (own.clone(), None),
            (None, None) => {
                let next = "name the task that sent it: --sender TASK";
                return Err(Failure::unusable("usage", "whose message is it?", next));
            }
        };
        let mut name = json!({"senderIncarnationId": sender, "messageId": message});
        if let Some(owner) = self.owner.as_ref().or(owner.as_ref()) {
            name["owner"] = json!(owner);
        }
        Ok(name)
    }
}

/// Who sent a message that the calling task was sent, by the events of the task: params that name the message. None where
/// there is no event of such a message.
pub fn received(mesh: &mut dyn Mesh, message: &str) -> Result<Option<Value>, Failure> {
    let own = TaskName::of(mesh.principal())?;
    let mut params = json!({"task": own.to_json(), "limit": 100});
    let mut after = 0;
    loop {
        let page = mesh.value("tasks.wait", &params)?;
        let mut events = page["events"].as_array().into_iter().flatten();
        let of_another = |event: &&Value| {
            event["messageId"] == message
                && event["senderIncarnationId"].as_str().is_some_and(|id| id != own.incarnation)
        };
        if let Some(event) = events.find(of_another) {
            return Ok(Some(json!({"senderIncarnationId": event["senderIncarnationId"], "messageId": message})));
        }
        match page["nextCursor"].as_u64().filter(|next| *next > after) {
            Some(next) => after = next,
            None => return Ok(None),
        }
        params["afterCursor"] = json!(after);
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
