//! What `cargo xtask codegen` writes from `spec/`. Do not edit the files of this module.

#[rustfmt::skip]
pub mod errors;
#[rustfmt::skip]
pub mod limits;
#[rustfmt::skip]
pub mod rules;
