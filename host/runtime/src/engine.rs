//! The component in wasmtime, with limits of time and memory.
//!
//! Not here: when a session is replaced and what a trap means for a request (the host loop).

mod cache;
mod carried;
mod idle;
mod session;
#[cfg(test)]
mod tests;
mod ticker;

use crate::{Core, CoreError, Session, wit::bindings};
use idle::Idle;
use session::{State, WasmSession};
use std::{path::PathBuf, time::Duration};
use ticker::Ticker;
use wasmtime::component::Linker;

/// Where compiled code is kept between starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// What the program carries behind the end of its own file, if that is for this component and engine; otherwise
    /// `THREADMESH_CACHE_DIR` if set (empty: nowhere), else `threadmesh` in the user's cache directory.
    #[default]
    Standard,
    /// In this directory.
    At(PathBuf),
    /// Nowhere: compile at every start.
    Off,
}

/// Limits and choices of a [`WasmCore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long one call may take.
    pub deadline: Duration,
    /// How large the memory of one session may become.
    pub memory_bytes_max: usize,
    /// Where compiled code is kept.
    pub cache: Cache,
}

impl Default for Options {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(2), memory_bytes_max: 256 << 20, cache: Cache::Standard }
    }
}

/// Where the compiled code came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the program's own file.
    Carried,
    /// From the cache.
    Loaded,
    /// Compiled now, and kept.
    Compiled,
    /// Compiled now, and not kept, for this reason.
    NotKept(String),
}

/// The component that this host was built with, compiled.
pub struct WasmCore {
    pre: bindings::CorePre<State>,
    idle: Idle,
    ticker: Ticker,
    options: Options,
    origin: Origin,
}

impl WasmCore {
    /// The built-in `core` component with the default [`Options`].
    pub fn new() -> Result<Self, CoreError> {
        Self::with(Options::default())
    }

    /// The built-in `core` component. [`CoreError::Unusable`] where it cannot be compiled on this machine.
    pub fn with(options: Options) -> Result<Self, CoreError> {
        Self::of(threadmesh_artifact::CORE, threadmesh_artifact::CORE_DIGEST, options)
    }

    /// Another build of the component, whose `sha256:…` the caller knows.
    pub fn of(component: &[u8], digest: &str, options: Options) -> Result<Self, CoreError> {
        let unusable = |error: wasmtime::Error| CoreError::Unusable { detail: format!("{error:#}") };
        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true).wasm_relaxed_simd(false);
        let engine = wasmtime::Engine::new(&config).map_err(unusable)?;
        let (component, origin) = cache::component(&engine, component, digest, &options.cache).map_err(unusable)?;
        let pre = Linker::new(&engine).instantiate_pre(&component).map_err(unusable)?;
        let pre = bindings::CorePre::new(pre).map_err(unusable)?;
        let ticker = Ticker::start(&engine, options.deadline).map_err(|error| CoreError::Unusable {
            detail: format!("the thread that limits its time does not start: {error}"),
        })?;
        Ok(Self { pre, idle: Idle::default(), ticker, options, origin })
    }

    /// Where the compiled code came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl Core for WasmCore {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        Ok(Box::new(WasmSession::new(self)?))
    }
}
