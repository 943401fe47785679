//! The store: its parts put together.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use threadmesh_runtime::store::{Answer, Batch, EffectLease, LeasedEffect, Query, Row, Scrub, Store, StoreError, Turn};

use crate::apply::Counters;
use crate::batch::{Shared, SqliteBatch, Writer};
use crate::connection::Conn;
use crate::error::{OpenError, store_error};
use crate::files;
use crate::names::Names;
use crate::open::{Opened, integrity_check, open};
use crate::options::Options;
use crate::outbox;
use crate::pool::Pool;
use crate::query;
use crate::recent::Recent;
use crate::schema::{MIGRATIONS, Migration};
use crate::view::View;
use crate::{keys, sum};

/// A store in one SQLite file; see the [crate](crate). Shared by all threads of a process.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    limit: Duration,
    names: Names,
    recent: Recent,
    slots_max: i64,
    turn: Turn,
    // Closed in this order: whoever closes last empties the log, and only the writer can.
    pool: Pool,
    watch: Mutex<Conn>,
    writer: Option<Mutex<Writer>>,
}

/// What a checkpoint came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whether a reader or writer, in this process or another, was in the way until the end: then the log still holds
    /// what it held, and what was removed from the file may still be in it.
    pub busy: bool,
    /// Pages in the log.
    pub log_pages: i64,
    /// Those of them that are in the file as well.
    pub moved_pages: i64,
}

impl SqliteStore {
    /// Opens the store at `path`, and makes it where it is missing. [`OpenError`] says what is wrong otherwise, and that
    /// nothing was changed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open_with(path.as_ref(), options, MIGRATIONS)
    }

    pub(crate) fn open_with(path: &Path, options: Options, migrations: &[Migration]) -> Result<Self, OpenError> {
        let Opened { location, writing } = open(path, &options, migrations)?;
        let (file, limit) = (location.file, options.busy_limit);
        let slots_max = i64::from(options.journal_pages);
        let pool = Pool::new(file.clone(), options);
        let watch = pool.open().map_err(|error| OpenError::sqlite(&file, Duration::ZERO, error))?;
        let identity = files::identity(&file).map_err(|error| OpenError::io(&file, "cannot be looked at", &error))?;
        let writer = writing.map(|(conn, queue)| Mutex::new(Writer::new(conn, queue, file.clone(), identity, limit)));
        let (names, recent, turn) = (Names::default(), Recent::default(), Turn::default());
        Ok(Self { file, limit, names, recent, slots_max, turn, pool, watch: Mutex::new(watch), writer })
    }

    /// The file, links resolved.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Carries journal and log over into the tables of the file and empties them, so that nothing is left in them of what
    /// was removed (settled point 45). Waits up to `wait` for readers and writers everywhere; [`Checkpoint::busy`] says that it was in vain.
    pub fn checkpoint_truncate(&self, wait: Duration) -> Result<Checkpoint, StoreError> {
        let began = Instant::now();
        self.batch(wait, began)?.empty_journal()?;
        let _turn = self.turn.take(wait.saturating_sub(began.elapsed()))?;
        self.writer()?.empty_log(began, wait)
    }

    /// SQLite's integrity check of the whole file, and whether every row is what was written and found under its keys;
    /// [`StoreError::Damaged`] with the first finding.
    pub fn check(&self) -> Result<(), StoreError> {
        let finding = self.pool.read(|conn| match integrity_check(conn)? {
            Some(finding) => Ok(Some(finding)),
            None => self.recent.read(conn, inner_check),
        })?;
        finding.map_or(Ok(()), |detail| Err(StoreError::Damaged { detail }))
    }

    /// The stored effects that nobody could perform as things were, at most `limit` of them, and how many there are: for
    /// the doctor.
    pub fn failed_effects(&self, limit: u32) -> Result<(Vec<FailedEffect>, u64), StoreError> {
        self.pool.read(|conn| failed_effects(conn, limit))
    }

    fn writer(&self) -> Result<MutexGuard<'_, Writer>, StoreError> {
        let writer =
            self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { detail: "opened for reading only".into() })?;
        Ok(writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets a test do to the writer what only a failing disk does.
    #[cfg(test)]
    pub(crate) fn with_writer<T>(&self, what: impl FnOnce(&mut Writer) -> T) -> T {
        what(&mut self.writer().expect("a store that writes"))
    }

    fn in_transaction<T>(&self, what: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let _turn = self.turn.take(self.limit)?;
        self.writer()?.in_transaction(what)
    }

    fn batch(&self, wait: Duration, began: Instant) -> Result<SqliteBatch<'_>, StoreError> {
        let turn = self.turn.take(wait)?;
        let Self { names, recent, slots_max, .. } = self;
        SqliteBatch::begin(turn, self.writer()?, Shared { names, recent, slots_max: *slots_max }, began)
    }

    fn answer(&self, view: &View<'_>, query: &Query) -> rusqlite::Result<Answer> {
        Ok(match self.names.find(view.conn, &query.collection, &query.index)? {
            Some(name) => view.answer(name, query)?,
            None => Answer::default(),
        })
    }
}

