//! Pushed events: SSE and WebSocket on the real core and store, cut off and resumed.

use crate::program::streams::{Events, Pushed, Socket};
use crate::program::world::{World, grant, reference, suggestion};
use crate::program::{Asked, HttpServer};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Message;

/// Sends a suggestion from the planner to the builder.
fn send(server: &HttpServer, world: &World, id: &str) {
    let params = suggestion(&reference("plan-1"), &reference("build-1"), "rel_plan_build", id);
    let sent = server.call(&world.token("planner"), "messages.send", &params).json();
    assert!(sent["result"].is_object(), "{sent}");
}

fn cursor(pushed: &Pushed) -> u64 {
    assert_eq!(pushed.kind, "tasks.event", "{pushed:?}");
    let cursor = pushed.data["cursor"].as_u64().expect("a cursor");
    assert_eq!(pushed.id, Some(cursor));
    cursor
}

/// The events of one subscription over a WebSocket.
fn socket_cursor(notified: &Value) -> u64 {
    assert_eq!(notified["method"], "tasks.event", "{notified}");
    assert_eq!(notified["params"]["cursor"], notified["params"]["event"]["cursor"]);
    notified["params"]["cursor"].as_u64().expect("a cursor")
}

/// Tasks of alice's beside the planner, each with a grant to the builder: token and reference.
fn crowd(world: &World, server: &HttpServer, count: usize) -> Vec<(String, Value, String)> {
    let alice = world.token("alice");
    let mut crowd = vec![(world.token("planner"), reference("plan-1"), "rel_plan_build".to_owned())];
    for number in 2..=count {
        let (name, incarnation) = (format!("plan-{number}"), format!("inc_plan_000{number}"));
        let task = ["--kind", "task", "--id", &name, "--incarnation", &incarnation, "--owner", "user:alice"];
        assert_eq!(world.rig.run(&[&["token", "create", &name, "--db", "mesh.db"][..], &task].concat()).code, 0);
        let task = json!({"taskId": name, "incarnationId": incarnation, "harness": "test"});
        let params = json!({"task": task, "idempotencyKey": format!("idem_register-{number}")});
        assert!(server.call(&alice, "tasks.register", &params).json()["result"].is_object());
        let (relationship, source) =
            (format!("rel_plan_{number}"), json!({"taskId": name, "incarnationId": incarnation}));
        let mut params = grant();
        params["grant"]["grantId"] = format!("grant_test_000{number}").into();
        params["grant"]["relationshipId"] = relationship.as_str().into();
        params["grant"]["source"] = source.clone();
        params["decision"]["decisionId"] = format!("decision_test_000{number}").into();
        params["idempotencyKey"] = format!("idem_grant-{number}").into();
        let granted = server.call(&alice, "relationships.grant", &params).json();
        assert!(granted["result"].is_object(), "{granted}");
        crowd.push((world.token(&name), source, relationship));
    }
    crowd
}

/// Sends `count` suggestions in batches.
fn produce(server: &HttpServer, token: &str, sender: &Value, relationship: &str, count: usize) {
    let target = reference("build-1");
    for start in (0..count).step_by(50) {
        let calls: Vec<Value> = (start..count.min(start + 50))
            .map(|at| {
                let id = format!("msg_{relationship}_{at:05}");
                let params = suggestion(sender, &target, relationship, &id);
                json!({"jsonrpc": "2.0", "id": at, "method": "messages.send", "params": params})
            })
            .collect();
        let answers = server.send(&Asked::rpc(token, json!(calls).to_string())).json();
        let refused = answers.as_array().expect("a batch").iter().find(|answer| answer["result"].is_null());
        assert!(refused.is_none(), "{refused:?}");
    }
}

