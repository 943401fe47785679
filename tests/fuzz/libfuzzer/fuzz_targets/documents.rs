//! The target `documents`.
#![no_main]

threadmesh_libfuzzer::fuzz!("documents");
