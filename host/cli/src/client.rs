//! A running server's socket, as a place where operations run.

use crate::failure::Failure;
use crate::mesh::{Mesh, Reply, reply};
use std::path::{Path, PathBuf};
use threadmesh_runtime::client::{Answer, Transport};
use threadmesh_server::client::{ConnectError, SocketClient};
use threadmesh_server::tokens::{Principal, Secret};

/// An authenticated client. It never repeats a request by itself.
pub struct Client {
    socket: SocketClient,
    path: PathBuf,
}

impl Client {
    /// Connects and authenticates. Unusable where nobody answers or the token is not accepted.
    pub fn connect(path: &Path, token: &Secret) -> Result<Self, Failure> {
        let socket = SocketClient::connect(path, token.clone()).map_err(|error| failure(&error))?;
        Ok(Client { socket, path: path.to_owned() })
    }

    /// Calls a method: the text of the `result` member, or of the `error` member.
    pub fn raw(&mut self, method: &str, params: &str) -> Result<Result<String, String>, Failure> {
        match Transport::call(&self.socket, method, params) {
            Ok(Answer::Result(text)) => Ok(Ok(text)),
            Ok(Answer::Error(text)) => Ok(Err(text)),
            Err(lost) => {
                let next = "look at what the server said; the operation may or may not have been carried out: repeat it with the same idempotency key";
                Err(Failure::unusable("server-lost", &lost.detail, next))
            }
        }
    }
}

impl Mesh for Client {
    fn principal(&self) -> &Principal {
        self.socket.principal()
    }

    fn switch(&mut self, secret: &Secret) -> Result<(), Failure> {
        *self = Client::connect(&self.path, secret)?;
        Ok(())
    }

    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure> {
        Ok(self.raw(method, params)?.map_err(|error| reply(&error)))
    }
}

/// Why there is no client.
pub fn failure(error: &ConnectError) -> Failure {
    match error {
        ConnectError::Unreachable { .. } => {
            Failure::unusable("server-unreachable", error, "start one with `threadmesh serve`, or use --db FILE")
        }
        ConnectError::Denied { refusal, .. } if refusal.code == "backpressure" => {
            let next = "the token is not what is wrong: try again when other connections have ended";
            Failure::unusable(&refusal.code, &refusal.detail, next)
        }
        ConnectError::Denied { refusal, .. } => {
            Failure::unusable(&refusal.code, &refusal.detail, "name a token that the server knows: --token-file FILE")
        }
        ConnectError::NoServer { .. } => {
            Failure::unusable("server-lost", error, "is this the socket of a ThreadMesh server?")
        }
    }
}
