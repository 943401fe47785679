//! `threadmesh mcp` line by line: repetitions, tokens, and what never stands in any output.

use super::{to_builder, world};
use crate::program::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A bridge as a child, and everything that it said.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    said: String,
}

impl Bridge {
    fn start(world: &World, options: &[&str]) -> Self {
        let mut command = world.rig.command(&[&["mcp", "--socket", "mesh.db.run/socket"], options].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let mut bridge = Bridge { child, input, output: BufReader::new(output), said: String::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        bridge.ask(0, "initialize", hello);
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        bridge
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.as_mut().expect("a pipe").write_all(line.as_bytes()).expect("it reads");
    }

    /// Sends a request, and reads up to its answer.
    fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The next line that it says.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).expect("it speaks"), 0, "it ended");
        self.said += &line;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    fn tool(&mut self, id: impl Into<Value>, name: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({"name": name, "arguments": arguments}))["result"].take()
    }

    /// Ends its input; all that it said, and its exit code.
    fn finish(mut self) -> (String, i32) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        let mut told = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
        let code = self.child.wait().expect("it ends").code().unwrap_or(-1);
        (self.said + &rest + &told, code)
    }
}

#[test]
fn a_line_that_is_no_json_is_answered() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    for line in ["no json", "{\"jsonrpc\": \"2.0\"", "\u{0}"] {
        planner.input.as_mut().expect("a pipe").write_all(format!("{line}\n").as_bytes()).expect("it reads");
        let answer = planner.next();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &Value::Null), "{line:?}: {answer}");
    }
    planner.input.as_mut().expect("a pipe").write_all(b"\xff\n").expect("it reads");
    assert_eq!(planner.next()["error"]["data"]["code"], "json-encoding");
    assert!(planner.tool(1, "status", json!({}))["structuredContent"]["task"].is_object(), "the session goes on");
    assert_eq!(planner.finish().1, 0);
}

