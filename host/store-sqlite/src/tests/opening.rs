//! Opening: paths, file systems, versions, migrations.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use threadmesh_runtime::store::{Store, StoreError};

use super::{addition, all, commit, files, ids, open, place, raw};
use crate::schema::{MIGRATIONS, Migration};
use crate::{FileSystem, OpenError, Options, SqliteStore};

#[test]
fn keeps_what_was_committed() {
    let (directory, path) = place();
    let store = open(&path);
    assert_eq!(store.path(), path);
    commit(&store, &addition("a", "x")).unwrap();
    drop(store);
    let names: Vec<_> = files(directory.path()).into_keys().collect();
    assert_eq!(names, ["store.db", "store.db.lock"], "closing folds the log into the file");
    let store = open(&path);
    commit(&store, &addition("b", "y")).unwrap();
    assert_eq!(ids(&store, "c"), ["a", "b"]);
    assert_eq!(ids(&store, "audit"), ["0000000000000001", "0000000000000002"]);
    assert_eq!(store.last_time(), Ok(1));
    store.check().unwrap();
}

#[test]
fn needs_a_directory_and_a_regular_file() {
    let (directory, path) = place();
    let error = |path: &Path| SqliteStore::open(path, Options::default()).unwrap_err();
    assert!(matches!(error(&path.join("x")), OpenError::NoDirectory { .. }));
    assert!(matches!(error(directory.path()), OpenError::NotAFile { .. }));
    assert!(matches!(error(Path::new("/")), OpenError::NotAFile { .. }));
    symlink(directory.path().join("nothing"), &path).unwrap();
    assert!(matches!(error(&path), OpenError::NotAFile { .. }), "a link to nothing is not followed to make a file");
    let no_file = Options { create: false, ..Options::default() };
    let missing = directory.path().join("missing.db");
    assert!(matches!(SqliteStore::open(&missing, no_file), Err(OpenError::NoFile { .. })));
    let read_only = Options { read_only: true, ..Options::default() };
    assert!(matches!(SqliteStore::open(&missing, read_only), Err(OpenError::NoFile { .. })));
    assert_eq!(files(directory.path()).len(), 0);
}

#[test]
fn resolves_links_so_that_all_share_one_log() {
    let (directory, path) = place();
    let store = open(&path);
    let (folder, link) = (directory.path().join("folder"), directory.path().join("link.db"));
    fs::create_dir(&folder).unwrap();
    symlink(&path, &link).unwrap();
    symlink("../link.db", folder.join("again.db")).unwrap();
    let other = open(&folder.join("again.db"));
    assert_eq!(other.path(), path);
    commit(&other, &addition("a", "x")).unwrap();
    assert_eq!(ids(&store, "c"), ["a"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn refuses_file_systems_on_which_the_log_is_damaged() {
    fn nfs(_: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem { magic: 0x6969 })
    }
    fn fuse_file(path: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem { magic: if path.is_file() { 0x6573_5546 } else { 0xef53 } })
    }
    fn no_answer(_: &Path) -> io::Result<FileSystem> {
        Err(io::Error::other("no answer"))
    }
    let (directory, path) = place();
    let with =
        |probe, allow_network_fs| SqliteStore::open(&path, Options { probe, allow_network_fs, ..Options::default() });
    let error = with(nfs, false).unwrap_err();
    assert!(matches!(error, OpenError::FileSystem { name: "NFS", .. }), "{error}");
    assert!(error.to_string().contains("put the file on a local disk"), "{error}");
    assert!(matches!(with(no_answer, false), Err(OpenError::Io { .. })));
    assert_eq!(files(directory.path()).len(), 0, "nothing was made");
    with(nfs, true).unwrap();
    assert!(matches!(with(fuse_file, false), Err(OpenError::FileSystem { .. })), "a file mounted by itself");
    with(crate::probe, false).unwrap();
    for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
        assert_eq!(FileSystem { magic }.refused(), None, "ext, xfs, btrfs, tmpfs, overlay, zfs");
    }
    for magic in [0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x0102_1997, 0x6573_5546, 0x786f_4256] {
        assert!(FileSystem { magic }.refused().is_some(), "{magic:x}");
    }
}

#[test]
fn leaves_a_newer_file_as_it_is() {
    let (directory, path) = place();
    commit(&open(&path), &addition("a", "x")).unwrap();
    raw(&path).execute_batch("PRAGMA user_version = 9").unwrap();
    let before = files(directory.path());
    let error = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("layout 9, and this program knows layout 3"), "{error}");
    assert_eq!(files(directory.path()), before, "no byte and no file differs");
    let store = SqliteStore::open(&path, Options { read_only: true, ..Options::default() }).unwrap();
    assert_eq!(ids(&store, "c"), ["a"]);
    assert!(matches!(store.begin().err(), Some(StoreError::ReadOnly { .. })));
    assert!(matches!(store.checkpoint_truncate(Default::default()), Err(StoreError::ReadOnly { .. })));
    drop(store);
    assert_eq!(files(directory.path())["store.db"], before["store.db"]);
    raw(&path).execute_batch("ALTER TABLE facts RENAME COLUMN body TO text").unwrap();
    let error = SqliteStore::open(&path, Options { read_only: true, ..Options::default() }).unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }), "its tables are not those that we can read: {error}");
}

