//! `serve`: JSON-RPC over a socket and over stdio, with the real core and the real store.

use crate::program::world::{World, reference, suggestion};
use crate::program::{Client, Rig, StdioServer};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const STDIO: &[&str] = &["--db", "mesh.db", "--as", "alice"];

fn get(id: Value) -> Value {
    let task = json!({"taskId": "plan-1", "incarnationId": "inc_plan_0001"});
    json!({"jsonrpc": "2.0", "id": id, "method": "tasks.get", "params": {"task": task}})
}

#[test]
fn frames_over_stdio_are_answered_as_json_rpc_says() {
    let world = World::new();
    let mut server = StdioServer::start(&world.rig, STDIO);
    let mut ask = |frame: &str| {
        server.send(frame.as_bytes());
        server.answer()
    };
    assert_eq!(ask(&get(json!("a")).to_string())["result"]["value"]["taskId"], "plan-1");
    assert_eq!(ask("{")["error"]["code"], -32700);
    assert_eq!(
        ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}")["error"]["data"]["code"],
        "json-duplicate-member"
    );
    let invalid = ask("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"tasks.get\"}");
    assert_eq!((&invalid["error"]["code"], &invalid["id"]), (&json!(-32600), &json!(5)));
    let unknown = ask("{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"no.such\"}");
    assert_eq!((&unknown["error"]["code"], &unknown["id"]), (&json!(-32601), &json!(6)));
    assert_eq!(ask("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tasks.get\",\"params\":{}}")["error"]["code"], -32602);
    assert_eq!(ask("[]")["error"]["code"], -32600);
    let batch = ask(&json!([get(json!(1)), {"jsonrpc": "2.0", "method": "no.such"}, 7, get(json!(2))]).to_string());
    let ids: Vec<&Value> = batch.as_array().expect("a batch").iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &Value::Null, &json!(2)], "notifications have no answer");
    server.send(b"\xff\xfe");
    assert_eq!(server.answer()["error"]["data"]["code"], "json-encoding");
    server.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"tasks.get\"}");
    server.send(get(json!(9)).to_string().as_bytes());
    assert_eq!(server.answer()["id"], 9, "a notification is not answered, whatever became of it");
    let data = json!(["code", "detail", "group", "pointer", "retryable", "threadmeshCode"]);
    let names: Vec<&String> = unknown["error"]["data"].as_object().expect("data").keys().collect();
    assert_eq!(json!(names), data);
    assert_eq!(server.finish(), (String::new(), 0));
}

#[test]
fn a_call_that_waits_does_not_hold_up_others() {
    let world = World::new();
    let mut server = StdioServer::start(&world.rig, &["--db", "mesh.db", "--as", "builder"]);
    let task = json!({"taskId": "build-1", "incarnationId": "inc_build_0001"});
    let wait = |id: u32, after: &Value, timeout: u64| {
        let params = json!({"task": task, "afterCursor": after, "timeoutMs": timeout});
        json!({"jsonrpc": "2.0", "id": id, "method": "tasks.wait", "params": params}).to_string()
    };
    server.send(wait(1, &json!(0), 0).as_bytes());
    let seen = server.answer();
    let cursor = seen["result"]["value"]["nextCursor"].clone();
    assert!(cursor.is_u64(), "{seen}");
    server.send(wait(2, &cursor, 20_000).as_bytes());
    let get = json!({"jsonrpc": "2.0", "id": 3, "method": "tasks.get", "params": {"task": task}});
    server.send(get.to_string().as_bytes());
    assert_eq!(server.answer()["id"], 3, "the answer of the wait is yet to come");
    let send = [&["send", "Wake up."][..], World::ROUTE].concat();
    assert_eq!(world.at("planner", &send).0, 0, "another process commits");
    let woken = server.answer();
    assert_eq!((&woken["id"], &woken["result"]["value"]["timedOut"]), (&json!(2), &json!(false)), "{woken}");
    assert_eq!(server.finish().1, 0);
}

