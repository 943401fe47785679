//! Opening: look first, and change nothing before everything is known to be right.

use std::cmp::Ordering;
use std::fs;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::connection::{Conn, Use};
use crate::counters::{Counters, Format};
use crate::error::OpenError;
use crate::files::{self, Location};
use crate::log;
use crate::mark;
use crate::options::Options;
use crate::place;
use crate::query;
use crate::queue::Queue;
use crate::schema::{self, Found, Migration};

/// What opening gives.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Where the file is.
    pub location: Location,
    /// What it is made for.
    pub format: Format,
    /// The writing connection and its queue; nothing in a store for reading only.
    pub writing: Option<(Conn, Queue)>,
}

/// What a look at a file that is neither damaged nor foreign has found.
struct Looked {
    conn: Conn,
    /// Nothing where the layout is a newer one.
    counters: Option<Counters>,
    /// Why it must not be written.
    refusal: Option<OpenError>,
}

/// Opens the store at `path`, with `migrations` as the known layouts.
pub(crate) fn open(path: &Path, options: &Options, migrations: &[Migration]) -> Result<Opened, OpenError> {
    let location = Location::resolve(path)?;
    check_place(&location, options)?;
    if options.read_only {
        return open_read_only(location, options, migrations);
    }
    let mut queue = None;
    if !location.exists {
        if !options.create {
            return Err(OpenError::NoFile { path: location.file });
        }
        queue = Some(create(&location, options, migrations)?);
    }
    let began = Instant::now();
    let in_open = |error| OpenError::sqlite(&location.file, began.elapsed(), error);
    let conn = look_for_writing(&location, Use::Write, options, migrations)?;
    conn.configure(Use::Write, options).map_err(in_open)?;
    use_log(&conn, &location, began)?;
    let queue = match queue {
        Some(queue) => queue,
        None => Queue::open(location.beside(".lock"))?,
    };
    flush_again(&conn, &queue, &location, options)?;
    let format = bring_up_to_date(&conn, &queue, &location, options, migrations)?;
    conn.close_without_checkpoint(false).map_err(in_open)?;
    Ok(Opened { location, format, writing: Some((conn, queue)) })
}

/// Why the file at `path` would not be opened for writing. Writes nothing, but for what SQLite needs beside a file to read
/// it, and makes nothing.
pub(crate) fn examine(path: &Path, options: &Options, migrations: &[Migration]) -> Result<(), OpenError> {
    let location = Location::resolve(path)?;
    check_place(&location, options)?;
    if !location.exists {
        return Err(OpenError::NoFile { path: location.file });
    }
    look_for_writing(&location, Use::Read, options, migrations).map(|_| ())
}

fn check_place(location: &Location, options: &Options) -> Result<(), OpenError> {
    if options.allow_network_fs {
        return Ok(());
    }
    let file = location.exists.then_some(location.file.as_path());
    place::check(&location.directory, file, options.probe)
}

fn open_read_only(location: Location, options: &Options, migrations: &[Migration]) -> Result<Opened, OpenError> {
    if !location.exists {
        return Err(OpenError::NoFile { path: location.file });
    }
    let Looked { conn, refusal, .. } = look(&location, Use::Read, options, migrations)?;
    if let Some(refusal) = refusal {
        // Another form can be read if the tables are those that the queries name, and the core reads the records.
        let counters = query::fits(&conn.raw).then(|| conn.insist(Counters::load).ok()).flatten();
        let reads = |records: i64| options.records.reads.iter().any(|one| i64::from(*one) == records);
        return match counters {
            Some(Counters { format, .. }) if reads(format.records) => Ok(Opened { location, format, writing: None }),
            _ => Err(refusal),
        };
    }
    let found = conn.insist(Counters::load);
    let format = found.map_err(|error| OpenError::sqlite(&location.file, options.busy_limit, error))?.format;
    Ok(Opened { location, format, writing: None })
}

/// As [`look`], and refuses everything else that must not be written.
fn look_for_writing(
    location: &Location,
    purpose: Use,
    options: &Options,
    migrations: &[Migration],
) -> Result<Conn, OpenError> {
    let in_look = |what, error| OpenError::io(&location.file, what, &error);
    let links = files::identity(&location.file).map_err(|error| in_look("cannot be looked at", error))?;
    if let Some(links) = links.map(|file| file.links)
        && links != 1
    {
        return Err(OpenError::Linked { path: location.file.clone(), links });
    }
    let lock = location.beside(".lock");
    // Before the file, which may grow meanwhile.
    let acknowledged = mark::read(&lock).map_err(|error| in_look("its lock file cannot be read", error))?;
    let Looked { conn, counters, refusal } = look(location, purpose, options, migrations)?;
    refusal.map_or(Ok(()), Err)?;
    let found = counters.map_or(0, |counters| counters.commits);
    if found < acknowledged {
        let (path, missing) = (location.file.clone(), acknowledged - found);
        return Err(OpenError::Lost { path, lock, found, missing });
    }
    Ok(conn)
}

