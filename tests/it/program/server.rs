//! A server as a child process, and clients of its socket.

use super::Rig;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;
use threadmesh_runtime::rpc;

/// A running server. Dropping it kills it.
pub struct Server {
    child: Child,
}

impl Rig {
    /// Starts `threadmesh serve` with these options, and waits until it says that it serves.
    pub fn serve(&self, options: &[&str]) -> Server {
        let mut command = self.command(&[&["--json", "serve"], options].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("the server speaks");
        assert!(line.contains("serving"), "{line:?}");
        Server { child }
    }
}

impl Server {
    /// A server that was started otherwise.
    pub fn of(child: Child) -> Self {
        Server { child }
    }

    /// Asks it to end, and does not wait for that.
    pub fn ask_to_end(&self) {
        terminate(&self.child);
    }

    /// Waits until it has ended; its exit code.
    pub fn wait(mut self) -> i32 {
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }

    /// Kills it at once.
    pub fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }

    /// Takes its terminal away; its exit code.
    pub fn hang_up(mut self) -> i32 {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("a signal is sent");
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }

    /// Asks it to end; its exit code.
    pub fn terminate(mut self) -> i32 {
        terminate(&self.child);
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal is sent");
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that writes and reads lines.
pub struct Client {
    lines: BufReader<UnixStream>,
}

impl Client {
    /// Connects, and says nothing yet.
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Client { lines: BufReader::new(stream) }
    }

    /// Connects and authenticates.
    pub fn authenticated(socket: &Path, token: &str) -> Self {
        let mut client = Self::connect(socket);
        let answer = client.asked(&rpc::request("0", "session.authenticate", &json!({"token": token}).to_string()));
        assert!(answer["result"]["value"]["principal"].is_object(), "{answer}");
        client
    }

    /// Sends one line.
    pub fn send(&mut self, line: &[u8]) {
        self.lines.get_mut().write_all(&[line, b"\n"].concat()).expect("the server reads");
    }

    /// The next line; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the server answers");
        line
    }

    /// Sends one frame and reads one answer.
    pub fn ask(&mut self, frame: &Value) -> Value {
        self.asked(&frame.to_string())
    }

    fn asked(&mut self, frame: &str) -> Value {
        self.send(frame.as_bytes());
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    /// Calls one method.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.asked(&rpc::request("1", method, &params.to_string()))
    }
}

/// `threadmesh serve --stdio` as a child process.
pub struct StdioServer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StdioServer {
    /// Starts it with these options.
    pub fn start(rig: &Rig, options: &[&str]) -> Self {
        let mut command = rig.command(&[&["serve", "--stdio"], options].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        StdioServer { child, input, output: BufReader::new(output) }
    }

    /// Sends one line.
    pub fn send(&mut self, line: &[u8]) {
        self.input.as_mut().expect("a pipe").write_all(&[line, b"\n"].concat()).expect("the server reads");
    }

    /// The next answer.
    pub fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    /// Asks it to end while its input stays open; what it still says, and its exit code.
    pub fn terminate(mut self) -> (String, i32) {
        terminate(&self.child);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("the server answers");
        (rest, self.child.wait().expect("it ends").code().unwrap_or(-1))
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Ends its input; what it said on standard error.
    pub fn finish_and_tell(self) -> String {
        let Self { child, input, output: _answers } = self;
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Ends its input; what it still says, and its exit code.
    pub fn finish(mut self) -> (String, i32) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("the server answers");
        (rest, self.child.wait().expect("it ends").code().unwrap_or(-1))
    }
}
