//! Integration tests.

mod cli;
mod conformance;
mod contract;
mod differential;
mod generated;
mod layering;
mod mcp;
mod program;
mod readme;
mod scaling;
mod tidy;
mod uniform;
mod wording;
