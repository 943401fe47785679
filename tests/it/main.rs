//! Integration tests.

mod generated;
mod layering;
mod tidy;
