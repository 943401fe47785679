use super::{
    service::{Service, response},
    *,
};
use std::{fs::Permissions, io::Write, net::TcpListener, os::unix::fs::PermissionsExt};

const RECEIPT: &str =
    r#"{"adapterOperationId":"op-1","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["https://example.com/op/1"]}"#;

fn submitted() -> String {
    format!(r#"{{"outcome":"submitted","receipt":{RECEIPT}}}"#)
}

fn target(service: &Service, more: &str) -> Profile {
    profile(&format!("kind = \"http\"\nsubmit_url = \"{}/ops\"\n{more}", service.origin()))
}

fn queried(service: &Service, more: &str) -> Profile {
    target(service, &format!("query_url = \"{}/ops/{{idempotencyKey}}\"\n{more}", service.origin()))
}

#[test]
fn a_call_is_posted_once_with_its_key_and_secrets() {
    let place = Place::new();
    let secret = place.path("secret");
    fs::write(&secret, "Bearer s3cret\n").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let service = Service::answering(response(201, &submitted()));
    let settings = format!(
        "kind = \"http\"\nsubmit_url = \"{}/s/{{session}}/ops\"\nheaders = {{ X-Team = \"blue\" }}\nsecret_headers = {{ Authorization = {secret:?} }}",
        service.origin()
    );
    let profile = profile(&settings);
    let call = submission("1");
    assert_eq!(word(&submit(&profile, &call)), "submitted");
    let seen = service.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", "/s/ses%2F1/ops"));
    let header = |name: &str| seen[0].headers.get(name).map(String::as_str);
    assert_eq!(header("idempotency-key"), Some("adp_1"));
    assert_eq!(header("authorization"), Some("Bearer s3cret"));
    assert_eq!(header("x-team"), Some("blue"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert!(seen[0].body.contains(&call.payload.text) && seen[0].body.contains(r#""submissionId":"sub_1""#));

    fs::set_permissions(&secret, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(word(&submit(&profile, &call)), "not-submitted secret-unreadable");
    fs::write(&secret, "a\nb").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(word(&submit(&profile, &call)), "not-submitted secret-unreadable");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn what_fails_before_the_first_byte_is_not_submitted() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = profile(&format!("kind = \"http\"\nsubmit_url = \"http://{closed}/\""));
    assert_eq!(word(&submit(&refused, &submission("1"))), "not-submitted not-connected");

    let nowhere = profile("kind = \"http\"\nsubmit_url = \"http://no-such-host.invalid/\"\nallow_plaintext = true");
    let outcome = submit_within(&nowhere, &submission("1"), Duration::from_secs(5));
    assert_eq!(word(&outcome), "not-submitted not-connected");

    let service = Service::answering(response(200, &submitted()));
    let no_tls = service.origin().replace("http:", "https:");
    let no_tls = profile(&format!("kind = \"http\"\nsubmit_url = \"{no_tls}/\""));
    let outcome = submit_within(&no_tls, &submission("1"), Duration::from_secs(5));
    assert_eq!(word(&outcome), "not-submitted not-connected");
    assert!(service.seen().is_empty());

    let mut dots = submission("1");
    dots.session = Some("..".into());
    let sessions = profile(&format!("kind = \"http\"\nsubmit_url = \"{}/{{session}}\"", service.origin()));
    assert_eq!(word(&submit(&sessions, &dots)), "not-submitted url");
    assert_eq!(word(&submit_within(&sessions, &submission("1"), Duration::ZERO)), "not-submitted not-connected");
    assert!(service.seen().is_empty());
}

#[test]
fn every_answer_but_a_receipt_is_unknown() {
    let cases = [
        ("unknown answer-malformed", response(200, "thanks")),
        ("unknown answer-malformed", response(204, "")),
        ("unknown answer-malformed", response(200, &format!("{}{}", submitted(), submitted()))),
        ("unknown answer-malformed", response(200, &submitted().replace("op-1", "op-1\",\"extra\":\"1"))),
        ("unknown receipt-malformed", response(200, &submitted().replace("op-1", &"x".repeat(501)))),
        ("unknown body-unreadable", response(200, &"x".repeat(70_000))),
        ("unknown body-unreadable", response(200, &submitted()).replace("Content-Length: ", "Content-Length: 9")),
        ("unknown refusal-not-trusted", response(200, r#"{"outcome":"not-submitted"}"#)),
        ("unknown status", response(400, "")),
        ("unknown status", response(401, "")),
        ("unknown status", response(404, "")),
        ("unknown status", response(409, &submitted())),
        ("unknown status", response(422, "")),
        ("unknown status", response(500, &submitted())),
        ("unknown status", response(503, "")),
        ("unknown connection-lost", String::new()),
        ("unknown connection-lost", "HTTP/1.1 2".into()),
        ("unknown connection-lost", "SSH-2.0-nothing\r\n\r\n".into()),
        ("unknown connection-lost", format!("HTTP/1.1 200 X\r\nX: {}\r\n\r\n", "x".repeat(100_000))),
    ];
    for (expected, answer) in cases {
        let shown: String = answer.chars().take(60).collect();
        let service = Service::answering(answer);
        assert_eq!(word(&submit(&target(&service, ""), &submission("1"))), expected, "{shown:?}");
        assert_eq!(service.seen().len(), 1, "never twice: {shown:?}");
    }
}

#[test]
fn only_named_status_codes_are_refusals() {
    let service = Service::answering(response(422, "no"));
    let profile = target(&service, "refusal_status = [422]");
    assert_eq!(word(&submit(&profile, &submission("1"))), "not-submitted status-refused");
    let service = Service::answering(response(400, "no"));
    let profile = target(&service, "refusal_status = [422]");
    assert_eq!(word(&submit(&profile, &submission("1"))), "unknown status");
}

#[test]
fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Service::answering(response(200, &submitted()));
        let head = format!("HTTP/1.1 {status} X\r\nLocation: {}/\r\nContent-Length: 0\r\n\r\n", elsewhere.origin());
        let service = Service::answering(head);
        let profile = queried(&service, "");
        assert_eq!(word(&submit(&profile, &submission("1"))), "unknown redirect-refused", "{status}");
        assert_eq!(answer(&query(&profile, &submission("1"))), "unanswerable status", "{status}");
        assert!(elsewhere.seen().is_empty(), "{status}");
    }
}

#[test]
fn a_service_that_hangs_or_drips_is_given_up_at_the_deadline() {
    let short = Duration::from_millis(400);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let silent = Service::start(move |_, stream| {
        let _ = held.lock().unwrap().recv();
        drop(stream);
    });
    let profile = target(&silent, "");
    assert_eq!(word(&submit_within(&profile, &submission("1"), short)), "unknown connection-lost");
    drop(release);

    let dripping = Service::start(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100000\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let start = Instant::now();
    let outcome = submit_within(&target(&dripping, ""), &submission("1"), short);
    assert_eq!(word(&outcome), "unknown body-unreadable");
    assert!(start.elapsed() < Duration::from_secs(30), "dripping does not prolong it");
}

#[test]
fn a_reset_after_the_effect_is_unknown() {
    let service = Service::start(|_, stream| {
        // Unread or not, the connection ends with a reset instead of an answer.
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        drop(stream);
    });
    assert_eq!(word(&submit(&target(&service, ""), &submission("1"))), "unknown connection-lost");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn queries_prove_only_what_the_service_says_about_the_key() {
    let found = format!(r#"{{"result":"found","idempotencyKey":"adp_1","receipt":{RECEIPT}}}"#);
    let cases = [
        ("found", response(200, &found)),
        ("unanswerable key-mismatch", response(200, &found.replace("adp_1", "adp_2"))),
        ("unanswerable answer-malformed", response(200, "[]")),
        ("unanswerable status", response(201, &found)),
        ("absent-now target-absent-now", response(200, r#"{"result":"absent-now"}"#)),
        ("absent-final", response(200, r#"{"result":"absent-final","idempotencyKey":"adp_1"}"#)),
        ("absent-now status-absent-now", response(404, "")),
        ("absent-now status-absent-now", response(410, "")),
        ("unanswerable status", response(500, "")),
        ("unanswerable connection-lost", String::new()),
    ];
    for (expected, text) in cases {
        let service = Service::answering(text.clone());
        let outcome = query(&queried(&service, ""), &submission("1"));
        assert_eq!(answer(&outcome), expected, "{text}");
        let seen = service.seen();
        assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/ops/adp_1"));
        assert_eq!(seen[0].headers["idempotency-key"], "adp_1");
    }
    let service = Service::answering(response(410, ""));
    let profile = queried(&service, "absent_final = true\nabsent_final_status = [410]");
    assert_eq!(answer(&query(&profile, &submission("1"))), "absent-final");
    assert_eq!(answer(&query(&target(&service, ""), &submission("1"))), "unanswerable no-query");
}
