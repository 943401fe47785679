//! `threadmesh task add NAME…`.

use super::{Owned, owner};
use crate::command::token::{self, Issue, holds, title};
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::names::Names;
use crate::target::TaskName;
use crate::terminal::Printer;
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use threadmesh_server::tokens::{self, Entry, Kind, Principal, random_id};

/// Register tasks, each with a token of its own. What is there already stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh task add plan build
  threadmesh task add review --harness claude-code
  threadmesh task add review --new-token

The task id is the name; the incarnation id is made. A task that was added halfway, such as before a crash, is completed.")]
pub struct Arguments {
    /// What each is called: 1 to 64 letters, digits, '.', '_', '-'
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// What the task runs in, as codex or claude-code: a label that others may be shown; `shell` unless given
    #[arg(long, value_name = "LABEL")]
    harness: Option<String>,
    /// Make a new token for a task that is there, where the old one was lost; the old one is worth nothing then
    #[arg(long)]
    new_token: bool,
    #[command(flatten)]
    owned: Owned,
}

/// What the steps for one name share.
struct Adding<'a> {
    arguments: &'a Arguments,
    /// The token file.
    tokens: PathBuf,
    /// The database.
    db: PathBuf,
    /// Who adds, as `user:alice`.
    owner: String,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let (db, tokens) = arguments.owned.files()?;
    let mut mesh = arguments.owned.place.open_as_user(printer, &arguments.owned.token)?;
    let owner = owner(mesh.principal()).ok_or_else(|| {
        let next = "add it as the user or policy that is to own it: --as NAME";
        Failure::refused("control-plane-required", "only a user or a policy registers tasks", next)
    })?;
    let adding = Adding { arguments, tokens, db, owner };
    for name in &arguments.names {
        let report = adding.one(mesh.as_mut(), name)?;
        printer.show(&report, || lines(&report));
    }
    Ok(Exit::Accepted)
}

fn lines(report: &Value) -> Vec<String> {
    let text = |name: &str| report[name].as_str().unwrap_or_default();
    let made = if report["replay"] == true { "there is" } else { "made" };
    vec![
        format!(
            "{made} task {} ({}) of {}, harness {}",
            text("name"),
            text("incarnationId"),
            text("owner"),
            text("harness")
        ),
        format!("  its token is in {}", text("tokenFile")),
    ]
}

impl Adding<'_> {
    /// Adds one task, or finds it there. Refused where the name stands for something else.
    fn one(&self, mesh: &mut dyn Mesh, name: &str) -> Result<Value, Failure> {
        let file = token::place(&self.db, name);
        let (entry, made) = match Names::load(&self.tokens)?.named(name) {
            Some(entry) => {
                self.is_own(entry, mesh.principal())?;
                self.has_token(entry, &file)?;
                (entry.clone(), false)
            }
            None => (self.issue(name, &file, mesh.principal())?, true),
        };
        let task = TaskName::of(&entry.principal)?;
        let known = match made {
            true => None,
            false => self.registered(mesh, &task)?,
        };
        let replay = known.is_some() && !self.arguments.new_token;
        let view = match known {
            Some(view) => self.stands(name, view)?,
            None => self.register(mesh, &task).inspect_err(|failure| {
                if made && failure.exit == Exit::Refused {
                    // A token for a task that is not there would block the name.
                    let _ = tokens::update(&self.tokens, |all| all.remove(name));
                    let _ = fs::remove_file(&file);
                }
            })?,
        };
        Ok(json!({
            "name": name,
            "taskId": task.task,
            "incarnationId": task.incarnation,
            "owner": self.owner,
            "harness": view["harness"],
            "state": view["state"],
            "tokenFile": file,
            "replay": replay,
        }))
    }

    /// Refused where the entry is none of a task of the caller.
    fn is_own(&self, entry: &Entry, caller: &Principal) -> Result<(), Failure> {
        let own = entry.principal.kind == Kind::Task
            && entry.principal.owner.as_ref() == Some(&self.owner)
            && entry.principal.tenant == caller.tenant;
        if own {
            return Ok(());
        }
        let detail = format_args!("the name {:?} stands for {}", entry.name, title(entry));
        Err(Failure::refused("stands-otherwise", detail, "choose another name"))
    }

    /// Makes the token of a new incarnation. It is there before the task: a task without a token could not be named again.
    fn issue(&self, name: &str, file: &Path, caller: &Principal) -> Result<Entry, Failure> {
        let entropy: String = random_id().to_ascii_lowercase().chars().take(8).collect();
        let principal = Principal {
            tenant: caller.tenant.clone(),
            kind: Kind::Task,
            id: name.to_owned(),
            incarnation: Some(format!("inc_{name}_{entropy}")),
            owner: Some(self.owner.clone()),
            worker: None,
        };
        Ok(Issue { name, principal, target: Some(file), folder: true }.run(&self.tokens)?.entry)
    }

    /// Finds the token of the entry in its file, or makes another if that was asked for.
    fn has_token(&self, entry: &Entry, file: &Path) -> Result<(), Failure> {
        let name = &entry.name;
        if self.arguments.new_token {
            let _ = fs::remove_file(file);
            tokens::update(&self.tokens, |all| all.remove(name)).map_err(|error| token::failure(&error))?;
            let principal = entry.principal.clone();
            Issue { name, principal, target: Some(file), folder: true }.run(&self.tokens)?;
            return Ok(());
        }
        let all = tokens::load(&self.tokens).map_err(|error| token::failure(&error))?;
        if holds(&all, file, name) {
            return Ok(());
        }
        let detail = format!("there is a task {name}, but its token is not in {}", file.display());
        let next = format!("if it is lost, make another: `threadmesh task add {name} --new-token`");
        Err(Failure::refused("stands-otherwise", detail, next))
    }

    /// The task as it is registered, if it is.
    fn registered(&self, mesh: &mut dyn Mesh, task: &TaskName) -> Result<Option<Value>, Failure> {
        match mesh.value("tasks.get", &json!({"task": task.to_json(), "owner": self.owner})) {
            Ok(view) => Ok(Some(view)),
            Err(failure) if failure.code == "not-visible" => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// What is registered, where it is what was asked for.
    fn stands(&self, name: &str, view: Value) -> Result<Value, Failure> {
        if let Some(time) = view["retiredAt"].as_str() {
            let detail = format!("task {name} was retired at {time}");
            let next = format!("for a new start remove its token (`threadmesh token remove {name}`) and add it again");
            return Err(Failure::refused("stands-otherwise", detail, next));
        }
        match &self.arguments.harness {
            Some(wanted) if view["harness"] != wanted.as_str() => {
                let has = view["harness"].as_str().unwrap_or_default();
                let detail = format!("task {name} is there with harness {has}, and not {wanted}");
                let next = "leave it, or choose another name: only a new incarnation changes a harness (tasks.rotateIncarnation)";
                Err(Failure::refused("stands-otherwise", detail, next))
            }
            _ => Ok(view),
        }
    }

    fn register(&self, mesh: &mut dyn Mesh, task: &TaskName) -> Result<Value, Failure> {
        let mut input = task.to_json();
        input["harness"] = json!(self.arguments.harness.as_deref().unwrap_or("shell"));
        let registered = mesh.value("tasks.register", &json!({"task": input, "idempotencyKey": fresh_key()}));
        registered.map_err(|failure| match failure.code.as_str() {
            "task-live" => Failure {
                next: "it was registered without a token of this name: make one for its incarnation with `threadmesh token create`, or choose another name".to_owned(),
                ..failure
            },
            _ => failure,
        })
    }
}
