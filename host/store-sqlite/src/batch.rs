//! The write batch: one immediate transaction on the one connection that writes.

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadmesh_runtime::store::{
    Answer, Applied, ApplyError, Batch, Changes, Epoch, Query, ReadSet, StoreError, TurnGuard, check_changes,
};

use crate::apply::Applier;
use crate::checkpointer::Checkpointer;
use crate::connection::Conn;
use crate::counters::{Counters, Format};
use crate::delta::Delta;
use crate::error::{InStore, is_flush_failure, may_be_committed, store_error};
use crate::growth::Growth;
use crate::journal::{self, Place};
use crate::log;
use crate::looked::Looked;
use crate::names::{Names, NewNames};
use crate::options::{Options, Synchronous};
use crate::queue::Queue;
use crate::recent::Recent;
use crate::settle::{At, settle};
use crate::store::Checkpoint;
use crate::watch::{Trouble, Watch};

/// How long a log that has lost its name may hold up whoever saves what is in it.
const RESCUE: Duration = Duration::from_secs(5);

/// How long whoever writes waits for readers of old snapshots, so that a log that is too long begins again.
const RESTART: Duration = Duration::from_millis(10);

/// How many slots are filled from one slice of the other half to the next, at least: small slices share fewer pages.
const STEP: i64 = 8;

/// The writing connection, as long as it can be trusted.
#[derive(Debug)]
pub(crate) struct Writer {
    conn: Option<Conn>,
    queue: Queue,
    files: Arc<Watch>,
    /// As it was when the file was opened.
    format: Format,
    limit: Duration,
    /// Whether a commit that returns is on the disk.
    durable: bool,
    /// How long the log was after the last commit.
    log: u64,
    /// What carries the log over, unless commits do it.
    beside: Option<Checkpointer>,
    growth: Growth,
    /// Why there is no connection any more.
    end: StoreError,
}

impl Writer {
    /// Takes over a connection to a file that is open and configured with `options`.
    pub fn new(conn: Conn, queue: Queue, files: Arc<Watch>, format: Format, options: &Options) -> Self {
        let end = StoreError::Stopped { detail: String::new() };
        let (limit, durable) = (options.busy_limit, options.synchronous == Synchronous::Full);
        let growth = Growth::new(options.checkpoint_pages);
        Self { conn: Some(conn), queue, files, format, limit, durable, log: 0, beside: None, growth, end }
    }

    /// From now on `beside` carries the log over.
    pub fn with_checkpointer(mut self, beside: Checkpointer) -> Self {
        self.beside = Some(beside);
        self
    }

    /// The connection, without a transaction; waits will end at the limit from `began` on.
    pub fn conn(&self, began: Instant) -> Result<&Conn, StoreError> {
        let conn = self.conn.as_ref().ok_or_else(|| self.end.clone())?;
        conn.wait_at_most(self.limit.saturating_sub(began.elapsed()));
        Ok(conn)
    }

    /// Lets a test do to the one that carries the log over what only a failing disk does.
    #[cfg(test)]
    pub fn failing_checkpointer(&self) -> impl Fn(&str) + use<> {
        self.beside.as_ref().expect("it has one").failing()
    }

    /// Begins an exclusive transaction, behind those of other processes that were first.
    fn begin(&mut self, began: Instant) -> Result<(), StoreError> {
        let log = self.check_files()?;
        self.check_flushes()?;
        self.conn(began)?;
        self.restart_log()?;
        let head = self.queue.enter(self.limit.saturating_sub(began.elapsed()))?;
        if log < self.log {
            self.check_log()?;
        }
        let conn = self.conn(began)?;
        let begun = conn
            .insist(|raw| raw.prepare_cached("BEGIN IMMEDIATE")?.execute([]))
            .map_err(|error| store_error(error, began.elapsed()));
        drop(head);
        begun.map(|_| ())
    }

    /// What is committed to a file or a log without a name is lost, though every call succeeds. Gives up where that is so,
    /// and says otherwise how long the log is.
    pub fn check_files(&mut self) -> Result<u64, StoreError> {
        let look = self.files.look()?;
        match (look.trouble, self.conn.is_some()) {
            (None, _) => Ok(look.log),
            (Some(_), false) => Err(self.end.clone()),
            (Some(trouble), true) => {
                self.end_for(trouble);
                Err(self.end.clone())
            }
        }
    }

    /// Stops for good because of what became of the files; whether what was committed is in the file that has the name.
    fn end_for(&mut self, trouble: Trouble) -> bool {
        let saved = trouble == Trouble::LogRemoved && self.save_log();
        let what = trouble.what();
        let detail = if saved {
            format!("{what}; all that was committed was carried over into the file first. Open it again")
        } else {
            format!("{what}; end all processes that use it, and see `threadmesh doctor`")
        };
        self.close(StoreError::Stopped { detail });
        saved
    }

