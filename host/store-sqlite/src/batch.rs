//! The write batch: one immediate transaction on the one connection that writes.

use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadmesh_runtime::store::{
    Answer, Applied, ApplyError, Batch, Changes, Epoch, Query, ReadSet, StoreError, TurnGuard, check_changes,
};

use crate::apply::{Applier, Counters};
use crate::connection::Conn;
use crate::delta::Delta;
use crate::error::{InStore, may_be_committed, store_error};
use crate::files::{self, Identity};
use crate::journal::{self, Place};
use crate::names::{Names, NewNames};
use crate::queue::Queue;
use crate::recent::{Absent, Recent};
use crate::settle::settle;
use crate::store::Checkpoint;

/// The writing connection, as long as it can be trusted.
#[derive(Debug)]
pub(crate) struct Writer {
    conn: Option<Conn>,
    queue: Queue,
    file: PathBuf,
    identity: Option<Identity>,
    limit: Duration,
    /// Why there is no connection any more.
    broken: String,
}

impl Writer {
    /// Takes over a connection to `file` that is open and configured. `limit` is for all waits of one operation.
    pub fn new(conn: Conn, queue: Queue, file: PathBuf, identity: Option<Identity>, limit: Duration) -> Self {
        Self { conn: Some(conn), queue, file, identity, limit, broken: String::new() }
    }

    /// The connection, without a transaction; waits will end at the limit from `began` on.
    pub fn conn(&self, began: Instant) -> Result<&Conn, StoreError> {
        let conn = self.conn.as_ref().ok_or_else(|| StoreError::Broken { detail: self.broken.clone() })?;
        conn.wait_at_most(self.limit.saturating_sub(began.elapsed()));
        Ok(conn)
    }

    /// Begins an exclusive transaction, behind those of other processes that were first.
    fn begin(&mut self, began: Instant) -> Result<(), StoreError> {
        self.check_place()?;
        let conn = self.conn(began)?;
        let _head = self.queue.enter(self.limit.saturating_sub(began.elapsed()))?;
        conn.wait_at_most(self.limit.saturating_sub(began.elapsed()));
        conn.insist(|raw| raw.prepare_cached("BEGIN IMMEDIATE")?.execute([]))
            .map_err(|error| store_error(error, began.elapsed()))
            .map(|_| ())
    }

    /// What is committed to a file that was removed or replaced is lost, though every call succeeds.
    fn check_place(&mut self) -> Result<(), StoreError> {
        let now = files::identity(&self.file).map_err(|error| StoreError::Io { detail: error.to_string() })?;
        if now == self.identity {
            return Ok(());
        }
        self.give_up("its file was removed or replaced".into());
        Err(StoreError::Broken { detail: self.broken.clone() })
    }

    /// Carries the log over and empties it; waits for others until `wait` is over.
    pub fn empty_log(&mut self, began: Instant, wait: Duration) -> Result<Checkpoint, StoreError> {
        let conn = self.conn(began)?;
        conn.wait_at_most(wait.saturating_sub(began.elapsed()));
        let make = |row: &rusqlite::Row<'_>| {
            Ok(Checkpoint { busy: row.get::<_, i64>(0)? != 0, log_pages: row.get(1)?, moved_pages: row.get(2)? })
        };
        let done = conn.raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], make);
        let done = done.map_err(|error| store_error(error, began.elapsed()));
        if let Err(StoreError::Broken { detail }) = &done {
            self.give_up(detail.clone());
        }
        done
    }

    /// Ends the transaction durably. Whatever goes wrong, no transaction is open afterwards.
    fn commit(&mut self) -> Result<(), StoreError> {
        let Some(conn) = &self.conn else { return Err(StoreError::Broken { detail: self.broken.clone() }) };
        let committed = conn.raw.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        match committed {
            Ok(_) => Ok(()),
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

    /// Stops writing for good. The log may hold a batch that nobody was told of: closing must not carry it over.
    pub fn give_up(&mut self, why: String) {
        if let Some(conn) = self.conn.take() {
            let _ = conn.close_without_checkpoint(true);
        }
        // Where even that fails, nobody can write here.
        let _ = self.queue.note_failed_flush();
        self.broken = why;
    }

    /// Runs `what` in a transaction of its own.
    pub fn in_transaction<T>(
        &mut self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        self.begin(began)?;
        let Some(conn) = &self.conn else { return Err(StoreError::Broken { detail: self.broken.clone() }) };
        match what(&conn.raw).in_store() {
            Ok(value) => self.commit().map(|()| value),
            Err(error) => {
                self.roll_back();
                Err(error)
            }
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
    absent: Absent,
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
        let place = Place { settled: 0, slots: 0 };
        let mut batch = Self {
            writer,
            shared,
            new_names: NewNames::default(),
            counters: Counters { last_time: 0, stamps: 0, audit: 0, effects: 0, place },
            layer: Delta::default(),
            absent: Absent::default(),
            epoch: Epoch::of_new_batch(),
            changed: false,
            failed: false,
            _turn: turn,
        };
        // From here on, dropping rolls back. The commits of other processes count.
        let conn = batch.conn()?;
        let counters = Counters::load(conn).in_store()?;
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
        let Self { writer, shared, new_names, counters, layer, absent, .. } = self;
        let conn = writer.conn.as_ref().ok_or_else(|| StoreError::misuse("the batch has no connection"))?;
        let Shared { names, recent, .. } = *shared;
        Ok(Applier { conn: &conn.raw, names, new_names, counters, recent, layer, absent })
    }

    /// Carries over what the journal holds and what this batch has applied, and leaves the journal to be written anew.
    fn settle(&mut self) -> Result<(), StoreError> {
        let conn = self.conn()?;
        self.shared.recent.with(|journal| settle(conn, journal))?;
        settle(conn, &self.layer)?;
        self.counters.place = Place { settled: self.counters.place.settled + 1, slots: 0 };
        Ok(())
    }

    /// Carries over what the journal holds, and leaves no trace in it.
    pub fn empty_journal(mut self) -> Result<(), StoreError> {
        let from = self.counters.place;
        if from.slots > 0 {
            self.settle()?;
        }
        let cleared = journal::clear(self.conn()?).in_store()?;
        if from.slots == 0 && cleared == 0 {
            return Ok(());
        }
        self.finish(from)
    }

    /// Writes what was applied, in the journal or the tables.
    fn write(&mut self) -> Result<(), StoreError> {
        let place = self.counters.place;
        let bytes = journal::encode(&self.layer, place.settled);
        let slots = place.slots.saturating_add(journal::slots(&bytes));
        if slots > self.shared.slots_max {
            return self.settle();
        }
        journal::append(self.conn()?, place.slots, &bytes).in_store()?;
        self.counters.place.slots = slots;
        Ok(())
    }

    /// Commits durably, and lets the process know what was committed.
    fn finish(&mut self, from: Place) -> Result<(), StoreError> {
        self.counters.save(self.conn()?).in_store()?;
        self.writer.commit()?;
        self.shared.recent.advance(std::mem::take(&mut self.layer), from, self.counters.place);
        self.shared.names.keep(std::mem::take(&mut self.new_names));
        Ok(())
    }
}

impl Batch for SqliteBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let (conn, Shared { names, recent, .. }) = (self.conn()?, self.shared);
        let answers = recent.through(conn, &self.layer, &self.absent, |view| {
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
        self.write()?;
        self.finish(from)
    }
}

impl Drop for SqliteBatch<'_> {
    fn drop(&mut self) {
        self.writer.roll_back();
    }
}
