//! Generated from `spec/`: the types of params and answers, and the methods of the client.

#[rustfmt::skip]
mod methods;
#[rustfmt::skip]
pub(super) mod operations;
#[rustfmt::skip]
pub mod types;
