//! The store: its parts put together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadmesh_runtime::store::{
    Answer, Batch, EffectLease, LeasedEffect, Query, Scrub, Snapshot, Store, StoreError, Turn,
};

use crate::batch::{Shared, SqliteBatch, Writer};
use crate::check::{FailedEffect, failed_effects, inner_check};
use crate::checkpointer::Checkpointer;
use crate::connection::Conn;
use crate::counters::Counters;
use crate::error::{OpenError, store_error};
use crate::journal::HALF_MAX;
use crate::names::Names;
use crate::open::{Opened, examine, integrity_check, open};
use crate::options::Options;
use crate::outbox;
use crate::pool::{Lent, Pool};
use crate::query;
use crate::recent::{Moment, Recent, end};
use crate::schema::{MIGRATIONS, Migration};
use crate::view::View;
use crate::watch::Watch;

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
    /// Nothing in a store for reading only, which holds nothing that could be lost.
    files: Option<Arc<Watch>>,
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
        let Opened { location, format, writing } = open(path, &options, migrations)?;
        let files = writing.is_some().then(|| Watch::new(&location).map(Arc::new)).transpose()?;
        let make = |((conn, queue), files): (_, &Arc<Watch>)| -> Result<_, OpenError> {
            let writer = Writer::new(conn, queue, Arc::clone(files), format, &options);
            Ok(Mutex::new(match options.checkpoint_beside {
                true => writer.with_checkpointer(Checkpointer::start(&location, &options)?),
                false => writer,
            }))
        };
        let writer = writing.zip(files.as_ref()).map(make).transpose()?;
        let (file, limit, slots_max) =
            (location.file, options.busy_limit, i64::from(options.journal_pages).min(HALF_MAX));
        let pool = Pool::new(file.clone(), options);
        let watch = pool.open().map_err(|error| OpenError::sqlite(&file, Duration::ZERO, error))?;
        let (names, recent, turn) = (Names::default(), Recent::new(format), Turn::default());
        Ok(Self { file, limit, names, recent, slots_max, turn, pool, watch: Mutex::new(watch), files, writer })
    }

    /// Why [`SqliteStore::open`] would refuse to open the file at `path` for writing, if it would. Makes nothing but
    /// what SQLite needs beside a file to read it.
    pub fn examine(path: impl AsRef<Path>, options: &Options) -> Result<(), OpenError> {
        examine(path.as_ref(), options, MIGRATIONS)
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
        let finding = self.reading(|conn| match integrity_check(conn)? {
            Some(finding) => Ok(Some(finding)),
            None => self.recent.read(conn, inner_check),
        })?;
        finding.map_or(Ok(()), |detail| Err(StoreError::Damaged { detail }))
    }

    /// The stored effects that nobody could perform as things were, at most `limit` of them, and how many there are: for
    /// the doctor.
    pub fn failed_effects(&self, limit: u32) -> Result<(Vec<FailedEffect>, u64), StoreError> {
        self.reading(|conn| failed_effects(conn, limit))
    }

    fn writer(&self) -> Result<MutexGuard<'_, Writer>, StoreError> {
        let writer =
            self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { detail: "opened for reading only".into() })?;
        Ok(writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads with one of the connections, if the files are still those that were opened.
    fn reading<T>(&self, what: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.glance()?;
        self.pool.read(what)
    }

    /// Whether the files were those that were opened a moment ago.
    fn glance(&self) -> Result<(), StoreError> {
        let Some(trouble) = self.files.as_ref().map_or(Ok(None), |files| files.glance())? else { return Ok(()) };
        // So that what was acknowledged is saved where nobody writes. Whoever has the writer sees it by himself.
        if let Some(Ok(mut writer)) = self.writer.as_ref().map(Mutex::try_lock) {
            writer.check_files()?;
        }
        Err(trouble.stopped())
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

/// A connection with an open snapshot, and what the journal held at that moment.
struct SqliteSnapshot<'a> {
    store: &'a SqliteStore,
    lent: Lent<'a>,
    moment: Moment,
}

impl Snapshot for SqliteSnapshot<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let (store, moment) = (self.store, &self.moment);
        let answers = |view: &View<'_>| queries.iter().map(|query| store.answer(view, query)).collect();
        self.lent.insist(|conn| moment.through(conn, answers))
    }
}

impl Drop for SqliteSnapshot<'_> {
    fn drop(&mut self) {
        // A connection whose snapshot did not end is not lent again.
        let _ = self.lent.conn().map(|conn| end(&conn.raw));
    }
}

impl Store for SqliteStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        self.glance()?;
        let lent = self.pool.lend()?;
        let moment = lent.insist(|conn| {
            let moment = self.recent.snapshot(conn);
            if moment.is_err() {
                end(conn)?;
            }
            moment
        })?;
        Ok(Box::new(SqliteSnapshot { store: self, lent, moment }))
    }

    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        Ok(Box::new(self.batch(self.limit, Instant::now())?))
    }

    fn last_time(&self) -> Result<i64, StoreError> {
        let format = self.recent.format();
        Ok(self.reading(|conn| Counters::load_as(conn, format))?.last_time)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        let began = Instant::now();
        self.glance()?;
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
        self.reading(outbox::next_due)
    }
}