    /// Carries a log that has lost its name over into the file, unless somebody has begun another one.
    fn save_log(&self) -> bool {
        let (Some(conn), Ok(_head)) = (&self.conn, self.queue.enter(RESCUE)) else { return false };
        let _held = self.beside.as_ref().map(|beside| beside.hold(true));
        if !self.files.look().is_ok_and(|look| look.trouble == Some(Trouble::LogRemoved)) {
            return false;
        }
        conn.wait_at_most(RESCUE);
        let all = |row: &rusqlite::Row<'_>| {
            let (busy, log, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(busy == 0 && log == moved)
        };
        conn.raw.query_row("PRAGMA wal_checkpoint(FULL)", [], all).unwrap_or(false)
    }

    /// The log is shorter than it was after the last commit: others may have emptied it, which its index says first.
    fn check_log(&mut self) -> Result<(), StoreError> {
        const TRIES: u32 = 10;
        for attempt in 0..TRIES {
            let Some(conn) = &self.conn else { return Err(self.end.clone()) };
            let in_use = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1);
            let frames = conn.raw.query_row("PRAGMA wal_checkpoint(NOOP)", [], in_use).in_store()?;
            let length = self.files.look()?.log;
            if length >= log::length(frames.unsigned_abs()) {
                self.log = length;
                return Ok(());
            }
            // It may have been emptied once more in between.
            std::thread::sleep(Duration::from_millis(u64::from(attempt)));
        }
        let detail =
            "its log was cut short while it was open; end all processes that use it, and see `threadmesh doctor`";
        self.close(StoreError::Stopped { detail: detail.into() });
        Err(self.end.clone())
    }

    /// Carries the log over and empties it; waits for others until `wait` is over.
    pub fn empty_log(&mut self, began: Instant, wait: Duration) -> Result<Checkpoint, StoreError> {
        let conn = self.conn(began)?;
        // SQLite takes one that carries the log over for being in the way, and does not wait for it.
        let held = self.beside.as_ref().map(|beside| beside.hold(true));
        conn.wait_at_most(wait.saturating_sub(began.elapsed()));
        let make = |row: &rusqlite::Row<'_>| {
            Ok(Checkpoint { busy: row.get::<_, i64>(0)? != 0, log_pages: row.get(1)?, moved_pages: row.get(2)? })
        };
        let done = conn.raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], make);
        let done = done.map_err(|error| store_error(error, began.elapsed()));
        drop(held);
        match &done {
            Err(StoreError::Broken { detail }) => self.give_up(detail.clone()),
            _ => self.log = 0,
        }
        done
    }

    /// Gives up where the one that carries the log over met a flush that failed.
    fn check_flushes(&mut self) -> Result<(), StoreError> {
        match self.beside.as_ref().and_then(Checkpointer::failed) {
            Some(detail) if self.conn.is_some() => {
                self.give_up(detail.clone());
                Err(StoreError::Broken { detail })
            }
            _ => Ok(()),
        }
    }

    /// Lets the log begin again where it is too long: what is not carried over yet is little, and nobody else commits
    /// meanwhile. Readers of old snapshots are waited for, but not for long.
    fn restart_log(&mut self) -> Result<(), StoreError> {
        let (Some(conn), Some(beside)) = (&self.conn, &self.beside) else { return Ok(()) };
        if !self.growth.is_too_long() {
            return Ok(());
        }
        let Some(held) = beside.hold(self.growth.is_urgent()) else { return Ok(()) };
        conn.wait_at_most(RESTART);
        let done = conn.raw.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, i64>(0));
        drop(held);
        if let Err(error) = &done
            && is_flush_failure(error)
        {
            let detail = error.to_string();
            self.give_up(detail.clone());
            return Err(StoreError::Broken { detail });
        }
        // Whatever else failed left the log as it was.
        self.growth.restarted(matches!(done, Ok(0)));
        Ok(())
    }

    /// Looks how long the log has become, and asks for it to be carried over.
    fn watch_growth(&mut self) {
        let (Some(conn), Some(beside)) = (&self.conn, &self.beside) else { return };
        let frames = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let statement = conn.raw.prepare_cached("PRAGMA wal_checkpoint(NOOP)");
        let Ok((log, moved)) = statement.and_then(|mut noop| noop.query_row([], frames)) else { return };
        if self.growth.is_long(log, moved) {
            beside.ask();
        }
    }

    /// Ends the transaction durably. Whatever goes wrong, no transaction is open afterwards.
    fn commit(&mut self) -> Result<(), StoreError> {
        // From here on the commit's own flush says it: the system tells each descriptor of what it could not write.
        self.check_flushes()?;
        let Some(conn) = &self.conn else { return Err(self.end.clone()) };
        let committed = conn.raw.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        match committed {
            Ok(_) => self.check_after_commit(),
            Err(error) if may_be_committed(&error) => {
                let detail = error.to_string();
                self.give_up(detail.clone());
                Err(StoreError::Broken { detail })
            }
            Err(error) => {
                self.roll_back();
                Err(error).in_store()
            }
        }
    }

    /// The files may have lost their names during the batch.
    fn check_after_commit(&mut self) -> Result<(), StoreError> {
        let detail = match self.files.look() {
            Ok(look) => match look.trouble {
                None => {
                    self.log = look.log;
                    return Ok(());
                }
                Some(trouble) if self.end_for(trouble) => return Ok(()),
                Some(trouble) => trouble.what().to_owned(),
            },
            Err(error) => error.to_string(),
        };
        self.close(StoreError::Stopped { detail: detail.clone() });
        Err(StoreError::Broken { detail })
    }

    /// Says beside the file that the commit with this number was acknowledged.
    fn note_commits(&self, commits: i64) {
        if self.durable {
            self.queue.note_commits(commits);
        }
    }

    /// Takes everything back that is not committed.
    fn roll_back(&mut self) {
        let Some(conn) = &self.conn else { return };
        if conn.raw.is_autocommit() {
            return;
        }
        if let Err(error) = conn.raw.execute_batch("ROLLBACK") {
            self.give_up(format!("a batch could not be rolled back: {error}"));
        }
    }

    /// Stops writing for good, since the disk did not confirm the log.
    pub fn give_up(&mut self, detail: String) {
        // Where even that fails, nobody can write here.
        let _ = self.queue.note_failed_flush();
        self.close(StoreError::Broken { detail });
    }

    /// Stops writing for good. The log may hold a batch that nobody was told of: closing must not carry it over.
    fn close(&mut self, end: StoreError) {
        if let Some(conn) = self.conn.take() {
            let _ = conn.close_without_checkpoint(true);
            self.end = end;
        }
    }

    /// Runs `what` in a transaction of its own.
    pub fn in_transaction<T>(
        &mut self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        self.begin(began)?;
        let format = self.format;
        let raw = &self.conn(began)?.raw;
        match Counters::load_as(raw, format).and_then(|_| what(raw)).in_store() {
            Ok(value) => self.commit().map(|()| value),
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The last one to close carries the log over, which nobody may do after a flush that failed.
        let failed = self.beside.as_ref().map(|beside| (drop(beside.hold(true)), beside.failed()).1);
        self.beside = None;
        if let Some(Some(detail)) = failed {
            self.give_up(detail);
        }
    }
}

