//! Services of our own that tests look at: the outside, with its own files, that knows nothing of ThreadMesh.
//!
//! [`Deployments`] says what was deployed: by name and revision, kept in a SQLite file of its own.

mod exchange;
mod ledger;

pub use ledger::{Ledger, LedgerError};

use exchange::{Reply, Request};
use serde_json::json;
use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// What was deployed, over HTTP.
///
/// | Request | Answer |
/// |---|---|
/// | `PUT /deployments/NAME/REVISION`, a JSON object | 201, or 200 where it replaces one |
/// | `GET /deployments/NAME/REVISION` | 200 `{"name", "revision", "number", "state"}`, or 404 |
/// | `GET /deployments/NAME` | the same of what was put last |
///
/// `state` is the object that was put, `number` counts what was put. Names and revisions are 1 to 100 characters of
/// `A-Z a-z 0-9 . _ -`. Ends when dropped.
pub struct Deployments {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Deployments {
    /// Serves what is in `file`, which is made where it is missing, at `address`: port 0 means one of its own.
    pub fn start(file: &Path, address: &str) -> io::Result<Self> {
        let ledger = Arc::new(Ledger::open(file).map_err(io::Error::other)?);
        let listener = TcpListener::bind(address)?;
        let (address, ended) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let end = Arc::clone(&ended);
        let thread = thread::Builder::new().name("deployments".into()).spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), ledger) = (stream, Arc::clone(&ledger)) else { continue };
                thread::spawn(move || exchange::serve(&stream, |request| answer(&ledger, request)));
            }
        })?;
        Ok(Self { address, ended, thread: Some(thread) })
    }

    /// `http://ADDRESS:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts a state as a client would, over the network. The status of the answer.
    pub fn put(&self, name: &str, revision: &str, state: &str) -> io::Result<u16> {
        let mut stream = TcpStream::connect(self.address)?;
        exchange::put(&mut stream, &format!("/deployments/{name}/{revision}"), state)
    }
}

impl Drop for Deployments {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // The listener looks up when somebody comes.
        drop(TcpStream::connect(self.address));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn answer(ledger: &Ledger, request: &Request) -> Reply {
    let path = request.target.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path.split('/').collect();
    let result = match (request.method.as_str(), words.as_slice()) {
        ("PUT", ["", "deployments", name, revision]) => ledger.put(name, revision, &request.body).map(|new| {
            let status = if new { 201 } else { 200 };
            Reply { status, body: json!({"name": name, "revision": revision}).to_string() }
        }),
        ("GET", ["", "deployments", name, revision]) => found(ledger.get(name, Some(revision))),
        ("GET", ["", "deployments", name]) => found(ledger.get(name, None)),
        _ => return Reply::error(404, "no such resource"),
    };
    result.unwrap_or_else(|error| match error {
        LedgerError::Malformed(what) => Reply::error(400, what),
        LedgerError::File(error) => Reply::error(500, &error.to_string()),
    })
}

fn found(state: Result<Option<String>, LedgerError>) -> Result<Reply, LedgerError> {
    Ok(state?.map_or_else(|| Reply::error(404, "nothing was put there"), |body| Reply { status: 200, body }))
}
