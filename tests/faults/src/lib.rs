//! What the fault tests are made of.
//!
//! [`vfs`] is a SQLite VFS that keeps every write in memory until the file is synced: whatever kills the process also
//! loses all writes since the last fsync, as a power failure may. It counts writes and syncs as well.

pub mod vfs;