/// Acceptance 5 of the delivery surface, over both kinds of stream at once and while four senders write.
#[test]
fn ten_thousand_events_are_seen_once_and_in_order_through_a_hundred_disconnections() {
    const SENDERS: usize = 4;
    const EACH: usize = 2_499;
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let crowd = crowd(&world, &server, SENDERS);
    // The builder's registration and one event for each grant.
    let total = (SENDERS * EACH + SENDERS + 1) as u64;
    assert!(total > 10_000);
    let (builder, task) = (world.token("builder"), reference("build-1"));
    std::thread::scope(|scope| {
        for (token, sender, relationship) in &crowd {
            scope.spawn(|| produce(&server, token, sender, relationship, EACH));
        }
        scope.spawn(|| {
            let (mut last, mut cuts) = (0, 0);
            while last < total {
                let mut events = match cuts % 2 {
                    0 => Events::of(&server, &builder, &task, last).expect("a stream"),
                    _ => {
                        let path = "/events?taskId=build-1&incarnationId=inc_build_0001&after=0";
                        let request = Asked::new("GET", path).bearer(&builder);
                        Events::open(&server, &request.field("last-event-id", &last.to_string())).expect("a stream")
                    }
                };
                for _ in 0..99.min(total - last) {
                    let next = cursor(&events.next().expect("an event"));
                    assert_eq!(next, last + 1, "after {cuts} disconnections");
                    last = next;
                }
                cuts += 1;
            }
            assert!(cuts > 100);
        });
        scope.spawn(|| {
            let (mut last, mut cuts) = (0, 0);
            while last < total {
                let mut socket = Socket::open(&server, &builder).expect("a socket");
                assert_eq!(socket.subscribe(&task, last)["result"]["value"]["subscription"], 1);
                for _ in 0..99.min(total - last) {
                    let next = socket_cursor(&socket.next().expect("an event"));
                    assert_eq!(next, last + 1, "after {cuts} disconnections");
                    last = next;
                }
                cuts += 1;
            }
            assert!(cuts > 100);
        });
    });
    assert_eq!(server.server.terminate(), 0);
}

/// Field report P042.
#[test]
fn an_event_made_by_one_process_reaches_the_streams_of_another() {
    let world = World::new();
    let one = world.rig.serve_http(&[]);
    let other = world.rig.serve_http(&["--socket", "other.run/socket"]);
    let (builder, task) = (world.token("builder"), reference("build-1"));
    let mut events = Events::of(&other, &builder, &task, 2).expect("a stream");
    let mut socket = Socket::open(&other, &builder).expect("a socket");
    socket.subscribe(&task, 2);
    for number in 3..6 {
        send(&one, &world, &format!("msg_two_0000{number}"));
        assert_eq!(cursor(&events.next().expect("an event")), number);
        assert_eq!(socket_cursor(&socket.next().expect("an event")), number);
    }
}

#[test]
fn a_cursor_ahead_of_the_stream_is_a_gap_and_the_stream_goes_on() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let (builder, task) = (world.token("builder"), reference("build-1"));
    let mut events = Events::of(&server, &builder, &task, 1_000).expect("a stream");
    let mut socket = Socket::open(&server, &builder).expect("a socket");
    socket.subscribe(&task, 1_000);
    let gap = json!({"from": 3, "to": 1_000, "after": 2});
    let pushed = events.next().expect("a gap");
    assert_eq!((pushed.kind.as_str(), pushed.id, &pushed.data), ("tasks.gap", Some(2), &gap));
    let notified = socket.next().expect("a gap");
    assert_eq!(notified["method"], "tasks.gap");
    assert_eq!(notified["params"], json!({"subscription": 1, "from": 3, "to": 1_000, "after": 2}));
    send(&server, &world, "msg_gap_00001");
    assert_eq!(cursor(&events.next().expect("an event")), 3);
    assert_eq!(socket_cursor(&socket.next().expect("an event")), 3);
}

/// What both kinds of stream say when they end, after the events 1 and 2.
fn ends(events: &mut Events, socket: &mut Socket, reason: &str) {
    for number in [1, 2] {
        assert_eq!(cursor(&events.next().expect("an event")), number);
        assert_eq!(socket_cursor(&socket.next().expect("an event")), number);
    }
    ends_after(events, socket, reason, 2);
}

