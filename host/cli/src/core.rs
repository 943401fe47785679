//! The built-in component, ready to run.

use crate::failure::Failure;
use serde_json::Value;
use threadmesh_runtime::{Core, Session, WasmCore};
use threadmesh_store_sqlite::Records;

/// The component, compiled or taken from the cache.
pub fn load() -> Result<WasmCore, Failure> {
    WasmCore::new().map_err(Failure::from)
}

/// Which records a component writes and reads, as it says of itself.
pub fn records(core: &WasmCore) -> Result<Records, Failure> {
    let said: Value = serde_json::from_str(&core.session()?.describe()?).unwrap_or_default();
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let reads = said["records"]["reads"].as_array().map(|all| all.iter().filter_map(number).collect());
    let (Some(writes), Some(reads)) = (number(&said["records"]["writes"]), reads) else {
        let detail = "the component does not say which records it writes and reads";
        return Err(Failure::unusable("component-unusable", detail, "build the program again"));
    };
    Ok(Records { writes, reads })
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
