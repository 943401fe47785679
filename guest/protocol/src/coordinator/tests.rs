//! Whole lives of messages against a store in memory.

mod lives;
mod relationships;
mod tasks;
pub(crate) mod world;
