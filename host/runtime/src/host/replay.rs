//! Replay files: what the core was asked when it failed, so that a trap is never mute (settled point 47).
//!
//! `threadmesh-native replay FILE` runs the same call without the component. A file holds no content unless it was asked
//! for: every text is replaced by filler of the same length, beside the digest of the original.

mod blot;
#[cfg(test)]
mod tests;

use crate::{CoreError, private::PrivateDir};
use serde_json::{Map, Value, json};
use std::{
    io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// How the names of replay files begin.
const PREFIX: &str = "trap-";
/// How many files are kept.
const FILES_MAX: usize = 20;
/// How many bytes they may have together.
const BYTES_MAX: u64 = 20 << 20;

/// A private directory for replay files.
pub struct ReplayFiles {
    directory: PrivateDir,
    keep_content: bool,
    number: AtomicU64,
}

impl ReplayFiles {
    /// Files in `directory`, which is made with mode 0700 where it is missing. `keep_content` leaves texts as they are.
    /// Errors: the directory cannot be made, or others can use it.
    pub fn in_directory(directory: &Path, keep_content: bool) -> io::Result<Self> {
        Ok(Self { directory: PrivateDir::open(directory)?, keep_content, number: AtomicU64::new(0) })
    }

    /// Keeps one call, made at `now` (milliseconds), and removes the oldest ones where there are too many. Failing to do
    /// so changes nothing: the call has failed anyway.
    pub(super) fn write(&self, function: &str, mut args: Value, fault: &CoreError, now: i64) {
        let mut digests = Map::new();
        if !self.keep_content {
            blot::texts(&mut args, &mut digests);
        }
        let mut record = json!({
            "version": 1,
            "component": threadmesh_artifact::CORE_DIGEST,
            "function": function,
            "args": args,
            "fault": fault.to_string(),
            "contentKept": self.keep_content,
            "digests": digests,
        });
        let mut text = format!("{record:#}\n");
        if text.len() as u64 > BYTES_MAX {
            // What it was asked is too much to keep; that it was, and what became of it, is not.
            record["args"] = Value::Null;
            record["digests"] = json!({});
            record["leftOut"] = json!({"bytes": text.len()});
            text = format!("{record:#}\n");
        }
        let length = text.len() as u64;
        if length <= BYTES_MAX && make_room(&self.directory, length).is_ok() {
            let number = self.number.fetch_add(1, Relaxed);
            let name = format!("{PREFIX}{now:016}-{}-{number}.json", std::process::id());
            self.directory.write(&name, &[text.as_bytes()]).ok();
        }
    }
}

impl ReplayFiles {
    /// Removes the files that hold texts; whether none is left. Whatever else lies in the directory is left alone.
    pub(super) fn forget_content(&self) -> bool {
        let Ok(files) = self.directory.list() else { return false };
        let holds = |name: &str| match self.directory.read(name, BYTES_MAX) {
            Some(text) => serde_json::from_slice::<Value>(&text).map_or(true, |file| file["contentKept"] != false),
            None => true,
        };
        // A file that was never finished has a dot before its name.
        let ours = |name: &str| name.trim_start_matches('.').starts_with(PREFIX);
        for file in files.iter().filter(|file| ours(&file.name) && holds(&file.name)) {
            self.directory.remove(&file.name);
        }
        let left = self.directory.list().unwrap_or_default();
        !left.iter().any(|file| ours(&file.name) && holds(&file.name))
    }
}

/// Removes the oldest files until there is room for one of `length` bytes.
fn make_room(dir: &PrivateDir, length: u64) -> io::Result<()> {
    let mut files = dir.list()?;
    files.retain(|file| file.name.starts_with(PREFIX));
    let mut bytes = files.iter().map(|file| file.bytes).sum::<u64>() + length;
    let mut count = files.len() + 1;
    for file in files {
        if count <= FILES_MAX && bytes <= BYTES_MAX {
            break;
        }
        dir.remove(&file.name);
        bytes -= file.bytes;
        count -= 1;
    }
    Ok(())
}
