//! The component: one-to-one conversions between `wit/` and [`threadmesh_protocol`], and nothing else.
//!
//! There is no rule here; an `if` in this crate would be in the wrong place.

#[cfg(all(feature = "world-core", feature = "world-verifier"))]
compile_error!("choose one world");

#[cfg(feature = "world-core")]
wit_bindgen::generate!({ path: "../../wit", world: "core" });
#[cfg(feature = "world-verifier")]
wit_bindgen::generate!({ path: "../../wit", world: "verifier" });

#[cfg(any(feature = "world-core", feature = "world-verifier"))]
mod both;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
#[rustfmt::skip]
mod codes;
#[cfg(feature = "world-core")]
mod coordinator;

#[cfg(any(feature = "world-core", feature = "world-verifier"))]
use exports::threadmesh::core::errors::ErrorCode;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
use threadmesh_protocol::Code;

#[cfg(any(feature = "world-core", feature = "world-verifier"))]
struct Component;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
export!(Component);
