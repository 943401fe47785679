//! Deterministic simulation and model checking of ThreadMesh.
//!
//! A *life* is a list of [`life::Action`]s, drawn from a seed. Several hosts (the real loop and the real dispatcher of
//! `threadmesh-runtime`) share a store and an outside world; one thread decides who moves next, and a clock that only the
//! simulation moves tells the time. Each action draws whatever it needs from a salt of its own, so that a life can be
//! repeated exactly, and shortened by leaving actions out. The facts are in memory, or in a file that every process opens
//! for itself ([`backing`]): a life goes the same way over both.
//!
//! An [`oracle`] looks at every commit, every answer and every effect. It knows the tables of `spec/transitions.json` and
//! what it saw, and shares no code with the rules.
//!
//! A new operation joins the simulation as a row of [`actions::TABLE`], and what its records must never be as a file beside
//! the others in `oracle/`. Events, runs and approvals will join in these two places, and with a purpose of their own in
//! [`actions::Theme`].
//!
//! Many lives take an optimised program, which this builds beside what `cargo test` builds, without wasmtime once more:
//!
//! ```text
//! cargo build --config tests/sim/optimised.toml --bin threadmesh-sim
//! target/debug/threadmesh-sim --seeds 1..50000
//! ```

pub mod actions;
pub mod backing;
pub mod cast;
pub mod coverage;
pub mod life;
pub mod machines;
pub mod minimise;
pub mod model;
mod moment;
pub mod node;
pub mod oracle;
pub mod outside;
pub mod plan;
pub mod random;
pub mod scenario;
mod settle;
pub mod store;
pub mod time;
pub mod world;
