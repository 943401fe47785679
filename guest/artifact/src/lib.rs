//! The ThreadMesh components as constants.
//!
//! [`CORE`] holds every rule; [`VERIFIER`] only what a browser or a pipeline needs to check signed statements. Both are
//! built from `guest/component` when this crate is built, and import nothing.

/// How large [`CORE`] may become, in bytes, with the name section and without debug sections. To be raised only with a
/// reason: it was 900 000 for 27 operations, 1.3 million for twice as many, and is this with the stages of cross-thread
/// events. Built for size it would be a third smaller; a host loads it once and then decides with it for as long as it
/// runs, so it is built for speed.
pub const CORE_BYTES_MAX: usize = 1_600_000;
/// How large [`VERIFIER`] may become, in bytes. To be raised only with a reason.
pub const VERIFIER_BYTES_MAX: usize = 260_000;

include!(concat!(env!("OUT_DIR"), "/artifact.rs"));
