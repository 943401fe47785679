//! Fuzz targets: properties of the rules that must hold for whatever comes in.
//!
//! A target takes bytes and panics where a property does not hold; that the rules do not panic is one property of many.
//! It says whether the input was accepted, so that a run can tell whether it only ever saw refusals. The targets know
//! nothing of a fuzzer: `tests/smoke.rs` drives them with seeded mutations of the conformance vectors in every
//! `cargo test`, and `libfuzzer/` makes a libFuzzer program of each (nightly, in a workspace of its own):
//!
//! ```sh
//! cargo install cargo-fuzz --version 0.13.2 --locked
//! cargo run -p threadmesh-fuzz -- seeds target/fuzz                # corpora from the vectors, and a dictionary
//! cargo +nightly fuzz build --fuzz-dir tests/fuzz/libfuzzer
//! cargo +nightly fuzz run --fuzz-dir tests/fuzz/libfuzzer decide target/fuzz/decide -- \
//!     -dict=target/fuzz/words.dict -max_len=40000 -max_total_time=600 -rss_limit_mb=2048
//! cargo run -p threadmesh-fuzz -- run decide FILE…                 # again, on the stable toolchain
//! ```
//!
//! No corpus is committed: seeds come from the vectors. What a run finds is mended, and becomes a vector.

pub mod mutate;
pub mod random;
pub mod seeds;
pub mod store;
pub mod targets;

pub use targets::{TARGETS, Target};
