//! The place of a socket in the file system: made safely, held by one server, cleaned up by it alone.

use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The kernel takes no longer path for a socket.
const PATH_BYTES_MAX: usize = 107;

/// Why a socket cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The folder is open to others or belongs to another account.
    #[error("{path}: {reason}")]
    Unsafe {
        /// The folder or socket.
        path: PathBuf,
        /// What is wrong, as a sentence part.
        reason: String,
    },
    /// Another server answers there.
    #[error("{path}: another server uses this socket")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
}

/// Where the socket of a database lies unless told otherwise: `<db>.run/socket`.
pub fn default_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".run");
    PathBuf::from(name).join("socket")
}

/// A bound socket. Dropping it removes the socket file, if it still is the one that was bound.
#[derive(Debug)]
pub struct SocketPlace {
    path: PathBuf,
    listener: UnixListener,
    bound: (u64, u64),
    /// Held as long as the place: it tells a dead server from a slow one.
    _lock: File,
}

impl SocketPlace {
    /// Binds `path`. Its folder is made 0700 if it is missing, and refused if it is open to others. A socket that nobody
    /// answers is removed; one that somebody serves is [`SocketError::InUse`]; anything that is no socket stays.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let io = |source: io::Error| SocketError::Io { path: path.to_owned(), source };
        if path.as_os_str().len() > PATH_BYTES_MAX {
            let reason = format!("the path is longer than the {PATH_BYTES_MAX} bytes that a socket may have");
            return Err(SocketError::Unsafe { path: path.to_owned(), reason });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        private_folder(folder)?;
        let lock = hold(path)?;
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(io)?;
        // The folder is closed to others, so nobody gets in between these two lines.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io)?;
        let bound = identity(&fs::symlink_metadata(path).map_err(io)?);
        Ok(SocketPlace { path: path.to_owned(), listener, bound, _lock: lock })
    }

    /// The socket's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }

    pub(super) fn error(&self, source: io::Error) -> SocketError {
        SocketError::Io { path: self.path.clone(), source }
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| identity(&meta) == self.bound) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

fn private_folder(folder: &Path) -> Result<(), SocketError> {
    let io = |source: io::Error| SocketError::Io { path: folder.to_owned(), source };
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
        _ => {}
    }
    let meta = fs::metadata(folder).map_err(io)?;
    let reason = if meta.uid() != rustix::process::geteuid().as_raw() {
        format!("the folder belongs to account {}", meta.uid())
    } else if meta.mode() & 0o077 != 0 {
        format!("the folder is open to other accounts (mode {:04o}): use one with mode 0700", meta.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(SocketError::Unsafe { path: folder.to_owned(), reason })
}

fn hold(path: &Path) -> Result<File, SocketError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let io = |source: io::Error| SocketError::Io { path: name.clone(), source };
    let mut options = File::options();
    options.read(true).append(true).create(true);
    options.mode(Mode::from_raw_mode(0o600).as_raw_mode()).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = options.open(&name).map_err(io)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(SocketError::InUse { path: path.to_owned() }),
        Err(error) => Err(io(error.into())),
    }
}

/// Removes a socket file whose server is gone.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let io = |source: io::Error| SocketError::Io { path: path.to_owned(), source };
    let meta = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(io)?,
    };
    if !meta.file_type().is_socket() {
        let reason = "exists and is no socket; nothing was removed".to_owned();
        return Err(SocketError::Unsafe { path: path.to_owned(), reason });
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(SocketError::InUse { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(io),
        Err(error) => Err(io(error)),
    }
}
