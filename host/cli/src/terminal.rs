//! Everything that the program prints goes through here, so that no text from outside can act on a terminal.

use serde_json::Value;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Why an answer could not be written, where that is so.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// Whether the last word was said, which nobody has to read.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Takes note of whether an answer could be written. A program whose answer is lost ends with exit code 2.
pub fn written(result: io::Result<()>) {
    if let Err(error) = result {
        let _ = UNWRITTEN.set(error.to_string());
    }
}

/// Why an answer of this process could not be written to the end, if that is so: a full disk, a closed pipe.
pub fn unwritten() -> Option<&'static str> {
    let flushed = io::stdout().lock().flush();
    if !CLOSED.load(Relaxed) {
        written(flushed);
    }
    UNWRITTEN.get().map(String::as_str)
}

/// How answers are printed.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    json: bool,
    verbose: bool,
}

impl Printer {
    /// JSON, or text for people.
    pub const fn new(json: bool) -> Self {
        Printer { json, verbose: false }
    }

    /// The same, showing what is sent as well.
    pub const fn verbose(self, verbose: bool) -> Self {
        Printer { verbose, ..self }
    }

    /// Whether answers are JSON.
    pub const fn json(self) -> bool {
        self.json
    }

    /// One answer: as one line of JSON, or as the lines that `people` makes.
    pub fn show(self, value: &Value, people: impl FnOnce() -> Vec<String>) {
        self.raw(&value.to_string(), people);
    }

    /// As [`Printer::show`], for JSON text that is passed on as it came.
    pub fn raw(self, json: &str, people: impl FnOnce() -> Vec<String>) {
        if self.json {
            // Line ends between the tokens of JSON mean no more than a space.
            written(line(&mut io::stdout().lock(), &json.replace(['\n', '\r', '\t'], " ")));
        } else {
            let mut out = io::stdout().lock();
            people().iter().for_each(|text| written(line(&mut out, text)));
        }
    }

    /// A last word, as [`Printer::show`] has it; whoever does not read any more does not need it.
    pub fn close(self, value: &Value, people: impl FnOnce() -> Vec<String>) {
        CLOSED.store(true, Relaxed);
        let lines = if self.json { vec![value.to_string()] } else { people() };
        let mut out = io::stdout().lock();
        let _ = lines.iter().try_for_each(|text| line(&mut out, text));
    }

    /// A remark for people, on standard error; nothing where answers are JSON.
    pub fn remark(self, text: &str) {
        if !self.json {
            let _ = line(&mut io::stderr().lock(), text);
        }
    }

    /// A request as it is sent, on standard error, for whoever asked to see requests (`-v`).
    pub fn sent(self, frame: &str) {
        if self.verbose {
            // Line ends between the tokens of JSON mean no more than a space.
            let _ = line(&mut io::stderr().lock(), &format!("> {}", frame.replace(['\n', '\r', '\t'], " ")));
        }
    }

    /// Whether there are remarks for people.
    pub fn remarks(self) -> bool {
        !self.json
    }

    /// A line on standard error, also where answers are JSON.
    pub fn warn(self, text: &str) {
        let _ = line(&mut io::stderr().lock(), text);
    }
}

/// Writes one escaped line.
fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", escape(text))
}

/// The text with every character that could act on a terminal, hide, or reorder what stands beside it written as
/// `\u` and four hex digits of UTF-16: C0 and C1 controls, DEL, line separators, bidirectional and other invisible
/// format characters. In JSON text such characters stand in strings only, so JSON stays the same JSON.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        if acts(sign) {
            let mut units = [0; 2];
            for unit in sign.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(sign);
        }
    }
    safe
}

/// As `guest/protocol/src/characters.rs` lists them.
fn acts(sign: char) -> bool {
    sign.is_control()
        || matches!(sign,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_written_out_and_the_rest_stays() {
        assert_eq!(escape("a\u{1b}[31mb\r\n\t\u{7f}\u{9b}"), "a\\u001b[31mb\\u000d\\u000a\\u0009\\u007f\\u009b");
        assert_eq!(escape("\u{202e}\u{2066}\u{200f}\u{feff}\u{e0041}"), "\\u202e\\u2066\\u200f\\ufeff\\udb40\\udc41");
        assert_eq!(escape("Grüße, 世界 🙂 \\u0041"), "Grüße, 世界 🙂 \\u0041");
    }

    #[test]
    fn what_acts_is_what_the_rules_call_unseen() {
        for sign in '\0'..=char::MAX {
            assert_eq!(acts(sign), threadmesh_native::unseen(sign), "{sign:?}");
        }
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"k\u{202e}": ["\u{9b}", "\u{e0041}", "\u{1b}"]});
        let text = escape(&value.to_string());
        assert!(text.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
