//! `serve --listen`: JSON-RPC over HTTP, with the real core and the real store.

use crate::program::streams::Socket;
use crate::program::world::{World, reference, suggestion};
use crate::program::{Answered, Asked};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufReader, Read, Write};

fn task(name: &str) -> Value {
    json!({"task": {"taskId": name, "incarnationId": format!("inc_{}_0001", name.trim_end_matches("-1"))}})
}

#[test]
fn frames_over_http_are_answered_as_json_rpc_says() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let alice = world.token("alice");
    let got = server.call(&alice, "tasks.get", &task("plan-1"));
    assert_eq!((got.status, &got.json()["result"]["value"]["taskId"]), (200, &json!("plan-1")));
    let fields = [("content-type", "application/json"), ("cache-control", "no-store")];
    for (name, value) in fields.into_iter().chain([("x-content-type-options", "nosniff")]) {
        assert_eq!(got.field(name), Some(value));
    }
    assert!(got.fields.iter().all(|(name, _)| !name.starts_with("access-control")), "{got:?}");
    let ask = |frame: &str| server.send(&Asked::rpc(&alice, frame));
    let refused = ask(r#"{"jsonrpc":"2.0","id":"x","method":"no.such"}"#);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (200, &json!(-32601)));
    assert_eq!(ask("{").json()["error"]["code"], -32700);
    assert_eq!(ask("[]").json()["error"]["code"], -32600);
    let notified = ask(r#"{"jsonrpc":"2.0","method":"tasks.get","params":{}}"#);
    assert_eq!((notified.status, notified.body.as_str()), (204, ""));
    assert_eq!(ask(r#"[{"jsonrpc":"2.0","method":"no.such"}]"#).status, 204, "a batch of notifications");
    let call = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tasks.get", "params": task("plan-1")});
    let batch = ask(&json!([call(1), 7, {"jsonrpc": "2.0", "method": "x"}, call(2)]).to_string()).json();
    let ids: Vec<&Value> = batch.as_array().expect("a batch").iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &Value::Null, &json!(2)]);
    assert_eq!(server.server.terminate(), 0);
}

/// The place in a trace that comes in header fields goes with the message, to whoever works on it.
#[test]
fn a_trace_goes_from_the_header_fields_to_the_receiver() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (planner, builder) = (world.token("planner"), world.token("builder"));
    let frame = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let params = suggestion(&reference("plan-1"), &reference("build-1"), "rel_plan_build", "msg_traced_0001");
    let send = frame("messages.send", params);
    let traced = Asked::rpc(&planner, send.to_string()).field("traceparent", parent).field("tracestate", "a=1");
    let sent = server.send(&traced.field("tracestate", "b=2").field("baggage", "user=alice"));
    assert_eq!(sent.json()["result"]["value"]["value"]["replay"], false, "{sent:?}");
    let list = server.call(&builder, "mailbox.listPending", &json!({"receiver": task("build-1")["task"]}));
    let told = &list.json()["result"]["value"]["items"][0]["context"];
    assert_eq!(told, &json!({"traceparent": parent, "tracestate": "a=1,b=2"}));
    let mut socket = Socket::open_with(&server, &planner, &[("tracestate", "c=3")]).expect("a socket");
    socket.call(
        2,
        "messages.send",
        &suggestion(&reference("plan-1"), &reference("build-1"), "rel_plan_build", "msg_traced_0002"),
    );
    assert!(socket.next().expect("an answer")["result"].is_object());
    let list = server.call(&builder, "mailbox.listPending", &json!({"receiver": task("build-1")["task"]}));
    assert_eq!(list.json()["result"]["value"]["items"][1]["context"], json!({"tracestate": "c=3"}), "of the socket");
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn nobody_is_let_in_without_a_credential() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.get", "params": task("plan-1")}).to_string();
    let bare = Asked::new("POST", "/rpc").field("content-type", "application/json").body(&frame);
    let missing = server.send(&bare);
    assert_eq!((missing.status, missing.code().as_str()), (401, "authentication-required"));
    assert_eq!(missing.json()["error"]["code"], -32001);
    assert_eq!(missing.field("www-authenticate"), Some("Bearer realm=\"threadmesh\""));
    let alice = world.token("alice");
    for value in
        [format!("Basic {alice}"), "Bearer".into(), "Bearer  ".into(), "Bearer no-such".into(), format!("{alice} ")]
    {
        let denied = server.send(&bare.clone().field("authorization", &value));
        assert_eq!(denied.status, 401, "{value}");
        let challenge = "Bearer realm=\"threadmesh\", error=\"invalid_token\"";
        assert_eq!(denied.field("www-authenticate"), Some(challenge));
    }
    assert_eq!(server.send(&bare.clone().bearer(&alice).bearer(&alice)).status, 401, "one credential, not two");
    assert_eq!(server.send(&Asked::new("POST", &format!("/rpc?access_token={alice}")).body(&frame)).status, 401);
    for path in ["/", "/nothing", "/mcp/x", "/rpc/x"] {
        assert_eq!(server.send(&Asked::new("GET", path)).status, 401, "{path}: nothing is told before that");
        assert_eq!(server.send(&Asked::new("GET", path).bearer(&alice)).status, 404, "{path}");
    }
    assert_eq!(server.send(&Asked::new("GET", "/rpc").bearer(&alice)).status, 405);
    let named =
        server.call(&alice, "tasks.get", &json!({"task": task("plan-1")["task"], "principal": {"kind": "operator"}}));
    assert_eq!(named.code(), "params-invalid", "the payload does not say who is calling");
}

