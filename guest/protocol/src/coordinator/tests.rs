//! Whole lives of messages against a store in memory.

mod adapters;
mod contradictions;
mod floods;
mod lives;
mod maintenance;
mod reads;
mod relationships;
mod reported;
mod revoke;
mod runtime;
mod tasks;
mod walks;
pub(crate) mod world;
