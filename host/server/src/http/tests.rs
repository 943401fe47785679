//! The HTTP server over a stand-in for the core: limits, slow clients, failures, and streams that go wrong.

mod feeds;
mod limits;

use super::*;
use crate::tokens::{self, Entry, Kind, Principal, TokenBook};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{Answer, Call, Frame, error};

/// Answers `echo`, panics at `panic`, waits at `hold` and `wait` until `release`, and has a stream of events.
#[derive(Default)]
struct Stand {
    released: Mutex<bool>,
    changed: Condvar,
    /// Calls that hold now.
    holding: AtomicU64,
    sick: AtomicBool,
    /// How often health was looked at.
    looks: AtomicU64,
    /// The cursors of the events that there are.
    events: Mutex<Vec<u64>>,
    /// How many pages of them were read.
    pages: AtomicU64,
    /// With which code the stream is refused.
    refusal: Mutex<Option<&'static str>>,
}

impl Stand {
    fn hold(&self, cancel: &Cancel) -> Answer {
        self.holding.fetch_add(1, SeqCst);
        let mut released = self.released.lock().unwrap();
        while !*released && !cancel.is_cancelled() {
            released = self.changed.wait_timeout(released, Duration::from_millis(5)).unwrap().0;
        }
        self.holding.fetch_sub(1, SeqCst);
        Answer::Result("\"released\"".to_owned())
    }

    fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn page(&self, params: &str, cancel: &Cancel) -> Answer {
        let params: Value = serde_json::from_str(params).unwrap();
        let number = |name: &str| params[name].as_u64().unwrap();
        self.pages.fetch_add(1, SeqCst);
        let patience = std::time::Instant::now() + Duration::from_millis(number("timeoutMs"));
        loop {
            if let Some(code) = *self.refusal.lock().unwrap() {
                return Answer::Error(error(code, ""));
            }
            let known = self.events.lock().unwrap();
            let new = known[known.partition_point(|cursor| *cursor <= number("afterCursor"))..].iter();
            let new: Vec<Value> = new.take(number("limit") as usize).map(|cursor| json!({"cursor": cursor})).collect();
            let head = known.last().copied().unwrap_or(0);
            drop(known);
            if !new.is_empty() || cancel.is_cancelled() || std::time::Instant::now() >= patience {
                return Answer::Result(
                    json!({"method": "tasks.wait", "value": {"events": new, "head": head}}).to_string(),
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Service for Stand {
    fn split(&self, text: &str) -> Result<Frame, String> {
        let value: Value = serde_json::from_str(text).map_err(|_| error("json-syntax", "no JSON"))?;
        let call = Call {
            id: value.get("id").map(Value::to_string),
            method: value["method"].as_str().unwrap_or_default().to_owned(),
            params: value["params"].to_string(),
            response: None,
        };
        Ok(Frame { batch: false, calls: vec![call] })
    }

    fn call(&self, entry: &Entry, method: &str, params: &str) -> Answer {
        self.call_until(entry, method, params, &Cancel::default())
    }

    fn call_until(&self, _: &Entry, method: &str, params: &str, cancel: &Cancel) -> Answer {
        match method {
            "echo" => Answer::Result(params.to_owned()),
            "panic" => panic!("as asked"),
            "hold" | "wait" => self.hold(cancel),
            "tasks.wait" => self.page(params, cancel),
            code => Answer::Error(error(code, "as asked")),
        }
    }

    fn waits(&self, method: &str, _: &str) -> bool {
        method == "wait" || method == "tasks.wait"
    }

    fn healthy(&self) -> bool {
        self.looks.fetch_add(1, SeqCst);
        !self.sick.load(SeqCst)
    }
}

/// A server, and the tokens of two users.
struct Rig {
    stand: Arc<Stand>,
    book: Arc<TokenBook>,
    tokens: [String; 2],
    folder: tempfile::TempDir,
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Rig {
    fn start(limits: HttpLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        let user = |id: &str| Principal {
            tenant: "default".into(),
            kind: Kind::User,
            id: id.into(),
            incarnation: None,
            owner: None,
            worker: None,
        };
        let tokens = ["alice", "bob"].map(|name| {
            let made = tokens::update(&path, |file| file.create(&path, name, user(name))).unwrap();
            made.text().to_owned()
        });
        let book = Arc::new(TokenBook::open(&path).unwrap());
        let stand = Arc::new(Stand::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (gate, names) = (Gate::new(Arc::clone(&book), None), Names::new(address, false, &[], &[]));
        let service = Arc::clone(&stand) as Arc<dyn Service>;
        let server = HttpServer { service, gate, names, limits, tls: None, more: Some(more()) };
        let stop = Stop::default();
        let stopped = stop.clone();
        let thread = Some(std::thread::spawn(move || server.serve(listener, &stopped)));
        Rig { stand, book, tokens, folder, address, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A request of one call as user 0 or 1.
    fn request(&self, user: usize, method: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
        let (token, length) = (&self.tokens[user], body.len());
        format!(
            "POST /rpc HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
    }

    /// Sends a request on a connection of its own, and does not read the answer.
    fn begin(&self, user: usize, method: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(self.request(user, method).as_bytes()).unwrap();
        stream
    }

    /// Sends a request; the head and the body of the answer.
    fn ask(&self, user: usize, method: &str) -> (String, String) {
        read(&mut BufReader::new(self.begin(user, method)))
    }

    fn get(&self, path: &str) -> (String, String) {
        let mut stream = self.connect();
        let token = &self.tokens[0];
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        read(&mut BufReader::new(stream))
    }

    /// Waits until so many calls hold.
    fn until_holding(&self, count: u64) {
        let limit = std::time::Instant::now() + Duration::from_secs(20);
        while self.stand.holding.load(SeqCst) != count {
            assert!(std::time::Instant::now() < limit, "{} hold", self.stand.holding.load(SeqCst));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn finish(mut self) {
        self.stop.trigger();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

/// Another crate's endpoint, which says who calls.
fn more() -> Router {
    Router::new()
        .route("/more", get(async |axum::Extension(caller): axum::Extension<Caller>| caller.entry().name.clone()))
}

/// The head of an answer, and its body by its length.
fn read(input: &mut impl BufRead) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(input.read_line(&mut head).unwrap() > 0, "the connection ended: {head:?}");
    }
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    input.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[test]
fn a_handler_that_fails_fails_alone() {
    let rig = Rig::start(HttpLimits::default());
    let (head, body) = rig.ask(0, "panic");
    assert!(
        head.starts_with("HTTP/1.1 500 ") && body.contains("core-trap") && !body.contains("as asked"),
        "{head}{body}"
    );
    assert!(rig.ask(0, "echo").0.starts_with("HTTP/1.1 200 "));
    rig.finish();
}

#[test]
fn a_waiting_call_ends_with_its_credential_and_hands_out_nothing() {
    let rig = Rig::start(HttpLimits::default());
    let mut waiting = BufReader::new(rig.begin(0, "wait"));
    rig.until_holding(1);
    tokens::update(&rig.folder.path().join("t.json"), |file| file.remove("alice")).unwrap();
    let (head, body) = read(&mut waiting);
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("authentication-required"), "{head}{body}");
    rig.until_holding(0);
    let mut waiting = BufReader::new(rig.begin(1, "wait"));
    rig.until_holding(1);
    tokens::update(&rig.folder.path().join("t.json"), |file| file.remove("bob")).unwrap();
    rig.stand.release();
    let (head, body) = read(&mut waiting);
    assert!(body.contains("authentication-required") && !body.contains("released"), "{head}{body}");
    rig.finish();
}

#[test]
fn faults_of_the_server_have_a_status() {
    let rig = Rig::start(HttpLimits::default());
    for (code, status) in [
        ("store-unavailable", "503"),
        ("clock-behind", "503"),
        ("core-trap", "500"),
        ("record-damaged", "500"),
        ("principal-mismatch", "200"),
        ("backpressure", "200"),
        ("store-outcome-unknown", "200"),
    ] {
        let (head, body) = rig.ask(0, code);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")) && body.contains(code), "{code}: {head}{body}");
        assert_eq!(head.contains("retry-after: 1"), status == "503", "{code}: {head}");
    }
    rig.finish();
}

#[test]
fn further_endpoints_stand_behind_the_same_gate() {
    let rig = Rig::start(HttpLimits::default());
    assert_eq!(rig.get("/more").1, "alice");
    let mut stream = rig.connect();
    stream.write_all(b"GET /more HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(read(&mut BufReader::new(stream)).0.starts_with("HTTP/1.1 401 "));
    rig.finish();
}

#[test]
fn a_state_of_health_is_looked_at_now_and_then() {
    let rig = Rig::start(HttpLimits { health_ms: 60_000, ..HttpLimits::default() });
    for _ in 0..5 {
        assert!(rig.get("/health/ready").0.starts_with("HTTP/1.1 200 "));
    }
    assert_eq!(rig.stand.looks.load(SeqCst), 1);
    rig.finish();
    let rig = Rig::start(HttpLimits { health_ms: 0, ..HttpLimits::default() });
    rig.stand.sick.store(true, SeqCst);
    let (head, body) = rig.get("/health/ready");
    assert!(head.starts_with("HTTP/1.1 503 ") && body == "{\"status\":\"unavailable\"}", "{head}{body}");
    assert!(rig.get("/health/live").0.starts_with("HTTP/1.1 200 "), "it lives all the same");
    rig.stand.sick.store(false, SeqCst);
    assert!(rig.get("/health/ready").0.starts_with("HTTP/1.1 200 "));
    rig.finish();
}

#[test]
fn requests_under_way_are_answered_before_the_end() {
    let mut rig = Rig::start(HttpLimits { drain_ms_max: 20_000, ..HttpLimits::default() });
    let held = rig.begin(0, "hold");
    let mut idle = BufReader::new(rig.begin(0, "echo"));
    read(&mut idle);
    rig.until_holding(1);
    rig.stop.trigger();
    let mut rest = Vec::new();
    assert!(idle.read_to_end(&mut rest).is_ok_and(|_| rest.is_empty()), "an idle connection is closed");
    rig.stand.release();
    assert!(read(&mut BufReader::new(held)).1.contains("released"));
    rig.thread.take().unwrap().join().unwrap().unwrap();
    assert!(TcpStream::connect(rig.address).is_err(), "nobody listens");
}
