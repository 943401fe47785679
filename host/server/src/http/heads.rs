//! The heads of a connection's requests, as they come in: whether one gives the length of its body in two ways.
//!
//! `Transfer-Encoding` with `Content-Length` is how a request is smuggled past one of two readers that choose differently
//! (RFC 9112, 6.1). The HTTP implementation chooses one and forgets the other, so this has to be seen before it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// So much of a line is kept: names and lengths are shorter.
const KEPT: usize = 128;

/// Whether a connection has sent a request of two lengths. Set before the request is handed on.
pub type TwoLengths = Arc<AtomicBool>;

/// Where in the stream the reader is.
#[derive(Debug, PartialEq, Eq)]
enum At {
    /// In a head, of which these lines matter.
    Head { any: bool, length: Option<u64>, coded: bool },
    /// In a body, of which so much is left.
    Body(u64),
    /// Behind what can be followed: a body in pieces, after which the connection ends, or another protocol.
    Beyond,
}

const START: At = At::Head { any: false, length: None, coded: false };

/// Follows the heads in what is read from a stream.
pub struct Heads<S> {
    stream: S,
    found: TwoLengths,
    scan: Scan,
}

struct Scan {
    at: At,
    line: Vec<u8>,
    /// Whether a line of the head was cut short.
    long: bool,
}

impl<S> Heads<S> {
    /// `stream`, with `found` set once a head has both fields.
    pub fn new(stream: S, found: TwoLengths) -> Self {
        Heads { stream, found, scan: Scan { at: START, line: Vec::new(), long: false } }
    }
}

impl Scan {
    /// Follows `bytes`; whether a head among them has both fields.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        let mut found = false;
        while let [first, rest @ ..] = bytes {
            match &mut self.at {
                At::Beyond => return found,
                At::Body(left) => {
                    let passed = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= passed as u64;
                    if *left == 0 {
                        self.at = START;
                    }
                    bytes = &bytes[passed..];
                    continue;
                }
                At::Head { .. } if *first == b'\n' => found |= self.end_of_line(),
                At::Head { .. } if self.line.len() < KEPT => self.line.push(*first),
                At::Head { .. } => self.long = true,
            }
            bytes = rest;
        }
        found
    }

    fn end_of_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let long = std::mem::take(&mut self.long);
        let At::Head { any, length, coded } = &mut self.at else { return false };
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if !line.is_empty() {
            *any = true;
            match field(line) {
                Some((name, value)) if name.eq_ignore_ascii_case(b"content-length") => {
                    let value = std::str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t']);
                    // A length that is none is refused by whoever reads the request.
                    *length = Some(if long { u64::MAX } else { value.parse().unwrap_or(u64::MAX) });
                }
                Some((name, _)) if name.eq_ignore_ascii_case(b"transfer-encoding") => *coded = true,
                _ => {}
            }
            return false;
        }
        // Empty lines before a request count for nothing.
        if !*any {
            return false;
        }
        let (length, coded) = (*length, *coded);
        self.at = match length {
            _ if coded => At::Beyond,
            Some(length) if length > 0 => At::Body(length),
            _ => START,
        };
        coded && length.is_some()
    }
}

/// The name and the value of a header field; nothing for the line of the request itself, which has no colon before a space.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    (!name.contains(&b' ')).then_some((name, value))
}

impl<S: AsyncRead + Unpin> AsyncRead for Heads<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if self.scan.take(&buffer.filled()[before..]) {
            self.found.store(true, Ordering::Release);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heads<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(pieces: &[&[u8]]) -> bool {
        let mut scan = Scan { at: START, line: Vec::new(), long: false };
        pieces.iter().fold(false, |found, piece| scan.take(piece) | found)
    }

    const BOTH: [&str; 4] = [
        "POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /rpc HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n",
        "POST /rpc HTTP/1.1\nTRANSFER-ENCODING:chunked\nContent-Length:0\n\n",
        "\r\nPOST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}POST /b HTTP/1.1\r\nContent-Length: 0\r\n\
         Transfer-Encoding: gzip, chunked\r\n\r\n",
    ];

    #[test]
    fn two_lengths_are_found_however_they_come() {
        for text in BOTH {
            assert!(scan(&[text.as_bytes()]), "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert!(scan(&bytes), "byte by byte: {text:?}");
        }
    }

    #[test]
    fn one_length_and_what_stands_in_a_body_or_a_value_is_none() {
        let body = "Transfer-Encoding: chunked\r\n\r\n";
        let inside = format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        for text in [
            "POST /rpc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "GET /a HTTP/1.1\r\nX: Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
            "GET /a HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            inside.as_str(),
        ] {
            assert!(!scan(&[text.as_bytes()]), "{text:?}");
        }
    }

    #[test]
    fn a_line_of_any_length_takes_little_memory() {
        let mut scan = Scan { at: START, line: Vec::new(), long: false };
        scan.take(&vec![b'a'; 1 << 20]);
        assert_eq!((scan.line.len(), scan.long), (KEPT, true));
    }
}
