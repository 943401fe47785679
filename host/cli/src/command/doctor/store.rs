//! The doctor's look at a database and what lies beside it.

use super::findings::{Finding, Level, bad, broken, fine, note};
use crate::command::token;
use crate::open::next_for;
use crate::{core, database, time};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use threadmesh_runtime::store::{Query, Store};
use threadmesh_server::{socket, tokens};
use threadmesh_store_sqlite::{FailedEffect, OpenError, Options, SqliteStore, probe};

/// Looks at everything, in the order in which it matters.
pub fn examine(db: &Path, tokens: Option<&Path>) -> Vec<Finding> {
    if !db.exists() {
        return vec![broken(
            "database",
            format!("{} does not exist", db.display()),
            "make it: `threadmesh serve --create --db FILE`",
        )];
    }
    let mut findings = vec![file_system(db), room(db)];
    findings.extend(content(db));
    findings.extend(modes(db));
    let tokens = tokens.map_or_else(|| tokens::default_path(db), Path::to_owned);
    findings.extend(token_file(&tokens));
    findings.push(account(db, &tokens));
    findings.push(server(db));
    findings
}

fn file_system(db: &Path) -> Finding {
    match probe(db) {
        Ok(found) => match found.refused() {
            Some(name) => bad(
                "file system",
                format!("{} is on {name}, where a write-ahead log is damaged sooner or later", db.display()),
                "move the database to a local disk",
            ),
            None => fine("file system", "it holds a write-ahead log".to_owned()),
        },
        Err(error) => bad("file system", format!("{}: {error}", db.display()), "check the path"),
    }
}

/// Commits are refused where the log cannot grow.
fn room(db: &Path) -> Finding {
    /// The log may grow to this before it is carried over.
    const LOG: u64 = 64 << 20;
    /// One large commit.
    const COMMIT: u64 = 1 << 20;
    let next = "make room on the disk: commits are refused while there is none";
    match rustix::fs::statvfs(db) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let said = format!("{} KiB are free beside the database", free >> 10);
            match free {
                ..COMMIT => bad("room", said, next),
                COMMIT..LOG => note("room", said, next),
                LOG.. => fine("room", said),
            }
        }
        Err(error) => bad("room", format!("{}: {error}", db.display()), "check the path"),
    }
}

/// Asks what opening would ask, opens the database for reading only and reads all of it.
fn content(db: &Path) -> Vec<Finding> {
    let plain = Options::default();
    // A component that does not run is a finding of its own.
    let records = core::load().and_then(|core| core::records(&core)).unwrap_or(plain.records);
    let options = Options { read_only: true, create: false, allow_network_fs: true, records, ..plain };
    // What opening for writing would ask, and what can be read all the same.
    let examined = match SqliteStore::examine(db, &options) {
        Ok(()) => fine("database", format!("{} opens", db.display())),
        Err(error) => broken("database", error.to_string(), advice(&error)),
    };
    let store = match SqliteStore::open(db, options) {
        Ok(store) => store,
        Err(_) if examined.level == Level::Broken => return vec![examined],
        Err(error) => return vec![broken("database", error.to_string(), advice(&error))],
    };
    let integrity = match store.check() {
        Ok(()) => fine("integrity", "every page and every key was read and is sound".to_owned()),
        Err(error) => broken("integrity", error.to_string(), "keep the file as it is, and restore a copy beside it"),
    };
    let mut findings = vec![examined, integrity, last_time(&store)];
    findings.extend(effects(&store));
    findings
}

/// What commits left to do and nobody could do, as things were.
fn effects(store: &SqliteStore) -> Vec<Finding> {
    const SHOWN: u32 = 20;
    let next = "use a newer threadmesh, or report it";
    let found = |one: &FailedEffect| {
        let FailedEffect { name, about, tries, due, failed } = one;
        let due = time::format(u64::try_from(*due).unwrap_or_default());
        let detail =
            format!("{name} ({about}) failed, the last time at try {tries}; it is tried again at {due}: {failed}");
        bad("left to do", detail, next)
    };
    match store.failed_effects(SHOWN) {
        Ok((none, _)) if none.is_empty() => vec![fine("left to do", "nothing that could not be done".to_owned())],
        Ok((failed, all)) => {
            let mut findings: Vec<_> = failed.iter().map(found).collect();
            let more = all.saturating_sub(failed.len() as u64);
            if more > 0 {
                findings.push(bad("left to do", format!("{more} more could not be done"), next));
            }
            findings
        }
        Err(error) => vec![broken("left to do", error.to_string(), "keep the file as it is")],
    }
}

