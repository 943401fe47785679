//! Runs the program as a process of its own, in a folder of its own.

pub mod http;
pub mod server;
pub mod streams;
pub mod world;

pub use http::{Answered, Asked, HttpServer};
pub use server::{Client, Server, StdioServer};

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder, and the program run in it.
pub struct Rig {
    folder: tempfile::TempDir,
}

/// What a run of the program came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Rig {
    /// A new folder.
    pub fn new() -> Self {
        Rig { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file is written");
        path
    }

    /// The program, ready to be started: in the folder, with nothing of our environment but what it needs.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadmesh"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path());
        // Compiled once for all tests; where it may lie is the doctor's own test.
        command.env("THREADMESH_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command
    }

    /// Runs it to its end.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Ran {
        let output = self.command(arguments).stdin(Stdio::null()).output().expect("the program runs");
        Ran::from(output)
    }

    /// Runs it to its end with `input` as its standard input.
    pub fn feed<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // The program may end without reading everything.
            let _ = pipe.write_all(&input);
        });
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Ran::from(output)
    }

    /// Runs it with `--json`; one value for each line.
    pub fn json<A: AsRef<OsStr>>(&self, arguments: &[A]) -> (i32, Vec<Value>) {
        let mut all: Vec<&OsStr> = vec![OsStr::new("--json")];
        all.extend(arguments.iter().map(AsRef::as_ref));
        let ran = self.run(&all);
        (ran.code, ran.values())
    }
}

impl Ran {
    /// Standard output as JSON lines.
    pub fn values(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?} in {self:?}")))
            .collect()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}
