//! Whole lives of messages against a store in memory.

mod adapters;
mod lives;
mod maintenance;
mod reads;
mod relationships;
mod runtime;
mod tasks;
pub(crate) mod world;
