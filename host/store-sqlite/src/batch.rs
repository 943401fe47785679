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
use crate::error::{InStore, store_error};
use crate::files::{self, Identity};
use crate::names::{Names, NewNames};
use crate::query;
use crate::queue::Queue;
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
        let committed = conn.raw.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).in_store();
        match committed {
            Ok(_) => Ok(()),
            Err(StoreError::Broken { detail }) => {
                self.give_up(detail.clone());
                Err(StoreError::Broken { detail })
            }
            Err(error) => {
                self.roll_back();
                Err(error)
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

/// An open batch.
pub(crate) struct SqliteBatch<'a> {
    writer: MutexGuard<'a, Writer>,
    names: &'a Names,
    new_names: NewNames,
    counters: Counters,
    epoch: Epoch,
    changed: bool,
    /// After a failure in the middle of writing, nothing of this batch may be committed.
    failed: bool,
    _turn: TurnGuard<'a>,
}

impl<'a> SqliteBatch<'a> {
    /// Begins, in this thread's turn; `began` is when the caller began to wait.
    pub fn begin(
        turn: TurnGuard<'a>,
        mut writer: MutexGuard<'a, Writer>,
        names: &'a Names,
        began: Instant,
    ) -> Result<Self, StoreError> {
        writer.begin(began)?;
        let mut batch = Self {
            writer,
            names,
            new_names: NewNames::default(),
            counters: Counters { last_time: 0, stamps: 0, audit: 0, effects: 0 },
            epoch: Epoch::of_new_batch(),
            changed: false,
            failed: false,
            _turn: turn,
        };
        // From here on, dropping rolls back. The counters of other processes' commits count.
        batch.counters = Counters::load(batch.conn()?).in_store()?;
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
        let Self { writer, names, new_names, counters, .. } = self;
        let conn = writer.conn.as_ref().ok_or_else(|| StoreError::misuse("the batch has no connection"))?;
        Ok(Applier { conn: &conn.raw, names, new_names, counters })
    }
}

impl Batch for SqliteBatch<'_> {
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let conn = self.conn()?;
        let answer = |query: &Query| -> rusqlite::Result<Answer> {
            Ok(match self.names.find_in(conn, &self.new_names, &query.collection, &query.index)? {
                Some(name) => Answer { rows: query::rows(conn, name, query)? },
                None => Answer::default(),
            })
        };
        queries.iter().map(answer).collect::<Result<_, _>>().in_store()
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
        let conn = self.conn()?;
        if !self.changed {
            return Ok(());
        }
        self.counters.save(conn).in_store()?;
        self.writer.commit()?;
        self.names.keep(std::mem::take(&mut self.new_names));
        Ok(())
    }
}

impl Drop for SqliteBatch<'_> {
    fn drop(&mut self) {
        self.writer.roll_back();
    }
}
