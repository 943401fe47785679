//! The shim itself: it loses what was not synced, and nothing else.

use rusqlite::{Connection, OpenFlags};
use std::{env, process::Command};
use threadmesh_faults::vfs;

const CHILD: &str = "THREADMESH_FAULTS_CHILD";

fn open(path: &str) -> Connection {
    vfs::register();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    Connection::open_with_flags_and_vfs(path, flags, vfs::NAME).expect("the database opens")
}

/// Writes one hundred rows, each in its own commit, and dies without closing anything.
#[test]
fn child_writes_and_dies() {
    let Ok(arguments) = env::var(CHILD) else { return };
    let (path, synchronous) = arguments.split_once('\n').expect("two arguments");
    let db = open(path);
    db.execute_batch(&format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};")).expect("pragmas");
    db.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY)").expect("a table");
    for n in 1..=100 {
        db.execute("INSERT INTO t VALUES (?1)", [n]).expect("a row");
    }
    std::process::abort();
}

fn survivors(synchronous: &str) -> i64 {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.db").to_string_lossy().into_owned();
    let status = Command::new(env::current_exe().expect("this program"))
        .args(["child_writes_and_dies", "--exact", "--nocapture"])
        .env(CHILD, format!("{path}\n{synchronous}"))
        .status()
        .expect("the child runs");
    assert!(!status.success(), "the child dies");
    let db = Connection::open(&path).expect("the database opens again");
    db.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap_or(0)
}

#[test]
fn synced_commits_survive() {
    assert_eq!(survivors("FULL"), 100);
}

#[test]
fn unsynced_commits_are_lost() {
    assert!(survivors("NORMAL") < 100, "NORMAL does not sync the log at each commit");
    assert_eq!(survivors("OFF"), 0);
}
