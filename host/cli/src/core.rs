//! The built-in component, ready to run.

use crate::failure::Failure;
use threadmesh_runtime::{Core, Session, WasmCore};

/// The component, compiled or taken from the cache.
pub fn load() -> Result<WasmCore, Failure> {
    WasmCore::new().map_err(Failure::from)
}

/// Runs `work` in a fresh session.
pub fn with_session<T>(work: impl FnOnce(&mut dyn Session) -> Result<T, Failure>) -> Result<T, Failure> {
    let core = load()?;
    let mut session = core.session()?;
    work(session.as_mut())
}

/// Both results of a call of the core in one.
pub fn flat<T>(outcome: threadmesh_runtime::Outcome<T>) -> Result<T, Failure> {
    outcome?.map_err(|error| Failure::core(&error))
}
