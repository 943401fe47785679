//! The `http` resolver against a real service that lies, drips, redirects and floods.

use super::{
    looking::{canonical, found, look, look_within, question, resolver, said, try_resolver, value},
    service::{Service, response},
};
use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use threadmesh_adapters::resolvers::{HttpResolver, HttpSettings, Names};
use threadmesh_runtime::resolver::{DeclaredResolver, Fact, Question, Resolver};

fn source(service: &Service, more: &str) -> DeclaredResolver {
    resolver(&format!("kind = \"http\"\norigin = {:?}\n{more}", service.origin()))
}

/// What one answer is taken for.
fn said_of(answer: impl Into<Vec<u8>>) -> String {
    let service = Service::answering(answer);
    let said = said(&look(&source(&service, ""), "/x"));
    assert_eq!(service.seen().len(), 1, "asked once, and never again");
    said
}

#[test]
fn an_answer_is_found_with_its_digest_and_values_and_nothing_is_given_away() {
    let service = Service::answering(response(200, r#"{"status":"live","at":{"n":2.50}}"#));
    let source = source(&service, "");
    let fact = found(value(&source, "/v1/deployments/web?revision=7&x=..", "/at"));
    assert_eq!(fact.value.as_deref(), Some(r#"{"n":2.5}"#));
    assert_eq!((fact.length, fact.digest.len()), (33, 71));
    let seen = service.seen();
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/v1/deployments/web?revision=7&x=.."));
    assert_eq!(seen[0].body, "");
    let mut names: Vec<&str> = seen[0].headers.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "cache-control", "host", "user-agent"], "no credential, no cookie");
    let odd = Service::answering(response(200, r#"{"a":1,"a":2}"#));
    assert_eq!(said(&value(&self::source(&odd, ""), "/", "/a")), "refused content-not-json");
}

#[test]
fn each_answer_but_a_whole_one_has_its_own_reason() {
    let with = |head: &str, body: &str| format!("HTTP/1.1 200 X\r\nContent-Length: 2\r\n{head}\r\n\r\n{body}");
    let cases = [
        ("found", response(200, "")),
        ("found", with("Age: 0", "{}")),
        ("absent", response(404, "{}")),
        ("absent", response(410, "")),
        ("refused status", response(201, "{}")),
        ("refused status", response(206, "{}")),
        ("refused status", response(401, "")),
        ("refused status", response(403, "")),
        ("unreachable status", response(429, "")),
        ("unreachable status", response(500, "{}")),
        ("unreachable status", response(503, "")),
        ("refused content-encoding", with("Content-Encoding: gzip", "{}")),
        ("refused cached", with("Age: 7", "{}")),
        ("unreachable connection", with("X: y", "{")),
        ("unreachable connection", String::new()),
        ("unreachable connection", "SSH-2.0-nothing\r\n\r\n".into()),
        ("unreachable connection", format!("HTTP/1.1 200 X\r\nX: {}\r\n\r\n", "x".repeat(100_000))),
    ];
    for (expected, answer) in cases {
        let shown: String = answer.chars().take(60).collect();
        assert_eq!(said_of(answer), expected, "{shown:?}");
    }
}

#[test]
fn redirects_are_refused_and_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Service::answering(response(200, "{}"));
        let head = format!("HTTP/1.1 {status} X\r\nLocation: {}/\r\nContent-Length: 0\r\n\r\n", elsewhere.origin());
        assert_eq!(said_of(head), "refused redirect", "{status}");
        assert!(elsewhere.seen().is_empty(), "{status}");
    }
}

#[test]
fn no_address_leaves_the_origin() {
    let service = Service::answering(response(200, "{}"));
    let source = source(&service, "");
    let outside = [
        "x",
        "//elsewhere.example/",
        "http://elsewhere.example/",
        "@elsewhere.example/",
        ":80/",
        ".elsewhere.example/",
        "/../x",
        "/a/../x",
        "/a/..",
        "/./x",
        "/%2e%2e/x",
        "/.%2E/x",
        "/a%2f..%2fx",
        "/a%5c..",
        "/..?q",
    ];
    for address in outside {
        assert_eq!(said(&look(&source, address)), "refused outside-origin", "{address}");
    }
    for address in ["/a b", "/a\\..\\b", "/a#b", "/a\r\nX: y", "/\u{e4}", "\\\\elsewhere\\x", "/a\"b"] {
        assert_eq!(said(&look(&source, address)), "refused address-malformed", "{address:?}");
    }
    assert!(service.seen().is_empty());
    assert_eq!(said(&look(&source, "/a..b/.c/...?u=http://x/../y")), "found");
}

#[test]
fn a_gibibyte_is_too_large_without_being_read() {
    let announced = Service::start(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 1073741824\r\n\r\n");
    });
    assert_eq!(said(&look(&source(&announced, ""), "/")), "too-large");

    // Not announced: it is cut off soon after the bound.
    let (sender, sent) = mpsc::channel();
    let sender = Mutex::new(sender);
    let flooding = Service::start(move |_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n");
        let (chunk, mut count) = ([b' '; 64 * 1024], 0_u64);
        while count < 1 << 30 && stream.write_all(&chunk).is_ok() {
            count += chunk.len() as u64;
        }
        let _ = sender.lock().unwrap().send(count);
    });
    assert_eq!(said(&look(&source(&flooding, ""), "/")), "too-large");
    let sent = sent.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(sent < 64 << 20, "{sent} bytes were taken");

    let exact = Service::answering(response(200, "0123456789"));
    assert_eq!(said(&look(&source(&exact, "bytes_max = 10"), "/")), "found");
    assert_eq!(said(&look(&source(&exact, "bytes_max = 9"), "/")), "too-large");
    let tighter = Question { bytes_max: 9, ..question("/") };
    assert_eq!(said(&look_within(&source(&exact, ""), &tighter, Duration::from_secs(10))), "too-large");
}

