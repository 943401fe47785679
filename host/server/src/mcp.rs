//! MCP: the operations that an agent in the middle of its work needs, as tools of the harness that it runs in.
//! spec/mcp.md describes the tools.
//!
//! Who is calling is what the transport authenticated: a token that the bridge was started with, or the credential of an
//! HTTP request. No argument says it. A bridge speaks to a running server and never opens a database. What peers wrote
//! reaches a model through `read` alone, as the core renders it.

mod backend;
mod fault;
mod frames;
#[rustfmt::skip]
mod generated;
mod handler;
mod http;
mod mailbox;
mod messages;
mod pipe;
mod relations;
pub mod schema;
mod sending;
mod session;
mod tools;
mod watching;

pub use backend::{Backend, InProcess};
pub use frames::Split;
pub use http::{Endpoint, endpoint};

use handler::{Handler, Identity};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What is buffered of each direction between the client's pipe and the server, in bytes.
const BUFFER: usize = 64 << 10;

/// Serves one client over standard input and output until its input ends and everything is answered. `split` is the core's
/// parser. Errors: there is no runtime to be had, the client speaks no MCP, or its output cannot be written.
pub fn serve_stdio(backend: Arc<dyn Backend>, split: Split) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let served = runtime.block_on(async {
        let (end, ending) = watch::channel(false);
        let handler = Handler::new(Identity::Fixed(backend), ending);
        let (own, other) = tokio::io::duplex(BUFFER);
        let serving = tokio::spawn(async move {
            match handler.serve(own).await {
                Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
                // A client that goes without a word has asked for nothing.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        });
        let carried = pipe::carry(io::stdin(), tokio::io::stdout(), other, split, end).await;
        // Where the client cannot be written to, nobody waits for the rest.
        carried?;
        serving.await.map_err(io::Error::other)?
    });
    // A call that waits for the server holds a thread; nobody is left to hear its answer.
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}
