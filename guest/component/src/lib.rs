//! The component: one-to-one conversions between `wit/` and [`threadmesh_protocol`], and nothing else.
//!
//! There is no rule here; an `if` in this crate would be in the wrong place.
//!
//! The standard library stays out on the target, because its panic machinery alone is a tenth of the verifier. So the
//! allocator is our own, and a panic is a trap; what went wrong stands in the names of the functions on the stack.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: arena::Arena<arena::Linear> = arena::Arena::new(arena::Linear);

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(all(feature = "world-core", feature = "world-verifier"))]
compile_error!("choose one world");

#[cfg(feature = "world-core")]
wit_bindgen::generate!({ path: "../../wit", world: "core" });
#[cfg(feature = "world-verifier")]
wit_bindgen::generate!({ path: "../../wit", world: "verifier" });

#[cfg(any(target_arch = "wasm32", test))]
mod arena;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
mod both;
#[cfg(feature = "world-core")]
mod conversions;
#[cfg(feature = "world-core")]
mod coordinator;
#[cfg(feature = "world-core")]
mod one;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
mod verdicts;

#[cfg(any(feature = "world-core", feature = "world-verifier"))]
use exports::threadmesh::core::attestation::Verdict;
#[cfg(feature = "world-core")]
use exports::threadmesh::core::coordinator as wit;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
use exports::threadmesh::core::types::{Error, Group};

#[cfg(any(feature = "world-core", feature = "world-verifier"))]
struct Component;
#[cfg(any(feature = "world-core", feature = "world-verifier"))]
export!(Component);
