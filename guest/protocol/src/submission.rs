//! The durable call: an attempt to have something done outside, which happens at most once, and whose outcome is
//! established and never guessed. Whose call it is, its [`holder`] says.

pub(crate) mod attempt;
pub(crate) mod begin;
pub(crate) mod holder;
pub(crate) mod list;
pub(crate) mod receipt;
pub(crate) mod resolve;
pub(crate) mod view;
