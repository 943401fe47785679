//! The token file as a running server sees it: re-read whenever it changes.

use super::{CheckPrincipal, Entry, TokenError, TokenFile, file};
use crate::standing::Standing;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A token file that follows its changes, so that a removed token ends its live connections too.
pub struct TokenBook {
    path: PathBuf,
    seen: Mutex<Option<(Stamp, TokenFile)>>,
    check: Option<CheckPrincipal>,
}

/// What tells one state of the file from another. Updates replace the file, so the inode alone nearly says it.
type Stamp = (u64, u64, i64, i64, u64, u32);

impl TokenBook {
    /// Opens the token file at `path`. Fails as [`file::load`] does.
    pub fn open(path: &Path) -> Result<Self, TokenError> {
        let book = TokenBook { path: path.to_owned(), seen: Mutex::new(None), check: None };
        book.with(|_| ())?;
        Ok(book)
    }

    /// The same, without the entries whose principal does not pass `check`: they are as good as not there.
    #[must_use]
    pub fn checked(self, check: CheckPrincipal) -> Self {
        TokenBook { seen: Mutex::new(None), check: Some(check), ..self }
    }

    /// The entry that `token` stands for now. An unreadable or unsafe file is an error: nobody is let in by an old copy.
    pub fn resolve(&self, token: &str) -> Result<Option<Entry>, TokenError> {
        self.with(|file| file.resolve(token).cloned())
    }

    /// Whether this very entry is still in the file.
    pub fn holds(&self, entry: &Entry) -> Result<bool, TokenError> {
        self.with(|file| file.entries.contains(entry))
    }

    /// The caller of an entry, for as long as it is in the file. A file that cannot be used lets nobody act.
    pub fn standing(self: &Arc<Self>, entry: Entry) -> Standing {
        let (book, known) = (Arc::clone(self), entry.clone());
        Standing::new(entry, Arc::new(move || book.holds(&known).unwrap_or(false)))
    }

    fn with<T>(&self, read: impl FnOnce(&TokenFile) -> T) -> Result<T, TokenError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.stamp()?;
        if let Some((then, file)) = seen.as_ref()
            && *then == now
        {
            return Ok(read(file));
        }
        *seen = None;
        let file = self.passing(file::load(&self.path)?)?;
        let (_, file) = seen.insert((now, file));
        Ok(read(file))
    }

    fn passing(&self, mut file: TokenFile) -> Result<TokenFile, TokenError> {
        if let Some(check) = &self.check {
            let invalid = |reason| TokenError::Invalid { path: self.path.clone(), reason };
            let kept: Result<Vec<bool>, _> = file.entries.iter().map(|entry| check(entry)).collect();
            let mut kept = kept.map_err(invalid)?.into_iter();
            file.entries.retain(|_| kept.next().unwrap_or(false));
        }
        Ok(file)
    }

    fn stamp(&self) -> Result<Stamp, TokenError> {
        let io = |source| TokenError::Io { path: self.path.clone(), source };
        let meta = std::fs::symlink_metadata(&self.path).map_err(io)?;
        Ok((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.size(), meta.mode()))
    }
}