fn ends_after(events: &mut Events, socket: &mut Socket, reason: &str, after: u64) {
    let pushed = events.next().expect("an end");
    assert_eq!((pushed.kind.as_str(), &pushed.data), ("tasks.end", &json!({"reason": reason, "after": after})));
    assert_eq!(events.next(), None, "nothing comes after the end");
    let notified = socket.next().expect("an end");
    assert_eq!(notified["method"], "tasks.end");
    assert_eq!(notified["params"], json!({"subscription": 1, "reason": reason, "after": after}));
}

fn both(server: &HttpServer, token: &str) -> (Events, Socket) {
    let task = reference("build-1");
    let events = Events::of(server, token, &task, 0).expect("a stream");
    let mut socket = Socket::open(server, token).expect("a socket");
    assert!(socket.subscribe(&task, 0)["result"].is_object());
    (events, socket)
}

#[test]
fn streams_end_with_their_token() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let (mut events, mut socket) = both(&server, &world.token("builder"));
    assert_eq!(world.rig.run(&["token", "remove", "builder", "--db", "mesh.db"]).code, 0);
    let (mut pushed, mut notified) = (Vec::new(), Vec::new());
    while let Some(next) = events.next() {
        pushed.push(next);
    }
    let closed = loop {
        match socket.next() {
            Ok(next) => notified.push(next),
            Err(closed) => break closed,
        }
    };
    assert_eq!(pushed.last().expect("an end").data["reason"], "authentication-required");
    assert_eq!(notified.last().expect("an end")["params"]["reason"], "authentication-required");
    assert_eq!(closed, (1008, "authentication-required".to_owned()));
    assert_eq!(Socket::open(&server, &world.token("planner")).map(|_| ()), Ok(()), "others are not concerned");
}

#[test]
fn streams_end_with_their_incarnation() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let (mut events, mut socket) = both(&server, &world.token("builder"));
    let params = json!({
        "previous": reference("build-1"), "next": {"taskId": "build-1", "incarnationId": "inc_build_0002", "harness": "test"},
        "expectedRevision": 0, "idempotencyKey": "idem_rotate-01",
    });
    let rotated = server.call(&world.token("alice"), "tasks.rotateIncarnation", &params).json();
    assert!(rotated["result"].is_object(), "{rotated}");
    ends(&mut events, &mut socket, "task-retired");
    let refused = Events::of(&server, &world.token("builder"), &reference("build-1"), 2).err().expect("no stream");
    assert_eq!((refused.status, refused.code().as_str()), (403, "task-retired"));
}

#[test]
fn streams_and_waits_end_with_the_server() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let builder = world.token("builder");
    let (mut events, mut socket) = both(&server, &builder);
    let params = json!({"task": reference("build-1"), "afterCursor": 2, "timeoutMs": 50_000});
    let wait = Asked::call(&builder, "tasks.wait", &params);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.send(&wait));
        send(&server, &world, "msg_end_00001");
        let early = waiting.join().expect("an answer");
        assert_eq!(early.json()["result"]["value"]["events"][0]["cursor"], 3, "a wait ends with an event");
        for number in 1..=3 {
            assert_eq!(cursor(&events.next().expect("an event")), number);
            assert_eq!(socket_cursor(&socket.next().expect("an event")), number);
        }
        let params = json!({"receiver": reference("build-1"), "afterCursor": 1, "timeoutMs": 50_000});
        socket.call(7, "mailbox.listPending", &params);
        socket.call(8, "tasks.get", &json!({"task": reference("build-1")}));
        assert_eq!(socket.next().expect("an answer")["id"], 8, "what came before it waits by now");
        let started = Instant::now();
        server.server.ask_to_end();
        let mut told = [socket.next().expect("a word"), socket.next().expect("a word")];
        told.sort_by_key(|word| word["id"].is_null());
        assert_eq!((&told[0]["id"], &told[0]["error"]["data"]["code"]), (&json!(7), &json!("wait-cancelled")));
        assert_eq!(told[1]["params"], json!({"subscription": 1, "reason": "shutting-down", "after": 3}));
        assert_eq!(socket.next(), Err((1001, "shutting-down".to_owned())));
        let pushed = events.next().expect("an end");
        assert_eq!(pushed.data, json!({"reason": "shutting-down", "after": 3}));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    });
    assert_eq!(server.server.wait(), 0);
}

