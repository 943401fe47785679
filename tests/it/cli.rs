//! The program `threadmesh` as its users see it.

mod demo;
mod documents;
mod mesh;
mod serve;
mod tokens;
mod usage;