impl Store for SqliteStore {
    fn read(&self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let answers = |view: &View<'_>| queries.iter().map(|query| self.answer(view, query)).collect();
        self.pool.read(|conn| self.recent.read(conn, answers))
    }

    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        Ok(Box::new(self.batch(self.limit, Instant::now())?))
    }

    fn last_time(&self) -> Result<i64, StoreError> {
        Ok(self.pool.read(Counters::load)?.last_time)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        let began = Instant::now();
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.wait_at_most(self.limit);
        watch
            .insist(|conn| conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| query::unsigned(row, 0)))
            .map_err(|error| store_error(error, began.elapsed()))
    }

    /// What was deleted in the file is overwritten as it is deleted; what is left is the log.
    fn scrub(&self, wait: Duration) -> Result<Scrub, StoreError> {
        let checkpoint = self.checkpoint_truncate(wait)?;
        Ok(if checkpoint.busy { Scrub::Held } else { Scrub::Clean })
    }

    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        // Dispatchers ask often, and mostly in vain.
        if limit == 0 || self.next_effect_due()?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        self.in_transaction(|conn| outbox::lease(conn, now, now.saturating_add(lease_ms), limit))
    }

    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.in_transaction(|conn| outbox::complete(conn, lease))
    }

    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError> {
        self.in_transaction(|conn| outbox::release(conn, lease, retry_at, failed))
    }

    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.in_transaction(|conn| outbox::advance(conn, now))
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.pool.read(outbox::next_due)
    }
}

/// A stored effect that nobody could perform as things were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEffect {
    /// What to do.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// How often it was leased.
    pub tries: u32,
    /// When it is tried again, in milliseconds since the Unix epoch.
    pub due: i64,
    /// Why it could not be done.
    pub failed: String,
}

/// See [`SqliteStore::failed_effects`]. A file that no program has written since its layout had none keeps no reasons.
fn failed_effects(conn: &Connection, limit: u32) -> rusqlite::Result<(Vec<FailedEffect>, u64)> {
    if !conn.prepare("SELECT 1 FROM pragma_table_info('outbox') WHERE name = 'failed'")?.exists([])? {
        return Ok((Vec::new(), 0));
    }
    let make = |row: &rusqlite::Row<'_>| {
        let (name, about, tries, due, failed) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(FailedEffect { name, about, tries, due, failed })
    };
    let sql = "SELECT name, key, fence, due, failed FROM outbox WHERE failed IS NOT NULL ORDER BY due, id LIMIT ?1";
    let found = conn.prepare(sql)?.query_map([limit], make)?.collect::<Result<_, _>>()?;
    let count = "SELECT count(*) FROM outbox WHERE failed IS NOT NULL";
    Ok((found, conn.query_row(count, [], |row| query::unsigned(row, 0))?))
}

/// What the layout demands and SQLite does not check.
fn inner_check(view: &View<'_>) -> rusqlite::Result<Option<String>> {
    let demands = [
        (
            "two rows have the same id",
            "SELECT 1 FROM names n JOIN entries e ON e.name = n.number WHERE n.index_name = ''
             GROUP BY e.name, e.key HAVING count(*) > 1",
        ),
        (
            "a stored effect was leased less than never, or too often",
            "SELECT 1 FROM outbox WHERE fence NOT BETWEEN 0 AND 4294967295",
        ),
        ("a counter is behind", "SELECT 1 FROM counters WHERE stamps < (SELECT coalesce(max(stamp), 0) FROM facts)"),
    ];
    for (finding, sql) in demands {
        if view.conn.prepare(sql)?.exists([])? {
            return Ok(Some(finding.to_owned()));
        }
    }
    if let Some(finding) = check_rows(view.conn)? {
        return Ok(Some(finding.to_owned()));
    }
    if let Some(key) = view.stray_key() {
        return Ok(Some(format!("the key {key} in the journal leads to a row that is gone")));
    }
    Ok((!audit_is_dense(view)?).then(|| "the audit has a gap".to_owned()))
}

/// Whether journal and tables together have as many audit records as were counted.
fn audit_is_dense(view: &View<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT n.number, (SELECT count(*) FROM entries e WHERE e.name = n.number)
               FROM names n WHERE n.collection = 'audit' AND n.index_name = ''";
    let found = view.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).optional()?;
    let (name, stored) = found.unwrap_or_default();
    let counted: i64 = view.conn.query_row("SELECT audit FROM counters", [], |row| row.get(0))?;
    Ok(counted == stored + view.coming(name) as i64)
}

/// Reads all rows of the tables and looks for each of their keys; the first finding.
fn check_rows(conn: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let mut statement = conn.prepare("SELECT id, '', revision, stamp, name, keys, sum, body_sum, body FROM facts")?;
    let mut has = conn.prepare("SELECT 1 FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3")?;
    let (mut rows, mut count) = (statement.query([])?, 0_i64);
    while let Some(row) = rows.next()? {
        let Ok(Row { id, stamp, .. }) = query::checked(row) else { return Ok(Some("a row is not what was written")) };
        let keys = keys::decode(sum::blob(row, 5)?);
        let Ok(mut keys) = keys else { return Ok(Some("the list of a row's keys is malformed")) };
        keys.push((row.get(4)?, &id));
        for (name, key) in &keys {
            if !has.exists(params![name, key, stamp.cast_signed()])? {
                return Ok(Some("a row is not found under one of its keys"));
            }
        }
        count += keys.len() as i64;
    }
    let entries: i64 = conn.query_row("SELECT count(*) FROM entries", [], |row| row.get(0))?;
    Ok((entries != count).then_some("a key leads to no row"))
}
