//! Adapters of ThreadMesh: what performs an authorised call outside, what looks at evidence there, and the operator's file
//! that configures both.
//!
//! `spec/adapters.md` is the contract in words: what a program or a service must answer, which failures count as "not
//! submitted", and what the operator vouches for.

pub mod carrier;
pub mod command;
pub mod http;
pub mod profiles;
pub mod resolvers;

mod answer;
mod private;
mod subject;