#[test]
fn a_stream_that_may_not_be_seen_is_refused_as_one_that_is_not_there() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let stranger = world.token("stranger");
    let missing = json!({"taskId": "build-1", "incarnationId": "inc_build_9999"});
    let refused = |task: &Value| Events::of(&server, &stranger, task, 0).err().expect("no stream");
    let (foreign, missing_one) = (refused(&reference("build-1")), refused(&missing));
    assert_eq!((foreign.status, foreign.code().as_str()), (403, "not-visible"));
    assert_eq!((foreign.fields, foreign.body), (missing_one.fields, missing_one.body));
    let mut socket = Socket::open(&server, &stranger).expect("a socket");
    assert_eq!(socket.subscribe(&reference("build-1"), 0), socket.subscribe(&missing, 0));
    let builder = world.token("builder");
    let task = "taskId=build-1&incarnationId=inc_build_0001";
    for query in [
        "".to_owned(),
        "?taskId=build-1".to_owned(),
        format!("?{task}&access_token={builder}"),
        format!("?{task}&after=-1"),
        format!("?{task}&after=x"),
        format!("?{task}&after=1&after=2"),
        format!("?{task}&after={}", 1_u64 << 53),
        format!("?{task}&after=+1"),
    ] {
        let answered = server.send(&Asked::new("GET", &format!("/events{query}")).bearer(&builder));
        assert_eq!((answered.status, answered.code().as_str()), (400, "query-invalid"), "{query}");
    }
    let request = Asked::new("GET", &format!("/events?{task}")).bearer(&builder);
    assert_eq!(server.send(&request.clone().field("last-event-id", "x")).status, 400);
    assert_eq!(server.send(&request.clone().field("last-event-id", &u64::MAX.to_string())).status, 400);
    assert_eq!(server.send(&request.clone().field("last-event-id", &(1_u64 << 53).to_string())).status, 400);
    assert_eq!(server.send(&request.clone().field("last-event-id", "now")).status, 400);
    let twice = server.send(&request.field("last-event-id", "1").field("last-event-id", "2"));
    assert_eq!((twice.status, twice.code().as_str()), (400, "query-invalid"));
    assert_eq!(server.send(&Asked::new("GET", &format!("/events?{task}"))).status, 401);
    assert_eq!(Socket::open(&server, "none").err(), Some(401));
    assert_eq!(server.send(&Asked::new("GET", "/stream").bearer(&builder)).status, 426);
}

#[test]
fn a_client_that_closes_is_answered() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let builder = world.token("builder");
    Socket::open(&server, &builder).expect("a socket").close();
    let mut busy = Socket::open(&server, &builder).expect("a socket");
    busy.subscribe(&reference("build-1"), 0);
    busy.close();
}

