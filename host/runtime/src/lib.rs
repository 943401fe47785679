//! Embeds the ThreadMesh component: load what it asks for, let it decide, commit.

pub mod adapter;
pub mod client;
#[rustfmt::skip]
#[allow(clippy::too_many_lines)]
pub mod codes;
mod core;
pub mod dispatcher;
pub mod driver;
pub mod engine;
pub mod host;
pub mod pause;
mod private;
pub mod resolver;
mod rounds;
pub mod rpc;
pub mod scenario;
pub mod store;
pub mod vectors;
pub mod wit;

pub use core::{Core, CoreError, Outcome, Session};
pub use engine::WasmCore;
pub use host::{Host, HostError, Reply};
pub use rounds::Rounds;

/// Where the tests keep the compiled component from one run to the next.
#[cfg(test)]
fn tests_cache() -> engine::Cache {
    let user = rustix::process::geteuid().as_raw();
    engine::Cache::At(std::env::temp_dir().join(format!("threadmesh-tests-{user}")))
}