/// What a batch shares with all others of its store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub names: &'a Names,
    pub recent: &'a Recent,
    /// See [`crate::Options::journal_pages`].
    pub slots_max: i64,
}

/// An open batch.
pub(crate) struct SqliteBatch<'a> {
    writer: MutexGuard<'a, Writer>,
    shared: Shared<'a>,
    new_names: NewNames,
    counters: Counters,
    /// What it has applied. Names and stored effects are in the transaction already.
    layer: Delta,
    looked: Looked,
    epoch: Epoch,
    changed: bool,
    /// After a failure in the middle of applying, nothing of this batch may be committed.
    failed: bool,
    _turn: TurnGuard<'a>,
}

impl<'a> SqliteBatch<'a> {
    /// Begins, in this thread's turn; `began` is when the caller began to wait.
    pub fn begin(
        turn: TurnGuard<'a>,
        mut writer: MutexGuard<'a, Writer>,
        shared: Shared<'a>,
        began: Instant,
    ) -> Result<Self, StoreError> {
        writer.begin(began)?;
        let mut batch = Self {
            writer,
            shared,
            new_names: NewNames::default(),
            counters: Counters::new(shared.recent.format()),
            layer: Delta::default(),
            looked: Looked::default(),
            epoch: Epoch::of_new_batch(),
            changed: false,
            failed: false,
            _turn: turn,
        };
        // From here on, dropping rolls back. The commits of other processes count.
        let conn = batch.conn()?;
        let counters = Counters::load_as(conn, shared.recent.format()).in_store()?;
        shared.recent.catch_up(conn, counters.place).in_store()?;
        batch.counters = counters;
        Ok(batch)
    }

    fn conn(&self) -> Result<&Connection, StoreError> {
        match &self.writer.conn {
            Some(conn) if !self.failed => Ok(&conn.raw),
            _ => Err(StoreError::misuse("the batch has failed before and can only be dropped")),
        }
    }

