//! Disks that fail: which call of which kind, how, and until when.
//!
//! A disk is everything in one folder. Its calls are counted by kind, whether they fail or not, so that a run without a
//! fault says how many places there are to put one.

use rusqlite::ffi;
use std::ffi::{CStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// What SQLite asks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Writes bytes.
    Write,
    /// Makes what was written durable.
    Sync,
    /// Cuts.
    Truncate,
    /// Reads bytes.
    Read,
    /// Asks for the length.
    Size,
    /// Opens.
    Open,
    /// Removes.
    Delete,
    /// Asks whether it is there.
    Access,
    /// Locks the file; unlocking never fails.
    Lock,
    /// Maps the log's index.
    Map,
    /// Locks a part of the log's index; unlocking never fails.
    MapLock,
}

/// Every kind.
pub const CALLS: [Call; 11] = [
    Call::Write,
    Call::Sync,
    Call::Truncate,
    Call::Read,
    Call::Size,
    Call::Open,
    Call::Delete,
    Call::Access,
    Call::Lock,
    Call::Map,
    Call::MapLock,
];

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// EIO, and nothing happened. After a sync, what was not synced is lost, though it can still be read.
    Error,
    /// EIO, and half of it happened.
    HalfError,
    /// ENOSPC, and nothing was written.
    Full,
    /// ENOSPC, and half of it was written.
    HalfFull,
    /// EIO, and all of it happened. Of syncs only: a write that the system refuses is taken as not done.
    Late,
    /// Success, and nothing happened: a program that waits for no sync, or ignores an error, has such a disk.
    Ignored,
}

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The kind of call.
    pub call: Call,
    /// Which one of its kind, counting from 1.
    pub number: u64,
    /// How it fails.
    pub how: How,
    /// Whether all later ones of its kind fail as well.
    pub lasting: bool,
}

/// Everything in a folder.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    plan: Mutex<Option<Plan>>,
    counts: [AtomicU64; CALLS.len()],
    fired: AtomicU64,
    thread: Mutex<Option<String>>,
    held: AtomicBool,
}

static DISKS: Mutex<Vec<Weak<Disk>>> = Mutex::new(Vec::new());

impl Disk {
    /// The disk of `folder`, whose files are opened from now on.
    pub fn new(folder: &Path, plan: Option<Plan>) -> Arc<Self> {
        let disk = Arc::new(Self {
            folder: folder.to_owned(),
            plan: Mutex::new(plan),
            counts: Default::default(),
            fired: AtomicU64::new(0),
            thread: Mutex::default(),
            held: AtomicBool::new(false),
        });
        let mut disks = DISKS.lock().expect("no panic holds it");
        disks.retain(|disk| disk.strong_count() > 0);
        disks.push(Arc::downgrade(&disk));
        disk
    }

    /// How many calls of a kind there were.
    pub fn count(&self, call: Call) -> u64 {
        self.counts[call as usize].load(Ordering::SeqCst)
    }

    /// How many calls failed.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::SeqCst)
    }

    /// The name of the thread whose call failed first.
    pub fn struck(&self) -> Option<String> {
        self.thread.lock().expect("no panic holds it").clone()
    }

    /// The fault ends.
    pub fn mend(&self) {
        *self.plan.lock().expect("no panic holds it") = None;
    }

    /// Does `what` without counting, and without a fault.
    pub fn aside<T>(&self, what: impl FnOnce() -> T) -> T {
        self.held.store(true, Ordering::SeqCst);
        let result = what();
        self.held.store(false, Ordering::SeqCst);
        result
    }

    /// Copies database and log into another folder: as a power failure would leave them, or (with `cached`) as a killed
    /// process would.
    pub fn copy(&self, to: &Path, cached: bool) {
        for name in ["mesh.db", "mesh.db-wal"] {
            let path = self.folder.join(name);
            let cached = if cached { super::image::content(&path) } else { None };
            let content = cached.or_else(|| std::fs::read(&path).ok());
            if let Some(content) = content {
                std::fs::write(to.join(name), content).expect("a copy");
            }
        }
    }

    /// Counts a call; how it fails, if it does.
    pub(crate) fn strikes(&self, call: Call) -> Option<How> {
        if self.held.load(Ordering::SeqCst) {
            return None;
        }
        let number = self.counts[call as usize].fetch_add(1, Ordering::SeqCst) + 1;
        let plan = (*self.plan.lock().expect("no panic holds it"))?;
        let strikes = plan.call == call && (number == plan.number || plan.lasting && number > plan.number);
        if !strikes {
            return None;
        }
        if self.fired.fetch_add(1, Ordering::SeqCst) == 0 {
            let name = std::thread::current().name().map(str::to_owned);
            *self.thread.lock().expect("no panic holds it") = name;
        }
        Some(plan.how)
    }
}

/// Nothing in the folder was opened through memory.
impl Drop for Disk {
    fn drop(&mut self) {
        super::image::forget_folder(&self.folder);
    }
}

/// The disk of the file `name`.
pub(crate) fn of(name: &CStr) -> Option<Arc<Disk>> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let folder = path.parent()?;
    DISKS.lock().expect("no panic holds it").iter().filter_map(Weak::upgrade).find(|disk| disk.folder == folder)
}

/// What SQLite is told of a call that failed; nothing where it is told of a success.
pub(crate) fn code(call: Call, how: How) -> Option<c_int> {
    match (how, call) {
        (How::Ignored, _) => None,
        (How::Full | How::HalfFull, _) => Some(ffi::SQLITE_FULL),
        (_, Call::Write) => Some(ffi::SQLITE_IOERR_WRITE),
        (_, Call::Sync) => Some(ffi::SQLITE_IOERR_FSYNC),
        (_, Call::Truncate) => Some(ffi::SQLITE_IOERR_TRUNCATE),
        (_, Call::Read) => Some(ffi::SQLITE_IOERR_READ),
        (_, Call::Size) => Some(ffi::SQLITE_IOERR_FSTAT),
        (_, Call::Open) => Some(ffi::SQLITE_CANTOPEN),
        (_, Call::Delete) => Some(ffi::SQLITE_IOERR_DELETE),
        (_, Call::Access) => Some(ffi::SQLITE_IOERR_ACCESS),
        (_, Call::Lock) => Some(ffi::SQLITE_IOERR_LOCK),
        (_, Call::Map) => Some(ffi::SQLITE_IOERR_SHMMAP),
        (_, Call::MapLock) => Some(ffi::SQLITE_IOERR_SHMLOCK),
    }
}
