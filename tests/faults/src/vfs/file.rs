//! The methods of an open file: content from memory, locks and shared memory from the real file.

use super::disk::{self, Call, Disk, How};
use super::image::Shared;
use super::{Pointer, count_sync, count_write, failing, leaked};
use rusqlite::ffi;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// An open file. SQLite sees the first member; the real file follows it in the same allocation.
#[repr(C)]
pub(crate) struct File {
    base: ffi::sqlite3_file,
    real: *mut ffi::sqlite3_file,
    image: Option<Shared>,
    disk: Option<Arc<Disk>>,
    /// Of how many failures of the system to write its syncs have told.
    told: u64,
}

impl File {
    pub(crate) fn new(real: *mut ffi::sqlite3_file, image: Option<Shared>, disk: Option<Arc<Disk>>) -> Self {
        let told = image.as_ref().map_or(0, |image| image.lock().expect("no panic holds it").lost);
        Self { base: ffi::sqlite3_file { pMethods: &raw const METHODS }, real, image, disk, told }
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Version 2: shared memory, but no memory mapping of content.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe fn parts<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut File, &'a ffi::sqlite3_io_methods) {
    // SAFETY: every file of this VFS was written by `open`, and its real file is open.
    unsafe {
        let file = &mut *file.cast::<File>();
        let methods = &*(*file.real).pMethods;
        (file, methods)
    }
}

/// Returns from a method where the disk lets it fail without having done anything.
macro_rules! fails {
    ($file:ident, $call:expr) => {{
        // SAFETY: see `parts`.
        let (this, _) = unsafe { parts($file) };
        if let Some(code) = failing(this.disk.as_deref(), $call) {
            return code;
        }
    }};
}

/// Calls a method of the real file.
macro_rules! forward {
    ($file:ident, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: forwarded with SQLite's own arguments.
        unsafe {
            let (file, methods) = parts($file);
            methods.$method.expect(stringify!($method))(file.real $(, $argument)*)
        }
    }};
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let code = forward!(file, xClose);
    // SAFETY: SQLite does not touch the file after xClose.
    unsafe {
        ptr::drop_in_place(&raw mut (*file.cast::<File>()).image);
        ptr::drop_in_place(&raw mut (*file.cast::<File>()).disk);
    }
    code
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, out: Pointer, amount: c_int, offset: i64) -> c_int {
    fails!(file, Call::Read);
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    let Some(image) = &this.image else { return forward!(file, xRead, out, amount, offset) };
    let image = image.lock().expect("no panic holds it");
    // SAFETY: SQLite gives `amount` bytes at `out`.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), usize::try_from(amount).expect("an amount")) };
    let start = usize::try_from(offset).expect("an offset").min(image.content.len());
    let end = (start + out.len()).min(image.content.len());
    let have = end - start;
    out[..have].copy_from_slice(&image.content[start..end]);
    out[have..].fill(0);
    if have == out.len() { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_SHORT_READ }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, data: *const c_void, amount: c_int, offset: i64) -> c_int {
    count_write(amount);
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    let Some(image) = &this.image else { return forward!(file, xWrite, data, amount, offset) };
    // SAFETY: SQLite gives `amount` bytes at `data`.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), usize::try_from(amount).expect("an amount")) };
    if let Some(how) = this.disk.as_ref().and_then(|disk| disk.strikes(Call::Write)) {
        if matches!(how, How::HalfError | How::HalfFull) {
            let half = &bytes[..bytes.len() / 2];
            image.lock().expect("no panic holds it").write(half, usize::try_from(offset).expect("an offset"));
        }
        return disk::code(Call::Write, how).unwrap_or(ffi::SQLITE_OK);
    }
    let early = leaked(bytes.len());
    if early > 0 {
        let code = forward!(file, xWrite, data, c_int::try_from(early).expect("not more than the amount"), offset);
        if code != ffi::SQLITE_OK {
            return code;
        }
    }
    image.lock().expect("no panic holds it").write(bytes, usize::try_from(offset).expect("an offset"));
    ffi::SQLITE_OK
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    fails!(file, Call::Truncate);
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    let Some(image) = &this.image else { return forward!(file, xTruncate, size) };
    image.lock().expect("no panic holds it").truncate(usize::try_from(size).expect("a size"));
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    count_sync();
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    let how = this.disk.as_ref().and_then(|disk| disk.strikes(Call::Sync));
    if let Some(image) = &this.image {
        let mut image = image.lock().expect("no panic holds it");
        match how {
            Some(How::Ignored) => return ffi::SQLITE_OK,
            Some(How::Late) | None => {}
            Some(how) => {
                let kept = if how == How::HalfError { image.dirty() / 2 } else { 0 };
                image.drop_dirty(kept);
            }
        }
        // SAFETY: the real file is open.
        let code = unsafe { image.flush(this.real) };
        if code != ffi::SQLITE_OK {
            return code;
        }
        // As Linux does: each descriptor is told once of what the system could not write, whoever asked for it.
        if std::mem::replace(&mut this.told, image.lost) < image.lost && how.is_none() {
            return ffi::SQLITE_IOERR_FSYNC;
        }
    }
    if let Some(code) = how.and_then(|how| disk::code(Call::Sync, how)) {
        return code;
    }
    forward!(file, xSync, flags)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    fails!(file, Call::Size);
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    let Some(image) = &this.image else { return forward!(file, xFileSize, out) };
    let size = i64::try_from(image.lock().expect("no panic holds it").content.len()).expect("a size");
    // SAFETY: SQLite gives room for the size.
    unsafe { *out = size };
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    fails!(file, Call::Lock);
    forward!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    forward!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    forward!(file, xCheckReservedLock, out)
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, op: c_int, argument: Pointer) -> c_int {
    // A size hint would grow the real file behind the image's back.
    if op == ffi::SQLITE_FCNTL_SIZE_HINT || op == ffi::SQLITE_FCNTL_CHUNK_SIZE {
        return ffi::SQLITE_OK;
    }
    forward!(file, xFileControl, op, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    forward!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see `parts`.
    let (this, _) = unsafe { parts(file) };
    match this.disk {
        // What SQLite takes for granted of all disks: a write does not change bytes beside it. A log is padded without that.
        Some(_) => ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE,
        // Nothing is promised: no atomic writes, no safe appends.
        None => 0,
    }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    fails!(file, Call::Map);
    forward!(file, xShmMap, page, size, extend, out.cast())
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    if flags & ffi::SQLITE_SHM_LOCK != 0 {
        fails!(file, Call::MapLock);
    }
    forward!(file, xShmLock, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    forward!(file, xShmBarrier);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    forward!(file, xShmUnmap, delete)
}
