//! The tools at `/mcp`.

use super::client::{Agent, asked, messages, post, run};
use super::tools::{life, strict};
use super::{to_builder, world};
use crate::program::Asked;
use serde_json::{Value, json};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

fn call(id: u32, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn an_agent_works_over_http_as_over_a_pipe() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    run(async {
        let planner = Agent::http(&server, &world.token("planner")).await;
        let builder = Agent::http(&server, &world.token("builder")).await;
        let stranger = Agent::http(&server, &world.token("stranger")).await;
        life(&planner, &builder).await;
        strict(&planner, &stranger).await;
    });
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn a_session_is_no_credential() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let (planner, builder) = (world.token("planner"), world.token("builder"));
    let begun = post(&server.address, &planner, None, HELLO);
    assert_eq!(begun.status, 200, "{begun:?}");
    let session = begun.field("mcp-session-id").expect("a session").to_owned();
    let status = call(1, "status", &json!({}));
    let own = post(&server.address, &planner, Some(&session), &status);
    assert!(messages(&own).concat().contains("plan-1"), "{own:?}");
    let other = post(&server.address, &builder, Some(&session), &status);
    let none = post(&server.address, &builder, Some("00000000-0000-4000-8000-000000000000"), &status);
    assert_eq!((other.status, none.status), (404, 404), "{other:?}");
    assert_eq!((&other.fields, &other.body), (&none.fields, &none.body), "missing and foreign are one answer");
    let listen = Asked::new("GET", "/mcp").bearer(&builder).field("accept", "text/event-stream");
    assert_eq!(server.send(&listen.field("mcp-session-id", &session)).status, 404, "nor can others listen");
    assert_eq!(server.send(&Asked::new("POST", "/mcp").body(HELLO)).status, 401);
    assert_eq!(post(&server.address, "wrong", None, HELLO).status, 401);
    assert_eq!(post(&server.address, "wrong", Some(&session), &status).status, 401);
    let end = Asked::new("DELETE", "/mcp").bearer(&planner).field("mcp-session-id", &session);
    assert!(server.send(&end).status < 300);
    assert_eq!(post(&server.address, &planner, Some(&session), &status).status, 404, "it has ended");
}