/// Opens a connection and refuses what is damaged or foreign; says beside it why the file must not be written. Writes
/// nothing to the file or its log.
fn look(location: &Location, purpose: Use, options: &Options, migrations: &[Migration]) -> Result<Looked, OpenError> {
    let log = files::length(&location.beside("-wal"))?.unwrap_or(0);
    look_at_lengths(location, log)?;
    let began = Instant::now();
    let in_open = |error| OpenError::sqlite(&location.file, began.elapsed(), error);
    let conn = Conn::open(&location.file, purpose, options).map_err(in_open)?;
    // Closing the last connection carries the log over into the file. Where there is none, closing leaves nothing behind.
    conn.close_without_checkpoint(log > 0).map_err(in_open)?;
    let path = location.file.clone();
    let known = schema::newest(migrations);
    let other = |layout| format!("layout {layout}, and this program knows layout {known}");
    let counters = match conn.insist(|raw| in_one_snapshot(raw, migrations)).map_err(in_open)? {
        Found::Foreign(detail) => return Err(OpenError::NotAStore { path, detail: detail.to_owned() }),
        Found::Older { layout } => return Err(OpenError::Older { path, what: other(layout) }),
        Found::Newer { layout } => {
            let refusal = Some(OpenError::Newer { path, what: other(layout) });
            return Ok(Looked { conn, counters: None, refusal });
        }
        Found::Store(counters) => counters,
    };
    let valid = conn.raw.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).unwrap_or(0_i64);
    if log::is_damaged(&location.beside("-wal"), valid.unsigned_abs())
        .map_err(|error| OpenError::io(&location.file, "its log cannot be read", &error))?
    {
        return Err(OpenError::damaged(&path, "its log is damaged in front of what was committed"));
    }
    if options.quick_check
        && let Some(detail) = quick_check(&conn.raw).map_err(in_open)?
    {
        return Err(OpenError::damaged(&path, detail));
    }
    schema::check_history(&conn.raw, migrations).map_err(|error| OpenError::while_opening(&path, error))?;
    if counters.format.layout == known && !query::fits(&conn.raw) {
        return Err(OpenError::damaged(&path, "a table or an index of its layout is gone"));
    }
    let refusal = other_records(&path, counters.format.records, options.records.writes);
    Ok(Looked { conn, counters: Some(counters), refusal })
}

/// Why a core that writes records of the form `writes` must not write into those of the form `found`.
fn other_records(path: &Path, found: i64, writes: u32) -> Option<OpenError> {
    let (path, what) = (path.to_owned(), format!("records {found}, and this program writes records {writes}"));
    match found.cmp(&i64::from(writes)) {
        Ordering::Less => Some(OpenError::Older { path, what }),
        Ordering::Equal => None,
        Ordering::Greater => Some(OpenError::Newer { path, what }),
    }
}

/// Files that this store never leaves behind.
fn look_at_lengths(location: &Location, log: u64) -> Result<(), OpenError> {
    let journal = files::length(&location.beside("-journal"))?.unwrap_or(0);
    if journal > 0 {
        return Err(OpenError::damaged(
            &location.file,
            "a rollback journal lies beside it, which a store never writes",
        ));
    }
    match files::length(&location.file)? {
        Some(0) if log > 0 => Err(OpenError::damaged(&location.file, "the file is empty, but its log is not")),
        Some(0) => {
            Err(OpenError::damaged(&location.file, "the file is empty; a new store begins where there is no file"))
        }
        // SQLite takes a file that is shorter than its smallest page for an empty one.
        Some(..512) => Err(OpenError::damaged(&location.file, "the file is cut short")),
        Some(_) => Ok(()),
        None => Err(OpenError::NoFile { path: location.file.clone() }),
    }
}

fn in_one_snapshot(conn: &Connection, migrations: &[Migration]) -> rusqlite::Result<Found> {
    conn.execute_batch("BEGIN")?;
    let found = schema::inspect(conn, migrations);
    let ended = conn.execute_batch("ROLLBACK");
    let found = found?;
    ended.map(|()| found)
}

/// What SQLite finds wrong with the file; nothing where it is well.
fn quick_check(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((verdict != "ok").then_some(verdict))
}

/// What SQLite finds wrong with the file and its indexes; nothing where all is well.
pub(crate) fn integrity_check(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok((verdict != "ok").then_some(verdict))
}

