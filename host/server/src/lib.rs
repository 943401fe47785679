//! JSON-RPC 2.0 over stdio and Unix sockets, and the local tokens that say who is calling.
//!
//! A transport cuts lines, authenticates the connection and hands each frame on; what `params` mean is the core's
//! business. Frames are newline-delimited JSON: one frame per line, no `Content-Length` headers.

pub mod connection;
pub mod functions;
pub mod hosted;
pub mod lines;
pub mod service;
pub mod socket;
pub mod stdio;
pub mod stop;
pub mod tokens;
