//! As much of HTTP/1.1 as a service of tests needs: one request per connection, everything bounded.

use serde_json::json;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// The longest head of a request.
const HEAD_BYTES_MAX: u64 = 16 * 1024;
/// The longest body of a request.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request.
pub struct Request {
    /// In capitals.
    pub method: String,
    /// The path, with its query.
    pub target: String,
    /// Text; empty where there is none.
    pub body: String,
}

/// An answer: JSON.
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// The JSON text.
    pub body: String,
}

impl Reply {
    /// A refusal with its reason.
    pub fn error(status: u16, reason: &str) -> Self {
        Self { status, body: json!({"error": reason}).to_string() }
    }
}

/// Reads a request and writes what `answer` says.
pub fn serve(stream: &TcpStream, answer: impl FnOnce(&Request) -> Reply) {
    let reply = match read(stream) {
        Ok(request) => answer(&request),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Reply::error(400, &error.to_string()),
        Err(_) => return,
    };
    let (status, body) = (reply.status, reply.body);
    let head = format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let mut stream = stream;
    drop(stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()));
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new(stream).take(HEAD_BYTES_MAX);
    let line = line(&mut head)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1")) = (words.next(), words.next(), words.next()) else {
        return Err(malformed("no request of HTTP/1.1"));
    };
    let mut length = 0_usize;
    loop {
        let line = self::line(&mut head)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| malformed("no length"))?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(malformed("the body must have a length"));
        }
    }
    if length > BODY_BYTES_MAX {
        return Err(malformed("the body is too long"));
    }
    let mut body = vec![0; length];
    head.into_inner().read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(|_| malformed("the body is no text"))?;
    Ok(Request { method: method.to_owned(), target: target.to_owned(), body })
}

fn line(head: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    head.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(malformed("the head is cut off or too long")),
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Puts a JSON text; the status of the answer.
pub fn put(stream: &mut TcpStream, target: &str, body: &str) -> io::Result<u16> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!("PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| malformed("no answer of HTTP/1.1"))
}
