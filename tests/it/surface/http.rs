//! Requests over HTTP.

mod refused;

use super::breaking::broken;
use super::model::{Made, Model, TASKS, reference};
use super::socket;
use super::tally::{self, Tally};
use crate::differential::logs::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A client of one server.
pub struct Web<'a> {
    /// `127.0.0.1:PORT`.
    pub address: &'a str,
    /// Tokens by name.
    pub tokens: &'a BTreeMap<String, String>,
    /// What is known.
    pub model: &'a Mutex<Model>,
    /// What is counted.
    pub tally: &'a Tally,
    kept: Option<BufReader<TcpStream>>,
}

/// An answer: status, head, body.
pub struct Got {
    /// Zero where there was none.
    pub status: u16,
    /// The head as it came.
    pub head: String,
    /// The body, without its chunks' frames.
    pub body: String,
}

impl<'a> Web<'a> {
    /// A client without a connection.
    pub fn new(
        address: &'a str,
        tokens: &'a BTreeMap<String, String>,
        model: &'a Mutex<Model>,
        tally: &'a Tally,
    ) -> Self {
        Web { address, tokens, model, tally, kept: None }
    }

    /// A new connection.
    pub fn open(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        stream
    }

    /// The bytes of a request with a usual head.
    pub fn request(&self, line: &str, token: &str, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut head = format!("{line} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n", self.address);
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    fn rpc(&self, token: &str, body: &[u8]) -> Vec<u8> {
        self.request("POST /rpc", token, &[("content-type", "application/json")], body)
    }

    /// Sends over the connection that is kept, and keeps it where the answer was whole.
    fn keep(&mut self, bytes: &[u8]) -> Got {
        let mut kept = self.kept.take().unwrap_or_else(|| BufReader::new(self.open()));
        let wrote = kept.get_mut().write_all(bytes).is_ok();
        let got = read(&mut kept);
        if wrote && got.status != 0 && !got.head.contains("connection: close") {
            self.kept = Some(kept);
        }
        self.tally.status(got.status, bytes, &got.body);
        got
    }

    /// Sends over a connection of its own, and reads what comes. The server may end it first. Where `ends`, nothing more
    /// is sent, and the server may take that for a client that is gone.
    fn once(&self, bytes: &[u8], ends: bool) -> Got {
        let mut stream = self.open();
        let _ = stream.write_all(bytes);
        if ends {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let got = read(&mut BufReader::new(stream));
        self.tally.status(got.status, bytes, &got.body);
        got
    }

    /// Makes one call, and takes note of its answer.
    pub fn call(&mut self, made: &Made) {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": made.method, "params": made.params}).to_string();
        let got = self.keep(&self.rpc(&self.tokens[&made.who], frame.as_bytes()));
        match serde_json::from_str::<Value>(&got.body) {
            Ok(answer) if answer["id"] == 1 => self.tally.answered(self.model, made, &answer),
            _ => self.tally.fault("no answer to a call", frame.as_bytes(), &format!("{} {}", got.status, got.body)),
        }
    }

    fn made(&self, random: &mut Random) -> Made {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).call(random)
    }

    fn somebody(&self, random: &mut Random) -> (usize, String) {
        let task = random.below(TASKS);
        (task, self.tokens[&format!("task-{task}")].clone())
    }

    /// One request, valid or broken.
    pub fn round(&mut self, random: &mut Random) {
        if tally::valid_next(random) { self.valid(random) } else { self.broken(random) }
    }

    fn valid(&mut self, random: &mut Random) {
        match random.below(26) {
            0 => self.batch(random),
            1 => {
                self.tally.sent("notification", true);
                let made = self.made(random);
                let frame = json!({"jsonrpc": "2.0", "method": made.method, "params": made.params}).to_string();
                let got = self.keep(&self.rpc(&self.tokens[&made.who], frame.as_bytes()));
                self.expect("a notification", frame.as_bytes(), &got, &[204]);
            }
            2 => self.events(random),
            3 => socket::session(self, random),
            4 => self.tools(random),
            6 | 7 => self.function(random),
            5 => {
                self.tally.sent("health", true);
                let line = *random.pick(&["GET /health/live", "GET /health/ready"]);
                let bytes = self.request(line, "none", &[], b"");
                let got = self.keep(&bytes);
                self.expect("health", &bytes, &got, &[200]);
            }
            _ => {
                self.tally.sent("call", true);
                let made = self.made(random);
                self.call(&made);
            }
        }
    }

    /// A pure function of the core, with documents that are some and that are none.
    fn function(&mut self, random: &mut Random) {
        self.tally.sent("function", true);
        let (_, token) = self.somebody(random);
        let document = self.made(random).params.to_string();
        let at = (0..=random.below(document.len())).rev().find(|at| document.is_char_boundary(*at)).unwrap_or(0);
        let text = if random.once_in(2) { &document[..at] } else { &document };
        let request = json!({
            "operation": random.pick(&["tasks.get", "messages.send", "adapter.recordQuery", ""]), "params": text,
            "principal": {"tenant": "default", "kind": random.pick(&["user", "host"]), "id": "x", "authentication": "authn_x0000"},
            "instance": random.pick(&["", "one"]),
        });
        let (name, params) = match random.below(8) {
            0 => ("core.canonicalize", json!({"text": text})),
            1 => ("core.digest", json!({"text": text})),
            2 => {
                ("core.parseTime", json!({"text": random.pick(&["2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "é"])}))
            }
            3 => ("core.check", json!({"kind": random.pick(&["envelope", "grant", "none"]), "text": text})),
            4 => {
                ("core.verify", json!({"document": text, "anchors": "[]", "expected": "{}", "now": random.next() % 9}))
            }
            5 => ("core.split", json!({"text": text})),
            6 => {
                let now = random.pick(&[json!(1_700_000_000_000_u64), json!(-1), json!(1.5), json!("1e300")]).clone();
                let answers = random.pick(&[json!([]), json!([{"query": "task", "rows": []}])]).clone();
                let entropy = "0".repeat(*random.pick(&[0, 63, 64, 5000]));
                ("core.decide", json!({"request": request, "answers": answers, "now": now, "entropy": entropy}))
            }
            _ => ("core.operations", json!({})),
        };
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": params}).to_string();
        let got = self.keep(&self.rpc(&token, frame.as_bytes()));
        self.expect(name, frame.as_bytes(), &got, &[200]);
    }

    fn expect(&self, what: &str, sent: &[u8], got: &Got, statuses: &[u16]) {
        if !statuses.contains(&got.status) {
            self.tally.fault(&format!("{what} was answered with {}", got.status), sent, &got.body);
        }
    }

    fn batch(&mut self, random: &mut Random) {
        self.tally.sent("batch", true);
        let first = self.made(random);
        let mut calls = vec![first];
        for _ in 0..random.below(20) {
            let more = self.made(random);
            calls.extend((more.who == calls[0].who).then_some(more));
        }
        let frame = |(at, made): (usize, &Made)| json!({"jsonrpc": "2.0", "id": at, "method": made.method, "params": made.params});
        let text = Value::Array(calls.iter().enumerate().map(frame).collect()).to_string();
        let got = self.keep(&self.rpc(&self.tokens[&calls[0].who], text.as_bytes()));
        let answers = serde_json::from_str::<Vec<Value>>(&got.body).unwrap_or_default();
        if answers.len() != calls.len() {
            return self.tally.fault("a batch was not answered whole", text.as_bytes(), &got.body);
        }
        for (at, (made, answer)) in calls.iter().zip(&answers).enumerate() {
            assert_eq!(answer["id"], at, "in their order");
            self.tally.answered(self.model, made, answer);
        }
    }

    /// Reads a little of a task's stream, and goes away.
    fn events(&mut self, random: &mut Random) {
        self.tally.sent("events", true);
        let (task, token) = self.somebody(random);
        let task = reference(task);
        let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        let after = random.below(4);
        let line =
            format!("GET /events?taskId={}&incarnationId={}&after={after}", text("taskId"), text("incarnationId"));
        let bytes = self.request(&line, &token, &[("accept", "text/event-stream")], b"");
        let mut stream = BufReader::new(self.open());
        stream.get_mut().write_all(&bytes).expect("the server reads");
        let head = head(&mut stream);
        self.tally.status(head.0, &bytes, &head.1);
        let mut first = [0; 16];
        if head.0 != 200 || stream.read_exact(&mut first).is_err() {
            self.tally.fault("a stream did not begin", &bytes, &head.1);
        }
    }

    /// A session of MCP with some calls, valid and broken.
    fn tools(&mut self, random: &mut Random) {
        let (_, token) = self.somebody(random);
        let post = |web: &mut Self, session: Option<&str>, body: &str, valid: bool| {
            web.tally.sent("mcp", valid);
            let mut fields =
                vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
            fields.extend(session.map(|session| ("mcp-session-id", session)));
            let bytes = web.request("POST /mcp", &token, &fields, body.as_bytes());
            let got = web.keep(&bytes);
            if got.body.contains("core-trap") || (valid && !(200..300).contains(&got.status)) {
                web.tally.fault(&format!("a tool call was answered with {}", got.status), &bytes, &got.body);
            }
            got
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"},
        }});
        let begun = post(self, None, &hello.to_string(), true);
        let session = begun.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap_or_default();
        post(self, Some(session), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, true);
        for id in 1..2 + random.below(6) {
            let (tool, arguments) = match random.below(5) {
                0 => ("inbox", json!({"limit": 1 + random.below(100)})),
                1 => ("wait", json!({"timeoutMs": random.below(30)})),
                2 => ("status", json!({})),
                3 => (
                    "send",
                    json!({"to": "task-1@inc_task-0001", "relationship": "rel_none", "content": "x", "reason": "y"}),
                ),
                _ => (
                    "ack",
                    json!({"messageId": "msg_none0000", "senderIncarnationId": "inc_none0000", "decision": "accepted"}),
                ),
            };
            let params = json!({"name": tool, "arguments": arguments});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            post(self, Some(session), &call.to_string(), true);
            let broken = broken(&json!(id + 100), "tools/call", &params, random);
            post(self, Some(session), &String::from_utf8_lossy(&broken.bytes), false);
        }
        let bytes = self.request("DELETE /mcp", &token, &[("mcp-session-id", session)], b"");
        self.tally.sent("mcp", true);
        let ended = self.keep(&bytes);
        self.expect("the end of a session", &bytes, &ended, &[200, 202, 204]);
    }

    fn broken(&mut self, random: &mut Random) {
        match random.below(12) {
            0 => self.request_that_is_none(random),
            1 => self.bytes_that_are_none(random),
            2 => socket::broken(self, random),
            _ => {
                self.tally.sent("broken frame", false);
                let made = self.made(random);
                let broken = broken(&json!(7), &made.method, &made.params, random);
                let got = self.keep(&self.rpc(&self.tokens[&made.who], &broken.bytes));
                let answer: Value = serde_json::from_str(&got.body).unwrap_or_default();
                self.tally.refused(broken.how, &broken.bytes, &answer);
            }
        }
    }
}

/// Reads the head of an answer; status 0 where there is none.
pub fn head(input: &mut impl BufRead) -> (u16, String) {
    let mut head = String::new();
    loop {
        let before = head.len();
        match input.read_line(&mut head) {
            Ok(read) if read > 0 && head.len() - before > 2 => {}
            _ => break,
        }
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), head)
}

fn read(input: &mut impl BufRead) -> Got {
    let (status, head) = head(input);
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut body = Vec::new();
    if field("transfer-encoding:") == Some("chunked") {
        while let Some(chunk) = chunk(input) {
            body.extend(chunk);
        }
    } else {
        let length: usize = field("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
        body.resize(length, 0);
        if input.read_exact(&mut body).is_err() {
            body.clear();
        }
    }
    Got { status, body: String::from_utf8_lossy(&body).into_owned(), head }
}

fn chunk(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
    let mut bytes = vec![0; length + 2];
    input.read_exact(&mut bytes).ok()?;
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}
