//! The connections that read. They see what is committed, and never wait for the one that writes.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadmesh_runtime::store::StoreError;

use crate::connection::{Conn, Use};
use crate::error::store_error;
use crate::options::Options;

/// Up to [`Options::readers`] connections, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Pool {
    file: PathBuf,
    options: Options,
    idle: Mutex<Idle>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Conn>,
    /// Idle and lent ones.
    open: usize,
}

/// A connection that goes back to the pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    pool: &'a Pool,
    conn: Option<Conn>,
    /// How long it took to get it.
    waited: Duration,
}

impl Lent<'_> {
    /// The connection.
    pub fn conn(&self) -> Result<&Conn, StoreError> {
        self.conn.as_ref().ok_or_else(|| StoreError::misuse("a lent connection is gone"))
    }

    /// Does `what`, again where others are in the way.
    pub fn insist<T>(&self, what: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let (began, conn) = (Instant::now(), self.conn()?);
        conn.wait_at_most(self.pool.options.busy_limit.saturating_sub(self.waited));
        conn.insist(what).map_err(|error| store_error(error, self.waited + began.elapsed()))
    }
}

impl Pool {
    /// No connection yet.
    pub fn new(file: PathBuf, options: Options) -> Self {
        Self { file, options, idle: Mutex::default(), returned: Condvar::new() }
    }

    /// Reads with one of the connections, in one snapshot. `what` is done again where others are in the way.
    pub fn read<T>(&self, what: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.lend()?.insist(what)
    }

    /// One of the connections, as soon as there is one.
    pub fn lend(&self) -> Result<Lent<'_>, StoreError> {
        let began = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(conn) = idle.connections.pop() {
                return Ok(Lent { pool: self, conn: Some(conn), waited: began.elapsed() });
            }
            if idle.open < self.options.readers.max(1) {
                idle.open += 1;
                drop(idle);
                // Counts as lent from here on: dropped without a connection, it makes room again.
                let mut lent = Lent { pool: self, conn: None, waited: Duration::ZERO };
                lent.conn = Some(self.open().map_err(|error| store_error(error, began.elapsed()))?);
                lent.waited = began.elapsed();
                return Ok(lent);
            }
            let left = self.options.busy_limit.saturating_sub(began.elapsed());
            if left == Duration::ZERO {
                return Err(StoreError::Busy { waited_ms: began.elapsed().as_millis() as u64 });
            }
            idle = self.returned.wait_timeout(idle, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A configured connection for reading.
    pub fn open(&self) -> rusqlite::Result<Conn> {
        let conn = Conn::open(&self.file, Use::Read, &self.options)?;
        conn.configure(Use::Read, &self.options)?;
        Ok(conn)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match self.conn.take() {
            // A panic may have left a transaction open.
            Some(conn) if conn.raw.is_autocommit() => idle.connections.push(conn),
            _ => idle.open -= 1,
        }
        self.pool.returned.notify_one();
    }
}
