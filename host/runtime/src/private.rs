//! A directory that nobody else can write to or read from, and files in it.
//!
//! Everything goes through the directory's descriptor, so that it cannot be exchanged between the check and the use.

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, renameat, statat, unlinkat},
    io::Errno,
    process::geteuid,
};
use std::{
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

/// A checked directory.
pub(crate) struct PrivateDir {
    fd: OwnedFd,
}

/// A file in a [`PrivateDir`], for deciding which ones to remove.
pub(crate) struct Listed {
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Seconds and nanoseconds since the epoch.
    pub modified: (i64, u64),
}

impl PrivateDir {
    /// Makes the directory where it is missing (its parents as the user's mask says, itself 0700) and checks that it
    /// is a directory of ours in which others can neither write nor read.
    pub fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(CWD, path, flags, Mode::empty())?;
        let stat = fstat(&fd)?;
        if !ours(&stat) {
            let what = "not private: it must belong to this user and have mode 0700";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is {what}", path.display())));
        }
        Ok(Self { fd })
    }

    /// The content of a file of ours; nothing where it is missing, foreign, readable by others, linked elsewhere or
    /// longer than `bytes_max`.
    pub fn read(&self, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty()).ok()?;
        let stat = fstat(&fd).ok()?;
        let size = u64::try_from(stat.st_size).ok()?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !regular || !ours(&stat) || stat.st_nlink != 1 || size > bytes_max {
            return None;
        }
        let mut content = Vec::with_capacity(usize::try_from(size).ok()?);
        File::from(fd).take(bytes_max).read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// Writes a file (0600) whole or not at all; what had the name is replaced.
    pub fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let draft = format!(".{name}.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.fd, draft.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        let renamed = written.and_then(|()| Ok(renameat(&self.fd, draft.as_str(), &self.fd, name)?));
        if renamed.is_err() {
            self.remove(&draft);
        }
        renamed
    }

    /// The regular files, the oldest first.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let Ok(name) = entry?.file_name().to_str().map(str::to_owned) else { continue };
            let Ok(stat) = statat(&self.fd, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                let modified = (stat.st_mtime, stat.st_mtime_nsec);
                files.push(Listed { name, bytes: u64::try_from(stat.st_size).unwrap_or(0), modified });
            }
        }
        files.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
        Ok(files)
    }

    /// Removes a file; whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        unlinkat(&self.fd, name, AtFlags::empty()) != Err(Errno::NOENT)
    }
}

/// Belongs to this user, and nobody else may do anything with it.
fn ours(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o077 == 0
}
