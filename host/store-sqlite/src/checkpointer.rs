//! Carrying the log over into the file beside the commits: a thread with a connection of its own.
//!
//! SQLite's own way is that the commit which finds the log long carries it over, and whoever waits for that commit waits for
//! the tables to be written and flushed too. Here commits only say that the log has become long. The thread copies what no
//! reader needs from the log, and holds up nobody; where commits go on meanwhile, the log does not begin again by itself, so
//! that the one who writes sees to that when it is too long (`batch.rs`).
//!
//! A flush that fails here is one like any other: the system may have let go of what it could not write. It is noted in the
//! lock file, and the process writes no more.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::connection::{Conn, Use};
use crate::error::{OpenError, is_flush_failure};
use crate::files::Location;
use crate::options::Options;
use crate::queue::Queue;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Held while the log is carried over, by whomever: SQLite refuses a second one at once.
    pass: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    asked: bool,
    stop: bool,
    /// Why nobody may write any more.
    failed: Option<String>,
}

impl Checkpointer {
    /// Starts the thread for a file that is open already. [`OpenError`] where connection or thread cannot be had.
    pub fn start(location: &Location, options: &Options) -> Result<Self, OpenError> {
        let conn =
            open(&location.file, options).map_err(|error| OpenError::sqlite(&location.file, Duration::ZERO, error))?;
        let queue = Queue::open(location.beside(".lock"))?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = Builder::new().name("threadmesh-log".into()).spawn(move || run(&theirs, &conn, &queue));
        let thread =
            thread.map_err(|error: io::Error| OpenError::io(&location.file, "no thread for its log", &error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The log is long.
    pub fn ask(&self) {
        let mut state = lock(&self.shared.state);
        if !state.asked {
            state.asked = true;
            self.shared.changed.notify_one();
        }
    }

    /// Why nobody may write any more, if that is so.
    pub fn failed(&self) -> Option<String> {
        lock(&self.shared.state).failed.clone()
    }

    /// Keeps the thread from the log while this is held. Where it is at work on it, nothing, unless somebody is to `wait`.
    pub fn hold(&self, wait: bool) -> Option<MutexGuard<'_, ()>> {
        if wait { Some(lock(&self.shared.pass)) } else { self.shared.pass.try_lock().ok() }
    }
}

#[cfg(test)]
impl Checkpointer {
    /// What a test calls in place of a flush that fails.
    pub fn failing(&self) -> impl Fn(&str) + use<> {
        let shared = Arc::clone(&self.shared);
        move |detail| lock(&shared.state).failed = Some(detail.to_owned())
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        lock(&self.shared.state).stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn open(file: &Path, options: &Options) -> rusqlite::Result<Conn> {
    let conn = Conn::open(file, Use::Checkpoint, options)?;
    conn.configure(Use::Checkpoint, options)?;
    // Closing is the writer's.
    conn.close_without_checkpoint(true)?;
    Ok(conn)
}

fn run(shared: &Shared, conn: &Conn, queue: &Queue) {
    loop {
        let waiting = |state: &mut State| !state.asked && !state.stop;
        let mut state = shared.changed.wait_while(lock(&shared.state), waiting).unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            return;
        }
        state.asked = false;
        drop(state);
        let pass = lock(&shared.pass);
        let done = conn.raw.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = done
            && is_flush_failure(&error)
        {
            // Where even that fails, nobody can write here.
            let _ = queue.note_failed_flush();
            lock(&shared.state).failed = Some(error.to_string());
            return;
        }
        // Whatever else failed left the log as it was: it is tried again when somebody asks.
        drop(pass);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
