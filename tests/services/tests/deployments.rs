//! The service says what was put, also after it was started again, and to others than those who put it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};
use threadmesh_services::Deployments;

const ADDRESS: &str = "127.0.0.1:0";

/// The status and the body of an answer to `head`.
fn ask(origin: &str, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(origin.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn get(origin: &str, path: &str) -> (u16, String) {
    ask(origin, &format!("GET {path} HTTP/1.1\r\nHost: x"))
}

#[test]
fn what_was_put_is_there_by_name_and_revision_and_survives() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("deployments.db");
    let service = Deployments::start(&file, ADDRESS).unwrap();
    assert_eq!(get(&service.origin(), "/deployments/web").0, 404);
    assert_eq!(service.put("web", "r1", r#"{"status":"live"}"#).unwrap(), 201);
    assert_eq!(service.put("web", "r2", r#"{"status":"failed"}"#).unwrap(), 201);
    let first = r#"{"name":"web","number":1,"revision":"r1","state":{"status":"live"}}"#;
    assert_eq!(get(&service.origin(), "/deployments/web/r1?x=y"), (200, first.to_owned()));
    assert!(get(&service.origin(), "/deployments/web").1.contains(r#""revision":"r2""#));
    assert_eq!(service.put("web", "r1", r#"{"status":"gone"}"#).unwrap(), 200);
    drop(service);
    let again = Deployments::start(&file, ADDRESS).unwrap();
    let last = r#"{"name":"web","number":3,"revision":"r1","state":{"status":"gone"}}"#;
    assert_eq!(get(&again.origin(), "/deployments/web"), (200, last.to_owned()));
}

#[test]
fn what_is_malformed_is_refused_and_nothing_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let service = Deployments::start(&dir.path().join("deployments.db"), ADDRESS).unwrap();
    for state in ["", "live", "[]", "{"] {
        assert_eq!(service.put("web", "r1", state).unwrap(), 400, "{state}");
    }
    assert_eq!(service.put("w%20b", "r1", "{}").unwrap(), 400);
    assert_eq!(get(&service.origin(), "/deployments/web").0, 404);
    assert_eq!(get(&service.origin(), "/").0, 404);
    assert_eq!(ask(&service.origin(), "DELETE /deployments/web/r1 HTTP/1.1").0, 404);
    assert_eq!(ask(&service.origin(), "GET /").0, 400);
    assert_eq!(ask(&service.origin(), "PUT /deployments/web/r1 HTTP/1.1\r\nContent-Length: 99999999").0, 400);
}

#[test]
fn as_a_process_it_ends_with_its_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deployments"))
        .arg(dir.path().join("deployments.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut origin = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut origin).unwrap();
    assert_eq!(get(origin.trim(), "/deployments/web").0, 404);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