/// Sees to it that the file has a write-ahead log: somebody may have switched it off.
fn use_log(conn: &Conn, location: &Location, began: Instant) -> Result<(), OpenError> {
    let mode: String = conn
        .insist(|raw| raw.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0)))
        .map_err(|error| OpenError::sqlite(&location.file, began.elapsed(), error))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(OpenError::Io { path: location.file.clone(), detail: format!("no write-ahead log here, only {mode}") })
}

/// After a flush that failed the system may hold pages of the log that are not on the disk and that no later flush writes:
/// what is read from it is written again, while nobody adds to it, before anything is built on it.
fn flush_again(conn: &Conn, queue: &Queue, location: &Location, options: &Options) -> Result<(), OpenError> {
    let io = |error: std::io::Error| OpenError::io(&location.file, "its log cannot be made durable", &error);
    if !queue.flush_has_failed().map_err(io)? {
        return Ok(());
    }
    let head = queue.enter(options.busy_limit).map_err(|error| OpenError::while_opening(&location.file, error))?;
    conn.wait_at_most(options.busy_limit);
    let in_open = |error| OpenError::sqlite(&location.file, options.busy_limit, error);
    conn.insist(|raw| raw.execute_batch("BEGIN IMMEDIATE")).map_err(in_open)?;
    let written = (options.write_again)(&location.beside("-wal")).and_then(|()| queue.note_flushed());
    conn.raw.execute_batch("ROLLBACK").map_err(in_open)?;
    drop(head);
    written.map_err(io)
}

/// Runs missing migrations at the head of the queue; what the file is made for afterwards.
fn bring_up_to_date(
    conn: &Conn,
    queue: &Queue,
    location: &Location,
    options: &Options,
    migrations: &[Migration],
) -> Result<Format, OpenError> {
    let in_open = |error| OpenError::while_opening(&location.file, error);
    let in_sqlite = |error| OpenError::sqlite(&location.file, options.busy_limit, error);
    let found = conn.insist(Counters::load).map_err(in_sqlite)?.format;
    if found.layout >= schema::newest(migrations) {
        return Ok(found);
    }
    let _head = queue.enter(options.busy_limit).map_err(in_open)?;
    conn.wait_at_most(options.busy_limit);
    schema::migrate(&conn.raw, migrations, options.records.writes).map_err(in_open)?;
    Ok(conn.insist(Counters::load).map_err(in_sqlite)?.format)
}

/// Makes the file, unless somebody else does so first. It appears under its name when it is complete and durable.
fn create(location: &Location, options: &Options, migrations: &[Migration]) -> Result<Queue, OpenError> {
    if files::length(&location.beside("-wal"))?.unwrap_or(0) > 0 {
        // SQLite would carry the old log over into the new file.
        return Err(OpenError::damaged(&location.file, "the file is gone, but its log is there"));
    }
    let queue = Queue::open(location.beside(".lock"))?;
    let head = queue.enter(options.busy_limit).map_err(|error| OpenError::while_opening(&location.file, error))?;
    if files::length(&location.file)?.is_none() {
        let new = Location { file: location.beside(".new"), ..location.clone() };
        for left_behind in [new.file.clone(), new.beside("-wal"), new.beside("-shm"), new.beside("-journal")] {
            // From a creation that was interrupted; nobody else is at this place in the queue.
            let _ = fs::remove_file(left_behind);
        }
        let in_create = |error| OpenError::io(&location.file, "cannot be created", &error);
        let file = files::create_private(&new.file).map_err(in_create)?;
        drop(file);
        fill(&new, options, migrations)?;
        queue.forget_commits().map_err(in_create)?;
        // Somebody may ignore the queue; then theirs is opened, or refused, as any other.
        files::publish(&new.file, location).map_err(in_create)?;
    }
    drop(head);
    Ok(queue)
}

/// Turns an empty file into an empty store, on the disk when this returns.
fn fill(new: &Location, options: &Options, migrations: &[Migration]) -> Result<(), OpenError> {
    let began = Instant::now();
    let in_open = |error| OpenError::sqlite(&new.file, began.elapsed(), error);
    let conn = Conn::open(&new.file, Use::Write, options).map_err(in_open)?;
    conn.raw.execute_batch("PRAGMA page_size=4096;").map_err(in_open)?;
    conn.configure_for_creation(options).map_err(in_open)?;
    use_log(&conn, new, began)?;
    schema::migrate(&conn.raw, migrations, options.records.writes)
        .map_err(|error| OpenError::while_opening(&new.file, error))?;
    // Closing would carry the log over as well, but does not say where that fails; without its log the file is no store.
    let left: (i64, i64) = conn
        .raw
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(in_open)?;
    if left != (0, 0) {
        // Also where SQLite has said that there is a log, and could not make one.
        let detail = "the new file has no log that could be carried over; try again".to_owned();
        return Err(OpenError::Io { path: new.file.clone(), detail });
    }
    conn.raw.close().map_err(|(_, error)| in_open(error))
}
