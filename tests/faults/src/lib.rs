//! What the fault tests are made of.
//!
//! [`vfs`] is a SQLite VFS that keeps every write in memory until the file is synced: whatever kills the process also
//! loses all writes since the last fsync, as a power failure may. It counts writes and syncs as well.
//!
//! The program `threadmesh-faults` is a [`worker`] that runs a scripted load and tells on its standard output what it
//! tries and what was acknowledged ([`lines`]), a [`writer`] and a [`rival`] for the tests with many processes, and a [`ledger`], the
//! adapter's program, which appends every effect and never de-duplicates. [`campaign`] starts and kills workers, and
//! [`check`] compares what they told with what is in the file and in the ledger.
//!
//! A [`trial`] is a scripted [`life`] in this process on a [`vfs::Disk`] of which one call fails.

pub mod campaign;
pub mod check;
pub mod ledger;
pub mod life;
pub mod lines;
pub mod mesh;
pub mod random;
pub mod rival;
pub mod script;
pub mod trial;
pub mod vfs;
pub mod worker;
pub mod writer;
