//! The queue of writers from different processes: an advisory lock on `<file>.lock`.
//!
//! Only its holder tries to begin a transaction, and lets go of it as soon as it has begun. A writer that comes back at
//! once thus meets the next one waiting at the head of the queue, and cannot overtake it; SQLite alone would let it. The
//! system hands the lock to those who wait in about the order of their arrival. The file stays: removing it would split
//! the queue in two.
//!
//! Its first line says how many commits were acknowledged ([`mark`]). Behind it stands whether a flush of the log failed
//! since the log was last known to be on the disk. That matters only as long as the system runs, so it need not be durable
//! itself.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use threadmesh_runtime::store::StoreError;

use crate::OpenError;
use crate::{files, mark};

/// The queue of one file. Used by one thread at a time.
#[derive(Debug)]
pub(crate) struct Queue {
    path: PathBuf,
    file: Mutex<Arc<File>>,
}

/// The head of the queue, until it is dropped.
#[derive(Debug)]
pub(crate) struct Head {
    file: Arc<File>,
}

impl Queue {
    /// Opens the lock file, and makes it where it is missing.
    pub fn open(path: PathBuf) -> Result<Self, OpenError> {
        let file = open(&path).map_err(|error| OpenError::io(&path, "cannot open the lock file", &error))?;
        Ok(Self { path, file: Mutex::new(Arc::new(file)) })
    }

    /// Waits until this process is at the head; [`StoreError::Busy`] after `limit`.
    pub fn enter(&self, limit: Duration) -> Result<Head, StoreError> {
        let mut file = lock(&self.file);
        match flock(&**file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Head { file: file.clone() }),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(io_error(error)),
        }
        let began = Instant::now();
        match wait(file.clone(), limit)? {
            Some(result) => result.map(|()| Head { file: file.clone() }).map_err(io_error),
            None => {
                // The thread that still waits will lock and unlock its file, and must not unlock a later holder's.
                *file = Arc::new(open(&self.path).map_err(|error| StoreError::Io { detail: error.to_string() })?);
                Err(StoreError::Busy { waited_ms: began.elapsed().as_millis() as u64 })
            }
        }
    }
}

impl Queue {
    /// The disk did not confirm the log.
    pub fn note_failed_flush(&self) -> std::io::Result<()> {
        lock(&self.file).write_all_at(b"a flush of the log failed\n", mark::LENGTH)
    }

    /// Whether that is so.
    pub fn flush_has_failed(&self) -> std::io::Result<bool> {
        Ok(lock(&self.file).metadata()?.len() > mark::LENGTH)
    }

    /// The log is on the disk.
    pub fn note_flushed(&self) -> std::io::Result<()> {
        lock(&self.file).set_len(mark::LENGTH)
    }

    /// Says that `commits` were acknowledged. Where that fails, less is known of them.
    pub fn note_commits(&self, commits: i64) {
        let _ = mark::raise(&lock(&self.file), commits);
    }

    /// A new file begins, whatever an earlier one of its name had.
    pub fn forget_commits(&self) -> std::io::Result<()> {
        lock(&self.file).set_len(0)
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        // Fails only for a descriptor that is none.
        let _ = flock(&*self.file, FlockOperation::Unlock);
    }
}

/// What the waiting thread has to say.
#[derive(Default)]
struct Wait {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
enum State {
    #[default]
    Waiting,
    Done(Result<(), Errno>),
    /// Nobody wants the lock any more.
    Abandoned,
}

/// Waits for the lock in a thread of its own, since the system's wait has no limit; nothing after `limit`.
fn wait(file: Arc<File>, limit: Duration) -> Result<Option<Result<(), Errno>>, StoreError> {
    let wait = Arc::new(Wait::default());
    let theirs = wait.clone();
    std::thread::Builder::new()
        .name("threadmesh-queue".into())
        .spawn(move || wait_in_thread(&file, &theirs))
        .map_err(|error| StoreError::Io { detail: format!("no thread to wait in: {error}") })?;
    let state = lock(&wait.state);
    let waiting = |state: &mut State| matches!(state, State::Waiting);
    let (mut state, _) = wait.changed.wait_timeout_while(state, limit, waiting).unwrap_or_else(PoisonError::into_inner);
    match *state {
        State::Done(result) => Ok(Some(result)),
        State::Waiting | State::Abandoned => {
            *state = State::Abandoned;
            Ok(None)
        }
    }
}

fn wait_in_thread(file: &File, wait: &Wait) {
    let result = loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => break other,
        }
    };
    let mut state = lock(&wait.state);
    if matches!(*state, State::Abandoned) {
        let _ = flock(file, FlockOperation::Unlock);
    } else {
        *state = State::Done(result);
        wait.changed.notify_all();
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    files::open_or_create_private(path)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn io_error(error: Errno) -> StoreError {
    StoreError::Io { detail: format!("cannot lock the lock file: {error}") }
}