#[test]
fn a_frame_that_is_too_long_ends_the_connection_and_no_other() {
    let world = World::new();
    let _server = world.serve();
    let socket = world.rig.path("mesh.db.run/socket");
    let mut other = Client::authenticated(&socket, &world.token("alice"));
    let mut client = Client::authenticated(&socket, &world.token("alice"));
    let mut long = get(json!(1)).to_string();
    long.push_str(&" ".repeat((1 << 20) - long.len()));
    client.send(long.as_bytes());
    assert!(client.line().contains("\"result\""), "1 MiB is allowed");
    long.push(' ');
    client.send(long.as_bytes());
    assert!(client.line().contains("json-size"));
    assert_eq!(client.line(), "");
    assert!(other.ask(&get(json!(2)))["result"].is_object());
}

#[test]
fn the_socket_is_private_and_has_one_server() {
    let world = World::new();
    let server = world.serve();
    let mode = |name: &str| fs::metadata(world.rig.path(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("mesh.db.run"), mode("mesh.db.run/socket"), mode("mesh.db")), (0o700, 0o600, 0o600));
    let (code, values) = world.rig.json(&["serve", "--db", "mesh.db"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("socket-in-use")));
    server.kill();
    assert!(world.rig.path("mesh.db.run/socket").exists(), "a killed server leaves its socket");
    let server = world.serve();
    assert_eq!(server.terminate(), 0);
    assert!(!world.rig.path("mesh.db.run/socket").exists(), "a server that ends removes it");
    fs::create_dir(world.rig.path("open")).expect("a folder");
    fs::set_permissions(world.rig.path("open"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let (code, values) = world.rig.json(&["serve", "--db", "mesh.db", "--socket", "open/socket"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("socket-unusable")));
    assert_eq!(world.rig.json(&["serve", "--db", "missing.db"]).0, 2, "a server makes no database unasked");
}

#[test]
fn what_was_answered_survives_a_kill() {
    let world = World::new();
    let server = world.serve();
    let socket = world.rig.path("mesh.db.run/socket");
    let mut client = Client::authenticated(&socket, &world.token("alice"));
    let register = |at: usize| {
        let task =
            json!({"taskId": format!("t-{at}"), "incarnationId": format!("inc_many_{at:04}"), "harness": "test"});
        json!({"task": task, "idempotencyKey": format!("idem_many_{at:04}")})
    };
    for at in 0..20 {
        assert!(client.call("tasks.register", register(at))["result"].is_object());
    }
    server.kill();
    let _server = world.serve();
    let mut client = Client::authenticated(&socket, &world.token("alice"));
    for at in 0..20 {
        let answer = client.call("tasks.register", register(at));
        assert_eq!(answer["result"]["value"]["operationReplay"], true, "{answer}");
    }
}

#[test]
fn many_clients_are_served_at_once() {
    let world = World::new();
    let _server = world.serve();
    let (socket, token) = (world.rig.path("mesh.db.run/socket"), world.token("alice"));
    let _silent = Client::connect(&socket);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (socket, token) = (&socket, &token);
            scope.spawn(move || {
                let mut client = Client::authenticated(socket, token);
                for at in 0..10 {
                    let task = json!({"taskId": format!("t-{thread}-{at}"), "incarnationId": format!("inc_many_{thread}_{at:04}"), "harness": "test"});
                    let params = json!({"task": task, "idempotencyKey": format!("idem_many_{thread}_{at:04}")});
                    let answer = client.call("tasks.register", params);
                    assert!(answer["result"].is_object(), "{answer}");
                }
            });
        }
    });
}

#[test]
fn a_removed_token_is_worth_nothing_at_once() {
    let world = World::new();
    let _server = world.serve();
    let socket = world.rig.path("mesh.db.run/socket");
    let token = world.token("stranger");
    let mut client = Client::authenticated(&socket, &token);
    assert_eq!(client.ask(&get(json!(1)))["error"]["data"]["code"], "not-visible");
    assert_eq!(world.rig.run(&["token", "remove", "stranger", "--db", "mesh.db"]).code, 0);
    assert_eq!(client.ask(&get(json!(2)))["error"]["data"]["code"], "authentication-required");
    assert_eq!(client.line(), "");
    let mut again = Client::connect(&socket);
    let frame = json!({"jsonrpc": "2.0", "id": 0, "method": "session.authenticate", "params": {"token": token}});
    assert_eq!(again.ask(&frame)["error"]["code"], -32001);
}