#[test]
fn silence_and_drops_end_at_the_deadline() {
    let start = Instant::now();
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let silent = Service::start(move |_, stream| {
        let _ = held.lock().unwrap().recv();
        drop(stream);
    });
    assert_eq!(said(&look(&source(&silent, "deadline_ms = 300"), "/")), "unreachable deadline");
    drop(release);

    let drip = |head: &'static [u8]| {
        Service::start(move |_, mut stream| {
            let _ = stream.write_all(head);
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let heads: [&'static [u8]; 3] = [
        b"HTTP/1.1 200 X\r\nContent-Length: 100000\r\n\r\n",
        b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 X\r\nX: ",
    ];
    for head in heads {
        let service = drip(head);
        assert_eq!(said(&look(&source(&service, "deadline_ms = 300"), "/")), "unreachable deadline");
    }
    assert!(start.elapsed() < Duration::from_secs(30), "dripping does not prolong it");

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = resolver(&format!("kind = \"http\"\norigin = \"http://{closed}\""));
    assert_eq!(said(&look(&closed, "/")), "unreachable connection");
}

/// A directory that gives each answer of a list once, and the last one for ever.
struct Changing {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Names for Changing {
    fn look_up(&self, host: &str, _: Duration) -> io::Result<Vec<IpAddr>> {
        assert_eq!(host, "evidence.example");
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        Ok(self.answers[at].clone())
    }
}

/// A resolver for the port of a service under a name that leads to these addresses, one ask after the other.
fn named(service: &Service, allow_private: bool, answers: Vec<Vec<IpAddr>>) -> HttpResolver {
    let port = service.origin().rsplit(':').next().unwrap().to_owned();
    let origin = format!("http://evidence.example:{port}");
    let settings = HttpSettings { origin, allow_plaintext: true, allow_private, tls_ca_pem: None };
    let names = Arc::new(Changing { answers, asked: AtomicUsize::new(0) });
    HttpResolver::with_names(&settings, canonical(), names).unwrap()
}

fn ask(resolver: &HttpResolver) -> Fact {
    resolver.look(&Question { bytes_max: 1_000, ..question("/") }, Instant::now() + Duration::from_millis(500))
}

#[test]
fn a_name_that_leads_inside_is_refused_whenever_it_does() {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
    let multicast: IpAddr = "224.0.0.1".parse().unwrap();
    let service = Service::answering(response(200, "{}"));
    for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "::ffff:127.0.0.1"] {
        let resolver = named(&service, false, vec![vec![inside.parse().unwrap()]]);
        assert_eq!(said(&ask(&resolver)), "refused address-not-allowed", "{inside}");
    }
    // Allowed at the first ask, not at the second.
    let rebinding = named(&service, true, vec![vec![here], vec![mapped], vec![multicast], vec![here]]);
    assert_eq!(said(&ask(&rebinding)), "found");
    assert_eq!(said(&ask(&rebinding)), "refused address-not-allowed");
    assert_eq!(said(&ask(&rebinding)), "refused address-not-allowed");
    assert_eq!(said(&ask(&rebinding)), "found");
    assert_eq!(service.seen().len(), 2);
    // One forbidden address among others spoils the name.
    let mixed = named(&service, true, vec![vec![here, multicast]]);
    assert_eq!(said(&ask(&mixed)), "refused address-not-allowed");
    let nowhere = named(&service, true, vec![vec![]]);
    assert_eq!(said(&ask(&nowhere)), "unreachable connection");
    assert_eq!(service.seen().len(), 2);
}

#[test]
fn this_machine_and_private_networks_need_the_operators_word() {
    let service = Service::answering(response(200, "{}"));
    let port = service.origin().rsplit(':').next().unwrap().to_owned();
    let by_name = resolver(&format!("kind = \"http\"\norigin = \"http://localhost:{port}\""));
    assert_eq!(said(&look(&by_name, "/")), "found", "localhost is this machine");
    let private = "kind = \"http\"\norigin = \"https://10.255.255.1\"";
    assert_eq!(said(&look(&resolver(private), "/")), "refused address-not-allowed");
    assert!(try_resolver("kind = \"http\"\norigin = \"http://10.255.255.1\"").unwrap_err().contains("plain http://"));
    let nowhere = resolver("kind = \"http\"\norigin = \"https://no-such-host.invalid\"\ndeadline_ms = 5000");
    assert!(said(&look(&nowhere, "/")).starts_with("unreachable"));
}
