//! What a life's facts are kept in: a store in memory, or a file that each process opens for itself.

use std::sync::Arc;
use tempfile::TempDir;
use threadmesh_runtime::store::{MemoryStore, Store};
use threadmesh_store_sqlite::{Options, SqliteStore, Synchronous};

/// So few pages that journal and log are carried over several times in a life.
const SMALL: u32 = 8;

/// The facts of one life, which end with it.
pub enum Backing {
    /// In memory: one store for all processes.
    Memory(Arc<MemoryStore>),
    /// In a file of this directory: every process has a store of its own over it.
    File(TempDir),
}

impl Backing {
    /// Empty, in memory or in a file. Errors: there is no directory for the file.
    pub fn new(file: bool) -> std::io::Result<Self> {
        if file { TempDir::new().map(Self::File) } else { Ok(Self::Memory(Arc::new(MemoryStore::new()))) }
    }

    /// What a process that starts works with. Errors: the file is not opened, and why.
    pub fn connect(&self) -> Result<Arc<dyn Store>, String> {
        match self {
            Self::Memory(store) => Ok(Arc::clone(store) as Arc<dyn Store>),
            Self::File(place) => {
                // Processes end in lives, and machines do not: what was written is there without waiting for the disk.
                let (journal_pages, checkpoint_pages) = (SMALL, SMALL);
                let synchronous = Synchronous::Off;
                // A thread would make each life another one.
                let checkpoint_beside = false;
                let options =
                    Options { synchronous, journal_pages, checkpoint_pages, checkpoint_beside, ..Options::default() };
                let store = SqliteStore::open(place.path().join("life.db"), options);
                store.map(|store| Arc::new(store) as Arc<dyn Store>).map_err(|error| error.to_string())
            }
        }
    }
}
