//! Building JSON text piece by piece.

use super::scan::plain_end;
use crate::digest::digit;
use alloc::string::String;

/// A text of that many bytes is built without moving it.
const ROOM: usize = 512;

/// Builds one JSON text without white space, in the order of the calls. Strings and numbers come out in their RFC 8785
/// form; members are not sorted. Commas are set by the writer; that every begin has its end, and that a key comes
/// before each value of an object and nowhere else, is up to the caller.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: String,
    /// Whether a value stands before this place in the same container.
    comma: bool,
}

impl Writer {
    /// A writer with nothing in it, and room for most answers.
    pub fn new() -> Self {
        Self { out: String::with_capacity(ROOM), comma: false }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.out
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.open('{');
    }

    /// Closes an object.
    pub fn end_object(&mut self) {
        self.close('}');
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.open('[');
    }

    /// Closes an array.
    pub fn end_array(&mut self) {
        self.close(']');
    }

    /// The name of the member whose value comes next.
    pub fn key(&mut self, name: &str) {
        push_string(self.place(), name);
        self.out.push(':');
        self.comma = false;
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        push_string(self.place(), text);
    }

    /// An integer, in full digits whatever its size; beyond ±(2^53-1) our own parser may refuse it.
    pub fn int(&mut self, integer: i64) {
        push_integer(self.place(), integer);
    }

    /// A double as RFC 8785 prints it; `null` for one that is not finite.
    pub fn f64(&mut self, double: f64) {
        push_double(self.place(), double);
    }

    /// `true` or `false`.
    pub fn bool(&mut self, truth: bool) {
        self.raw(if truth { "true" } else { "false" });
    }

    /// `null`.
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// A fragment that is the text of one JSON value, as it is.
    pub fn raw(&mut self, fragment: &str) {
        self.place().push_str(fragment);
    }

    /// A member with a string.
    pub fn member_str(&mut self, name: &str, text: &str) {
        self.key(name);
        self.string(text);
    }

    /// A member with a string, left out if there is none.
    pub fn member_opt_str(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.member_str(name, text);
        }
    }

    /// A member with an integer.
    pub fn member_int(&mut self, name: &str, integer: i64) {
        self.key(name);
        self.int(integer);
    }

    /// A member with a double.
    pub fn member_f64(&mut self, name: &str, double: f64) {
        self.key(name);
        self.f64(double);
    }

    /// A member with a boolean.
    pub fn member_bool(&mut self, name: &str, truth: bool) {
        self.key(name);
        self.bool(truth);
    }

    /// A member with `null`.
    pub fn member_null(&mut self, name: &str) {
        self.key(name);
        self.null();
    }

    /// A member with the text of a JSON value.
    pub fn member_raw(&mut self, name: &str, fragment: &str) {
        self.key(name);
        self.raw(fragment);
    }

    /// The text, with a comma if one is due before the value that comes next.
    fn place(&mut self) -> &mut String {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
        &mut self.out
    }

    fn open(&mut self, bracket: char) {
        self.place().push(bracket);
        self.comma = false;
    }

    fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.comma = true;
    }
}

/// Appends `text` as a JSON string: quotes, backslashes and control characters escaped, nothing else (RFC 8785 3.2.2.2).
pub(super) fn push_string(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    out.push('"');
    let mut from = 0;
    loop {
        let end = plain_end(bytes, from);
        out.push_str(text.get(from..end).unwrap_or_default());
        let Some(byte) = bytes.get(end) else { break };
        push_escape(out, *byte);
        from = end.wrapping_add(1);
    }
    out.push('"');
}

/// Appends the digits of `integer`.
pub(super) fn push_integer(out: &mut String, integer: i64) {
    if integer < 0 {
        out.push('-');
    }
    push_digits(out, integer.unsigned_abs(), 1);
}

/// Appends the digits of `number`, with zeros before them up to `width`, which is at most 20.
pub(crate) fn push_digits(out: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut rest = number;
    let mut from = digits.len();
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0'.wrapping_add((rest % 10) as u8);
        rest /= 10;
        from = place;
        if rest == 0 {
            break;
        }
    }
    let from = from.min(digits.len().saturating_sub(width));
    out.push_str(core::str::from_utf8(digits.get(from..).unwrap_or_default()).unwrap_or_default());
}

fn push_escape(out: &mut String, byte: u8) {
    let short = match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'\n' => 'n',
        b'\r' => 'r',
        b'\t' => 't',
        0x08 => 'b',
        0x0c => 'f',
        _ => 'u',
    };
    out.push('\\');
    out.push(short);
    if short == 'u' {
        out.push_str("00");
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    }
}

/// Appends `double` as ECMAScript prints it (RFC 8785 3.2.2.3); `null` if it is not finite.
pub(super) fn push_double(out: &mut String, double: f64) {
    if double.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(double));
    } else {
        out.push_str("null");
    }
}
