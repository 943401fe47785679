//! `threadmesh token create|list|remove`: who may call, and as whom.

mod issue;

use crate::database;
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use clap::{Args, Subcommand, ValueEnum};
pub use issue::{Issue, holds};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use threadmesh_runtime::Core;
use threadmesh_server::hosted;
use threadmesh_server::tokens::{self, Entry, Kind, Principal, TokenError, TokenFile};

/// Make, list and remove the tokens by which callers prove who they are.
///
/// The token file lies beside the database (FILE.tokens.json) and holds digests only. Whoever can write it is the
/// operator.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh token create operator --db mesh.db --kind operator
  threadmesh token create alice --db mesh.db --kind user
  threadmesh token create builder --db mesh.db --kind task --id build-1 --incarnation inc_build_0001 --owner user:alice
  threadmesh token list --db mesh.db
  threadmesh token remove builder --db mesh.db")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token. It is written to a file of its own (FILE.tokens/NAME) unless told otherwise
    Create(Box<Create>),
    /// List who has a token; tokens themselves are never shown again
    List(Place),
    /// Remove a token: its connections end, and it is worth nothing from now on
    Remove(Remove),
}

#[derive(Debug, Args)]
struct Place {
    /// The database; that of this account unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// The token file; beside the database unless given
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Create {
    /// What you call it: letters, digits, '.', '_', '-'
    name: String,
    #[command(flatten)]
    place: Place,
    /// Whom it stands for
    #[arg(long, value_enum)]
    kind: KindName,
    /// The id of the user, policy, task or operator; NAME unless given
    #[arg(long)]
    id: Option<String>,
    /// The tenant
    #[arg(long, default_value = "default")]
    tenant: String,
    /// The incarnation of a task
    #[arg(long, value_name = "ID")]
    incarnation: Option<String>,
    /// The owner of a task: whoever registers it, as user:alice
    #[arg(long, value_name = "KIND:ID")]
    owner: Option<String>,
    /// The worker, where several share the mailbox of a task
    #[arg(long, value_name = "ID")]
    worker: Option<String>,
    /// Where to write the token (a new file, mode 0600)
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    out: Option<PathBuf>,
    /// Print the token, this once, and write it nowhere
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Args)]
struct Remove {
    /// Its name
    name: String,
    #[command(flatten)]
    place: Place,
}

/// The kinds that a token can give. There is no `host`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    User,
    Policy,
    Task,
    Operator,
}

impl Place {
    fn db(&self) -> Result<PathBuf, Failure> {
        database::chosen(self.db.as_deref())
    }

    fn file(&self) -> Result<PathBuf, Failure> {
        self.tokens.clone().map_or_else(|| Ok(tokens::default_path(&self.db()?)), Ok)
    }
}

/// What the token of a task takes.
const OF_A_TASK: &str =
    "a task takes --incarnation ID and --owner KIND:ID, as --incarnation inc_build_0001 --owner user:alice";

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    match &arguments.action {
        Action::Create(create) => self::create(create, printer),
        Action::List(place) => list(place, printer),
        Action::Remove(remove) => self::remove(remove, printer),
    }
}

fn create(arguments: &Create, printer: Printer) -> Outcome {
    let path = arguments.place.file()?;
    let target = match (arguments.show, &arguments.out) {
        (true, _) => None,
        (false, Some(out)) => Some(out.clone()),
        (false, None) => Some(place(&arguments.place.db()?, &arguments.name)),
    };
    let issue = Issue {
        name: &arguments.name,
        principal: principal(arguments),
        target: target.as_deref(),
        folder: arguments.out.is_none(),
    };
    let made = issue.run(&path).map_err(|failure| match arguments.kind {
        KindName::Task if failure.code == "usage" && tokens::is_name(&arguments.name) => {
            Failure { next: format!("{}; {OF_A_TASK}", failure.next), ..failure }
        }
        _ => failure,
    })?;
    let (entry, replay) = (&made.entry, made.token.is_none());
    let mut report = describe(entry);
    report["replay"] = Value::from(replay);
    match (&target, &made.token) {
        (Some(target), _) => report["tokenFile"] = Value::from(target.display().to_string()),
        (None, Some(token)) => report["token"] = Value::from(token.text()),
        (None, None) => {}
    }
    printer.show(&report, || match (&target, &made.token) {
        (None, Some(token)) => vec![token.text().to_owned()],
        (target, _) => vec![
            format!("{} token {} for {}", if replay { "there is" } else { "made" }, entry.name, title(entry)),
            format!("it is in {}; keep that file private", target.as_deref().unwrap_or(&path).display()),
        ],
    });
    Ok(Exit::Accepted)
}

