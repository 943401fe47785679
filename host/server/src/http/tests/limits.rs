//! What is too much, and what is too slow.

use super::*;
use std::time::Instant;

fn status(answer: &(String, String)) -> &str {
    answer.0.split(' ').nth(1).unwrap()
}

#[test]
fn calls_beyond_the_limit_are_told_when_to_come_again() {
    let limits = HttpLimits { calls_max: 3, caller_calls_max: 2, ..HttpLimits::default() };
    let rig = Rig::start(limits);
    let held = [rig.begin(0, "hold"), rig.begin(0, "hold")];
    rig.until_holding(2);
    let caller = rig.ask(0, "echo");
    assert_eq!(status(&caller), "429");
    assert!(caller.1.contains("\"id\":1,"), "the call is known: {caller:?}");
    assert!(caller.0.contains("retry-after: 1") && caller.1.contains("backpressure"), "{caller:?}");
    assert_eq!(status(&rig.ask(1, "echo")), "200", "others have room");
    let third = rig.begin(1, "hold");
    rig.until_holding(3);
    let server = rig.ask(1, "echo");
    assert_eq!(status(&server), "503");
    assert!(server.0.contains("retry-after: 1") && server.1.contains("backpressure"), "{server:?}");
    assert_eq!(status(&rig.get("/health/live")), "200");
    rig.stand.release();
    for stream in held.into_iter().chain([third]) {
        assert!(read(&mut BufReader::new(stream)).1.contains("released"));
    }
    assert_eq!(status(&rig.ask(0, "echo")), "200", "places are given back");
    rig.finish();
}

#[test]
fn waits_have_an_allowance_of_their_own_and_keep_nobody_from_being_served() {
    let limits = HttpLimits { calls_max: 1, waits_max: 4, caller_waits_max: 3, ..HttpLimits::default() };
    let rig = Rig::start(limits);
    let mut waiting: Vec<TcpStream> = (0..3)
        .map(|count| {
            let stream = rig.begin(0, "wait");
            rig.until_holding(count + 1);
            stream
        })
        .collect();
    let full = rig.ask(0, "wait");
    assert!(status(&full) == "429" && full.1.contains("\"id\":1,"), "{full:?}");
    assert_eq!(status(&rig.get("/events?taskId=t&incarnationId=i")), "429", "a stream is a wait too");
    waiting.push(rig.begin(1, "wait"));
    rig.until_holding(4);
    assert_eq!(status(&rig.ask(1, "wait")), "503");
    assert_eq!(status(&rig.ask(0, "echo")), "200", "calls that do not wait are not concerned");
    drop(waiting.pop());
    rig.until_holding(3);
    let another = rig.begin(1, "wait");
    rig.until_holding(4);
    rig.stand.release();
    for stream in waiting.into_iter().chain([another]) {
        assert!(read(&mut BufReader::new(stream)).1.contains("released"));
    }
    rig.finish();
}

#[test]
fn connections_beyond_the_limit_are_turned_away() {
    let rig = Rig::start(HttpLimits { connections_max: 2, ..HttpLimits::default() });
    let mut open: Vec<TcpStream> = (0..2).map(|_| rig.begin(0, "hold")).collect();
    rig.until_holding(2);
    let away = rig.ask(0, "echo");
    assert_eq!(status(&away), "503");
    assert!(away.0.contains("retry-after: 1") && away.0.contains("connection: close"), "{away:?}");
    rig.stand.release();
    open.drain(..).for_each(|stream| assert!(read(&mut BufReader::new(stream)).1.contains("released")));
    let limit = Instant::now() + Duration::from_secs(20);
    while status(&rig.ask(0, "echo")) != "200" {
        assert!(Instant::now() < limit, "the place is given back");
        std::thread::sleep(Duration::from_millis(5));
    }
    rig.finish();
}

/// Issue of use: 512 connections that said nothing turned health to 503.
#[test]
fn connections_that_say_nothing_give_way() {
    let rig = Rig::start(HttpLimits { connections_max: 4, ..HttpLimits::default() });
    let held = rig.begin(0, "hold");
    rig.until_holding(1);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| rig.connect()).collect();
    silent.iter_mut().take(10).for_each(|stream| drop(stream.write_all(b"GET /health/live HTTP/1.1\r\n")));
    for _ in 0..3 {
        assert_eq!(status(&rig.get("/health/ready")), "200");
        assert_eq!(status(&rig.ask(1, "echo")), "200");
    }
    let mut first = silent.remove(0);
    let mut nothing = Vec::new();
    let _ = first.read_to_end(&mut nothing);
    assert!(nothing.is_empty(), "the first that said nothing was closed");
    rig.stand.release();
    assert!(read(&mut BufReader::new(held)).1.contains("released"), "who is being answered stays");
    rig.finish();
}

/// What a server does with bytes that come one by one.
fn trickle(rig: &Rig, first: &str) -> (String, Duration) {
    let mut stream = rig.connect();
    stream.write_all(first.as_bytes()).unwrap();
    let started = Instant::now();
    let mut copy = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        while copy.write_all(b"x").is_ok() && started.elapsed() < Duration::from_secs(15) {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut all = Vec::new();
    // The server may close while bytes of ours are under way.
    let _ = stream.read_to_end(&mut all);
    let elapsed = started.elapsed();
    drop(stream);
    writer.join().unwrap();
    (String::from_utf8(all).unwrap(), elapsed)
}

#[test]
fn whoever_sends_byte_by_byte_is_cut_off() {
    let rig = Rig::start(HttpLimits { head_ms_max: 300, body_ms_max: 300, ..HttpLimits::default() });
    let (_, elapsed) = trickle(&rig, "POST /rpc HTTP/1.1\r\nhost: localhost\r\nx-slow: ");
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    let request = rig.request(0, "echo").replace("content-length: ", "content-length: 9");
    let head = request.split("\r\n\r\n").next().unwrap();
    let (answer, elapsed) = trickle(&rig, &format!("{head}\r\n\r\n"));
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("body-slow"), "{answer}");
    let mut silent = rig.connect();
    let mut nothing = Vec::new();
    silent.read_to_end(&mut nothing).unwrap();
    assert!(nothing.is_empty(), "whoever says nothing is closed without a word");
    rig.finish();
}

#[test]
fn whoever_never_ends_a_handshake_is_cut_off() {
    let rig = Rig::start(HttpLimits::default());
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let [certificate, key] = [("cert.pem", certificate.pem()), ("key.pem", key.serialize_pem())].map(|(name, text)| {
        let path = rig.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        path
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = HttpServer {
        service: Arc::clone(&rig.stand) as Arc<dyn Service>,
        gate: Gate::new(Arc::clone(&rig.book), None),
        names: Names::new(address, true, &[], &[]),
        limits: HttpLimits { handshake_ms_max: 200, ..HttpLimits::default() },
        tls: Some(Tls::load(&certificate, &key).unwrap()),
        more: None,
    };
    let stop = rig.stop.clone();
    let thread = std::thread::spawn(move || server.serve(listener, &stop));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&[22, 3, 1, 0]).unwrap();
    let mut nothing = Vec::new();
    let _ = stream.read_to_end(&mut nothing).expect("the server closes");
    assert!(nothing.is_empty(), "{nothing:?}");
    rig.finish();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_client_that_is_gone_frees_its_place() {
    let rig = Rig::start(HttpLimits { caller_waits_max: 1, ..HttpLimits::default() });
    for _ in 0..5 {
        let stream = rig.begin(0, "wait");
        rig.until_holding(1);
        drop(stream);
        rig.until_holding(0);
    }
    rig.finish();
}
