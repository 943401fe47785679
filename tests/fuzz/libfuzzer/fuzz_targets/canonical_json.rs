//! The target `canonical-json`.
#![no_main]

threadmesh_libfuzzer::fuzz!("canonical-json");