/// The entries whose principal the core does not take as a caller, each with the reason, which may be that it gives no
/// answer.
pub fn check_principals(core: &dyn Core, file: &TokenFile) -> Vec<(String, String)> {
    let fault = |entry: &Entry| {
        let reason = hosted::check_principal(core, entry).unwrap_or_else(|error| Some(error.to_string()))?;
        Some((entry.name.clone(), reason))
    };
    file.entries.iter().filter_map(fault).collect()
}

fn principal(arguments: &Create) -> Principal {
    Principal {
        tenant: arguments.tenant.clone(),
        kind: match arguments.kind {
            KindName::User => Kind::User,
            KindName::Policy => Kind::Policy,
            KindName::Task => Kind::Task,
            KindName::Operator => Kind::Operator,
        },
        id: arguments.id.clone().unwrap_or_else(|| arguments.name.clone()),
        incarnation: arguments.incarnation.clone(),
        owner: arguments.owner.clone(),
        worker: arguments.worker.clone(),
    }
}

fn list(place: &Place, printer: Printer) -> Outcome {
    let file = tokens::load(&place.file()?).map_err(|error| failure(&error))?;
    let report = json!({"tokens": file.entries.iter().map(describe).collect::<Vec<_>>()});
    printer.show(&report, || {
        let width = file.entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        file.entries.iter().map(|entry| format!("{:width$}  {}", entry.name, title(entry))).collect()
    });
    Ok(Exit::Accepted)
}

fn remove(arguments: &Remove, printer: Printer) -> Outcome {
    let path = arguments.place.file()?;
    // Without this an absent file would be made, to find nothing in it.
    tokens::load(&path).map_err(|error| failure(&error))?;
    let entry = tokens::update(&path, |file| file.remove(&arguments.name)).map_err(|error| failure(&error))?;
    let leftover = place(&arguments.place.db()?, &entry.name);
    let removed = std::fs::remove_file(&leftover).is_ok();
    let report = json!({"removed": describe(&entry), "tokenFileRemoved": removed});
    printer.show(&report, || vec![format!("removed token {} of {}", entry.name, title(&entry))]);
    Ok(Exit::Accepted)
}

fn describe(entry: &Entry) -> Value {
    json!({"name": entry.name, "principal": entry.principal, "authenticationId": entry.authentication_id})
}

/// Whom an entry stands for, in words.
pub fn title(entry: &Entry) -> String {
    let principal = &entry.principal;
    let mut text = format!("{} {}", principal.kind.as_str(), principal.id);
    let parts = [("incarnation", &principal.incarnation), ("owner", &principal.owner), ("worker", &principal.worker)];
    for (name, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!(", {name} {value}"));
        }
    }
    if principal.tenant != "default" {
        text.push_str(&format!(", tenant {}", principal.tenant));
    }
    text
}

/// A fault of a token file as a failure of the program.
pub fn failure(error: &TokenError) -> Failure {
    let (code, next) = match error {
        TokenError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            ("token-file-missing", "make a token with `threadmesh token create`")
        }
        TokenError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            ("file-exists", "nothing is replaced: name another file, or remove that one first")
        }
        TokenError::Io { .. } => ("token-file-unreadable", "check the path and its permissions"),
        TokenError::NoFile { .. } => (
            "token-file-unreadable",
            "name the file itself: that of one token is FILE.tokens/NAME beside the database FILE",
        ),
        TokenError::Unsafe { .. } => ("token-file-unsafe", "give it to this account alone: chown and chmod 600"),
        TokenError::Invalid { .. } => ("token-file-invalid", "mend the file or the option"),
        TokenError::Unknown(_) => ("token-unknown", "see `threadmesh token list`"),
        TokenError::Exists(_) => ("token-exists", "choose another name, or remove it first"),
    };
    Failure::unusable(code, error, next)
}

/// The default place of the token called `name`.
pub fn place(db: &Path, name: &str) -> PathBuf {
    database::token_folder(db).join(name)
}
