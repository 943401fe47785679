//! Adapters of ThreadMesh: what performs an authorised call outside, and the operator's file that configures them.
//!
//! `spec/adapters.md` is the contract in words: what a program or a service must answer, which failures count as "not
//! submitted", and what the operator vouches for.

pub mod carrier;
pub mod command;
pub mod http;
pub mod profiles;

mod answer;
mod private;
mod subject;