#[test]
fn a_token_that_is_removed_is_worth_nothing_at_once() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let alice = world.token("alice");
    assert_eq!(server.call(&alice, "tasks.get", &task("plan-1")).status, 200);
    assert_eq!(world.rig.run(&["token", "remove", "alice", "--db", "mesh.db"]).code, 0);
    assert_eq!(server.call(&alice, "tasks.get", &task("plan-1")).status, 401);
    fs::remove_file(world.rig.path("mesh.db.tokens.json")).expect("it is there");
    let denied = server.call(&world.token("planner"), "tasks.get", &task("plan-1"));
    assert_eq!((denied.status, denied.field("retry-after")), (503, Some("1")), "without the file nobody is let in");
}

#[test]
fn names_and_origins_that_are_not_allowed_are_refused() {
    let world = World::new();
    let server = world.rig.serve_http(&["--allow-host", "Mesh.example", "--allow-origin", "https://app.example"]);
    let alice = world.token("alice");
    let ask = Asked::call(&alice, "tasks.get", &task("plan-1"));
    let with = |fields: &[(&str, &str)]| {
        let asked = fields.iter().fold(ask.clone(), |asked, (name, value)| asked.field(name, value));
        server.send(&asked).status
    };
    let port = server.address.split(':').nth(1).expect("a port").to_owned();
    for host in ["localhost", &format!("LOCALHOST:{port}"), "[::1]:1", "127.0.0.1", "mesh.example", "mesh.example:443"]
    {
        assert_eq!(with(&[("host", host)]), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.2", "", "localhost:x", "user@localhost"] {
        assert_eq!(with(&[("host", host)]), 421, "{host}");
    }
    assert_eq!(with(&[("host", "localhost"), ("host", "localhost")]), 421, "one name, not two");
    assert_eq!(with(&[("host", "localhost"), ("origin", "http://localhost")]), 200, "its own pages");
    assert_eq!(with(&[("host", &server.address), ("origin", "https://app.example")]), 200);
    for origin in ["http://evil.example", "null", "http://localhost:1", "https://app.example.evil.example", ""] {
        assert_eq!(with(&[("host", &server.address), ("origin", origin)]), 403, "{origin}");
    }
    let preflight = Asked::new("OPTIONS", "/rpc").field("origin", "https://app.example");
    let preflight = server.send(&preflight.field("access-control-request-method", "POST"));
    assert_eq!(preflight.status, 401);
    assert!(preflight.fields.iter().all(|(name, _)| !name.starts_with("access-control")), "{preflight:?}");
}

#[test]
fn bodies_are_json_of_a_bounded_size() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let alice = world.token("alice");
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.get", "params": task("plan-1")}).to_string();
    let post = |kind: &str| Asked::new("POST", "/rpc").bearer(&alice).field("content-type", kind).body(&frame);
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"] {
        assert_eq!(server.send(&post(kind)).status, 200, "{kind}");
    }
    for kind in ["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", ""] {
        assert_eq!(server.send(&post(kind)).status, 415, "{kind}");
    }
    assert_eq!(server.send(&post("application/json").field("content-encoding", "gzip")).status, 415);
    let odd = server.send(&Asked::rpc(&alice, b"\xff\xfe"));
    assert_eq!((odd.status, odd.code().as_str()), (400, "json-encoding"));
    let fits = format!("{frame}{}", " ".repeat((1 << 20) - frame.len()));
    assert_eq!(server.send(&Asked::rpc(&alice, &fits)).status, 200, "the bound is exact");
    let long = server.send(&Asked::rpc(&alice, fits + " "));
    assert_eq!((long.status, long.code().as_str()), (413, "json-size"));
    assert_eq!(server.send(&post("application/json").field("x-long", &"x".repeat(40_000))).status, 431);
    let many = (0..80).fold(post("application/json"), |asked, at| asked.field(&format!("x-{at}"), "x"));
    assert_eq!(server.send(&many).status, 431);
    let query = Asked::new("POST", "/rpc?x=1").bearer(&alice).field("content-type", "application/json").body(&frame);
    assert_eq!(server.send(&query).status, 400);
}

