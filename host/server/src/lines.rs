//! Cuts a byte stream into lines of a bounded length.

use std::io::{self, BufRead, BufReader, Read};

/// What the next line is.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Text(String),
    /// A line that is not UTF-8.
    NotUtf8,
    /// A line longer than allowed. The rest of it is not read: the stream is of no more use.
    TooLong,
    /// The stream has ended.
    End,
}

/// A reader of lines that never holds more than the longest allowed one.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<R>,
}

impl<R: Read> Lines<R> {
    /// Lines of `input`.
    pub fn new(input: R) -> Self {
        Lines { input: BufReader::new(input) }
    }

    /// The stream below, to set its timeouts.
    pub fn stream(&self) -> &R {
        self.input.get_ref()
    }

    /// The stream below, to change it.
    pub fn stream_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// The next line that is not blank, of at most `bytes_max` bytes. A last line without an end counts.
    pub fn next(&mut self, bytes_max: usize) -> io::Result<Line> {
        loop {
            match self.one(bytes_max)? {
                Line::Text(text) if text.trim_matches([' ', '\t', '\r']).is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    fn one(&mut self, bytes_max: usize) -> io::Result<Line> {
        let mut bytes = Vec::new();
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let mut bounded = (&mut self.input).take(limit);
        let read = bounded.read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(Line::End);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > bytes_max {
            return Ok(Line::TooLong);
        }
        Ok(String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], bytes_max: usize) -> Vec<Line> {
        let mut lines = Lines::new(input);
        let mut found = Vec::new();
        loop {
            let line = lines.next(bytes_max).unwrap();
            let last = matches!(line, Line::End | Line::TooLong);
            found.push(line);
            if last {
                return found;
            }
        }
    }

    #[test]
    fn lines_are_cut_at_line_feeds_alone() {
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(all(b"a\nb\r\n\n \t\r\nc", 9), [text("a"), text("b\r"), text("c"), Line::End]);
        assert_eq!(all("a\u{2028}b\n".as_bytes(), 9), [text("a\u{2028}b"), Line::End]);
        assert_eq!(all(b"", 9), [Line::End]);
    }

    #[test]
    fn the_bound_is_exact() {
        assert_eq!(all(b"abc\n", 3), [Line::Text("abc".to_owned()), Line::End]);
        assert_eq!(all(b"abc", 3), [Line::Text("abc".to_owned()), Line::End]);
        assert_eq!(all(b"abcd\n", 3), [Line::TooLong]);
        assert_eq!(all(b"abcd", 3), [Line::TooLong]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_stream() {
        assert_eq!(all(b"\xff\na\n", 9), [Line::NotUtf8, Line::Text("a".to_owned()), Line::End]);
    }
}
