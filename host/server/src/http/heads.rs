//! The heads of a connection's requests, as they come in: whether one gives the length of its body in two ways, or in so
//! many characters that it is not kept.
//!
//! `Transfer-Encoding` with `Content-Length` is how a request is smuggled past one of two readers that choose differently
//! (RFC 9112, 6.1). The HTTP implementation chooses one and forgets the other, so this has to be seen before it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// So much of a line is kept: names and lengths are shorter.
const KEPT: usize = 128;

/// Which request of a connection, counted from 1, is the first one whose length is not told in one way; 0 is none. Set
/// before the request is handed on.
pub type Refused = Arc<AtomicU64>;

/// Where in the stream the reader is.
#[derive(Debug, PartialEq, Eq)]
enum At {
    /// In a head, of which these lines matter.
    Head { any: bool, length: Option<u64>, coded: bool, padded: bool },
    /// In a body, of which so much is left.
    Body(u64),
    /// Behind what can be followed: a body in pieces, after which the connection ends, or another protocol.
    Beyond,
}

const START: At = At::Head { any: false, length: None, coded: false, padded: false };

/// Follows the heads in what is read from a stream.
pub struct Heads<S> {
    stream: S,
    found: Refused,
    scan: Scan,
}

struct Scan {
    at: At,
    line: Vec<u8>,
    /// Whether a line of the head was cut short.
    long: bool,
    /// Heads that have ended.
    heads: u64,
}

impl<S> Heads<S> {
    /// `stream`, with `found` set once a head has both fields, or one that is too long.
    pub fn new(stream: S, found: Refused) -> Self {
        Heads { stream, found, scan: Scan::new() }
    }
}

impl Scan {
    fn new() -> Self {
        Scan { at: START, line: Vec::new(), long: false, heads: 0 }
    }

    /// Follows `bytes`; the number of the first head that ends in them and whose length is not told in one way.
    fn take(&mut self, mut bytes: &[u8]) -> Option<u64> {
        let mut found = None;
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
                At::Head { .. } if *first == b'\n' => {
                    let refused = self.end_of_line();
                    found = found.or(refused.then_some(self.heads));
                }
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
        let At::Head { any, length, coded, padded } = &mut self.at else { return false };
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if !line.is_empty() {
            *any = true;
            match field(line) {
                Some((name, value)) if name.eq_ignore_ascii_case(b"content-length") => {
                    let value = std::str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t']);
                    // A length that is none is refused by whoever reads the request.
                    *length = Some(value.parse().unwrap_or(u64::MAX));
                    *padded |= long;
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
        let (length, coded, padded) = (*length, *coded, *padded);
        self.heads += 1;
        self.at = match length {
            // Nobody knows where the next head begins, and the connection ends.
            _ if coded || padded => At::Beyond,
            Some(length) if length > 0 => At::Body(length),
            _ => START,
        };
        padded || (coded && length.is_some())
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
        if let Some(number) = self.scan.take(&buffer.filled()[before..]) {
            // The connection ends with the first one.
            let _ = self.found.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
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

    fn scan(pieces: &[&[u8]]) -> Option<u64> {
        let mut scan = Scan::new();
        pieces.iter().fold(None, |found, piece| found.or(scan.take(piece)))
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
            let number = if text.contains("/b") { 2 } else { 1 };
            assert_eq!(scan(&[text.as_bytes()]), Some(number), "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(scan(&bytes), Some(number), "byte by byte: {text:?}");
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
            assert_eq!(scan(&[text.as_bytes()]), None, "{text:?}");
        }
    }

    /// Padded with zeros or spaces a number is no longer than what is kept of a line, and what follows is looked at.
    #[test]
    fn a_length_of_any_length_hides_nothing() {
        for padded in
            [format!("{}5", "0".repeat(200)), format!("{}5", " ".repeat(200)), format!("5{}", " ".repeat(200))]
        {
            let both = format!("POST /a HTTP/1.1\r\nContent-Length: {padded}\r\nTransfer-Encoding: chunked\r\n\r\n");
            assert_eq!(scan(&[both.as_bytes()]), Some(1), "{padded:?}");
            let alone = format!("POST /a HTTP/1.1\r\nContent-Length: {padded}\r\n\r\nhello");
            let pipelined = format!("GET /a HTTP/1.1\r\n\r\n{alone}{}", BOTH[0]);
            assert_eq!(scan(&[pipelined.as_bytes()]), Some(2), "{padded:?}");
        }
        let short = format!("POST /a HTTP/1.1\r\nContent-Length: {}5\r\n\r\nhello", "0".repeat(60));
        assert_eq!(scan(&[short.as_bytes(), BOTH[0].as_bytes()]), Some(2));
    }

    #[test]
    fn a_line_of_any_length_takes_little_memory() {
        let mut scan = Scan::new();
        scan.take(&vec![b'a'; 1 << 20]);
        assert_eq!((scan.line.len(), scan.long), (KEPT, true));
    }
}
