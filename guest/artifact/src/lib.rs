//! The ThreadMesh components as constants.
//!
//! [`CORE`] holds every rule; [`VERIFIER`] only what a browser or a pipeline needs to check signed statements. Both are
//! built from `guest/component` when this crate is built, and import nothing.

/// How large [`CORE`] may become, in bytes. To be raised only with a reason.
pub const CORE_BYTES_MAX: usize = 900_000;
/// How large [`VERIFIER`] may become, in bytes. To be raised only with a reason.
pub const VERIFIER_BYTES_MAX: usize = 260_000;

include!(concat!(env!("OUT_DIR"), "/artifact.rs"));
