//! `threadmesh task list`.

use super::{Owned, owner};
use crate::command::{inbox, token};
use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::Mesh;
use crate::target::TaskName;
use crate::terminal::Printer;
use clap::Args;
use serde_json::{Value, json};
use threadmesh_server::tokens::{self, Entry};

/// List the tasks that have a token here: harness, state, token file, undecided messages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh task list
  threadmesh task list --as operator --json

A user sees the tasks that it owns, the operator and policies those of everybody. Undecided messages are counted up to 100, as
the task, where its token is at hand; a task alone sees its mailbox.")]
pub struct Arguments {
    #[command(flatten)]
    owned: Owned,
}

/// Messages that are counted in a mailbox.
const COUNTED: usize = 100;

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let (db, _) = arguments.owned.files()?;
    let names = arguments.owned.place.names()?;
    let mut mesh = arguments.owned.place.open_as_user(printer, &arguments.owned.token)?;
    let (own, tenant) = (owner(mesh.principal()), mesh.principal().tenant.clone());
    let user = own.as_ref().is_some_and(|own| own.starts_with("user:"));
    let seen = |entry: &&Entry| entry.principal.tenant == tenant && (!user || entry.principal.owner == own);
    let entries: Vec<&Entry> = names.tasks().filter(seen).collect();
    let mut tasks = entries.iter().map(|entry| row(mesh.as_mut(), entry)).collect::<Result<Vec<_>, _>>()?;
    for (entry, row) in entries.iter().zip(&mut tasks) {
        let file = token::place(&db, &entry.name);
        let registered = !row["state"].is_null();
        if let Ok(secret) = tokens::read_secret(&file) {
            row["tokenFile"] = json!(file);
            if registered && mesh.switch(&secret).is_ok() {
                row["undecided"] = undecided(mesh.as_mut(), entry)?;
            }
        }
    }
    let report = json!({"tasks": tasks});
    printer.show(&report, || lines(&tasks));
    if tasks.is_empty() {
        printer.remark("next: threadmesh task add NAME");
    }
    Ok(Exit::Accepted)
}

/// What is known of one task: null where nothing is.
fn row(mesh: &mut dyn Mesh, entry: &Entry) -> Result<Value, Failure> {
    let task = TaskName::of(&entry.principal)?;
    let owner = &entry.principal.owner;
    let view = visible(mesh.value("tasks.get", &json!({"task": task.to_json(), "owner": owner})))?;
    Ok(json!({
        "name": entry.name,
        "taskId": task.task,
        "incarnationId": task.incarnation,
        "owner": owner,
        "harness": view["harness"],
        "state": view["state"],
        "retiredAt": view["retiredAt"],
        "undecided": null,
        "tokenFile": null,
    }))
}

/// How many messages wait, as the task itself sees them.
fn undecided(mesh: &mut dyn Mesh, entry: &Entry) -> Result<Value, Failure> {
    let receiver = TaskName::of(&entry.principal)?;
    let (mut count, mut after) = (0, 0);
    // A page may be short, or empty, and have more behind it.
    while count < COUNTED {
        let page = visible(inbox::page(mesh, &receiver, after, COUNTED as u32, 0))?;
        let Some(items) = page["items"].as_array() else { return Ok(Value::Null) };
        count += items.len();
        match page["nextCursor"].as_u64().filter(|next| page["hasMore"] == true && *next > after) {
            Some(next) => after = next,
            None => break,
        }
    }
    Ok(json!(count.min(COUNTED)))
}

/// What was answered; null where it may not be seen.
fn visible(answer: Result<Value, Failure>) -> Result<Value, Failure> {
    match answer {
        Err(failure) if failure.exit == Exit::Refused => Ok(Value::Null),
        other => other,
    }
}

fn lines(tasks: &[Value]) -> Vec<String> {
    let cell = |task: &Value, name: &str| match &task[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(count) if count.as_u64() == Some(COUNTED as u64) => format!("{count}+"),
        other => other.to_string(),
    };
    let row = |task: &Value| {
        let state = match (&task["harness"], &task["retiredAt"]) {
            (Value::Null, _) => "not registered".to_owned(),
            (_, Value::Null) => cell(task, "state"),
            (_, _) => "retired".to_owned(),
        };
        [cell(task, "name"), cell(task, "harness"), state, cell(task, "undecided"), cell(task, "tokenFile")]
    };
    let mut rows = vec![["name", "harness", "state", "undecided", "token file"].map(str::to_owned)];
    rows.extend(tasks.iter().map(row));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 5]| {
        let [name, harness, state, open, file] = row;
        let [a, b, c, d] = widths;
        format!("{name:a$}  {harness:b$}  {state:c$}  {open:>d$}  {file}")
    };
    rows.iter().map(line).collect()
}
