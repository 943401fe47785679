//! What ends with time: mail past its expiry, and content past its retention.

pub(crate) mod content;
pub(crate) mod expiry;
pub(crate) mod hooks;
pub(crate) mod purge;
