//! A configured connection, and how it waits for others.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::is_busy;
use crate::options::{Options, Synchronous};

/// Page cache of a connection that reads, in KiB: the paths to what it looks for. What a list finds is looked at once, and
/// every commit empties the cache.
const READ_CACHE_KIB: u32 = 512;

/// The same of the one that carries the log over, which looks for nothing.
const CHECKPOINT_CACHE_KIB: u32 = 16;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The one that writes.
    Write,
    /// One of those that read.
    Read,
    /// The one that carries the log over.
    Checkpoint,
}

/// A connection whose waits end at a deadline.
#[derive(Debug)]
pub(crate) struct Conn {
    /// The driver's.
    pub raw: Connection,
    patience: Arc<Patience>,
}

/// Until when a connection may wait; shared with its busy handler.
#[derive(Debug)]
struct Patience {
    born: Instant,
    until_ms: AtomicU64,
}

impl Conn {
    /// Opens `file`, which must exist. Reads and writes nothing.
    pub fn open(file: &Path, purpose: Use, options: &Options) -> rusqlite::Result<Self> {
        let mode = match purpose {
            Use::Write | Use::Checkpoint => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Use::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let flags =
            mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut raw = match &options.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(file, flags, vfs.as_str())?,
            None => Connection::open_with_flags(file, flags)?,
        };
        let patience = Arc::new(Patience { born: Instant::now(), until_ms: AtomicU64::new(0) });
        let theirs = patience.clone();
        raw.busy_handler(Some(move |count: i32| theirs.wait(count)))?;
        raw.set_prepared_statement_cache_capacity(64);
        let conn = Self { raw, patience };
        conn.wait_at_most(options.busy_limit);
        Ok(conn)
    }

    /// Sets what holds for this connection alone. Writes nothing to the file.
    pub fn configure(&self, purpose: Use, options: &Options) -> rusqlite::Result<()> {
        self.raw.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        self.raw.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // Else each new value of a parameter may have its statement planned again: measured as half of the processor's time.
        self.raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // On the sub-journal in memory: see the crate's layout. A flush on macOS must reach the medium.
        self.raw.execute_batch(
            "PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;",
        )?;
        match purpose {
            Use::Read => self.raw.execute_batch(&format!("PRAGMA query_only=ON; PRAGMA cache_size=-{READ_CACHE_KIB};")),
            Use::Write | Use::Checkpoint => self.raw.execute_batch(&format!(
                "PRAGMA secure_delete=ON; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON; PRAGMA synchronous={};
                 PRAGMA cache_size=-{}; PRAGMA wal_autocheckpoint={}; PRAGMA journal_size_limit=67108864;",
                options.synchronous.pragma(),
                if purpose == Use::Write { options.cache_kib } else { CHECKPOINT_CACHE_KIB },
                if options.checkpoint_beside { 0 } else { options.checkpoint_pages },
            )),
        }
    }

    /// For making the file: everything durable, whatever the options say of later.
    pub fn configure_for_creation(&self, options: &Options) -> rusqlite::Result<()> {
        self.configure(Use::Write, &Options { synchronous: Synchronous::Full, ..options.clone() })
    }

    /// From now on, waits for others end after `limit`.
    pub fn wait_at_most(&self, limit: Duration) {
        let until = self.patience.born.elapsed().saturating_add(limit);
        self.patience.until_ms.store(until.as_millis() as u64, Ordering::Relaxed);
    }

    /// Does `what` again while others are in the way, also where the driver does not wait by itself (a log that somebody
    /// else is recovering, a snapshot that has passed), until the deadline.
    pub fn insist<T>(&self, mut what: impl FnMut(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let mut count = 0;
        loop {
            match what(&self.raw) {
                Err(error) if is_busy(&error) && self.patience.wait(count) => count = count.saturating_add(1),
                other => return other,
            }
        }
    }

    /// Leaves the file as it is when this connection is the last to close.
    pub fn close_without_checkpoint(&self, leave: bool) -> rusqlite::Result<()> {
        self.raw.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave).map(|_| ())
    }
}

impl Patience {
    /// Sleeps a little more at each of `count` times; false after the deadline.
    fn wait(&self, count: i32) -> bool {
        if self.born.elapsed().as_millis() as u64 >= self.until_ms.load(Ordering::Relaxed) {
            return false;
        }
        let micros = match count {
            ..4 => 50,
            4..12 => 150,
            12..40 => 500,
            40..200 => 2_000,
            _ => 10_000,
        };
        std::thread::sleep(Duration::from_micros(micros));
        true
    }
}
