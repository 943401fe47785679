//! The target `decide`.
#![no_main]

threadmesh_libfuzzer::fuzz!("decide");
