//! The operations, one function each, grouped as their names are.

pub(crate) mod mailbox;
pub(crate) mod messages;
pub(crate) mod resolve;
pub(crate) mod send;
pub(crate) mod submit;
