//! The operations, one function each, grouped as their names are.

pub(crate) mod adapters;
pub(crate) mod admission;
pub(crate) mod anchors;
pub(crate) mod batch;
pub(crate) mod denials;
pub(crate) mod facts;
pub(crate) mod forward;
pub(crate) mod inspect;
pub(crate) mod interrupted;
pub(crate) mod mailbox;
pub(crate) mod maintenance;
pub(crate) mod messages;
pub(crate) mod outcome;
pub(crate) mod proposals;
pub(crate) mod purge;
pub(crate) mod reads;
mod relabel;
pub(crate) mod related;
pub(crate) mod relationships;
pub(crate) mod resolve;
pub(crate) mod runtime;
pub(crate) mod send;
pub(crate) mod submit;
pub(crate) mod summaries;
pub(crate) mod tasks;
