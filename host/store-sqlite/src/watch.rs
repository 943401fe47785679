//! Are the files still those that were opened?
//!
//! SQLite holds on to files that lost their names, and goes on writing to them: every commit succeeds and is gone with the
//! process. Under a second name the file gets a log of its own, and both sides damage it. So the file, its log and the index
//! of the log are looked at, by name, before a batch begins and again when it is committed; and by those who read, now
//! and then.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use threadmesh_runtime::store::StoreError;

use crate::OpenError;
use crate::files::{self, Identity, Location};

/// How long those who read rest on the last look.
const REST: Duration = Duration::from_millis(200);

/// What is wrong with the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The log has lost its name, and nobody has begun another one.
    LogRemoved,
    /// Anything else; as a sentence.
    Other(&'static str),
}

/// What a look at the files has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// What is wrong with them, if anything.
    pub trouble: Option<Trouble>,
    /// How long the log is; 0 where it has no name.
    pub log: u64,
}

/// The files of an open store.
#[derive(Debug)]
pub(crate) struct Watch {
    file: Watched,
    log: Watched,
    index: Watched,
    looked: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    /// Nothing where it had no name when the store was opened.
    identity: Option<Identity>,
}

impl Watched {
    fn new(path: PathBuf) -> Result<Self, OpenError> {
        let identity = files::identity(&path).map_err(|error| OpenError::io(&path, "cannot be looked at", &error))?;
        Ok(Self { path, identity })
    }

    fn now(&self) -> Result<Option<Identity>, StoreError> {
        files::identity(&self.path).map_err(|error| StoreError::Io { detail: error.to_string() })
    }
}

impl Watch {
    /// From now on the files must stay as they are. The log and its index are there if somebody has them open.
    pub fn new(location: &Location) -> Result<Self, OpenError> {
        let beside = |suffix| Watched::new(location.beside(suffix));
        let file = Watched::new(location.file.clone())?;
        Ok(Self { file, log: beside("-wal")?, index: beside("-shm")?, looked: Mutex::new(None) })
    }

    /// Looks at the files now.
    pub fn look(&self) -> Result<Look, StoreError> {
        let log = self.log.now()?;
        Ok(Look { trouble: self.trouble(log)?, log: log.map_or(0, |log| log.length) })
    }

    fn trouble(&self, log: Option<Identity>) -> Result<Option<Trouble>, StoreError> {
        let now = self.file.now()?;
        if now.map(Identity::which) != self.file.identity.map(Identity::which) {
            return Ok(Some(Trouble::Other("its file was removed or replaced")));
        }
        if now.is_some_and(|now| now.links != 1) {
            return Ok(Some(Trouble::Other("its file was given a second name (a hard link)")));
        }
        if self.log.identity.is_some() && log.map(Identity::which) != self.log.identity.map(Identity::which) {
            // An empty one is made by whoever opens the file to look at it.
            let empty = log.is_none_or(|log| log.length == 0);
            return Ok(Some(if empty { Trouble::LogRemoved } else { Trouble::Other("its log was replaced") }));
        }
        if self.index.identity.is_some()
            && self.index.now()?.map(Identity::which) != self.index.identity.map(Identity::which)
        {
            return Ok(Some(Trouble::Other("the shared memory of its log was removed or replaced")));
        }
        Ok(None)
    }

    /// Looks at the files, unless somebody did a moment ago.
    pub fn glance(&self) -> Result<Option<Trouble>, StoreError> {
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.is_some_and(|looked| looked.elapsed() < REST) {
                return Ok(None);
            }
            *looked = Some(Instant::now());
        }
        let found = self.look().map(|look| look.trouble);
        if !matches!(found, Ok(None)) {
            // Whoever comes next is told as well.
            *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        found
    }
}

impl Trouble {
    /// For people.
    pub fn what(self) -> &'static str {
        match self {
            Self::LogRemoved => "its log was removed while it was open",
            Self::Other(what) => what,
        }
    }

    /// What those who only read are told.
    pub fn stopped(self) -> StoreError {
        StoreError::Stopped { detail: format!("{}; end this process, and see `threadmesh doctor`", self.what()) }
    }
}
