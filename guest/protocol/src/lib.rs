//! Every rule of ThreadMesh, as a pure library.
//!
//! Nothing here reads a clock, draws randomness or does input or output; nothing recurses on the depth of an input or
//! panics on it. The component (`guest/component`) converts types one to one and adds nothing; hosts see only the
//! component. Tables that are data live in `spec/` and arrive here through `cargo xtask codegen` as [`generated`].
#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod about;
pub mod attestation;
mod authority;
pub mod characters;
mod delivery;
pub mod digest;
pub mod documents;
pub mod error;
mod events;
pub mod generated;
pub mod json;
pub mod kernel;
pub mod lifecycle;
pub mod operations;
mod registry;
pub mod rendering;
mod retention;
pub mod rules;
mod schema;
mod submission;
pub mod time;

pub use error::Error;
pub use generated::errors::{Code, Group};
pub use generated::rules::Rule;
