//! The parts of `cargo xtask`, as a library, so that tests can ask the same questions.

pub mod against;
pub mod behaviours;
pub mod carry;
pub mod codegen;
pub mod copy;
pub mod coverage;
pub mod faults;
pub mod grow;
pub mod lines;
pub mod pairs;
pub mod reproducible;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").components().collect()
}
