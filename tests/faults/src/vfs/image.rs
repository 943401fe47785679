//! What a file holds in memory: its whole content, and what of it the real file does not have yet.

use rusqlite::ffi;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// A file in memory.
#[derive(Default)]
pub(crate) struct Image {
    /// Which file it is: under the same name there may be another one later.
    inode: Option<u64>,
    /// The content as the process sees it.
    pub content: Vec<u8>,
    /// Ranges that the real file lacks.
    dirty: Vec<(usize, usize)>,
    /// Whether the real file has another length.
    resized: bool,
    /// How often the system gave up on something.
    pub lost: u64,
}

/// An image that the connections of this process share.
pub(crate) type Shared = Arc<Mutex<Image>>;

fn images() -> &'static Mutex<HashMap<CString, Shared>> {
    static IMAGES: OnceLock<Mutex<HashMap<CString, Shared>>> = OnceLock::new();
    IMAGES.get_or_init(Mutex::default)
}

/// The image of the file `name`, read from `real` by the first that opens it.
pub(crate) unsafe fn attach(name: &CStr, real: *mut ffi::sqlite3_file) -> Result<Shared, i32> {
    let inode = std::fs::metadata(OsStr::from_bytes(name.to_bytes())).ok().map(|found| found.ino());
    let mut images = images().lock().expect("no panic holds it");
    if let Some(image) = images.get(name)
        && image.lock().expect("no panic holds it").inode == inode
    {
        return Ok(Arc::clone(image));
    }
    // SAFETY: `real` was just opened by the base VFS.
    let image = Arc::new(Mutex::new(Image { inode, ..unsafe { Image::load(real)? } }));
    images.insert(name.to_owned(), Arc::clone(&image));
    Ok(image)
}

/// The file is deleted.
pub(crate) fn forget(name: &CStr) {
    images().lock().expect("no panic holds it").remove(name);
}

/// Everything in a folder is forgotten.
pub(crate) fn forget_folder(folder: &Path) {
    let inside = |name: &CString| Path::new(OsStr::from_bytes(name.as_bytes())).parent() == Some(folder);
    images().lock().expect("no panic holds it").retain(|name, _| !inside(name));
}

/// Writes a file again with what the process sees in it, as the store's own function does for a real file.
pub(crate) fn write_again(path: &Path) -> std::io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let image = images().lock().expect("no panic holds it").get(&name).cloned();
    let Some(image) = image else { return Ok(()) };
    let mut image = image.lock().expect("no panic holds it");
    if let Some(disk) = super::disk::of(&name)
        && disk.strikes(super::Call::Sync).is_some()
    {
        return Err(std::io::Error::other("the disk fails"));
    }
    std::fs::write(path, &image.content)?;
    image.drop_dirty(0);
    Ok(())
}

/// What the process sees in a file that it has opened.
pub(crate) fn content(path: &Path) -> Option<Vec<u8>> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let image = images().lock().expect("no panic holds it").get(&name).cloned()?;
    Some(image.lock().expect("no panic holds it").content.clone())
}

impl Image {
    unsafe fn load(real: *mut ffi::sqlite3_file) -> Result<Self, i32> {
        let mut size: i64 = 0;
        // SAFETY: `real` is open, so its methods are set.
        unsafe {
            let methods = &*(*real).pMethods;
            let code = methods.xFileSize.expect("xFileSize")(real, &raw mut size);
            if code != ffi::SQLITE_OK {
                return Err(code);
            }
            let mut content = vec![0; usize::try_from(size).expect("a size")];
            if !content.is_empty() {
                let length = i32::try_from(content.len()).expect("a small file");
                let code = methods.xRead.expect("xRead")(real, content.as_mut_ptr().cast(), length, 0);
                if code != ffi::SQLITE_OK {
                    return Err(code);
                }
            }
            Ok(Self { content, ..Self::default() })
        }
    }

    /// Writes in memory only.
    pub fn write(&mut self, data: &[u8], offset: usize) {
        let end = offset + data.len();
        if end > self.content.len() {
            self.content.resize(end, 0);
        }
        self.content[offset..end].copy_from_slice(data);
        self.dirty.push((offset, end));
    }

    /// Cuts in memory only.
    pub fn truncate(&mut self, size: usize) {
        self.content.resize(size, 0);
        self.resized = true;
    }

    /// The system gives up on what it has not written, but does not forget it: it can be read, and no later sync writes it.
    /// The first `kept` of it do reach the file with the next sync.
    pub fn drop_dirty(&mut self, kept: usize) {
        self.lost += u64::from(self.dirty.len() > kept || self.resized);
        self.dirty.truncate(kept);
        self.resized = false;
    }

    /// How many writes the real file lacks.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Brings the real file up to date.
    pub unsafe fn flush(&mut self, real: *mut ffi::sqlite3_file) -> i32 {
        // SAFETY: `real` is open, so its methods are set; every range lies in the content.
        unsafe {
            let methods = &*(*real).pMethods;
            if self.resized {
                let size = i64::try_from(self.content.len()).expect("a size");
                let code = methods.xTruncate.expect("xTruncate")(real, size);
                if code != ffi::SQLITE_OK {
                    return code;
                }
            }
            for (start, end) in self.dirty.drain(..) {
                let end = end.min(self.content.len());
                if start >= end {
                    continue;
                }
                let data = &self.content[start..end];
                let length = i32::try_from(data.len()).expect("a short write");
                let offset = i64::try_from(start).expect("an offset");
                let code = methods.xWrite.expect("xWrite")(real, data.as_ptr().cast(), length, offset);
                if code != ffi::SQLITE_OK {
                    return code;
                }
            }
        }
        self.resized = false;
        ffi::SQLITE_OK
    }
}
