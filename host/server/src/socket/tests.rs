//! Tests of the transports over a stand-in for the core.

use super::*;
use crate::shares::Places;
use crate::stdio;
use crate::tokens::{self, Kind, Principal, Secret};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Condvar;
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{Call, Frame};

/// Answers `echo` with its params, `whoami` with the caller, and lets `tasks.wait` wait for `release`.
#[derive(Default)]
struct Stand {
    released: Mutex<bool>,
    changed: Condvar,
}

impl Service for Stand {
    fn split(&self, text: &str) -> Result<Frame, String> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            let response = Some(rpc::fault("json-syntax", "no JSON"));
            let faulty = Call { id: None, method: String::new(), params: String::new(), response };
            return Ok(Frame { batch: false, calls: vec![faulty] });
        };
        let call = |value: &Value| Call {
            id: value.get("id").map(Value::to_string),
            method: value["method"].as_str().unwrap_or_default().to_owned(),
            params: value["params"].to_string(),
            response: None,
        };
        Ok(match &value {
            Value::Array(all) => Frame { batch: true, calls: all.iter().map(call).collect() },
            one => Frame { batch: false, calls: vec![call(one)] },
        })
    }

    fn call(&self, entry: &Entry, method: &str, params: &str) -> Answer {
        match method {
            "echo" => Answer::Result(params.to_owned()),
            "whoami" => Answer::Result(format!("{:?}", entry.name)),
            "release" => {
                *self.released.lock().unwrap() = true;
                self.changed.notify_all();
                Answer::Result("null".to_owned())
            }
            _ => Answer::Error(error("method-not-found", method)),
        }
    }

    fn waits(&self, method: &str, _: &str) -> bool {
        method == "tasks.wait"
    }

    fn call_until(&self, entry: &Entry, method: &str, params: &str, cancel: &Cancel) -> Answer {
        if method != "tasks.wait" {
            return self.call(entry, method, params);
        }
        let mut released = self.released.lock().unwrap();
        while !*released && !cancel.is_cancelled() {
            released = self.changed.wait_timeout(released, Duration::from_millis(5)).unwrap().0;
        }
        Answer::Result("\"released\"".to_owned())
    }
}

struct Rig {
    folder: tempfile::TempDir,
    token: Secret,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), SocketError>>>,
}

impl Rig {
    fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        let token = tokens::update(&path, |file| file.create(&path, "alice", alice())).unwrap();
        let book = Arc::new(TokenBook::open(&path).unwrap());
        let server = SocketServer { service: Arc::new(Stand::default()), book, limits };
        let place = SocketPlace::bind(&folder.path().join("run/socket")).unwrap();
        let stop = Stop::default();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || server.serve(place, &stopped));
        Rig { folder, token, stop, thread: Some(thread) }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/socket")
    }

    fn client(&self) -> Client {
        Client::new(&self.socket())
    }

    fn authenticated(&self) -> Client {
        let mut client = self.client();
        let answer = client.ask(&authenticate(self.token.text()));
        assert_eq!(answer["result"]["value"]["name"], "alice");
        client
    }

    fn finish(mut self) {
        self.stop.trigger();
        self.thread.take().unwrap().join().unwrap().unwrap();
        assert!(!self.socket().exists(), "the socket is removed");
    }
}

fn alice() -> Principal {
    Principal {
        tenant: "default".into(),
        kind: Kind::User,
        id: "alice".into(),
        incarnation: None,
        owner: None,
        worker: None,
    }
}

fn authenticate(token: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "session.authenticate", "params": {"token": token}}).to_string()
}

struct Client {
    lines: BufReader<UnixStream>,
}

impl Client {
    fn new(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { lines: BufReader::new(stream) }
    }

    fn send(&mut self, text: &str) {
        self.lines.get_mut().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, text: &str) -> Value {
        self.send(text);
        serde_json::from_str(&self.line()).unwrap()
    }
}

