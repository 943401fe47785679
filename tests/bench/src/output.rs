//! Figures as JSON lines in a file, for scripts.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// Where lines go; nowhere, unless a file was named.
#[derive(Default)]
pub struct Output(Option<Mutex<File>>);

impl Output {
    /// Lines go behind those that are in the file.
    pub fn to(path: &PathBuf) -> Result<Self> {
        let file = File::options().create(true).append(true).open(path);
        Ok(Self(Some(Mutex::new(file.with_context(|| path.display().to_string())?))))
    }

    /// One figure. A line that cannot be written is said on standard error.
    pub fn line(&self, value: Value) {
        let Some(file) = &self.0 else { return };
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Err(error) = writeln!(file, "{value}") {
            eprintln!("a figure is not kept: {error}");
        }
    }
}