#[test]
fn every_vector_is_answered_over_json_rpc() {
    let world = World::new();
    let _server = world.serve();
    let (code, values) = world.rig.json(&["conformance", "--driver-jsonrpc", "mesh.db.run/socket", "--as", "alice"]);
    assert_eq!((code, &values[0]["failed"]), (0, &json!(0)), "{}", values[0]["failing"]);
}

#[test]
fn the_scenarios_are_performed_by_real_servers_on_real_databases() {
    let rig = Rig::new();
    let (code, values) = rig.json(&[
        "conformance",
        "--driver-jsonrpc",
        "--group",
        "operations",
        "--group",
        "policy",
        "--group",
        "delivery",
        "--group",
        "frames",
    ]);
    assert_eq!((code, &values[0]["failed"]), (0, &json!(0)), "{}", values[0]["failing"]);
    // What no transport takes is left out: calls of the host itself, and those of nobody.
    let groups = values[0]["groups"].as_object().expect("groups");
    assert!(groups.values().all(|group| group["passed"].as_u64() > Some(0)), "{}", values[0]["groups"]);
}

#[test]
fn doctor_finds_a_sound_database_and_its_server() {
    let world = World::new();
    let _server = world.serve();
    let (code, values) = world.rig.json(&["doctor", "--db", "mesh.db"]);
    assert_eq!(code, 0, "{values:?}");
    let findings = values[0]["findings"].as_array().expect("findings");
    let detail = |about: &str| {
        let found = findings.iter().find(|finding| finding["about"] == about);
        found.unwrap_or_else(|| panic!("{about}")).clone()
    };
    assert_eq!(detail("integrity")["level"], "ok");
    assert!(detail("server")["detail"].as_str().expect("text").starts_with("one answers"));
    assert_eq!(detail("account")["level"], "note", "this account runs adapters and owns the database");
    fs::set_permissions(world.rig.path("mesh.db"), fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(world.rig.json(&["doctor", "--db", "mesh.db"]).0, 1, "it works, but others can read it");
}

#[test]
fn a_server_that_stands_in_the_past_writes_nothing() {
    let world = World::new();
    world.rig.write("clock", "1700000000000");
    let mut server = StdioServer::start(&world.rig, &["--db", "mesh.db", "--as", "alice", "--test-clock", "clock"]);
    let task = json!({"taskId": "late-1", "incarnationId": "inc_late_0001", "harness": "test"});
    let params = json!({"task": task, "idempotencyKey": "idem_late_0001"});
    let register = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.register", "params": params}).to_string();
    server.send(register.as_bytes());
    let refused = server.answer();
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["data"]["code"]),
        (&json!(-32015), &json!("clock-behind"))
    );
    server.finish();
    let (_, values) = world.at(
        "alice",
        &["call", "tasks.get", &json!({"task": {"taskId": "late-1", "incarnationId": "inc_late_0001"}}).to_string()],
    );
    assert_eq!(values[0]["error"]["code"], "not-visible", "nothing was written");
}

#[test]
fn a_clock_that_was_wrong_can_be_put_right_by_the_operator_alone() {
    let world = World::new();
    // Somebody commits in the year 2040; then the clock is set right.
    world.rig.write("clock", "2208988800000");
    let options = ["--db", "mesh.db", "--as", "alice", "--test-clock", "clock"];
    let register = |at: u32| {
        let task =
            json!({"taskId": format!("t-{at}"), "incarnationId": format!("inc_time_{at:04}"), "harness": "test"});
        json!({"task": task, "idempotencyKey": format!("idem_time_{at:04}")})
    };
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.register", "params": register(1)}).to_string();
    let mut server = StdioServer::start(&world.rig, &options);
    server.send(frame.as_bytes());
    assert!(server.answer()["result"].is_object());
    server.finish();
    let again = || world.at("alice", &["call", "tasks.register", &register(2).to_string()]);
    let (code, values) = again();
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("clock-behind")));
    let (code, values) = world.rig.json(&["doctor", "--db", "mesh.db"]);
    let findings = values[0]["findings"].as_array().expect("findings").clone();
    let found = findings.iter().find(|finding| finding["about"] == "last commit").expect("a finding");
    assert_eq!((code, &found["level"]), (1, &json!("bad")), "{found}");
    let accept = |name: &str| world.at(name, &["clock", "accept"]);
    assert_eq!(accept("alice").0, 1, "only the operator may say so");
    let (code, values) = accept("operator");
    assert_eq!((code, &values[0]["accepted"]), (0, &json!(true)), "{values:?}");
    assert_eq!(again().0, 0);
    assert_eq!(world.rig.json(&["doctor", "--db", "mesh.db"]).0, 0, "the doctor knows of it");
}