#[test]
fn a_connection_carries_one_request_after_the_other() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let ask = Asked::call(&world.token("alice"), "tasks.get", &task("plan-1")).bytes(&server.address);
    let mut stream = server.open();
    stream.write_all(&ask.repeat(3)).expect("the server reads");
    let mut input = BufReader::new(stream.try_clone().expect("a copy"));
    for _ in 0..3 {
        assert_eq!(Answered::read(&mut input).status, 200);
    }
    server.server.ask_to_end();
    assert_eq!(server.server.wait(), 0);
    let mut rest = Vec::new();
    assert!(input.read_to_end(&mut rest).is_ok_and(|_| rest.is_empty()), "an idle connection is closed without a word");
}

#[test]
fn health_is_told_to_everybody_and_says_nothing_else() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    for path in ["/health/live", "/health/ready"] {
        let said = server.send(&Asked::new("GET", path).field("host", "10.0.0.1"));
        assert_eq!((said.status, said.body.as_str()), (200, "{\"status\":\"ok\"}"), "{path}");
    }
    assert_eq!(server.send(&Asked::new("POST", "/health/ready")).status, 405);
}

#[test]
fn a_server_whose_clock_is_behind_is_not_ready() {
    let world = World::new();
    world.rig.write("clock", "1000000");
    let server = world.rig.serve_http(&["--test-clock", "clock"]);
    let said = server.send(&Asked::new("GET", "/health/ready"));
    assert_eq!((said.status, said.body.as_str()), (503, "{\"status\":\"unavailable\"}"));
    assert_eq!(server.send(&Asked::new("GET", "/health/live")).status, 200);
    let refused = server.call(&world.token("alice"), "tasks.get", &task("plan-1"));
    assert_eq!(
        (refused.status, refused.code().as_str(), refused.field("retry-after")),
        (503, "clock-behind", Some("1"))
    );
}

#[test]
fn a_port_that_others_can_reach_needs_tls_or_a_word() {
    let world = World::new();
    let refused = world.rig.run(&["serve", "--db", "mesh.db", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2);
    for word in ["listen-refused", "--tls-cert", "--allow-plain-http", "127.0.0.1"] {
        assert!(refused.err.contains(word), "{refused:?}");
    }
    assert_eq!(world.rig.run(&["serve", "--db", "mesh.db", "--listen", "mesh.example"]).code, 2);
    let server = world.rig.serve_http(&[]);
    let taken = ["serve", "--db", "mesh.db", "--socket", "other.run/socket", "--listen", &server.address];
    let taken = world.rig.run(&taken);
    assert!(taken.code == 2 && taken.err.contains("listen-unusable"), "{taken:?}");
}

#[test]
fn a_body_of_two_lengths_is_refused_and_ends_the_connection() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let alice = world.token("alice");
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.get", "params": task("plan-1")}).to_string();
    let chunked = format!("{:x}\r\n{frame}\r\n0\r\n\r\n", frame.len());
    let request = || Asked::rpc(&alice, &chunked);
    let (length, pieces) = (("content-length", frame.len().to_string()), ("transfer-encoding", "chunked".to_owned()));
    for fields in [[&length, &pieces], [&pieces, &length]] {
        let asked = fields.into_iter().fold(request(), |asked, (name, value)| asked.field(name, value));
        let mut input = BufReader::new(server.open());
        input.get_mut().write_all(&asked.bytes(&server.address)).expect("the server reads");
        let answered = Answered::read(&mut input);
        assert_eq!((answered.status, answered.code().as_str()), (400, "length-ambiguous"), "{answered:?}");
        let mut rest = Vec::new();
        let ended = input.read_to_end(&mut rest);
        assert!(rest.is_empty() && ended.map_or(true, |read| read == 0), "nothing comes after it");
    }
    let answered = server.send(&request().field("transfer-encoding", "chunked"));
    assert_eq!((answered.status, answered.field("connection")), (200, Some("close")), "{answered:?}");
    assert_eq!(server.call(&alice, "tasks.get", &task("plan-1")).status, 200);
}
