//! Reading and writing the token file and the files that hold one token each.

use super::{Secret, TokenError, TokenFile};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// No token file is larger than this; a larger one is somebody else's file.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Where the token file of a database lies unless told otherwise: beside it, `<db>.tokens.json`.
pub fn default_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".tokens.json");
    PathBuf::from(name)
}

/// Reads and checks a token file. It must be a regular file of this account, closed to everybody else.
pub fn load(path: &Path) -> Result<TokenFile, TokenError> {
    let text = read_private(path)?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<TokenFile, TokenError> {
    let invalid = |reason: String| TokenError::Invalid { path: path.to_owned(), reason };
    let file: TokenFile = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    file.check().map_err(invalid)?;
    Ok(file)
}

/// Changes a token file (made if it is missing) under a lock, so that two changes at once both count; the new content
/// replaces the old in one step.
pub fn update<T>(path: &Path, change: impl FnOnce(&mut TokenFile) -> Result<T, TokenError>) -> Result<T, TokenError> {
    let io = |source: io::Error| TokenError::Io { path: path.to_owned(), source };
    let lock = private_options().read(true).append(true).create(true).open(beside(path, ".lock")).map_err(io)?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(|error| io(error.into()))?;
    let mut file = match load(path) {
        Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => TokenFile::default(),
        other => other?,
    };
    let result = change(&mut file)?;
    let text = serde_json::to_string_pretty(&file).map_err(|error| io(error.into()))?;
    let fresh = beside(path, ".new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    write_new(&fresh, &format!("{text}\n")).map_err(io)?;
    fs::rename(&fresh, path).map_err(io)?;
    sync_folder(path).map_err(io)?;
    Ok(result)
}

/// Writes a token to a new file of its own, mode 0600. Refuses to replace a file.
pub fn write_secret(path: &Path, secret: &Secret) -> Result<(), TokenError> {
    write_new(path, &format!("{}\n", secret.text())).map_err(|source| TokenError::Io { path: path.to_owned(), source })
}

/// Reads a token from a file that holds nothing else, under the same conditions as the token file.
pub fn read_secret(path: &Path) -> Result<Secret, TokenError> {
    parse_secret(path, &read_private(path)?)
}

/// Reads a token from an open file descriptor of this process: whoever started it chose what is there.
pub fn read_secret_from(number: u32) -> Result<Secret, TokenError> {
    let path = PathBuf::from(format!("/dev/fd/{number}"));
    let io = |source: io::Error| TokenError::Io { path: path.clone(), source };
    let mut text = String::new();
    File::open(&path).map_err(io)?.take(1024).read_to_string(&mut text).map_err(io)?;
    parse_secret(&path, &text)
}

fn parse_secret(path: &Path, text: &str) -> Result<Secret, TokenError> {
    let token = text.strip_suffix('\n').unwrap_or(text);
    if token.is_empty() || token.len() > 512 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let reason = "holds no token (one line of graphic ASCII)".to_owned();
        return Err(TokenError::Invalid { path: path.to_owned(), reason });
    }
    Ok(Secret::from_text(token))
}

fn read_private(path: &Path) -> Result<String, TokenError> {
    let io = |source: io::Error| TokenError::Io { path: path.to_owned(), source };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(TokenError::NoFile { path: path.to_owned() });
    }
    let problem = if meta.uid() != rustix::process::geteuid().as_raw() {
        Some(format!("belongs to account {}, not to the one that runs this", meta.uid()))
    } else if meta.mode() & 0o077 != 0 {
        Some(format!("is open to other accounts (mode {:04o}): chmod 600", meta.mode() & 0o7777))
    } else if meta.len() > FILE_BYTES_MAX {
        Some("is too large".to_owned())
    } else {
        None
    };
    if let Some(reason) = problem {
        return Err(TokenError::Unsafe { path: path.to_owned(), reason });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
    Ok(text)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private_options().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file would only block the name.
        let _ = fs::remove_file(path);
    }
    written
}

fn private_options() -> fs::OpenOptions {
    let mut options = File::options();
    options.mode(Mode::from_raw_mode(0o600).as_raw_mode()).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
