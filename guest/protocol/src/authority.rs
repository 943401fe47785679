//! Who may do what: tasks, the grants between them, what is asked for and told, and the policy that judges a message.

pub(crate) mod adapters;
pub(crate) mod anchors;
pub(crate) mod budget;
pub(crate) mod denials;
pub(crate) mod gate;
pub(crate) mod grant;
pub(crate) mod hooks;
pub(crate) mod own;
pub(crate) mod policies;
pub(crate) mod profile;
pub(crate) mod proposal;
pub(crate) mod proposals;
pub(crate) mod purge;
pub(crate) mod related;
pub(crate) mod relationships;
pub(crate) mod runtime;
pub(crate) mod summaries;
pub(crate) mod summary;
pub(crate) mod task;
pub(crate) mod tasks;
