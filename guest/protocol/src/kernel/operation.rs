//! What the operations table says of an operation.

use super::Operation;
use super::context::Context;
use crate::kernel::flow::Flow;
use alloc::string::String;

/// The function of an operation: the JSON text of its value.
pub(crate) type Run = fn(&mut Context<'_>) -> Flow<String>;

/// How an operation is called.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The public part.
    pub operation: Operation,
    /// What runs.
    pub run: Run,
}
