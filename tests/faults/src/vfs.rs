//! A VFS over the default one that loses unsynced writes when the process dies.
//!
//! Database and write-ahead log live in memory and reach the real file only in `xSync`; shared memory and locks are the
//! real ones. Connections of one process share the memory of a file; other processes must not have it open meanwhile.
//!
//! With [`leak`] some writes, or first halves of them, reach the real file at once and out of order, as a disk may do
//! when the power fails before it was told to sync. A [`Disk`] says which calls in its folder fail, and how.

mod disk;
mod file;
mod image;

pub use disk::{CALLS, Call, Disk, How, Plan};

use rusqlite::ffi;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name under which [`register`] registers the VFS.
pub const NAME: &str = "lost-writes";

static WRITES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static SYNCS: AtomicU64 = AtomicU64::new(0);
static LEAK: AtomicU64 = AtomicU64::new(0);
static DRAWN: AtomicU64 = AtomicU64::new(0);
static REGISTERED: OnceLock<c_int> = OnceLock::new();

/// How many bytes went through the VFS in this process, in all its writes.
pub fn bytes() -> u64 {
    BYTES.load(Ordering::SeqCst)
}

/// How many writes and syncs went through the VFS in this process.
pub fn counters() -> (u64, u64) {
    (WRITES.load(Ordering::SeqCst), SYNCS.load(Ordering::SeqCst))
}

/// Registers the VFS once per process, not as the default.
///
/// # Panics
/// If SQLite has no default VFS or refuses the registration.
pub fn register() {
    let code = *REGISTERED.get_or_init(|| {
        // SAFETY: asks for the default VFS; the result is a static of SQLite or null, which is checked.
        let base = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        assert!(!base.is_null(), "SQLite has a default VFS");
        // SAFETY: not null, and SQLite never frees a registered VFS.
        let vfs = Box::leak(Box::new(shim(unsafe { &*base })));
        vfs.pAppData = base.cast();
        // SAFETY: `vfs` is leaked, so it outlives every use.
        unsafe { ffi::sqlite3_vfs_register(vfs, 0) }
    });
    assert_eq!(code, ffi::SQLITE_OK, "the VFS registers");
}

fn shim(base: &ffi::sqlite3_vfs) -> ffi::sqlite3_vfs {
    let name = CString::new(NAME).expect("no NUL in the name").into_raw();
    ffi::sqlite3_vfs {
        szOsFile: c_int::try_from(size_of::<file::File>()).expect("small") + base.szOsFile,
        zName: name,
        pNext: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        ..*base
    }
}

/// The VFS below.
unsafe fn base<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a mut ffi::sqlite3_vfs {
    // SAFETY: `register` put the default VFS there.
    unsafe { &mut *(*vfs).pAppData.cast::<ffi::sqlite3_vfs>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    out: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` bytes at `out`: ours, then the base's.
    unsafe {
        let real = out.cast::<u8>().add(size_of::<file::File>()).cast::<ffi::sqlite3_file>();
        let disk = if name.is_null() { None } else { disk::of(CStr::from_ptr(name)) };
        if let Some(code) = failing(disk.as_deref(), Call::Open) {
            (*out).pMethods = ptr::null();
            return code;
        }
        let base = base(vfs);
        let code = base.xOpen.expect("xOpen")(base, name, real, flags, out_flags);
        if code != ffi::SQLITE_OK {
            (*out).pMethods = ptr::null();
            return code;
        }
        let buffered = flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) != 0 && !name.is_null();
        let image = if buffered {
            match image::attach(CStr::from_ptr(name), real) {
                Ok(image) => Some(image),
                Err(code) => {
                    // Else it would be kept open, and SQLite would not close it.
                    (*real).pMethods.as_ref().and_then(|methods| methods.xClose).map(|close| close(real));
                    (*out).pMethods = ptr::null();
                    return code;
                }
            }
        } else {
            None
        };
        ptr::write(out.cast::<file::File>(), file::File::new(real, image, disk));
        ffi::SQLITE_OK
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: forwarded with SQLite's own arguments.
    unsafe {
        if let Some(code) = failing(disk::of(CStr::from_ptr(name)).as_deref(), Call::Delete) {
            return code;
        }
        image::forget(CStr::from_ptr(name));
        let base = base(vfs);
        base.xDelete.expect("xDelete")(base, name, sync)
    }
}

unsafe extern "C" fn access(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: forwarded with SQLite's own arguments.
    unsafe {
        if let Some(code) = failing(disk::of(CStr::from_ptr(name)).as_deref(), Call::Access) {
            return code;
        }
        let base = base(vfs);
        base.xAccess.expect("xAccess")(base, name, flags, out)
    }
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: forwarded with SQLite's own arguments.
    unsafe {
        let base = base(vfs);
        base.xFullPathname.expect("xFullPathname")(base, name, size, out)
    }
}

/// Lets so many of a hundred writes through at once, half of them torn. The draws of a process follow `seed`.
pub fn leak(percent: u64, seed: u64) {
    LEAK.store(percent, Ordering::SeqCst);
    DRAWN.store(seed, Ordering::SeqCst);
}

/// How much of a write of `length` bytes reaches the real file at once.
pub(crate) fn leaked(length: usize) -> usize {
    let percent = LEAK.load(Ordering::SeqCst);
    if percent == 0 {
        return 0;
    }
    let drawn = crate::random::Random::new(DRAWN.fetch_add(1, Ordering::SeqCst), 0).next();
    match drawn % 100 < percent {
        true if drawn & (1 << 32) == 0 => length,
        true => length / 2,
        false => 0,
    }
}

/// Writes a file again with what this process sees in it; for [`threadmesh_store_sqlite::Options::write_again`].
pub fn write_again(path: &std::path::Path) -> std::io::Result<()> {
    image::write_again(path)
}

/// What SQLite is told where a call fails that does nothing then.
pub(crate) fn failing(disk: Option<&Disk>, call: Call) -> Option<c_int> {
    disk::code(call, disk?.strikes(call)?)
}

/// Counts one write of so many bytes.
pub(crate) fn count_write(bytes: c_int) {
    BYTES.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::SeqCst);
    WRITES.fetch_add(1, Ordering::SeqCst);
}

/// Counts one sync.
pub(crate) fn count_sync() {
    SYNCS.fetch_add(1, Ordering::SeqCst);
}

/// Arguments that a method of the base takes as they are.
pub(crate) type Pointer = *mut c_void;