/// A newer program was killed: its last commits are in the log only.
#[test]
fn leaves_a_newer_log_as_it_is() {
    let (_first, path) = place();
    let (directory, copy) = place();
    drop(open(&path));
    let newer = raw(&path);
    newer.execute_batch("PRAGMA user_version = 4; CREATE TABLE later (x)").unwrap();
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(&path), name(&copy)).unwrap();
    }
    let before = files(directory.path());
    assert!(before["store.db-wal"].len() > 4096);
    assert_eq!(before["store.db"][60..64], [0, 0, 0, 3], "the file itself does not say so yet");
    let error = SqliteStore::open(&copy, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }), "{error}");
    let after = files(directory.path());
    assert_eq!((&after["store.db"], &after["store.db-wal"]), (&before["store.db"], &before["store.db-wal"]));
}

#[test]
fn refuses_databases_of_others() {
    let (directory, path) = place();
    raw(&path).execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    let before = files(directory.path());
    let error = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
    raw(&path).execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let error = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
    raw(&path).execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    let after = files(directory.path());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    fs::write(&path, "a text, and a long one at that: ".repeat(1000)).unwrap();
    let error = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { detail, .. } if detail.contains("does not begin like")), "{error}");
}

/// Opens the store after `sql` was run on its file; the detail of the damage that is found.
fn damage_by(sql: &str) -> String {
    let (_directory, path) = place();
    commit(&open(&path), &addition("a", "x")).unwrap();
    raw(&path).execute_batch(sql).unwrap();
    match SqliteStore::open(&path, Options::default()) {
        Err(OpenError::Damaged { detail, .. }) => detail,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn behaviour_182_a_layout_that_was_made_by_other_steps_is_refused() {
    for sql in [
        "UPDATE migrations SET fingerprint = '0000000000000000'",
        "DELETE FROM migrations",
        "INSERT INTO migrations VALUES (0, 'before', '0000000000000000')",
    ] {
        assert!(damage_by(sql).contains("made by other steps"), "{sql}");
    }
}

#[test]
fn behaviour_183_a_file_that_lacks_what_its_layout_has_is_refused() {
    for sql in ["DROP INDEX outbox_due", "DROP TABLE outbox", "ALTER TABLE facts DROP COLUMN body"] {
        assert!(damage_by(sql).contains("is gone"), "{sql}");
    }
}

/// A store whose journal mode somebody changed, as by a backup through another tool.
#[test]
fn turns_the_log_on_again() {
    let (_directory, path) = place();
    commit(&open(&path), &addition("a", "x")).unwrap();
    raw(&path).execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    let store = open(&path);
    let mode: String = raw(&path).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!((mode.as_str(), ids(&store, "c")), ("wal", vec!["a".to_owned()]));
}

#[test]
fn finishes_an_interrupted_creation() {
    let (directory, path) = place();
    fs::write(directory.path().join("store.db.new"), "half a file").unwrap();
    fs::write(directory.path().join("store.db.new-wal"), "half a log").unwrap();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    drop(store);
    let names: Vec<_> = files(directory.path()).into_keys().collect();
    assert_eq!(names, ["store.db", "store.db.lock"]);
}

const LATER: &[Migration] = &[
    MIGRATIONS[0],
    Migration { version: 4, name: "later", sql: "CREATE TABLE later (x); INSERT INTO later VALUES (1);" },
];

#[test]
fn migrates_once_however_many_open_it() {
    let (_directory, path) = place();
    let store = open(&path);
    commit(&store, &addition("a", "x")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let store = SqliteStore::open_with(path, Options::default(), LATER).unwrap();
                commit(&store, &addition(&format!("of {thread}"), "x")).unwrap();
            });
        }
    });
    let steps: i64 = raw(&path).query_row("SELECT count(*) FROM migrations, later", [], |row| row.get(0)).unwrap();
    assert!(matches!(store.read(&[all("c")]), Err(StoreError::Stopped { .. })), "it was opened before");
    let store = SqliteStore::open_with(&path, Options::default(), LATER).unwrap();
    assert_eq!((steps, ids(&store, "c").len()), (2, 9));
    store.check().unwrap();
    assert!(matches!(SqliteStore::open(&path, Options::default()), Err(OpenError::Newer { .. })));
}

#[test]
fn a_failed_migration_changes_nothing() {
    let (directory, path) = place();
    drop(open(&path));
    let wrong =
        [MIGRATIONS[0], Migration { version: 4, name: "wrong", sql: "CREATE TABLE x (y); INSERT INTO z VALUES (1);" }];
    let before = files(directory.path());
    assert!(matches!(SqliteStore::open_with(&path, Options::default(), &wrong), Err(OpenError::Damaged { .. })));
    assert_eq!(files(directory.path()), before);
    let changed = [Migration { sql: "SELECT 1", ..MIGRATIONS[0] }];
    let error = SqliteStore::open_with(&path, Options::default(), &changed).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "made by other steps: {error}");
    open(&path).check().unwrap();
}