/// The place in a trace that comes in header fields goes with a message that a tool sends.
#[test]
fn a_trace_goes_from_the_header_fields_of_a_tool_call_to_the_receiver() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let planner = world.token("planner");
    let session = post(&server.address, &planner, None, HELLO).field("mcp-session-id").expect("a session").to_owned();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let send = call(1, "send", &to_builder("Look at the parser."));
    let sent = server.send(&asked(&planner, Some(&session), &send).field("traceparent", parent));
    assert!(messages(&sent).concat().contains("structuredContent"), "{sent:?}");
    let task = json!({"taskId": "build-1", "incarnationId": "inc_build_0001"});
    let list = server.call(&world.token("builder"), "mailbox.listPending", &json!({"receiver": task}));
    assert_eq!(list.json()["result"]["value"]["items"][0]["context"], json!({"traceparent": parent}), "{list:?}");
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn two_calls_under_one_id_are_both_answered_over_http() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let planner = world.token("planner");
    let session = post(&server.address, &planner, None, HELLO).field("mcp-session-id").expect("a session").to_owned();
    let ask = |tool: &str, arguments: Value| {
        let (address, planner, session) = (server.address.clone(), planner.clone(), session.clone());
        let message = call(1, tool, &arguments);
        std::thread::spawn(move || messages(&post(&address, &planner, Some(&session), &message)).concat())
    };
    let first = ask("wait", json!({"after": 1_000, "timeoutMs": 2_000}));
    let others: Vec<_> = (0..4).map(|_| ask("status", json!({}))).collect();
    for (told, about) in others.into_iter().map(|other| (other, "plan-1")).chain([(first, "timedOut")]) {
        let told = told.join().expect("an answer");
        assert!(told.contains("\"id\":1,") && told.contains(about), "{told}");
    }
    let sent = |content: &str| {
        let told = ask("send", to_builder(content)).join().expect("an answer");
        serde_json::from_str::<Value>(&told).expect("JSON")["result"]["structuredContent"].take()
    };
    let (one, other, again) = (sent("One."), sent("Other."), sent("One."));
    assert_ne!(one["messageId"], other["messageId"], "the same id with other arguments is a new call");
    assert_eq!((&again["messageId"], &again["replay"]), (&one["messageId"], &json!(true)));
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn what_looks_like_json_rpc_is_answered_as_such_over_http() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let planner = world.token("planner");
    let session = post(&server.address, &planner, None, HELLO).field("mcp-session-id").expect("a session").to_owned();
    let with = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{params}}}"#);
    for (message, status, number, id) in [
        ("no json".to_owned(), 400, -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":5,"#.to_owned(), 400, -32700, Value::Null),
        ("[]".to_owned(), 400, -32600, Value::Null),
        (with(r#"{"name":"send","arguments":{"content":"\ud800"}}"#), 200, -32600, json!(5)),
        (with(r#"{"name":"inbox","arguments":{"limit":1e400}}"#), 200, -32600, json!(5)),
        (with(r#"{"name":"send","arguments":{"content":"a","content":"b"}}"#), 200, -32600, json!(5)),
        (with(r#"{"name":"inbox","arguments":"{}"}"#), 200, -32602, json!(5)),
        (with(r#"{"arguments":{}}"#), 200, -32602, json!(5)),
        (with("null"), 200, -32602, json!(5)),
    ] {
        let answered = post(&server.address, &planner, Some(&session), &message);
        let told: Value = serde_json::from_str(&messages(&answered).concat()).expect("JSON");
        assert_eq!((answered.status, &told["error"]["code"], &told["id"]), (status, &json!(number), &id), "{message}");
        assert!(told["error"]["data"]["threadmeshCode"].is_string(), "{told}");
    }
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn a_wait_over_http_ends_with_its_token() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let planner = world.token("planner");
    let session = post(&server.address, &planner, None, HELLO).field("mcp-session-id").expect("a session").to_owned();
    let address = server.address.clone();
    let wait = call(1, "wait", &json!({"after": 1_000, "timeoutMs": 25_000}));
    let began = std::time::Instant::now();
    let waiting = std::thread::spawn(move || messages(&post(&address, &planner, Some(&session), &wait)).concat());
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(world.rig.json(&["token", "remove", "planner", "--db", "mesh.db"]).0, 0);
    let told = waiting.join().expect("an answer");
    assert!(told.contains("authentication-required"), "{told}");
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn a_principal_has_so_many_sessions_and_an_answer_is_not_kept() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let (planner, builder) = (world.token("planner"), world.token("builder"));
    let begin = |token: &str| post(&server.address, token, None, HELLO);
    let session = begin(&planner).field("mcp-session-id").expect("a session").to_owned();
    assert!((1..64).all(|_| begin(&planner).status == 200));
    let full = begin(&planner);
    assert_eq!((full.status, full.code().as_str(), full.field("retry-after")), (429, "backpressure", Some("1")));
    assert_eq!(begin(&builder).status, 200, "others have room");
    let told = post(&server.address, &planner, Some(&session), &call(1, "status", &json!({})));
    assert!(messages(&told).concat().contains("plan-1"), "{told:?}");
    let before = told.body.lines().find_map(|line| line.strip_prefix("id: ")).expect("what to resume after");
    let resume = Asked::new("GET", "/mcp").bearer(&planner).field("accept", "text/event-stream");
    let again = server.send(&resume.field("mcp-session-id", &session).field("last-event-id", before));
    assert_eq!((again.status, again.body.contains("plan-1")), (200, false), "{again:?}");
    let end = Asked::new("DELETE", "/mcp").bearer(&planner).field("mcp-session-id", &session);
    assert!(server.send(&end).status < 300);
    assert_eq!(begin(&planner).status, 200, "its place is given back");
    assert_eq!(begin(&planner).status, 429);
    assert_eq!(server.server.terminate(), 0);
}

#[test]
fn the_tools_are_for_tasks_alone() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    for name in ["alice", "operator"] {
        let token = world.token(name);
        for message in [HELLO.to_owned(), call(1, "inbox", &json!({})), call(1, "send", &to_builder("x"))] {
            let answered = post(&server.address, &token, None, &message);
            assert_eq!((answered.status, answered.code().as_str()), (403, "principal-mismatch"), "{name}: {message}");
            assert_eq!(answered.field("mcp-session-id"), None);
        }
    }
}

#[test]
fn what_is_no_message_is_told_in_the_form_of_every_fault() {
    let world = world();
    let server = world.rig.serve_http(&[]);
    let asked = || Asked::new("POST", "/mcp").bearer(&world.token("planner")).body(HELLO);
    let both = "application/json, text/event-stream";
    let json = "application/json";
    for (request, status, code) in [
        (asked().field("content-type", "gar/bage").field("accept", both), 415, "content-type"),
        (asked().field("accept", both), 415, "content-type"),
        (asked().field("content-type", json).field("accept", "text/html"), 406, "not-acceptable"),
        (
            asked().field("content-type", json).field("accept", both).field("mcp-session-id", "x"),
            404,
            "session-unknown",
        ),
    ] {
        let answered = server.send(&request);
        assert_eq!((answered.status, answered.code().as_str()), (status, code), "{answered:?}");
        assert_eq!(answered.field("content-type"), Some(json), "{answered:?}");
    }
}
