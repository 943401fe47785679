//! A client of a server's Unix socket, for the typed client and for bridges.
//!
//! A connection carries one call at a time; callers on several threads get connections of their own, which are kept for
//! the next call. Every operation either reads or has an idempotency key, so that a call whose connection broke may be
//! sent once more over a new one, where that is wished ([`SocketClient::repeating`]).

use crate::tokens::{Principal, Secret};
use serde::Deserialize;
use serde_json::json;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use threadmesh_runtime::client::{Transport, TransportError};
use threadmesh_runtime::rpc::{Answer, Refusal, Response, request};

/// Connections that are kept for the next call.
const IDLE_MAX: usize = 8;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens there, or the connection broke.
    #[error("{path}: {source}")]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The server does not take the token.
    #[error("{refusal}")]
    Denied {
        /// What the server says of it.
        refusal: Box<Refusal>,
        /// The `error` member that this was read from.
        error: String,
    },
    /// What answers is no server of ours.
    #[error("{path}: {detail}")]
    NoServer {
        /// The socket.
        path: PathBuf,
        /// What is wrong with its answer.
        detail: String,
    },
}

/// A server behind its socket, as the principal of one token.
pub struct SocketClient {
    path: PathBuf,
    token: Secret,
    principal: Principal,
    idle: Mutex<Vec<Connection>>,
    repeats: bool,
}

impl std::fmt::Debug for SocketClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SocketClient").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SocketClient {
    /// Connects and authenticates.
    pub fn connect(path: &Path, token: Secret) -> Result<Self, ConnectError> {
        let (connection, principal) = Connection::open(path, &token)?;
        let idle = Mutex::new(vec![connection]);
        Ok(SocketClient { path: path.to_owned(), token, principal, idle, repeats: false })
    }

    /// The same, but a call on a kept connection that turns out to be broken is sent again over a new one: for programs
    /// that outlive servers.
    #[must_use]
    pub fn repeating(self) -> Self {
        SocketClient { repeats: true, ..self }
    }

    /// Whom the token stands for.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    /// A new connection, which must be one of the same principal: a token file may have changed.
    fn fresh(&self) -> Result<Connection, ConnectError> {
        let (connection, principal) = Connection::open(&self.path, &self.token)?;
        match principal == self.principal {
            true => Ok(connection),
            false => Err(ConnectError::NoServer {
                path: self.path.clone(),
                detail: "the token stands for somebody else now".to_owned(),
            }),
        }
    }
}

impl Transport for SocketClient {
    fn call(&self, method: &str, params: &str) -> Result<Answer, TransportError> {
        let place = self.path.display();
        if let Some(mut connection) = self.take() {
            match connection.call(method, params) {
                Ok(answer) => {
                    self.keep(connection);
                    return Ok(answer);
                }
                Err(fault) if !self.repeats => return Err(TransportError::new(format!("{place}: {fault}"))),
                Err(_) => {}
            }
        }
        let mut connection = match self.fresh() {
            Ok(connection) => connection,
            Err(ConnectError::Denied { error, .. }) => return Ok(Answer::Error(error)),
            Err(fault) => return Err(TransportError::new(fault)),
        };
        let answer =
            connection.call(method, params).map_err(|fault| TransportError::new(format!("{place}: {fault}")))?;
        self.keep(connection);
        Ok(answer)
    }
}

/// One authenticated connection.
struct Connection {
    lines: BufReader<UnixStream>,
    next: u64,
}

impl Connection {
    fn open(path: &Path, token: &Secret) -> Result<(Self, Principal), ConnectError> {
        let unreachable = |source| ConnectError::Unreachable { path: path.to_owned(), source };
        let no_server = |detail: String| ConnectError::NoServer { path: path.to_owned(), detail };
        let stream = UnixStream::connect(path).map_err(unreachable)?;
        let mut connection = Connection { lines: BufReader::new(stream), next: 0 };
        let params = json!({"token": token.text()}).to_string();
        match connection.call("session.authenticate", &params).map_err(unreachable)? {
            Answer::Error(error) => Err(ConnectError::Denied { refusal: Box::new(Refusal::read(&error)), error }),
            Answer::Result(text) => {
                let said: Said = serde_json::from_str(&text).map_err(|fault| no_server(fault.to_string()))?;
                Ok((connection, said.value.principal))
            }
        }
    }

    fn call(&mut self, method: &str, params: &str) -> io::Result<Answer> {
        self.next += 1;
        let id = self.next.to_string();
        self.lines.get_mut().write_all(format!("{}\n", request(&id, method, params)).as_bytes())?;
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match Response::read(&line) {
            // A fault of the connection itself, such as too many of them, has no id.
            Some(Response { id: of, answer }) if of == id || matches!(answer, Answer::Error(_)) => Ok(answer),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not one to this call")),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.lines.get_ref().shutdown(Shutdown::Both);
    }
}

#[derive(Deserialize)]
struct Said {
    value: Whom,
}

#[derive(Deserialize)]
struct Whom {
    principal: Principal,
}
