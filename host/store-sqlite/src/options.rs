//! How a store is opened.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::files::write_again;
use crate::place::{FileSystem, probe};

/// How to open a store; `Options::default()` is right for production.
#[derive(Debug, Clone)]
pub struct Options {
    /// Make the file if it is not there. Default: yes.
    pub create: bool,
    /// Only read: nothing is created or migrated, and a file from a newer program may be looked at. Default: no.
    pub read_only: bool,
    /// When a commit is on the disk. Default: [`Synchronous::Full`]; anything else is for tests.
    pub synchronous: Synchronous,
    /// The name of the SQLite VFS to use; for tests that inject faults. Default: the platform's.
    pub vfs: Option<String>,
    /// Open the file on a network or VM-shared file system all the same. Default: no.
    pub allow_network_fs: bool,
    /// Finds out on what file system a path is. Default: [`probe`]; another one is for tests.
    pub probe: fn(&Path) -> io::Result<FileSystem>,
    /// Writes a file again with what is read from it, and flushes it. Default: through the system; another one is for
    /// tests whose files are elsewhere.
    pub write_again: fn(&Path) -> io::Result<()>,
    /// How long anything may wait for other threads and processes. Default: 60 s.
    pub busy_limit: Duration,
    /// Run SQLite's quick check on opening, which reads the whole file. Default: no.
    pub quick_check: bool,
    /// Which records the component of this host writes and reads. Default: 1 and no other.
    pub records: Records,
    /// How many connections read at the same time, at most. Default: 4.
    pub readers: usize,
    /// How many pages of the log may wait before they are carried over into the file. A log that is three times as long
    /// begins again. Default: 4000 (16 MB).
    pub checkpoint_pages: u32,
    /// Carry the log over in a thread with a connection of its own, so that no commit waits for it. Default: yes; without
    /// it, the commit that finds the log long does it.
    pub checkpoint_beside: bool,
    /// How many pages each half of the journal has: when one of them is full, commits go on in the other one and carry this
    /// one over into the tables, a slice each. Default: 1000 (4 MB).
    pub journal_pages: u32,
    /// Page cache of the writing connection, in KiB. The journal fills it the first time around, and it stays full; a larger
    /// one would fill up with the tables for as long as they grow. Default: 4096.
    pub cache_kib: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            read_only: false,
            synchronous: Synchronous::Full,
            vfs: None,
            allow_network_fs: false,
            probe,
            write_again,
            busy_limit: Duration::from_secs(60),
            quick_check: false,
            records: Records { writes: 1, reads: vec![1] },
            readers: 4,
            checkpoint_pages: 4_000,
            checkpoint_beside: true,
            journal_pages: 1_000,
            cache_kib: 4_096,
        }
    }
}

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Before it returns.
    #[default]
    Full,
    /// At the next checkpoint: a power failure loses committed batches. For tests only.
    Normal,
    /// Whenever the system likes: a power failure may destroy the file. For tests only.
    Off,
}

impl Synchronous {
    /// The value of the pragma.
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
            Self::Off => "OFF",
        }
    }
}

/// Numbers of the form of stored records, as a component says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// That of the records that it writes. A file with another number is not written.
    pub writes: u32,
    /// Those of all records that it can read. A file with one of them may be opened for reading only.
    pub reads: Vec<u32>,
}
