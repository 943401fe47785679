//! The program `threadmesh` as its users see it.

mod astray;
mod calls;
mod demo;
mod disk;
mod documents;
mod http;
mod left;
mod mesh;
mod people;
mod secure;
mod serve;
mod streams;
mod tokens;
mod usage;
