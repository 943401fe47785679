//! Paths, private files and directories. Does not open a database file that may be in use: closing any descriptor of it
//! would drop the locks that SQLite holds in this process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};

use crate::OpenError;

/// Where a store is, links resolved.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The directory that holds the file.
    pub directory: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// Whether the file was there.
    pub exists: bool,
}

impl Location {
    /// Resolves `path`.
    pub fn resolve(path: &Path) -> Result<Self, OpenError> {
        let name = path.file_name().ok_or_else(|| OpenError::NotAFile { path: path.to_owned() })?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = match parent.canonicalize() {
            Ok(directory) if directory.is_dir() => directory,
            Ok(_) => return Err(OpenError::NoDirectory { path: parent.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(OpenError::NoDirectory { path: parent.to_owned() });
            }
            Err(error) => return Err(OpenError::io(parent, "cannot be resolved", &error)),
        };
        let file = directory.join(name);
        match file.symlink_metadata() {
            Ok(found) if found.is_symlink() => match file.canonicalize() {
                Ok(target) => Self::resolve(&target),
                Err(_) => Err(OpenError::NotAFile { path: file }),
            },
            Ok(found) if found.is_file() => Ok(Self { directory, file, exists: true }),
            Ok(_) => Err(OpenError::NotAFile { path: file }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { directory, file, exists: false }),
            Err(error) => Err(OpenError::io(&file, "cannot be looked at", &error)),
        }
    }

    /// The file with `suffix` added to its name.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.file.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }
}

/// Which file a name stands for, and what is known of it without opening it: removing it, or putting another one in its
/// place, gives another device or inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// How many names it has.
    pub links: u64,
    /// In bytes.
    pub length: u64,
}

impl Identity {
    /// Which file it is, whatever its names and length.
    pub fn which(self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// The identity of the file at `path`; nothing where there is none. Does not open it.
pub(crate) fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match fs::metadata(path) {
        Ok(found) => {
            let (device, inode, links, length) = (found.dev(), found.ino(), found.nlink(), found.len());
            Ok(Some(Identity { device, inode, links, length }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The length of a file; nothing where it is not there.
pub(crate) fn length(path: &Path) -> Result<Option<u64>, OpenError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::io(path, "cannot be looked at", &error)),
    }
}

/// Makes a file that only its owner may read or write, whatever the umask; it must not exist.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, private())?);
    // The umask can only have taken bits away.
    rustix::fs::fchmod(&file, private())?;
    Ok(file)
}

/// Writes a file again with what is read from it, and flushes it; nothing where there is none. Must not be a database
/// file, but may be its log: SQLite holds no locks on that.
pub(crate) fn write_again(path: &Path) -> io::Result<()> {
    let file = match File::options().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut piece, mut place) = (vec![0; 1 << 20], 0);
    loop {
        let length = file.read_at(&mut piece, place)?;
        if length == 0 {
            return file.sync_all();
        }
        file.write_all_at(&piece[..length], place)?;
        place += length as u64;
    }
}

/// Opens a private file that is no database, and makes it where it is missing.
pub(crate) fn open_or_create_private(path: &Path) -> io::Result<File> {
    loop {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => return Ok(File::from(file)),
            Err(rustix::io::Errno::NOENT) => match create_private(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            },
            Err(error) => return Err(error.into()),
        }
    }
}

/// Moves a finished file to a name that must be free, and makes the new name durable. False where it was taken.
pub(crate) fn publish(from: &Path, location: &Location) -> io::Result<bool> {
    use rustix::io::Errno;
    let moved = match rustix::fs::renameat_with(CWD, from, CWD, &location.file, RenameFlags::NOREPLACE) {
        // Not every file system knows this way.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::hard_link(from, &location.file),
        other => other.map_err(io::Error::from),
    };
    if let Err(error) = moved {
        return if error.kind() == io::ErrorKind::AlreadyExists { Ok(false) } else { Err(error) };
    }
    match fs::remove_file(from) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    flush_directory(&location.directory)?;
    Ok(true)
}

/// Makes the names in a directory durable.
fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn private() -> Mode {
    Mode::RUSR | Mode::WUSR
}