#[test]
fn a_line_that_looks_like_json_rpc_is_answered_under_its_id() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{params}}}"#);
    let send = |content: &str| call(&format!(r#"{{"name":"send","arguments":{{{content}}}}}"#));
    for (line, number, code) in [
        (send(r#""content":"\ud800""#), -32600, "json-surrogate"),
        (call(r#"{"name":"inbox","arguments":{"limit":1e400}}"#), -32600, "json-number"),
        (call(&format!(r#"{{"name":"inbox","arguments":{{"limit":{deep}}}}}"#)), -32600, "json-depth"),
        (send(r#""content":"harmless","content":"other""#), -32600, "json-duplicate-member"),
        (call(r#"{"name":"inbox","arguments":"{}"}"#), -32602, "params-invalid"),
        (call(r#"{"arguments":{}}"#), -32602, "params-invalid"),
        (call(r#"{"name":7}"#), -32602, "params-invalid"),
        (call("null"), -32602, "params-invalid"),
        (call("[]"), -32602, "params-invalid"),
        (call(r#"{"name":"no-such"}"#), -32602, "params-invalid"),
        (r#"{"jsonrpc":"2.0","id":5,"method":"no/such"}"#.to_owned(), -32601, "method-not-found"),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#.to_owned(), -32600, "jsonrpc-invalid"),
    ] {
        planner.input.as_mut().expect("a pipe").write_all(format!("{line}\n").as_bytes()).expect("it reads");
        let answer = planner.next();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"], &answer["error"]["data"]["code"]),
            (&json!(5), &json!(number), &json!(code)),
            "{line}: {answer}"
        );
    }
    let answer = planner.tool(6, "inbox", json!({"limit": 20.0}));
    assert!(answer["structuredContent"]["items"].is_array(), "20.0 is a whole number: {answer}");
    planner.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    assert_eq!(planner.ask(7, "ping", json!({}))["result"], json!({}), "an answer to nothing is no request");
    assert_eq!(planner.finish().1, 0);
}

#[test]
fn each_of_two_calls_under_one_id_is_answered() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    // The first is under way for as long as it waits.
    planner.send(&call("wait", json!({"after": 1_000, "timeoutMs": 300})));
    planner.send(&call("status", json!({})));
    let answers = [planner.next(), planner.next()];
    assert!(answers.iter().all(|answer| answer["id"] == 7), "{answers:?}");
    let told = |member: &str| answers.iter().any(|answer| !answer["result"]["structuredContent"][member].is_null());
    assert!(told("timedOut") && told("task"), "{answers:?}");
    // A repetition of what is under way is done once, and answered twice.
    planner.send(&call("send", to_builder("Once.")));
    planner.send(&call("send", to_builder("Once.")));
    let sent = [planner.next(), planner.next()].map(|answer| answer["result"]["structuredContent"].clone());
    assert_eq!(sent[0]["messageId"], sent[1]["messageId"], "{sent:?}");
    assert_eq!(sent.iter().filter(|sent| sent["replay"] == true).count(), 1, "{sent:?}");
    assert_eq!(planner.finish().1, 0);
}

#[test]
fn a_hundred_calls_of_one_id_are_all_answered_though_the_input_ends() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    let status =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status", "arguments": {}}});
    (0..100).for_each(|_| planner.send(&status));
    let before = planner.said.len();
    let (said, code) = planner.finish();
    let answers = said[before..].lines().filter(|line| line.contains("\"id\":1,"));
    assert_eq!((answers.count(), code), (100, 0), "{said}");
}

#[test]
fn a_wait_is_answered_when_the_input_ends() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    let wait = json!({"name": "wait", "arguments": {"after": 1_000, "timeoutMs": 25_000}});
    planner.send(&json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": wait}));
    // What comes after it is answered first: the wait is under way.
    planner.ask(2, "ping", json!({}));
    let began = std::time::Instant::now();
    let (said, code) = planner.finish();
    let answer = said.lines().find(|line| line.contains("\"id\":\"w\"")).expect("an answer");
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    assert_eq!(answer["result"]["structuredContent"], json!({"events": [], "nextCursor": 1_000, "timedOut": true}));
    assert_eq!(code, 0);
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_client_that_says_nothing_has_asked_for_nothing() {
    let world = world();
    let _server = world.serve();
    let options = ["mcp", "--socket", "mesh.db.run/socket", "--token-file", "mesh.db.tokens/planner"];
    let ran = world.rig.run(&options);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    let ran = world.rig.feed(&options, b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn a_repeated_call_acts_once() {
    let world = world();
    let _server = world.serve();
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    let mut told = |id: Value, arguments: Value| {
        let sent = planner.tool(id, "send", arguments)["structuredContent"].take();
        (sent["messageId"].clone(), sent["replay"].clone())
    };
    // What a call means is its tool and its arguments; the ids of requests mean nothing.
    let first = told(json!(7), to_builder("Once."));
    assert_eq!(first.1, false);
    for id in [json!(7), json!(8), json!("8")] {
        assert_eq!(told(id.clone(), to_builder("Once.")), (first.0.clone(), json!(true)), "{id}");
    }
    let other = told(json!(7), to_builder("Something else."));
    assert_eq!(
        (other.0 == first.0, &other.1),
        (false, &json!(false)),
        "the same id with other arguments is a new call"
    );
    let first = json!({"messageId": first.0});
    let first = json!({"structuredContent": first});
    let mut own = to_builder("Mine.");
    own["messageId"] = json!("msg_mine_0001");
    for (id, replay) in [(9, false), (10, true)] {
        assert_eq!(planner.tool(id, "send", own.clone())["structuredContent"]["replay"], replay, "by its own id");
    }
    let mut builder = Bridge::start(&world, &["--token-file", "mesh.db.tokens/builder"]);
    let message = &first["structuredContent"]["messageId"];
    let accept = json!({"messageId": message, "senderIncarnationId": "inc_plan_0001", "decision": "accepted"});
    let decided = builder.tool(3, "ack", accept.clone());
    assert_eq!(builder.tool(3, "ack", accept), decided, "a repetition has the same answer");
    assert_eq!(decided["structuredContent"]["disposition"]["decision"], "accepted", "{decided}");
    assert_eq!((planner.finish().1, builder.finish().1), (0, 0));
}

#[test]
fn the_token_comes_by_file_or_descriptor_and_never_shows() {
    let world = world();
    let _server = world.serve();
    let token = world.token("planner");
    let mut planner = Bridge::start(&world, &["--token-file", "mesh.db.tokens/planner"]);
    planner.tool(1, "send", to_builder("x"));
    planner.tool(2, "status", json!({"messageId": "msg_none_0001"}));
    planner.tool(3, "send", json!({"token": token}));
    planner.ask(4, "tools/list", json!({}));
    let removed = world.rig.json(&["token", "remove", "planner", "--db", "mesh.db"]);
    assert_eq!(removed.0, 0, "{removed:?}");
    let refused = planner.tool(5, "status", json!({}));
    assert!(
        refused["content"][0]["text"].as_str().is_some_and(|text| text.contains("authentication-required")),
        "{refused}"
    );
    let (said, code) = planner.finish();
    assert_eq!(code, 0);
    let echo = said.lines().filter(|line| line.contains(&token)).count();
    assert_eq!(echo, 0, "a token stands in what it says");
}

#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_is_enough() {
    let world = world();
    let _server = world.serve();
    let script = format!(
        "exec '{}' mcp --socket mesh.db.run/socket --token-fd 3 3< mesh.db.tokens/builder",
        env!("CARGO_BIN_EXE_threadmesh")
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(world.rig.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
        .expect("it reads");
    assert!(lines.next().expect("a line").expect("text").contains("threadmesh"));
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("it reads");
    let status = json!({"name": "status", "arguments": {}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": status}))
        .expect("it reads");
    assert!(lines.next().expect("a line").expect("text").contains("build-1"));
    drop(input);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn without_a_server_or_a_token_of_a_task_it_says_so_and_ends() {
    let world = world();
    let bridge = |token: &str| world.rig.json(&["mcp", "--socket", "mesh.db.run/socket", "--token-file", token]);
    let code = |(exit, values): (i32, Vec<Value>)| (exit, values[0]["error"]["code"].as_str().map(str::to_owned));
    assert_eq!(code(bridge("mesh.db.tokens/builder")), (2, Some("server-unreachable".to_owned())));
    let _server = world.serve();
    assert_eq!(code(bridge("mesh.db.tokens/alice")), (2, Some("token-unusable".to_owned())), "a user is no task");
    world.rig.write("wrong", "not-a-token-that-anybody-knows\n");
    std::fs::set_permissions(world.rig.path("wrong"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("a mode");
    assert_eq!(code(bridge("wrong")), (2, Some("authentication-required".to_owned())));
    std::fs::set_permissions(world.rig.path("wrong"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .expect("a mode");
    assert_eq!(code(bridge("wrong")), (2, Some("token-unusable".to_owned())), "open to others");
}

#[test]
fn a_client_that_never_initializes_is_served_by_the_newest_protocol() {
    let world = world();
    let _server = world.serve();
    let mut command =
        world.rig.command(&["mcp", "--socket", "mesh.db.run/socket", "--token-file", "mesh.db.tokens/builder"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let status = json!({"name": "status", "arguments": {}, "_meta": meta});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": status}))
        .expect("it reads");
    let answer = lines.next().expect("a line").expect("text");
    assert!(answer.contains("build-1"), "{answer}");
    drop(input);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn setup_prints_paths_and_no_token() {
    let world = world();
    let token = world.token("builder");
    for harness in ["codex", "claude-code", "gemini", "qwen", "opencode", "acp"] {
        let told = world.rig.run(&[
            "mcp",
            "setup",
            "--harness",
            harness,
            "--socket",
            "mesh.db.run/socket",
            "--token-file",
            "mesh.db.tokens/builder",
        ]);
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.out.contains("mesh.db.tokens/builder") && !told.out.contains(&token), "{told:?}");
        let absolute = world.rig.path("mesh.db.run/socket").display().to_string();
        assert!(told.out.contains(&absolute), "a harness starts it elsewhere: {told:?}");
        if harness != "codex" {
            serde_json::from_str::<Value>(&told.out).expect("JSON");
        }
    }
}
