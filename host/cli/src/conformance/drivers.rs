//! Who answers vectors: the component in this program, another program on stdio, or a server.

use crate::client::Client;
use crate::failure::Failure;
use crate::mesh::Mesh;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use threadmesh_runtime::{Core, Session, WasmCore, driver};

/// Answers calls with an object that has one of `ok`, `error`, `trap` and `unusable`.
pub trait Driver {
    /// The answer to one call. An error ends the run: the driver itself is gone.
    fn answer(&mut self, function: &str, args: &Map<String, Value>) -> Result<Value, Failure>;

    /// Whether it may be an implementation of a part: what it says it has no use for is then left out, and counted.
    fn partial(&self) -> bool {
        false
    }

    /// Whether the driver can be asked for this function at all; vectors of others are left out, and counted.
    fn knows(&self, _function: &str) -> bool {
        true
    }
}

/// The component of this program.
pub struct BuiltIn<'a> {
    core: &'a WasmCore,
    session: Box<dyn Session + 'a>,
}

impl<'a> BuiltIn<'a> {
    /// A driver with a fresh session of `core`.
    pub fn new(core: &'a WasmCore) -> Result<Self, Failure> {
        Ok(BuiltIn { core, session: core.session()? })
    }
}

impl Driver for BuiltIn<'_> {
    fn answer(&mut self, function: &str, args: &Map<String, Value>) -> Result<Value, Failure> {
        let answer = driver::answer(self.session.as_mut(), function, &Value::Object(args.clone()));
        if answer.get("trap").is_some() {
            self.session = self.core.session()?;
        }
        Ok(answer)
    }
}

/// A program that answers JSON lines.
pub struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Process {
    /// Starts `command` with the shell, as it would be typed.
    pub fn start(command: &str) -> Result<Self, Failure> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |what: String| {
            Failure::unusable("driver-failed", format_args!("{command}: {what}"), "give a command that runs")
        };
        let mut child = shell.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no standard input or output".to_owned()));
        };
        Ok(Process { name: command.to_owned(), child, input: Some(input), output: BufReader::new(output), next: 0 })
    }

    fn failed(&self, what: &dyn std::fmt::Display, next: &str) -> Failure {
        Failure::unusable("driver-failed", format_args!("{}: {what}", self.name), next)
    }

    fn exchange(&mut self, line: &str) -> std::io::Result<String> {
        let input = self.input.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{line}\n").as_bytes())?;
        input.flush()?;
        let mut answer = String::new();
        match self.output.read_line(&mut answer)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(answer),
        }
    }
}

impl Driver for Process {
    fn partial(&self) -> bool {
        true
    }

    fn answer(&mut self, function: &str, args: &Map<String, Value>) -> Result<Value, Failure> {
        self.next += 1;
        let call = json!({"id": self.next, "function": function, "args": args}).to_string();
        let line =
            self.exchange(&call).map_err(|error| self.failed(&error, "look at what it wrote to standard error"))?;
        let next = "see spec/conformance/README.md for what a driver must do";
        let answer: Value = serde_json::from_str(&line).map_err(|error| self.failed(&error, next))?;
        match answer["id"].as_u64() == Some(self.next) {
            true => Ok(answer),
            false => Err(self.failed(&format_args!("answered id {} instead of {}", answer["id"], self.next), next)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input is its sign to go.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A running server: its `core.*` methods.
pub struct Server {
    /// An authenticated connection.
    pub client: Client,
}

impl Driver for Server {
    /// A scenario starts from nothing, and this is a server that others use.
    fn knows(&self, function: &str) -> bool {
        threadmesh_server::functions::method(function).is_some()
    }

    fn answer(&mut self, function: &str, args: &Map<String, Value>) -> Result<Value, Failure> {
        let Some(method) = threadmesh_server::functions::method(function) else {
            return Ok(json!({"unusable": format!("no method for function `{function}`")}));
        };
        let mut args = args.clone();
        // A frame holds no whole number beyond 2^53-1; methods take such a time as a string.
        if let Some(now) =
            args.get_mut("now").filter(|now| now.as_f64().is_some_and(|now| now.abs() > 9_007_199_254_740_991.0))
        {
            *now = Value::from(now.to_string());
        }
        let reply = self.client.call(method, &Value::Object(args).to_string())?;
        Ok(match reply {
            Ok(result) => {
                let result: Value = serde_json::from_str(&result).unwrap_or_default();
                json!({"ok": result["value"]})
            }
            Err(failure) => json!({"error": failure.members()}),
        })
    }
}
