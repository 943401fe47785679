//! Integration tests.

mod behaviours;
mod cli;
mod component;
mod conformance;
mod contract;
mod differential;
mod embedded;
mod evidence;
mod generated;
mod guarantees;
mod layering;
mod mcp;
mod profiles;
mod program;
mod purge;
mod readme;
mod retention;
mod scaling;
mod surface;
mod tidy;
mod uniform;
mod wording;
