//! The default store of ThreadMesh: one SQLite file, on the disk before the answer leaves.
//!
//! [`SqliteStore`] is a [`threadmesh_runtime::store::Store`] for many threads and many processes. It knows collections,
//! ids, revisions, texts and index keys, and nothing of what a document means.
//!
//! * **Durable.** Write-ahead log with `synchronous=FULL`: one flush per committed batch. A flush that fails leaves the
//!   outcome unknown, and the store refuses to write until it is opened again. Whoever opens it then writes the log again
//!   before he adds to it: the system may have let go of what it could not write, though it can still be read.
//! * **Private.** File, log, shared memory and lock file have mode 0600 from their first moment; `secure_delete` is on, so
//!   that what is removed is overwritten. [`SqliteStore::checkpoint_truncate`] empties the journal and the log.
//! * **Shared.** Writers of different processes queue at `<file>.lock`, since SQLite's own busy handler lets whoever comes
//!   back first win. Nobody sees a busy error before [`Options::busy_limit`].
//! * **Careful with what it finds.** A file of another layout or with other records ([`Options::records`]) is left as it is,
//!   byte for byte, and a store that meets another one than it opened stops. A damaged file is never repaired, emptied or
//!   made again; rows, journal, stored effects and counters carry checksums, which SQLite's pages lack. Network and
//!   VM-shared file systems, on which the log's shared memory does not work, are refused unless
//!   [`Options::allow_network_fs`] is set.
//! * **Watchful.** File, log and shared memory must keep the names that they had, and the file has one name only
//!   (`watch.rs`); how many commits were acknowledged stands beside the file (`mark.rs`), so that a log that was removed or
//!   cut short is missed at the next opening.
//!
//! # Layout
//!
//! `facts` is a heap: a row is appended when it is made (its number, the *stamp*, is never used again) and found by its
//! number only. `audit` holds the audit records by position, which is their id. `entries` maps (index, key, stamp) to
//! nothing; the id of a fact is a key of the index without a name. A row keeps the
//! list of its own keys, so that an update reads one row and touches only the keys that changed; measured against rows
//! clustered by id, this layout writes less than half as many pages. Names of collections and indexes are small numbers.
//!
//! A batch touches many pages of both, so it is not written there at once: what it changed goes into the `journal`, in
//! slots of one page, which is nearly all that its commit has to write. Every process knows the journal's content and sees
//! the tables through it (`recent.rs`). When one half of it is full ([`Options::journal_pages`]), commits go on in the other
//! one and carry the full one over in slices, rows and keys in order (`settle.rs`), so that each page of the tables is
//! written once for many commits. What is laid over the tables has all that changes in them until then, so answers from
//! them can be remembered. The log is carried over beside the commits (`checkpointer.rs`).
//!
//! Everything is checked before anything is applied, and what is applied stays in memory until the commit, so that there is
//! nothing to roll back (a savepoint copies each page before its first change, which was measured as two thirds of all
//! bytes written).

mod apply;
mod batch;
mod check;
mod checkpointer;
mod connection;
mod counters;
mod delta;
mod error;
mod files;
mod growth;
mod journal;
mod keys;
mod log;
mod looked;
mod mark;
mod names;
mod open;
mod options;
mod outbox;
mod place;
mod pool;
mod position;
mod query;
mod queue;
mod recent;
mod schema;
mod settle;
mod store;
mod sum;
mod view;
mod watch;

#[cfg(test)]
mod tests;

pub use check::FailedEffect;
pub use error::OpenError;
pub use options::{Options, Records, Synchronous};
pub use place::{FileSystem, probe};
pub use store::{Checkpoint, SqliteStore};
