//! A client of a running server's socket.

use crate::failure::{Exit, Failure};
use crate::mesh::{self, Mesh, Reply, reply};
use serde_json::json;
use serde_json::value::RawValue;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use threadmesh_server::tokens::{Kind, Principal, Secret};

/// One authenticated connection.
pub struct Client {
    path: PathBuf,
    lines: BufReader<UnixStream>,
    next: u64,
    principal: Principal,
}

impl Client {
    /// Connects and authenticates. Unusable where nobody answers or the token is not accepted.
    pub fn connect(path: &Path, token: &Secret) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path).map_err(|error| {
            let detail = format!("{}: {error}", path.display());
            Failure::unusable("server-unreachable", detail, "start one with `threadmesh serve`, or use --db FILE")
        })?;
        let mut client = Client { path: path.to_owned(), lines: BufReader::new(stream), next: 0, principal: nobody() };
        let params = json!({"token": token.text()}).to_string();
        let result = client.call("session.authenticate", &params)?.map_err(|failure| Failure {
            exit: Exit::Unusable,
            next: "name a token that the server knows: --token-file FILE".to_owned(),
            ..failure
        })?;
        let value = mesh::value("session.authenticate", &result)?;
        client.principal = serde_json::from_value(value["principal"].clone()).map_err(|error| {
            let detail = format!("{}: the server does not say who the token is: {error}", path.display());
            Failure::unusable("server-lost", detail, "is this the socket of a ThreadMesh server?")
        })?;
        Ok(client)
    }

    /// Sends one frame without its line end and returns the next line.
    pub fn exchange(&mut self, frame: &str) -> Result<String, Failure> {
        let path = self.path.display().to_string();
        let lost = |error: std::io::Error| {
            let next = "look at what the server said; the operation may or may not have been carried out: repeat it with the same idempotency key";
            Failure::unusable("server-lost", format_args!("{path}: {error}"), next)
        };
        self.lines.get_mut().write_all(format!("{frame}\n").as_bytes()).map_err(lost)?;
        let mut line = String::new();
        self.lines.read_line(&mut line).map_err(lost)?;
        if !line.ends_with('\n') {
            return Err(lost(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(line)
    }
}

impl Client {
    /// Calls a method: the text of the `result` member, or of the `error` member.
    pub fn raw(&mut self, method: &str, params: &str) -> Result<Result<String, String>, Failure> {
        self.next += 1;
        let method = json!(method);
        // A line end inside the params would cut the frame; between the tokens of JSON it means no more than a space.
        let params = params.replace(['\n', '\r'], " ");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{},"method":{method},"params":{params}}}"#, self.next);
        let line = self.exchange(&frame)?;
        let answer: Answer = serde_json::from_str(&line).map_err(|error| {
            let detail = format!("{}: the answer is no JSON-RPC response: {error}", self.path.display());
            Failure::unusable("server-lost", detail, "is this the socket of a ThreadMesh server?")
        })?;
        match (answer.result, answer.error) {
            (Some(result), _) => Ok(Ok(result.get().to_owned())),
            (None, Some(error)) => Ok(Err(error.get().to_owned())),
            (None, None) => Err(Failure::unusable("server-lost", "the answer has neither result nor error", "")),
        }
    }
}

impl Mesh for Client {
    fn principal(&self) -> &Principal {
        &self.principal
    }

    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure> {
        Ok(self.raw(method, params)?.map_err(|error| reply(&error)))
    }
}

/// Stands until the server has said who is calling.
fn nobody() -> Principal {
    let (tenant, id) = (String::new(), String::new());
    Principal { tenant, kind: Kind::User, id, incarnation: None, owner: None, worker: None }
}

#[derive(serde::Deserialize)]
struct Answer {
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}
