//! Which database a command works on, and where things lie beside it.

use crate::failure::Failure;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The database that a command works on: the named one, else that of the account. Unusable where the account has no home
/// folder to keep one in.
pub fn chosen(named: Option<&Path>) -> Result<PathBuf, Failure> {
    named.map(Path::to_owned).or_else(of_account).ok_or_else(|| {
        let detail = "there is no database to work on, and no home folder (HOME) to look for one";
        Failure::unusable("database-missing", detail, "use --db FILE, or --socket PATH for a running server")
    })
}

/// The database of the account: `threadmesh/mesh.db` in `$XDG_DATA_HOME`, which is `~/.local/share` unless it is set.
pub fn of_account() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("threadmesh/mesh.db"))
}

/// The folder with one file for each token: `<db>.tokens`.
pub fn token_folder(db: &Path) -> PathBuf {
    beside(db, ".tokens")
}

/// The database whose default socket this is, if it is one.
pub fn of_socket(socket: &Path) -> Option<PathBuf> {
    let folder = socket.parent()?;
    let name = folder.file_name()?.to_str()?.strip_suffix(".run")?;
    (socket.file_name()? == "socket" && !name.is_empty()).then(|| folder.with_file_name(name))
}

/// `<path><suffix>`.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a folder that only this account can enter, or finds that it is one.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(folder)?;
    let private = meta.is_dir() && meta.mode() & 0o077 == 0;
    if private { Ok(()) } else { Err(io::Error::other("it is no folder of mode 0700")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_of_a_default_socket_is_known() {
        let db = Path::new("/a/mesh.db");
        assert_eq!(of_socket(&threadmesh_server::socket::default_path(db)).as_deref(), Some(db));
        assert_eq!(of_socket(Path::new("/a/.run/socket")), None);
        assert_eq!(of_socket(Path::new("/a/mesh.db.run/other")), None);
        assert_eq!(of_socket(Path::new("socket")), None);
    }
}
