//! What `cargo xtask codegen` writes from `spec/`. Do not edit the files of this module.

#[rustfmt::skip]
pub mod about;
// A match over all codes is as long as the table.
#[allow(clippy::too_many_lines)]
#[rustfmt::skip]
pub mod errors;
#[rustfmt::skip]
pub mod limits;
#[rustfmt::skip]
pub mod machines;
#[rustfmt::skip]
pub(crate) mod records;
#[rustfmt::skip]
pub mod rules;
#[rustfmt::skip]
pub mod shapes;
