//! A server's HTTP port, and a plain client that shows every byte of an answer's head.

use super::{Rig, Server};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

/// A running server, and where it listens.
pub struct HttpServer {
    /// The process.
    pub server: Server,
    /// `127.0.0.1:PORT`.
    pub address: String,
}

impl Rig {
    /// Starts `threadmesh serve` on `mesh.db` with a free port and these options, and waits until it says where it listens.
    pub fn serve_http(&self, options: &[&str]) -> HttpServer {
        let listen = ["--json", "serve", "--db", "mesh.db", "--listen", "127.0.0.1:0"];
        let mut command = self.command(&[&listen, options].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("the server speaks");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        let url = said["listening"].as_str().unwrap_or_else(|| panic!("{line:?}"));
        let address = url.split("://").nth(1).expect("a URL").to_owned();
        HttpServer { server: Server::of(child), address }
    }
}

impl HttpServer {
    /// Sends one request on a connection of its own.
    pub fn send(&self, request: &Asked) -> Answered {
        request.send(self.open(), &self.address)
    }

    /// A connection.
    pub fn open(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    /// Calls one method.
    pub fn call(&self, token: &str, method: &str, params: &Value) -> Answered {
        self.send(&Asked::call(token, method, params))
    }
}

/// A request.
#[derive(Clone)]
pub struct Asked {
    line: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    /// A request without credential and body.
    pub fn new(method: &str, path: &str) -> Self {
        Asked { line: format!("{method} {path} HTTP/1.1"), fields: Vec::new(), body: Vec::new() }
    }

    /// One call over `/rpc`.
    pub fn call(token: &str, method: &str, params: &Value) -> Self {
        Self::rpc(token, threadmesh_runtime::rpc::request("1", method, &params.to_string()))
    }

    /// One frame over `/rpc`.
    pub fn rpc(token: &str, frame: impl AsRef<[u8]>) -> Self {
        Self::new("POST", "/rpc").bearer(token).field("content-type", "application/json").body(frame)
    }

    /// Adds a header field.
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a token.
    pub fn bearer(self, token: &str) -> Self {
        self.field("authorization", &format!("Bearer {token}"))
    }

    /// Adds a body.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_owned();
        self
    }

    /// The bytes of it. `Host` and the length are added where they are not given.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let has = |name: &str| self.fields.iter().any(|(known, _)| known == name);
        let mut head = format!("{}\r\n", self.line);
        if !has("host") {
            head += &format!("host: {host}\r\n");
        }
        if !has("content-length") && !has("transfer-encoding") {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    /// Sends it over `stream`, and reads the answer.
    pub fn send(&self, mut stream: impl Read + Write, host: &str) -> Answered {
        stream.write_all(&self.bytes(host)).expect("the server reads");
        Answered::read(&mut BufReader::new(stream))
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    /// The status code.
    pub status: u16,
    /// The header fields, in their order and without the date.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answered {
    /// Reads one from a connection that stays open.
    pub fn read(input: &mut impl BufRead) -> Self {
        let mut answered = Self::head(input);
        if answered.field("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = chunk(input) {
                answered.body += &chunk;
            }
        } else {
            let length = answered.field("content-length").map_or(0, |length| length.parse().expect("a length"));
            let mut body = vec![0; length];
            input.read_exact(&mut body).expect("a body");
            answered.body = String::from_utf8(body).expect("text");
        }
        answered
    }

    /// Reads the head of one alone.
    pub fn head(input: &mut impl BufRead) -> Self {
        let mut line = String::new();
        input.read_line(&mut line).expect("the server answers");
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {line:?}"));
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).expect("a field");
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name != "date" {
                fields.push((name.to_owned(), value.to_owned()));
            }
        }
        Answered { status, fields, body: String::new() }
    }

    /// A header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The code of the error that the body is.
    pub fn code(&self) -> String {
        let body = self.json();
        let code = [&body["error"]["data"]["code"], &body["error"]["code"]].into_iter().find_map(Value::as_str);
        code.unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// The next chunk of a chunked body; nothing at its end.
pub fn chunk(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
    let mut bytes = vec![0; length + 2];
    input.read_exact(&mut bytes).ok()?;
    bytes.truncate(length);
    (length > 0).then(|| String::from_utf8(bytes).expect("text"))
}
