//! `threadmesh init`: a database, and the user who owns what is registered in it.

use crate::command::token::{self, Issue};
use crate::database;
use crate::failure::{Exit, Failure, Outcome};
use crate::names::Names;
use crate::open::{Opened, Opening};
use crate::terminal::Printer;
use clap::Args;
use serde_json::json;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use threadmesh_server::tokens::{self, Kind, Principal};

/// Make a database and its user. Where both are there already, nothing changes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh init
  threadmesh init --db mesh.db --user alice

The database of this account is ~/.local/share/threadmesh/mesh.db (XDG_DATA_HOME is heeded); every command works on it unless
--db or THREADMESH_DB names another. The user has your login name unless --user says otherwise, and owns the tasks that
`threadmesh task add` makes. A further user: threadmesh token create NAME --kind user.")]
pub struct Arguments {
    /// The database; that of this account unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// What the user is called; your login name unless given
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let db = database::chosen(arguments.db.as_deref())?;
    let path = tokens::default_path(&db);
    if arguments.db.is_none() {
        make_folder(&db)?;
    }
    let wanted = arguments.user.as_deref();
    let stands = user(&Names::load(&path)?, wanted)?;
    let created = !db.exists();
    Opened::open(&Opening { create: true, ..Opening::existing(&db) })?.tidy();
    let name = stands.clone().or_else(|| arguments.user.clone()).unwrap_or_else(login);
    let file = token::place(&db, &name);
    if stands.is_none() {
        let principal = Principal {
            tenant: "default".to_owned(),
            kind: Kind::User,
            id: name.clone(),
            incarnation: None,
            owner: None,
            worker: None,
        };
        Issue { name: &name, principal, target: Some(&file), folder: true }.run(&path)?;
    }
    let replay = !created && stands.is_some();
    let report = json!({"database": db, "created": created, "user": name, "tokenFile": file, "replay": replay});
    printer.show(&report, || {
        let word = |made: bool| if made { "made" } else { "there is" };
        vec![
            format!("{} database {}", word(created), db.display()),
            format!("{} user {name}, whose token is in {}", word(stands.is_none()), file.display()),
        ]
    });
    printer.remark("next: threadmesh task add NAME…");
    Ok(Exit::Accepted)
}

/// The user who is there and is meant. Refused where another one was asked for.
fn user(names: &Names, wanted: Option<&str>) -> Result<Option<String>, Failure> {
    let users: Vec<&str> =
        names.all().filter(|entry| entry.principal.kind == Kind::User).map(|entry| entry.name.as_str()).collect();
    match wanted {
        None => Ok(users.first().map(|name| (*name).to_owned())),
        Some(name) if users.is_empty() || users.contains(&name) => Ok(users.contains(&name).then(|| name.to_owned())),
        Some(name) => {
            let detail = format_args!("the user here is {}, and not {name}", users.join(", "));
            let next = format!("a further user is made by `threadmesh token create {name} --kind user`");
            Err(Failure::refused("stands-otherwise", detail, next))
        }
    }
}

/// The folder of the account's database, closed to other accounts.
fn make_folder(db: &Path) -> Result<(), Failure> {
    let folder = db.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        let detail = format!("{}: {error}", folder.display());
        Failure::unusable("file-unwritable", detail, "name a database where you can write: --db FILE")
    })
}

/// The login name as a name of a token: other characters become '-'. `owner` where there is none.
fn login() -> String {
    let of_environment =
        || ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    let name = of_environment().or_else(of_account).unwrap_or_default();
    fit(&name)
}

/// What the system's list of accounts calls this one.
fn of_account() -> Option<String> {
    let own = rustix::process::getuid().as_raw().to_string();
    let list = std::fs::read_to_string("/etc/passwd").ok()?;
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(own.as_str())).then(|| name.to_owned())
    })
}

fn fit(name: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_alphanumeric() || "._-".contains(sign) { sign } else { '-' };
    let name: String = name.chars().map(plain).skip_while(|sign| !sign.is_ascii_alphanumeric()).take(64).collect();
    if name.is_empty() { "owner".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_name_is_made_fit() {
        for (login, name) in [
            ("rob", "rob"),
            ("DOM\\rob.x", "DOM-rob.x"),
            ("_svc", "svc"),
            ("čapek", "apek"),
            ("", "owner"),
            ("日本", "owner"),
        ] {
            assert_eq!(fit(login), name);
            assert!(tokens::is_name(&fit(login)));
        }
        assert!(tokens::is_name(&fit(&"x".repeat(100))));
    }
}
