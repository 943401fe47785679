//! JSON-RPC 2.0 over stdio, Unix sockets and HTTP, and the tokens that say who is calling.
//!
//! A transport cuts lines, authenticates the connection and hands each frame on; what `params` mean is the core's
//! business. Over stdio and sockets frames are newline-delimited JSON: one frame per line, no `Content-Length` headers.

pub mod client;
pub mod connection;
pub mod functions;
pub mod hosted;
pub mod http;
pub mod lines;
pub mod mcp;
pub mod service;
pub mod shares;
pub mod socket;
pub mod standing;
pub mod stdio;
pub mod stop;
pub mod time;
pub mod tokens;
