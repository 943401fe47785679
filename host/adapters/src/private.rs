//! Files that only the operator may read or change: the profile file and secrets.

use rustix::{
    fs::{FileType, OFlags, fstat, open},
    process::geteuid,
};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Why a private file was not read.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// It cannot be opened or read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        error: io::Error,
    },
    /// It is a directory, a pipe or the like.
    #[error("{0} is not a regular file")]
    NotAFile(PathBuf),
    /// Others may read or write it.
    #[error("{path} has mode {mode:04o}; others must have no access (chmod 600)")]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to another user.
    #[error("{0} belongs to another user")]
    Owner(PathBuf),
    /// It is too long.
    #[error("{path} is longer than {max} bytes")]
    Size {
        /// The file.
        path: PathBuf,
        /// The most bytes.
        max: u64,
    },
    /// It is not UTF-8.
    #[error("{0} is not UTF-8")]
    Encoding(PathBuf),
}

/// The text of a file that belongs to this user and is closed to all others. The open file is judged, not its name.
pub(crate) fn read(path: &Path, max: u64) -> Result<String, PrivateError> {
    let io = |error: io::Error| PrivateError::Io { path: path.to_owned(), error };
    // Non-blocking: opening a pipe must not hang; a regular file does not care.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = open(path, flags, rustix::fs::Mode::empty()).map_err(|errno| io(errno.into()))?;
    let stat = fstat(&fd).map_err(|errno| io(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(PrivateError::NotAFile(path.to_owned()));
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err(PrivateError::Owner(path.to_owned()));
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PrivateError::Mode { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    File::from(fd).take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > max {
        return Err(PrivateError::Size { path: path.to_owned(), max });
    }
    String::from_utf8(bytes).map_err(|_| PrivateError::Encoding(path.to_owned()))
}

/// The longest secret.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// A secret: the file's text without its last line break.
pub(crate) fn secret(path: &Path) -> Result<String, PrivateError> {
    let mut text = read(path, SECRET_BYTES_MAX)?;
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