#[test]
fn a_web_socket_carries_frames_both_ways() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    let builder = world.token("builder");
    let mut socket = Socket::open(&server, &builder).expect("a socket");
    let task = json!({"task": reference("build-1")});
    let mut ask = |frame: &str| {
        socket.send(Message::text(frame));
        socket.next().expect("an answer")
    };
    let get = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tasks.get", "params": task});
    assert_eq!(ask(&get(1).to_string())["result"]["value"]["taskId"], "build-1");
    assert_eq!(ask("{")["error"]["code"], -32700);
    let batch = ask(&json!([get(1), {"jsonrpc": "2.0", "method": "x"}, get(2)]).to_string());
    assert_eq!(batch.as_array().map(Vec::len), Some(2));
    let subscribe = |params: &Value| json!({"jsonrpc": "2.0", "id": 3, "method": "stream.subscribe", "params": params});
    for params in
        [json!({}), json!({"task": {"taskId": "build-1"}}), json!({"task": reference("build-1"), "token": "x"})]
    {
        assert_eq!(ask(&subscribe(&params).to_string())["error"]["data"]["code"], "params-invalid", "{params}");
    }
    assert_eq!(ask(&json!({"jsonrpc": "2.0", "id": 4, "method": "stream.other"}).to_string())["error"]["code"], -32601);
    assert_eq!(ask(&subscribe(&task).to_string())["result"]["value"]["subscription"], 1);
    let mut socket_events = [socket.next().expect("an event"), socket.next().expect("an event")];
    socket_events.iter_mut().for_each(|event| assert!(socket_cursor(event) > 0));
    let end = |subscription: u32| json!({"subscription": subscription});
    socket.call(5, "stream.unsubscribe", &end(1));
    assert_eq!(socket.next().expect("an answer")["result"]["value"], json!({"ended": true}));
    socket.call(6, "stream.unsubscribe", &end(1));
    assert_eq!(socket.next().expect("an answer")["result"]["value"], json!({"ended": false}));
    send(&server, &world, "msg_ws_000001");
    let params = json!({"receiver": reference("build-1"), "timeoutMs": 30_000, "afterCursor": 1});
    socket.call(8, "mailbox.listPending", &params);
    socket.call(9, "tasks.get", &task);
    assert_eq!(socket.next().expect("an answer")["id"], 9, "what waits holds up nothing");
    send(&server, &world, "msg_ws_000002");
    let mail = socket.next().expect("an answer");
    assert_eq!((&mail["id"], &mail["result"]["value"]["items"][0]["cursor"]), (&json!(8), &json!(2)));
    socket.send(Message::Binary(vec![1].into()));
    assert_eq!(socket.next(), Err((1003, "text-only".to_owned())));
    let mut socket = Socket::open(&server, &builder).expect("a socket");
    socket.send(Message::text(" ".repeat((1 << 20) + 1)));
    assert_eq!(socket.next(), Err((1009, "json-size".to_owned())));
}

#[test]
fn an_inbox_can_be_followed() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    send(&server, &world, "msg_follow_001");
    for place in [&["--db", "mesh.db"][..], &["--socket", "mesh.db.run/socket"]] {
        let arguments = [&["--json", "inbox", "--follow", "--as", "builder"], place].concat();
        let mut command = world.rig.command(&arguments);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("the program starts");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("a pipe")));
        let mut next = || {
            let line = lines.next().expect("a line").expect("text");
            let page: Value = serde_json::from_str(&line).expect("JSON");
            let ids = page["items"].as_array().expect("items").iter().map(|item| item["envelope"]["messageId"].clone());
            ids.collect::<Vec<_>>()
        };
        let known = next().len();
        let id = format!("msg_follow_{}", 100 + known);
        send(&server, &world, &id);
        assert_eq!(next(), [json!(id)]);
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
    }
}

#[test]
fn a_message_is_waited_for_without_asking_again_and_again() {
    let world = World::new();
    let server = world.rig.serve_http(&[]);
    send(&server, &world, "msg_wait_0001");
    let sender = json!({"senderIncarnationId": "inc_plan_0001", "messageId": "msg_wait_0001"});
    let mut params = sender.clone();
    params["afterRevision"] = 0.into();
    params["timeoutMs"] = 50_000.into();
    let wait = Asked::call(&world.token("planner"), "messages.getDisposition", &params);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.send(&wait));
        let mut decide = sender.clone();
        for (name, value) in [
            ("decision", json!("rejected")),
            ("expectedRevision", json!(0)),
            ("idempotencyKey", json!("idem_decide-01")),
        ] {
            decide[name] = value;
        }
        let decided = server.call(&world.token("builder"), "messages.respond", &decide).json();
        assert!(decided["result"].is_object(), "{decided}");
        let seen = waiting.join().expect("an answer").json();
        assert_eq!(seen["result"]["value"]["decision"], "rejected", "{seen}");
    });
}
