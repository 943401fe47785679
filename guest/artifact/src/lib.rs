//! The ThreadMesh components as constants.
//!
//! [`CORE`] holds every rule; [`VERIFIER`] only what a browser or a pipeline needs to check signed statements. Both are
//! built from `guest/component` when this crate is built, and import nothing.

include!(concat!(env!("OUT_DIR"), "/artifact.rs"));
