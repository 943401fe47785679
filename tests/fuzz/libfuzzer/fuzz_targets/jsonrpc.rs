//! The target `jsonrpc`.
#![no_main]

threadmesh_libfuzzer::fuzz!("jsonrpc");
