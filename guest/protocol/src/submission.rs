//! The durable call: an attempt to have something done outside, which happens at most once, and whose outcome is
//! established and never guessed.

pub(crate) mod attempt;
pub(crate) mod prepare;
pub(crate) mod resolve;
