//! What can go wrong with a store, by what a caller can do about it.

/// A failure of the store itself. Nothing was decided, and (but for [`StoreError::Broken`]) nothing was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Others held the store for all of the time that a caller may wait. Trying again is safe.
    #[error("the store is busy: no turn within {waited_ms} ms")]
    Busy {
        /// How long the caller waited.
        waited_ms: u64,
    },
    /// No space is left. The batch was rolled back; the store works again when there is space.
    #[error("no space left for the store: {detail}")]
    Full {
        /// What the driver said.
        detail: String,
    },
    /// The disk or the file system failed a read or a write. The batch was rolled back.
    #[error("the store cannot read or write its file: {detail}")]
    Io {
        /// What the driver said.
        detail: String,
    },
    /// The content is not what this store writes. Nothing is repaired, so that the evidence stays.
    #[error("the store is damaged: {detail}")]
    Damaged {
        /// What is wrong.
        detail: String,
    },
    /// The store was opened for reading only, or its file forbids more.
    #[error("the store is read-only: {detail}")]
    ReadOnly {
        /// Why.
        detail: String,
    },
    /// The disk failed to confirm a write, or something failed after it. Whether the last batch is durable is unknown, and
    /// every later write is refused until the store is opened again.
    #[error("the store must be opened again: {detail}")]
    Broken {
        /// What failed.
        detail: String,
    },
    /// The file was upgraded, removed or replaced while it was open. Nothing of the call was committed, and this store value
    /// answers no later call either.
    #[error("the store has stopped: {detail}")]
    Stopped {
        /// What happened, and what to do.
        detail: String,
    },
    /// The host asked for something that the trait rules out. A defect of the caller.
    #[error("the store was misused: {detail}")]
    Misuse {
        /// Which rule.
        detail: String,
    },
}

impl StoreError {
    /// A [`StoreError::Misuse`] that says `detail`.
    pub fn misuse(detail: impl Into<String>) -> Self {
        Self::Misuse { detail: detail.into() }
    }

    /// A [`StoreError::Damaged`] that says `detail`.
    pub fn damaged(detail: impl Into<String>) -> Self {
        Self::Damaged { detail: detail.into() }
    }
}

/// Which part of a decision no longer holds; the numbers count from 0 in the lists that were passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// A query of the read set now has other rows.
    Read {
        /// The query's place in [`super::ReadSet::reads`].
        query: usize,
    },
    /// A row to write does not have the expected revision.
    Write {
        /// The write's place in [`super::Changes::writes`].
        write: usize,
    },
    /// An effect to finish is in another lease by now, or gone.
    Lease {
        /// The lease's place in [`super::Changes::finished`].
        finished: usize,
    },
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read { query } => write!(f, "what query {query} found has changed"),
            Self::Write { write } => write!(f, "the row of write {write} has another revision"),
            Self::Lease { finished } => write!(f, "the lease of finished effect {finished} is lost"),
        }
    }
}

/// Why a batch did not take changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else was first: decide again from what is stored now.
    #[error("conflict: {0}")]
    Conflict(Conflict),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
