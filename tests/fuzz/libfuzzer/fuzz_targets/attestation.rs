//! The target `attestation`.
#![no_main]

threadmesh_libfuzzer::fuzz!("attestation");