fn advice(error: &OpenError) -> &'static str {
    match error {
        OpenError::Damaged { .. } => "keep the file as it is, and restore a copy beside it",
        OpenError::Older { .. } | OpenError::Newer { .. } | OpenError::Linked { .. } | OpenError::Lost { .. } => {
            next_for(error)
        }
        OpenError::NotAStore { .. } | OpenError::NotAFile { .. } => "name a ThreadMesh database",
        OpenError::Busy { .. } => "see who holds it",
        _ => "check the path and its permissions",
    }
}

/// The clock must not lie behind what was committed: settled point 29.
fn last_time(store: &SqliteStore) -> Finding {
    match store.last_time() {
        Ok(last) => {
            let (last, now) = (u64::try_from(last).unwrap_or_default(), time::now_ms());
            let said = format!("the last commit was at {}", time::format(last));
            match now + 5_000 < last {
                true if accepted(store) >= last => fine("last commit", format!("{said}, which was accepted as wrong")),
                true => bad(
                    "last commit",
                    format!("{said}, and the clock says {}", time::format(now)),
                    "set the clock; if the commit's time was wrong, `threadmesh clock accept`",
                ),
                false => fine("last commit", said),
            }
        }
        Err(error) => broken("last commit", error.to_string(), "keep the file as it is"),
    }
}

/// Up to which time commits were accepted as wrong by `threadmesh clock accept`; 0 for none. It is a row of the host's own.
fn accepted(store: &SqliteStore) -> u64 {
    let (collection, index, start) = ("host".to_owned(), String::new(), "clock".to_owned());
    let query = Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 };
    let answers = store.read(&[query]).unwrap_or_default();
    let row = answers.first().and_then(|answer| answer.rows.first());
    let body: serde_json::Value = row.and_then(|row| serde_json::from_str(&row.body).ok()).unwrap_or_default();
    body["acceptedUntil"].as_u64().unwrap_or_default()
}

/// Everything that belongs to the database must be closed to other accounts.
fn modes(db: &Path) -> Vec<Finding> {
    let suffixes = ["", "-wal", "-shm", ".lock", ".tokens"];
    let open = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0);
    let paths: Vec<PathBuf> = suffixes.iter().map(|suffix| database::beside(db, suffix)).filter(open).collect();
    if paths.is_empty() {
        return vec![fine("modes", "the database and its files are closed to other accounts".to_owned())];
    }
    let found = |path: PathBuf| {
        let mode = fs::metadata(&path).map(|meta| meta.mode() & 0o7777).unwrap_or_default();
        bad("modes", format!("{} is open to other accounts (mode {mode:04o})", path.display()), "chmod go= on it")
    };
    paths.into_iter().map(found).collect()
}

fn token_file(path: &Path) -> Vec<Finding> {
    match tokens::load(path) {
        Ok(file) => {
            let mut findings = vec![fine("tokens", format!("{} has {}", path.display(), file.entries.len()))];
            let refused = core::load().map(|core| token::check_principals(&core, &file)).unwrap_or_default();
            findings.extend(refused.into_iter().map(|(name, reason)| {
                let next = "make another token in its place, or mend the file";
                bad("tokens", format!("nobody is let in by {name:?}: {reason}"), next)
            }));
            findings
        }
        Err(tokens::TokenError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            vec![note(
                "tokens",
                format!("there is no {}", path.display()),
                "make tokens with `threadmesh token create`",
            )]
        }
        Err(error) => vec![bad("tokens", error.to_string(), "until then nobody is let in")],
    }
}

/// Adapters run as the account that runs this, so that what it can write, they can: settled point 8.
fn account(db: &Path, tokens: &Path) -> Finding {
    let own = rustix::process::geteuid().as_raw();
    let owned = |path: &&Path| fs::metadata(path).is_ok_and(|meta| meta.uid() == own);
    let owned: Vec<String> =
        [db, tokens].iter().filter(|path| owned(path)).map(|path| path.display().to_string()).collect();
    match owned.is_empty() {
        true => fine("account", format!("account {own} owns neither the database nor the tokens")),
        false => note(
            "account",
            format!(
                "account {own}, as which adapters run, owns {}: they could act as the operator",
                owned.join(" and ")
            ),
            "where adapters are not trusted with that, run them under another account",
        ),
    }
}

fn server(db: &Path) -> Finding {
    let path = socket::default_path(db);
    match UnixStream::connect(&path) {
        Ok(_) => fine("server", format!("one answers at {}", path.display())),
        Err(_) => fine("server", format!("none answers at {}", path.display())),
    }
}