#[test]
fn a_signal_ends_waiting_calls_and_the_server() {
    let world = World::new();
    let wait = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tasks.wait",
        "params": {
            "task": {"taskId": "build-1", "incarnationId": "inc_build_0001"},
            "afterCursor": 1_000_000, "timeoutMs": 50_000,
        },
    });
    let get = json!({"jsonrpc": "2.0", "id": 8, "method": "core.digest", "params": {"text": "null"}});
    let began = Instant::now();
    let mut stdio = StdioServer::start(&world.rig, &["--db", "mesh.db", "--as", "builder"]);
    stdio.send(wait.to_string().as_bytes());
    stdio.send(get.to_string().as_bytes());
    assert_eq!(stdio.answer()["id"], 8);
    let (rest, code) = stdio.terminate();
    assert!(code == 0 && rest.contains("wait-cancelled") && rest.contains("\"id\":7"), "{code} {rest}");
    let server = world.serve();
    let mut client = Client::authenticated(&world.rig.path("mesh.db.run/socket"), &world.token("builder"));
    client.send(wait.to_string().as_bytes());
    assert_eq!(client.ask(&get)["id"], 8);
    assert_eq!(server.terminate(), 0);
    assert!(client.line().contains("wait-cancelled"));
    assert_eq!(client.line(), "");
    assert!(began.elapsed() < Duration::from_secs(40), "nobody waited for the time to be over");
}

#[test]
fn a_signal_ends_a_server_whose_socket_is_gone_and_a_hangup_is_one() {
    let world = World::new();
    let server = world.serve();
    fs::remove_file(world.rig.path("mesh.db.run/socket")).expect("it was there");
    assert_eq!(server.terminate(), 0);
    let server = world.serve();
    assert_eq!(server.hang_up(), 0);
    assert!(!world.rig.path("mesh.db.run/socket").exists(), "it has tidied up");
}

#[test]
fn a_batch_acts_no_more_when_its_token_is_removed() {
    let world = World::new();
    let _server = world.serve();
    let mut client = Client::authenticated(&world.rig.path("mesh.db.run/socket"), &world.token("planner"));
    let (plan, build) = (reference("plan-1"), reference("build-1"));
    let wait = json!({"task": plan, "afterCursor": 1_000_000, "timeoutMs": 50_000});
    let send = suggestion(&plan, &build, "rel_plan_build", "msg_late_0001");
    let began = Instant::now();
    client.send(
        json!([
            {"jsonrpc": "2.0", "id": 1, "method": "tasks.wait", "params": wait},
            {"jsonrpc": "2.0", "id": 2, "method": "messages.send", "params": send},
        ])
        .to_string()
        .as_bytes(),
    );
    let get = json!({"jsonrpc": "2.0", "id": 3, "method": "tasks.get", "params": {"task": plan}});
    assert_eq!(client.ask(&get)["id"], 3, "the batch is under way");
    assert_eq!(world.rig.json(&["token", "remove", "planner", "--db", "mesh.db"]).0, 0);
    let answers: Value = serde_json::from_str(&client.line()).expect("JSON");
    for (at, id) in [(0, 1), (1, 2)] {
        let answer = &answers[at];
        assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(id), &json!("authentication-required")));
    }
    assert!(began.elapsed() < Duration::from_secs(30), "the wait ended with the token");
    let (code, values) = world.at("builder", &["inbox"]);
    assert_eq!((code, values[0]["items"].as_array().map(Vec::len)), (0, Some(0)), "{values:?}");
}
