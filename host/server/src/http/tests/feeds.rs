//! Streams whose cursors are not what they should be, and clients that are slow.

use super::super::feed::{Feed, Item, Start, Subject, TaskRef};
use super::super::pool::{Kind as PlaceKind, Pool};
use super::super::{App, health};
use super::*;

/// The shared state of a server, without its port; `closing` ends it.
struct Bench {
    rig: Rig,
    app: Arc<App>,
    closing: watch::Sender<bool>,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn new(limits: HttpLimits) -> Self {
        let rig = Rig::start(limits);
        let (closing, closed) = watch::channel(false);
        let app = Arc::new(App {
            service: Arc::clone(&rig.stand) as Arc<dyn Service>,
            gate: Gate::new(Arc::clone(&rig.book), None),
            names: Names::new(rig.address, false, &[], &[]),
            limits,
            pool: Pool::new(&limits),
            health: health::Health::default(),
            closing: closed,
            live: watch::Sender::new(0),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Bench { rig, app, closing, runtime }
    }

    fn events(&self, cursors: &[u64]) {
        cursors.clone_into(&mut self.rig.stand.events.lock().unwrap());
    }

    fn start(&self, after: u64) -> Result<Feed, String> {
        self.from(Start::After(after))
    }

    fn from(&self, start: Start) -> Result<Feed, String> {
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", self.rig.tokens[0]).parse().unwrap());
        let caller = self.app.gate.admit_request(&headers).unwrap();
        let place = self.app.pool.enter(PlaceKind::Wait, &caller).unwrap();
        let task = TaskRef { task_id: "t".into(), incarnation_id: "i".into() };
        self.runtime.block_on(Feed::start(&self.app, &caller, place, Subject { task, owner: None }, start))
    }

    fn next(&self, feed: &mut Feed) -> Item {
        self.runtime.block_on(feed.next())
    }
}

fn event(cursor: u64) -> Item {
    Item::Event(cursor, json!({"cursor": cursor}).to_string())
}

fn end(reason: &str, after: u64) -> Item {
    Item::End { reason: reason.into(), after }
}

#[test]
fn what_is_missing_is_named() {
    let bench = Bench::new(HttpLimits::default());
    bench.events(&[1, 2, 5, 6, 9]);
    let mut feed = bench.start(0).unwrap();
    let seen: Vec<Item> = (0..7).map(|_| bench.next(&mut feed)).collect();
    let gaps = [Item::Gap { from: 3, to: 4, after: 4 }, Item::Gap { from: 7, to: 8, after: 8 }];
    let [first, second] = gaps;
    assert_eq!(seen, [event(1), event(2), first, event(5), event(6), second, event(9)]);
    let mut feed = bench.start(3).unwrap();
    assert_eq!(bench.next(&mut feed), Item::Gap { from: 4, to: 4, after: 4 });
    assert_eq!(bench.next(&mut feed), event(5));
}

#[test]
fn a_cursor_that_is_ahead_is_a_gap_back_to_the_last_event() {
    let bench = Bench::new(HttpLimits::default());
    for head in [0, 1, 2, 7, 100] {
        bench.events(&(1..=head).collect::<Vec<u64>>());
        for after in [head + 1, head + 2, head + 1_000, (1 << 53) - 1] {
            let mut feed = bench.start(after).unwrap();
            assert_eq!(bench.next(&mut feed), Item::Gap { from: head + 1, to: after, after: head }, "{head} {after}");
            bench.rig.stand.events.lock().unwrap().push(head + 1);
            assert_eq!(bench.next(&mut feed), event(head + 1));
            bench.events(&(1..=head).collect::<Vec<u64>>());
        }
        let mut feed = bench.start(head).unwrap();
        bench.rig.stand.events.lock().unwrap().push(head + 1);
        assert_eq!(bench.next(&mut feed), event(head + 1), "there is no gap at the head itself");
    }
}

#[test]
fn a_stream_from_now_on_begins_behind_the_last_event() {
    let bench = Bench::new(HttpLimits::default());
    bench.events(&[1, 2, 3]);
    let mut feed = bench.from(Start::Now).unwrap();
    bench.rig.stand.events.lock().unwrap().push(4);
    assert_eq!(bench.next(&mut feed), event(4));
    for (text, start) in [("now", Some(Start::Now)), ("0", Some(Start::After(0))), ("7", Some(Start::After(7)))] {
        assert_eq!(Start::parse(text), start);
    }
    for text in ["", "-1", "+1", "1.0", "Now", "9007199254740992", "99999999999999999999"] {
        assert_eq!(Start::parse(text), None, "{text}");
    }
}

#[test]
fn a_stream_that_is_silent_says_so() {
    let bench = Bench::new(HttpLimits { heartbeat_ms: 20, ..HttpLimits::default() });
    let mut feed = bench.start(0).unwrap();
    assert_eq!([bench.next(&mut feed), bench.next(&mut feed)], [Item::Quiet, Item::Quiet]);
    bench.events(&[1]);
    let next = std::iter::from_fn(|| Some(bench.next(&mut feed))).find(|item| *item != Item::Quiet);
    assert_eq!(next, Some(event(1)), "what was waited for meanwhile is not lost");
}

#[test]
fn events_that_were_read_are_read_anew_after_a_while() {
    let bench = Bench::new(HttpLimits { page_ms_max: 1, ..HttpLimits::default() });
    bench.events(&[1, 2, 3]);
    let mut feed = bench.start(0).unwrap();
    assert_eq!(bench.next(&mut feed), event(1));
    std::thread::sleep(Duration::from_millis(5));
    *bench.rig.stand.refusal.lock().unwrap() = Some("task-retired");
    assert_eq!(bench.next(&mut feed), end("task-retired", 1));
    let bench = Bench::new(HttpLimits { page_ms_max: 60_000, ..HttpLimits::default() });
    bench.events(&[1, 2, 3]);
    let mut feed = bench.start(0).unwrap();
    assert_eq!(bench.next(&mut feed), event(1));
    *bench.rig.stand.refusal.lock().unwrap() = Some("task-retired");
    assert_eq!([bench.next(&mut feed), bench.next(&mut feed)], [event(2), event(3)], "a page is a page");
    assert_eq!(bench.next(&mut feed), end("task-retired", 3));
}

#[test]
fn nothing_is_handed_out_once_the_credential_is_gone() {
    let bench = Bench::new(HttpLimits::default());
    bench.events(&[1, 2, 3]);
    let mut feed = bench.start(0).unwrap();
    assert_eq!(bench.next(&mut feed), event(1));
    let path = bench.rig.folder.path().join("t.json");
    tokens::update(&path, |file| file.remove("alice")).unwrap();
    assert_eq!(bench.next(&mut feed), end("authentication-required", 1), "although more had been read");
}

#[test]
fn a_slow_client_is_ended_and_resumes() {
    let bench = Bench::new(HttpLimits { slow_ms_max: 50, ..HttpLimits::default() });
    bench.events(&[1, 2, 3]);
    let mut feed = bench.start(0).unwrap();
    assert_eq!(bench.next(&mut feed), event(1));
    std::thread::sleep(Duration::from_millis(80));
    assert_eq!(bench.next(&mut feed), end("slow-consumer", 1));
    let mut feed = bench.start(1).unwrap();
    assert_eq!([bench.next(&mut feed), bench.next(&mut feed)], [event(2), event(3)]);
}

#[test]
fn a_stream_ends_with_its_server_and_gives_its_place_back() {
    let bench = Bench::new(HttpLimits { caller_waits_max: 1, ..HttpLimits::default() });
    let mut feed = bench.start(0).unwrap();
    bench.closing.send_replace(true);
    assert_eq!(bench.next(&mut feed), end("shutting-down", 0));
    drop(feed);
    let limit = std::time::Instant::now() + Duration::from_secs(20);
    let scope = |bench: &Bench| {
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", bench.rig.tokens[0]).parse().unwrap());
        bench.app.gate.admit_request(&headers).unwrap()
    };
    while bench.app.pool.enter(PlaceKind::Wait, &scope(&bench)).is_err() {
        assert!(std::time::Instant::now() < limit, "the place is not given back");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn health_says_no_before_the_end() {
    let bench = Bench::new(HttpLimits::default());
    let ready = || bench.runtime.block_on(health::ready(State(Arc::clone(&bench.app)))).status().as_u16();
    assert_eq!(ready(), 200);
    bench.closing.send_replace(true);
    assert_eq!(ready(), 503);
}

/// The events of `/events`, up to the end of the stream.
fn pushed(input: &mut impl BufRead) -> (Vec<u64>, Option<Value>) {
    let (mut cursors, mut last) = (Vec::new(), None);
    for line in input.lines() {
        // A connection that was cut off may break in the middle.
        let Ok(line) = line else { break };
        if let Some(id) = line.strip_prefix("id: ") {
            cursors.push(id.parse().unwrap());
        }
        last = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok()).or(last);
    }
    (cursors, last)
}

#[test]
fn a_client_that_reads_late_is_told_where_to_resume() {
    let rig = Rig::start(HttpLimits { slow_ms_max: 100, write_ms_max: 60_000, ..HttpLimits::default() });
    let all: Vec<u64> = (1..=400_000).collect();
    all.clone_into(&mut rig.stand.events.lock().unwrap());
    let mut stream = rig.connect();
    let head = format!(
        "GET /events?taskId=t&incarnationId=i HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        rig.tokens[0]
    );
    stream.write_all(head.as_bytes()).unwrap();
    // Nothing is read until the server cannot send any more, and for longer than a client may take.
    let mut seen = 0;
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = rig.stand.pages.load(SeqCst);
        if now == seen && now > 0 {
            break;
        }
        seen = now;
    }
    let (cursors, last) = pushed(&mut BufReader::new(stream));
    let count = cursors.len();
    assert!(count < all.len(), "the server held {count} events for a client that read nothing");
    assert_eq!(cursors, all[..count], "what came is whole and in order");
    assert_eq!(last, Some(json!({"reason": "slow-consumer", "after": count})));
    rig.finish();
}

#[test]
fn a_client_that_reads_nothing_is_cut_off() {
    let rig = Rig::start(HttpLimits { caller_waits_max: 1, write_ms_max: 200, ..HttpLimits::default() });
    (1..=400_000).collect::<Vec<u64>>().clone_into(&mut rig.stand.events.lock().unwrap());
    let head = format!(
        "GET /events?taskId=t&incarnationId=i HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        rig.tokens[0]
    );
    let mut deaf = rig.connect();
    deaf.write_all(head.as_bytes()).unwrap();
    let limit = std::time::Instant::now() + Duration::from_secs(20);
    while rig.stand.pages.load(SeqCst) == 0 {
        assert!(std::time::Instant::now() < limit);
    }
    assert!(rig.ask(0, "wait").0.starts_with("HTTP/1.1 429 "), "it has the only place");
    loop {
        rig.stand.release();
        if rig.ask(0, "wait").0.starts_with("HTTP/1.1 200 ") {
            break;
        }
        assert!(std::time::Instant::now() < limit, "its place is not given back");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(deaf);
    rig.finish();
}

#[test]
fn a_web_socket_that_says_nothing_is_closed() {
    let rig = Rig::start(HttpLimits { heartbeat_ms: 40, pulse_ms: 10, ..HttpLimits::default() });
    let mut stream = rig.connect();
    let head = format!(
        "GET /stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        rig.tokens[0]
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut input = BufReader::new(stream);
    assert!(read(&mut input).0.starts_with("HTTP/1.1 101 "));
    let mut frames = Vec::new();
    input.read_to_end(&mut frames).unwrap();
    assert!(frames.starts_with(&[0x89, 0]), "it is asked whether it lives: {frames:?}");
    assert!(frames.ends_with(b"\x03\xe9silent"), "{frames:?}");
    rig.finish();
}

#[test]
fn a_stream_that_is_refused_does_not_start() {
    let bench = Bench::new(HttpLimits::default());
    *bench.rig.stand.refusal.lock().unwrap() = Some("not-visible");
    for after in [0, 1, 1_000] {
        assert!(bench.start(after).err().unwrap().contains("not-visible"));
    }
}
