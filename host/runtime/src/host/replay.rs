//! Replay files: what a trapped call was given, so that a trap is never mute.
//!
//! They hold no content unless asked to: strings are replaced by filler of the same length and their digest. The
//! randomness of the call stands in them, since it is never used again.

use crate::private::PrivateDir;
use crate::wit::{Answer, Request};
use crate::{CoreError, driver};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many files are kept.
const FILES_MAX: usize = 20;
/// How many bytes they have together.
const BYTES_MAX: u64 = 20 * 1024 * 1024;

/// A private directory for replay files.
pub struct ReplayFiles {
    directory: PrivateDir,
    keep_content: bool,
    number: AtomicU64,
}

impl ReplayFiles {
    /// Files in `directory`, which is made with mode 0700 where it is missing. `keep_content` leaves strings as they
    /// are. Errors: the directory cannot be made, or others may write to it.
    pub fn in_directory(directory: &Path, keep_content: bool) -> io::Result<Self> {
        Ok(Self { directory: PrivateDir::open(directory)?, keep_content, number: AtomicU64::new(0) })
    }

    /// Keeps one call. Failing to do so changes nothing: the call has failed anyway.
    pub(super) fn write(&self, request: &Request, answers: &[Answer], now: i64, entropy: &str, error: &CoreError) {
        #[allow(clippy::cast_precision_loss)] // Below 2^53.
        let mut args = driver::decide_args(request, answers, now as f64, entropy);
        if !self.keep_content {
            blank_texts(&mut args);
        }
        let file = json!({"function": "decide", "args": args, "error": error.to_string()});
        let Ok(text) = serde_json::to_vec_pretty(&file) else { return };
        if !self.make_room(text.len() as u64) {
            return;
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let name = format!("trap-{now:016}-{}-{number}.json", std::process::id());
        self.directory.write(&name, &[&text]).ok();
    }

    /// Removes the oldest files until one more fits; whether it does.
    fn make_room(&self, bytes: u64) -> bool {
        let Ok(mut files) = self.directory.list() else { return false };
        files.retain(|file| file.name.starts_with("trap-"));
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        let mut files = files.into_iter().peekable();
        let mut count = files.len();
        while (count >= FILES_MAX || total + bytes > BYTES_MAX) && files.peek().is_some() {
            if let Some(oldest) = files.next() {
                self.directory.remove(&oldest.name);
                total -= oldest.bytes;
                count -= 1;
            }
        }
        bytes <= BYTES_MAX
    }
}

/// Blanks the strings of the JSON texts in a call: params and bodies. Keys and ids of rows stay, as they name no
/// content.
fn blank_texts(args: &mut Value) {
    if let Some(params) = args.pointer_mut("/request/params") {
        blank_text(params);
    }
    let answers = args.get_mut("answers").and_then(Value::as_array_mut);
    for row in answers.into_iter().flatten().filter_map(|answer| answer.get_mut("rows")?.as_array_mut()).flatten() {
        if let Some(body) = row.get_mut("body") {
            blank_text(body);
        }
    }
}

fn blank_text(text: &mut Value) {
    let Some(raw) = text.as_str() else { return };
    *text = match serde_json::from_str::<Value>(raw) {
        Ok(mut value) => {
            blank(&mut value);
            Value::String(value.to_string())
        }
        Err(_) => Value::String(filler(raw)),
    };
}

fn blank(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => *text = filler(text),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            _ => {}
        }
    }
}

/// Text of the same length in bytes: the digest, as far as it goes, and dots.
fn filler(text: &str) -> String {
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut out: String = digest.chars().take(text.len()).collect();
    while out.len() < text.len() {
        out.push('.');
    }
    out
}
