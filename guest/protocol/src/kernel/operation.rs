//! What the operations table says of an operation.

use super::Operation;
use super::context::Context;
use crate::kernel::flow::Flow;
use alloc::string::String;

/// The function of an operation: the JSON text of its value.
pub(crate) type Run = fn(&mut Context<'_>) -> Flow<String>;

/// How an operation is called.
pub(crate) struct Entry {
    /// The public part.
    pub operation: &'static Operation,
    /// Whether the worker is part of the scope of its idempotency key.
    pub by_worker: bool,
    /// What runs.
    pub run: Run,
}

impl Entry {
    /// Whether it takes an idempotency key, as whatever writes does.
    pub const fn keyed(&self) -> bool {
        !self.operation.read_only
    }
}
