//! Frames of a WebSocket, by hand: a library would not send broken ones.

use super::breaking::broken as broken_frame;
use super::http::{Web, head};
use super::model::{TASKS, reference};
use crate::differential::logs::Random;
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

const TEXT: u8 = 0x81;

fn upgrade(web: &Web<'_>, token: &str) -> BufReader<TcpStream> {
    let fields = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let bytes = web.request("GET /stream", token, &fields, b"");
    let mut stream = BufReader::new(web.open());
    stream.get_mut().write_all(&bytes).expect("the server reads");
    let (status, head) = head(&mut stream);
    web.tally.status(status, &bytes, &head);
    if status != 101 {
        web.tally.fault("no upgrade", &bytes, &head);
    }
    stream
}

/// A frame of a client, masked.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | u8::try_from(length).expect("short")),
        length @ 126..65_536 => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(length).expect("short").to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The next frame of the server: its first byte and its payload.
fn next(stream: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut start = [0; 2];
    stream.read_exact(&mut start).ok()?;
    let length = match start[1] {
        126 => {
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            stream.read_exact(&mut length).ok()?;
            usize::try_from(u64::from_be_bytes(length)).ok()?
        }
        length => usize::from(length),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    Some((start[0], payload))
}

/// The answer with this id, among pushed events.
fn answer(stream: &mut impl Read, id: &Value) -> Option<Value> {
    loop {
        let (first, payload) = next(stream)?;
        if first != TEXT {
            continue;
        }
        let value: Value = serde_json::from_slice(&payload).ok()?;
        if value["id"] == *id || (value["id"].is_null() && value.get("method").is_none()) {
            return Some(value);
        }
    }
}

/// A session: calls, a subscription, and frames that are broken as JSON-RPC. Each is answered.
pub fn session(web: &mut Web<'_>, random: &mut Random) {
    let task = random.below(TASKS);
    let mut stream = upgrade(web, &web.tokens[&format!("task-{task}")].clone());
    let subscribe = json!({"task": reference(task), "after": random.below(3)});
    for id in 0..1 + random.below(5) {
        web.tally.sent("stream", true);
        let id = json!(id);
        let (method, params) = match random.below(2) {
            0 => ("tasks.get", json!({"task": reference(task)})),
            _ => ("stream.subscribe", subscribe.clone()),
        };
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        stream.get_mut().write_all(&frame(TEXT, text.as_bytes())).expect("the server reads");
        if answer(&mut stream, &id).is_none_or(|answer| answer["error"]["data"]["code"] == "core-trap") {
            return web.tally.fault("no answer over a WebSocket", text.as_bytes(), "");
        }
        let broken = broken_frame(&json!(99), "tasks.get", &json!({"task": reference(task)}), random);
        if std::str::from_utf8(&broken.bytes).is_err() {
            continue;
        }
        web.tally.sent("stream", false);
        stream.get_mut().write_all(&frame(TEXT, &broken.bytes)).expect("the server reads");
        // A batch is answered with an array, which has no id.
        match answer(&mut stream, &json!(99)) {
            Some(answer) => web.tally.refused(broken.how, &broken.bytes, &answer),
            None => return web.tally.fault("no answer to a broken frame over a WebSocket", &broken.bytes, broken.how),
        }
    }
    stream.get_mut().write_all(&frame(0x88, &1000_u16.to_be_bytes())).expect("the server reads");
}

/// Bytes that are no frames: the connection ends, and nothing else does.
pub fn broken(web: &mut Web<'_>, random: &mut Random) {
    web.tally.sent("no WebSocket", false);
    let task = random.below(TASKS);
    let mut stream = upgrade(web, &web.tokens[&format!("task-{task}")].clone());
    let bytes = match random.below(8) {
        0 => vec![TEXT, 2, b'{', b'}'],
        1 => frame(0x82, b"{}"),
        2 => frame(TEXT, b"\xff\xff"),
        3 => frame(0xf1, b"{}"),
        4 => frame(0x83, b"{}"),
        5 => [&[TEXT, 0xff][..], &[0xff; 8], &[0; 4]].concat(),
        6 => frame(0x89, &[0; 200]),
        _ => (0..64).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect(),
    };
    let _ = stream.get_mut().write_all(&bytes);
    let _ = stream.get_mut().shutdown(Shutdown::Write);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}
