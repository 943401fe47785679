//! Reading what the user names: a file, or standard input for `-`.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, Read};

/// The longest input that is read at all; the core has its own, lower limit for documents.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// The bytes of `name`. Unreadable files are unusable, and so is an input over 16 MiB.
pub fn bytes(name: &str) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: io::Error| {
        Failure::unusable(
            "file-unreadable",
            format_args!("{name}: {error}"),
            "name a file that exists, or `-` for standard input",
        )
    };
    let mut content = Vec::new();
    if name == "-" {
        io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    } else {
        File::open(name)
            .and_then(|file| file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut content))
            .map_err(unreadable)?;
    }
    if content.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::unusable("file-too-large", format_args!("{name}: more than 16 MiB"), ""));
    }
    Ok(content)
}

/// The text of `name`. Bytes that are no UTF-8 are refused with the core's own code, before it is called.
pub fn text(name: &str) -> Result<String, Failure> {
    decode(bytes(name)?)
}

/// Bytes as text, or the refusal that the core has for them.
pub fn decode(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::refused("json-encoding", format_args!("the text is not UTF-8 from byte {at} on"), "")
    })
}
