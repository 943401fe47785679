//! The program `threadmesh` as its users see it.

mod documents;
mod usage;
