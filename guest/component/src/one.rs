//! What lives as long as the instance, where there is one thread.

use core::cell::RefCell;

/// A value that one call after the other uses.
pub(crate) struct One<T>(RefCell<T>);

// SAFETY: the component has one thread.
unsafe impl<T> Sync for One<T> {}

impl<T> One<T> {
    /// With `value` in it.
    pub(crate) const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// Uses the value. Not to be called from within itself.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        run(&mut self.0.borrow_mut())
    }
}
