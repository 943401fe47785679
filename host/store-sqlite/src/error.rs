//! Failures: of opening, and of the driver in the words of the store trait.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi;
use threadmesh_runtime::store::StoreError;

use crate::counters::Format;

/// Why a store was not opened. Nothing that was there has been changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The directory of the file does not exist; it is not made.
    #[error("{path}: no such directory (it is not created)", path = path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// There is no file, and none was to be made.
    #[error("{path}: no such file", path = path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// The path is there and is no regular file, or is a link to nothing.
    #[error("{path}: not a regular file", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file system cannot hold a store.
    #[error(
        "{path}: on {name}, where the log of a store is damaged sooner or later; put the file on a local disk, or allow it explicitly",
        path = path.display()
    )]
    FileSystem {
        /// The file or its directory.
        path: PathBuf,
        /// The name of the file system.
        name: &'static str,
    },
    /// The file is a database of something else.
    #[error("{path}: not a ThreadMesh store: {detail}", path = path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        detail: String,
    },
    /// An earlier program made the file, in another form.
    #[error(
        "{path}: {what}, which an earlier program made; it is left as it is, and nothing of it is taken over: keep that program to read it, and begin a new file",
        path = path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Which form it has, and which one this program knows.
        what: String,
    },
    /// A newer program made the file, or wrote records to it that this one does not know.
    #[error("{path}: {what}, which only a newer program may write; it is left as it is", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Which form it has, and which one this program knows.
        what: String,
    },
    /// The file has further names, under which it would have logs of their own.
    #[error(
        "{path}: the file has {links} names (hard links), and whoever opens another one writes to another log; remove all names but one",
        path = path.display()
    )]
    Linked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// Batches are missing that were committed and acknowledged.
    #[error(
        "{path}: {missing} commits are missing that were acknowledged ({found} are here): its log was removed, cut short or replaced, or the file is an older copy; bring the log back, or, to go on without them, remove {lock} while nobody uses the file",
        path = path.display(),
        lock = lock.display()
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The file that says how many there were.
        lock: PathBuf,
        /// How many are here.
        found: i64,
        /// How many are not.
        missing: i64,
    },
    /// The file is damaged. It is left as it is, as evidence; restore a copy beside it.
    #[error("{path}: damaged, and left as it is: {detail}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// Others held the file for all of [`crate::Options::busy_limit`].
    #[error("{path}: busy for {waited_ms} ms", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long opening has waited.
        waited_ms: u64,
    },
    /// The system refused something.
    #[error("{path}: {detail}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What, and why.
        detail: String,
    },
}

impl OpenError {
    /// An [`OpenError::Io`].
    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::Io { path: path.to_owned(), detail: format!("{what}: {error}") }
    }

    /// An [`OpenError::Damaged`].
    pub(crate) fn damaged(path: &Path, detail: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), detail: detail.into() }
    }

    /// What a store's failure means while it is being opened.
    pub(crate) fn while_opening(path: &Path, error: StoreError) -> Self {
        let path = path.to_owned();
        match error {
            StoreError::Busy { waited_ms } => Self::Busy { path, waited_ms },
            StoreError::Damaged { detail } => Self::Damaged { path, detail },
            other => Self::Io { path, detail: other.to_string() },
        }
    }

    /// What a driver's failure means while the file is being opened.
    pub(crate) fn sqlite(path: &Path, waited: Duration, error: rusqlite::Error) -> Self {
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) {
            return Self::damaged(path, "the file does not begin like a SQLite database");
        }
        Self::while_opening(path, store_error(error, waited))
    }
}

/// Another process has brought the file into another form while this one had it open.
#[derive(Debug, thiserror::Error)]
#[error(
    "the file was opened with layout {} and records {}, and has layout {} and records {} now: another program has upgraded it; end this process and go on with that program",
    .opened.layout, .opened.records, .found.layout, .found.records
)]
pub(crate) struct OtherFormat {
    /// As it was opened.
    pub opened: Format,
    /// As it is.
    pub found: Format,
}

impl From<OtherFormat> for rusqlite::Error {
    fn from(error: OtherFormat) -> Self {
        // Any variant for errors of others; it is told apart by what it holds.
        Self::ToSqlConversionFailure(Box::new(error))
    }
}

/// What a driver's failure means to a caller that has waited for `waited`.
pub(crate) fn store_error(error: rusqlite::Error, waited: Duration) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let detail = error.to_string();
    if matches!(&error, rusqlite::Error::ToSqlConversionFailure(inner) if inner.is::<OtherFormat>()) {
        return StoreError::Stopped { detail };
    }
    let Some(code) = error.sqlite_error_code() else {
        // A column of another type, or text that is not UTF-8: nothing that this store has written.
        return StoreError::Damaged { detail };
    };
    match code {
        Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed => {
            StoreError::Busy { waited_ms: waited.as_millis() as u64 }
        }
        Code::DiskFull => StoreError::Full { detail },
        // The last one stands for statements that do not fit the tables.
        Code::NotADatabase | Code::DatabaseCorrupt | Code::ConstraintViolation | Code::TypeMismatch | Code::Unknown => {
            StoreError::Damaged { detail }
        }
        Code::ReadOnly => StoreError::ReadOnly { detail },
        Code::TooBig => StoreError::Misuse { detail },
        _ if is_flush_failure(&error) => StoreError::Broken { detail },
        _ => StoreError::Io { detail },
    }
}

/// Whether others were in the way, so that trying again may help.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    let code = error.sqlite_error_code();
    matches!(code, Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed))
}

/// Whether the disk did not confirm a write. The system may have dropped the written pages by then, so that a second flush
/// would succeed without having them.
pub(crate) fn is_flush_failure(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    matches!(extended, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

/// Whether a COMMIT that ended with `error` may be found as committed by whoever opens the file next.
///
/// What fails before the last byte of the log is written leaves no commit behind, and a write that the system refuses is
/// taken as not done. What fails later (the flush, or the log's index, which is written last) leaves one that this process
/// does not see.
pub(crate) fn may_be_committed(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(Code::SystemIoFailure) => {
            !matches!(extended, Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_WRITE))
        }
        Some(Code::OutOfMemory | Code::CannotOpen | Code::FileLockingProtocolFailed) => true,
        _ => false,
    }
}

/// Shortens the way from the driver's errors to the store's, where nobody has waited.
pub(crate) trait InStore<T> {
    /// See [`store_error`].
    fn in_store(self) -> Result<T, StoreError>;
}

impl<T> InStore<T> for rusqlite::Result<T> {
    fn in_store(self) -> Result<T, StoreError> {
        self.map_err(|error| store_error(error, Duration::ZERO))
    }
}
