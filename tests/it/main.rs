//! Integration tests.

mod cli;
mod generated;
mod layering;
mod program;
mod readme;
mod tidy;
