//! Cross-thread events: threads, the capabilities between them, and what one tells or asks another.
//!
//! A thread is a task id in the scope of its owner, over all incarnations. Relationship grants bind incarnations and
//! serve for plain messages; capabilities bind threads and serve for events; neither serves for the other.

pub(crate) mod accepted;
pub(crate) mod access;
pub(crate) mod asking;
pub(crate) mod capabilities;
pub(crate) mod capability;
pub(crate) mod convey;
pub(crate) mod event;
pub(crate) mod grant;
pub(crate) mod hooks;
pub(crate) mod inquire;
pub(crate) mod judge;
pub(crate) mod receive;
pub(crate) mod resolvers;
pub(crate) mod resume;
pub(crate) mod show;
pub(crate) mod stages;
pub(crate) mod state;
pub(crate) mod thread;
pub(crate) mod threads;