#[test]
fn one_client_is_served_in_order_and_a_waiting_call_does_not_hold_it_up() {
    let rig = Rig::start(Limits::default());
    let mut client = rig.authenticated();
    client.send(r#"{"id":1,"method":"tasks.wait"}"#);
    client.send(r#"{"id":2,"method":"echo","params":["ü"]}"#);
    assert_eq!(client.line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":[\"ü\"]}\n");
    client.send(r#"{"method":"echo"}"#);
    client.send(r#"[{"id":3,"method":"whoami"},{"method":"echo"},{"id":4,"method":"session.authenticate"}]"#);
    let batch: Value = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(batch[0]["result"], "alice");
    assert_eq!(batch[1]["error"]["data"]["code"], "method-not-found");
    client.send(r#"{"method":"release"}"#);
    assert_eq!(client.line(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"released\"}\n");
    rig.finish();
}

#[test]
fn without_a_valid_token_nothing_is_run() {
    let rig = Rig::start(Limits::default());
    let first_lines = [
        authenticate("wrong"),
        authenticate(""),
        r#"{"id":7,"method":"echo"}"#.to_owned(),
        format!("[{}]", authenticate(rig.token.text())),
        r#"{"id":7,"method":"session.authenticate","params":{"token":"a","as":"b"}}"#.to_owned(),
    ];
    for first in first_lines {
        let mut client = rig.client();
        let answer = client.ask(&first);
        assert_eq!(answer["error"]["data"]["code"], "authentication-required", "{first}");
        assert_eq!(answer["error"]["code"], -32001);
        assert_eq!(client.line(), "", "the connection ends");
    }
    let mut long = rig.client();
    long.send(&authenticate(&"x".repeat(5000)));
    assert!(long.line().contains("json-size"));
    assert_eq!(long.line(), "", "the connection ends");
    let mut odd = rig.client();
    odd.lines.get_mut().write_all(b"\xff\n").unwrap();
    assert!(odd.line().contains("json-encoding"));
    rig.finish();
}

#[test]
fn silent_and_half_open_clients_hold_up_nobody_and_are_sent_away() {
    let rig = Rig::start(Limits { authenticate_ms_max: 300, ..Limits::default() });
    let mut silent: Vec<Client> = (0..20).map(|_| rig.client()).collect();
    silent[0].lines.get_mut().write_all(b"{\"id\":1,\"met").unwrap();
    assert_eq!(rig.authenticated().ask(r#"{"id":1,"method":"whoami"}"#)["result"], "alice");
    for client in &mut silent {
        assert_eq!(client.line(), "");
    }
    rig.finish();
}

#[test]
fn there_is_a_bound_on_connections_and_on_waiting_calls() {
    let rig = Rig::start(Limits { connections_max: 2, waits_max: 1, ..Limits::default() });
    let mut one = rig.authenticated();
    let two = rig.authenticated();
    let turned_away: Value = serde_json::from_str(&rig.client().line()).unwrap();
    assert_eq!(turned_away["error"]["data"]["code"], "backpressure");
    assert_eq!(turned_away["error"]["data"]["retryable"], true);
    drop(two);
    one.send(r#"{"id":1,"method":"tasks.wait"}"#);
    assert_eq!(one.ask(r#"{"id":2,"method":"tasks.wait"}"#)["error"]["data"]["code"], "backpressure");
    one.send(r#"{"id":3,"method":"release"}"#);
    assert!(one.line().contains("\"id\"") && one.line().contains("\"id\""));
    rig.finish();
}

#[test]
fn a_long_line_ends_the_connection_and_bad_bytes_do_not() {
    let rig = Rig::start(Limits { frame_bytes_max: 100, ..Limits::default() });
    let mut client = rig.authenticated();
    client.lines.get_mut().write_all(b"\xff\xfe\n").unwrap();
    assert!(client.line().contains("json-encoding"));
    assert_eq!(client.ask("{")["error"]["data"]["code"], "json-syntax");
    client.send(&format!("{{\"id\":1,\"method\":\"echo\",\"params\":[\"{}\"]}}", "x".repeat(100)));
    assert!(client.line().contains("json-size"));
    assert_eq!(client.line(), "");
    rig.finish();
}

#[test]
fn a_removed_token_ends_its_connections() {
    let rig = Rig::start(Limits::default());
    let mut client = rig.authenticated();
    tokens::update(&rig.folder.path().join("t.json"), |file| file.remove("alice")).unwrap();
    assert_eq!(client.ask(r#"{"id":1,"method":"whoami"}"#)["error"]["data"]["code"], "authentication-required");
    assert_eq!(client.line(), "");
    rig.finish();
}

#[test]
fn stopping_answers_what_is_being_run() {
    let rig = Rig::start(Limits { drain_ms_max: 200, ..Limits::default() });
    let mut client = rig.authenticated();
    client.send(r#"{"id":1,"method":"tasks.wait"}"#);
    client.send(r#"{"id":2,"method":"echo","params":[]}"#);
    assert!(client.line().contains("\"id\":2"));
    rig.finish();
}

#[test]
fn the_folder_must_be_private_and_the_socket_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(SocketPlace::bind(&open.join("s")), Err(SocketError::Unsafe { .. })));
    let place = SocketPlace::bind(&folder.path().join("run/s")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(place.path()), mode(&folder.path().join("run"))), (0o600, 0o700));
    let long = folder.path().join("x".repeat(120));
    assert!(matches!(SocketPlace::bind(&long), Err(SocketError::Unsafe { .. })));
}

#[test]
fn a_second_server_is_refused_and_a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/s");
    let place = SocketPlace::bind(&path).unwrap();
    assert!(matches!(SocketPlace::bind(&path), Err(SocketError::InUse { .. })));
    drop(place);
    assert!(!path.exists());
    // What a killed server leaves behind: a socket file that nobody answers.
    drop(UnixListener::bind(&path).unwrap());
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket());
    drop(SocketPlace::bind(&path).unwrap());
    // A server that does not know our lock still counts.
    let foreign = UnixListener::bind(&path).unwrap();
    assert!(matches!(SocketPlace::bind(&path), Err(SocketError::InUse { .. })));
    drop(foreign);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    assert!(matches!(SocketPlace::bind(&path), Err(SocketError::Unsafe { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

/// A writer whose content can be looked at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn stdio_answers_everything_before_it_ends() {
    let rig = Rig::start(Limits::default());
    let path = rig.folder.path().join("t.json");
    let book = Arc::new(TokenBook::open(&path).unwrap());
    let entry = book.resolve(rig.token.text()).unwrap().unwrap();
    let service: Arc<dyn Service> = Arc::new(Stand::default());
    let stop = Stop::default();
    let caller = book.standing(entry);
    let waits = Shares::new(Limits::default().waits);
    let connection =
        Connection { service: &service, caller: &caller, limits: Limits::default(), waits: &waits, stop: &stop };
    let shared = Shared::default();
    let input =
        "{\"id\":1,\"method\":\"tasks.wait\"}\n{\"id\":2,\"method\":\"echo\"}\n{\"id\":3,\"method\":\"release\"}";
    stdio::serve(&connection, input.as_bytes(), &Output::new(shared.clone())).unwrap();
    let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 3);
    // An input that never ends: only the wish to stop ends it.
    let (held, input) = UnixStream::pair().unwrap();
    stop.trigger();
    stdio::serve(&connection, input, &Output::new(shared)).unwrap();
    drop(held);
    rig.finish();
}

#[test]
fn a_client_that_never_reads_loses_its_connection_and_holds_up_nobody() {
    let rig = Rig::start(Limits { write_ms_max: 300, ..Limits::default() });
    let mut deaf = rig.authenticated();
    deaf.lines.get_ref().set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let frame = format!("{{\"id\":1,\"method\":\"echo\",\"params\":[\"{}\"]}}\n", "x".repeat(100_000));
    // The server stops reading when its answers are not read, and gives up after its time.
    let ended = (0..1000).any(|_| deaf.lines.get_mut().write_all(frame.as_bytes()).is_err());
    assert!(ended, "the connection ended");
    assert_eq!(rig.authenticated().ask(r#"{"id":1,"method":"whoami"}"#)["result"], "alice");
    rig.finish();
}

#[test]
fn the_frame_limit_is_that_of_documents() {
    let limits: Value = serde_json::from_str(include_str!("../../../../spec/limits.json")).unwrap();
    let limit =
        limits["limits"].as_array().unwrap().iter().find(|limit| limit["name"] == "document_bytes_max").unwrap();
    assert_eq!(limit["value"], Limits::default().frame_bytes_max);
}

#[test]
fn a_server_ends_although_its_socket_file_is_gone() {
    let rig = Rig::start(Limits::default());
    fs::remove_file(rig.socket()).unwrap();
    rig.finish();
}

/// What is left of a frame when its credential ends is refused, and a wait ends with it.
#[test]
fn a_removed_token_ends_what_is_left_of_a_frame() {
    let rig = Rig::start(Limits::default());
    let mut client = rig.authenticated();
    client.send(r#"[{"id":1,"method":"echo","params":7},{"id":2,"method":"tasks.wait"},{"id":3,"method":"echo"}]"#);
    // The frame has begun: another connection is served beside it.
    assert_eq!(rig.authenticated().ask(r#"{"id":1,"method":"whoami"}"#)["result"], "alice");
    std::thread::sleep(Duration::from_millis(100));
    tokens::update(&rig.folder.path().join("t.json"), |file| file.remove("alice")).unwrap();
    let answers: Value = serde_json::from_str(&client.line()).unwrap();
    let codes: Vec<&Value> =
        answers.as_array().unwrap().iter().map(|answer| &answer["error"]["data"]["code"]).collect();
    let ended = json!("authentication-required");
    assert_eq!(codes, [&Value::Null, &ended, &ended], "{answers}");
    assert_eq!(answers[0]["result"], 7, "what was done before is answered");
    rig.finish();
}

#[test]
fn a_long_poll_hands_out_nothing_that_came_after_its_token_was_removed() {
    let rig = Rig::start(Limits::default());
    let path = rig.folder.path().join("t.json");
    let bob = Principal { id: "bob".into(), ..alice() };
    let token = tokens::update(&path, |file| file.create(&path, "bob", bob)).unwrap();
    let (mut waiting, mut other) = (rig.authenticated(), rig.client());
    assert!(other.ask(&authenticate(token.text()))["result"].is_object());
    waiting.send(r#"{"id":1,"method":"tasks.wait"}"#);
    assert_eq!(waiting.ask(r#"{"id":2,"method":"whoami"}"#)["id"], 2);
    tokens::update(&path, |file| file.remove("alice")).unwrap();
    other.send(r#"{"method":"release"}"#);
    let answer: Value = serde_json::from_str(&waiting.line()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(1), &json!("authentication-required")));
    rig.finish();
}

/// Issue of use: 640 waits over one socket, where HTTP had a limit.
#[test]
fn waits_of_all_connections_have_a_limit() {
    let waits = Places { all: 8, owner: 6, principal: 3 };
    let rig = Rig::start(Limits { waits, waits_max: 2, ..Limits::default() });
    let wait = r#"{"jsonrpc":"2.0","id":1,"method":"tasks.wait","params":{}}"#;
    let mut clients: Vec<Client> = (0..3).map(|_| rig.authenticated()).collect();
    clients[0].send(wait);
    clients[0].send(wait);
    assert!(clients[0].ask(wait)["error"]["data"]["detail"].as_str().unwrap().contains("this connection"));
    clients[1].send(wait);
    // Frames begin in the order of their arrival: with this answer the wait before it has its place.
    let echo = r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}"#;
    assert_eq!(clients[1].ask(echo)["id"], 2);
    let told = clients[2].ask(wait);
    assert_eq!(told["error"]["data"]["code"], "backpressure", "{told}");
    let release = r#"{"jsonrpc":"2.0","id":3,"method":"release","params":{}}"#;
    clients[2].send(release);
    assert_eq!(serde_json::from_str::<Value>(&clients[0].line()).unwrap()["result"], "released");
    rig.finish();
}

#[test]
fn connections_that_do_not_authenticate_give_way() {
    let rig = Rig::start(Limits { connections_max: 4, ..Limits::default() });
    let mut known = rig.authenticated();
    let mut silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(rig.socket()).unwrap()).collect();
    let mut other = rig.authenticated();
    let echo = r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}"#;
    assert_eq!((known.ask(echo)["id"].as_i64(), other.ask(echo)["id"].as_i64()), (Some(2), Some(2)));
    let mut nothing = Vec::new();
    let _ = io::Read::read_to_end(&mut silent.remove(0), &mut nothing);
    assert!(nothing.is_empty(), "the first that said nothing was closed");
    rig.finish();
}