    fn applier(&mut self) -> Result<Applier<'_>, StoreError> {
        self.conn()?;
        let Self { writer, shared, new_names, counters, layer, looked, .. } = self;
        let conn = writer.conn.as_ref().ok_or_else(|| StoreError::misuse("the batch has no connection"))?;
        let Shared { names, recent, .. } = *shared;
        Ok(Applier { conn: &conn.raw, names, new_names, counters, recent, layer, looked })
    }

    /// Carries over what the journal holds and what this batch has applied, and leaves the journal to be written anew.
    fn settle(&mut self) -> Result<(), StoreError> {
        let conn = self.conn()?;
        self.shared.recent.with_old(|old, at| old.carry(conn, at, i64::MAX))?;
        settle(conn, &self.shared.recent.whole())?;
        settle(conn, &self.layer)?;
        self.counters.place = Place { settled: self.counters.place.settled + 1, ..Place::default() };
        Ok(())
    }

    /// Carries over what the journal holds, and leaves no trace in it.
    pub fn empty_journal(mut self) -> Result<(), StoreError> {
        let from = self.counters.place;
        if from.slots > 0 || from.before > 0 {
            self.settle()?;
        }
        let cleared = journal::clear(self.conn()?).in_store()?;
        if from == self.counters.place && cleared == 0 {
            return Ok(());
        }
        self.finish(from, At::default())
    }

    /// Writes what was applied in the journal, and carries over a slice of its other half; how far that is then.
    fn write(&mut self) -> Result<At, StoreError> {
        let mut bytes = journal::encode(&self.layer);
        let (slots, half) = (journal::slots(&bytes), self.shared.slots_max);
        if slots > half {
            // More than there will ever be room for.
            return self.settle().map(|()| At::default());
        }
        let mut place = self.counters.place;
        let full = place.slots.saturating_add(slots) > half;
        let (conn, recent) = (self.conn()?, self.shared.recent);
        let mut at = recent.with_old(|_, at| at.clone());
        let step = (half / 16).clamp(1, STEP);
        let steps = (place.slots + slots) / step - place.slots / step;
        if place.before > 0 && (full || steps > 0) {
            let (to, done) = recent.with_old(|old, at| {
                let most = if full { i64::MAX } else { old.slice(steps * step, half) };
                old.carry(conn, at, most).map(|to| (to.clone(), old.is_done(&to)))
            })?;
            (at, place.carried) = (to.clone(), to.done);
            if done {
                (at, place.before, place.carried) = (At::default(), 0, 0);
            }
        }
        if full {
            (at, place) = (At::default(), place.next());
        }
        journal::append(conn, place, &mut bytes).in_store()?;
        place.slots += slots;
        self.counters.place = place;
        Ok(at)
    }

    /// Commits durably, and lets the process know what was committed.
    fn finish(&mut self, from: Place, at: At) -> Result<(), StoreError> {
        self.counters.commits += 1;
        self.counters.save(self.conn()?).in_store()?;
        self.writer.commit()?;
        self.writer.note_commits(self.counters.commits);
        self.writer.watch_growth();
        self.shared.recent.advance(std::mem::take(&mut self.layer), from, self.counters.place, at);
        self.shared.names.keep(std::mem::take(&mut self.new_names));
        Ok(())
    }
}

impl Batch for SqliteBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let (conn, Shared { names, recent, .. }) = (self.conn()?, self.shared);
        let answers = recent.through(conn, &self.layer, &self.looked, |view| {
            let answer = |query: &Query| -> rusqlite::Result<Answer> {
                Ok(match names.find_in(conn, &self.new_names, &query.collection, &query.index)? {
                    Some(name) => view.answer(name, query)?,
                    None => Answer::default(),
                })
            };
            queries.iter().map(answer).collect::<Result<_, _>>()
        });
        answers.in_store()
    }

    fn last_time(&mut self) -> Result<i64, StoreError> {
        self.conn().map(|_| self.counters.last_time)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        check_changes(changes)?;
        let answered_here = reads.epoch == Some(self.epoch);
        let mut applier = self.applier()?;
        let applied = if answered_here { Ok(()) } else { applier.validate(reads) };
        let applied = match applied {
            Ok(()) if changes.is_empty() => return Ok(Applied::default()),
            Ok(()) => applier.apply(changes),
            Err(error) => Err(error),
        };
        match &applied {
            Ok(_) => {
                self.epoch.advance();
                self.changed = true;
            }
            Err(ApplyError::Conflict(_)) => {}
            Err(ApplyError::Store(_)) => self.failed = true,
        }
        applied
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.conn()?;
        if !self.changed {
            return Ok(());
        }
        let from = self.counters.place;
        let at = self.write()?;
        self.finish(from, at)
    }
}

impl Drop for SqliteBatch<'_> {
    fn drop(&mut self) {
        self.writer.roll_back();
    }
}
