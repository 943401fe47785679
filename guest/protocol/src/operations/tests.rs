//! Whole lives of messages against a store in memory.

mod adapters;
mod admission;
mod batch;
mod context;
mod contradictions;
mod floods;
mod holders;
mod lives;
mod maintenance;
mod operations;
mod proposals;
mod purge;
mod reads;
mod relationships;
mod reported;
mod revoke;
mod runtime;
mod stepping;
mod summaries;
mod tasks;
mod uses;
mod walks;
pub(crate) mod world;
