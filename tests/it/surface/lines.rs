//! Requests line by line: over standard input and output, and over the Unix socket.

use super::breaking::{Broken, FRAME_BYTES_MAX, broken};
use super::model::{Made, Model};
use super::tally::{self, Tally};
use crate::differential::logs::Random;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A connection that is authenticated.
pub struct Lines {
    input: Box<dyn Write + Send>,
    output: Box<dyn BufRead + Send>,
    /// The only principal that it can be; anybody for a socket.
    pub who: String,
    next: u64,
}

/// What a line must be answered with.
enum Due {
    /// The answer to a valid call with this id.
    Call(Value, Made),
    /// One answer for each of these calls, in one array.
    Batch(Vec<(Value, Made)>),
    /// A refusal of a frame with this id. Where that may be unknown, none is as good: frames that are no requests are
    /// answered in their order.
    Refusal(Value, Broken),
}

impl Due {
    fn name(&self) -> String {
        match self {
            Due::Call(id, made) => format!("{id} {}", made.method),
            Due::Batch(calls) => format!("{:?}", calls.iter().map(|(id, made)| (id, &made.method)).collect::<Vec<_>>()),
            Due::Refusal(id, broken) => format!("{id} {}", broken.how),
        }
    }
}

impl Lines {
    /// Lines over any two pipes.
    pub fn new(input: impl Write + Send + 'static, output: impl Read + Send + 'static, who: &str) -> Self {
        Lines { input: Box::new(input), output: Box::new(BufReader::new(output)), who: who.to_owned(), next: 0 }
    }

    /// Connects and authenticates.
    pub fn connect(socket: &Path, who: &str, token: &str) -> Self {
        let stream = UnixStream::connect(socket).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let mut lines = Lines::new(stream.try_clone().expect("a stream"), stream, who);
        lines.send(
            json!({"jsonrpc": "2.0", "id": 0, "method": "session.authenticate", "params": {"token": token}})
                .to_string()
                .as_bytes(),
        );
        assert!(lines.line().contains("result"), "it is let in");
        lines
    }

    fn send(&mut self, line: &[u8]) {
        self.input.write_all(&[line, b"\n"].concat()).and_then(|()| self.input.flush()).expect("the server reads");
    }

    /// The next line; empty at the end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers");
        line
    }

    fn id(&mut self, random: &mut Random) -> Value {
        self.next += 1;
        if random.once_in(3) { format!("é\u{202e}{}", self.next).into() } else { self.next.into() }
    }

    /// Makes one call, and takes note of its answer.
    pub fn call(&mut self, made: &Made, model: &Mutex<Model>, tally: &Tally) {
        self.next += 1;
        let id = Value::from(self.next);
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": made.method, "params": made.params}).to_string().as_bytes(),
        );
        let answer: Value = serde_json::from_str(&self.line()).expect("JSON");
        assert_eq!(answer["id"], id);
        tally.answered(model, made, &answer);
    }

    /// Sends a few lines at once and reads what they are answered with.
    pub fn round(&mut self, random: &mut Random, model: &Mutex<Model>, tally: &Tally) {
        let (mut dues, mut all) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(4) {
            all.extend(match tally::valid_next(random) {
                true => self.valid(random, model, tally, &mut dues),
                false => self.broken(random, model, tally, &mut dues),
            });
            all.push(b'\n');
        }
        let end = format!("end-{}", self.next);
        all.extend(json!({"jsonrpc": "2.0", "id": end, "method": "tasks.none"}).to_string().bytes());
        all.push(b'\n');
        let (input, output) = (&mut self.input, &mut self.output);
        std::thread::scope(|scope| {
            // Answers may be longer than a pipe holds: they are read while the rest is written.
            scope.spawn(|| input.write_all(&all).and_then(|()| input.flush()).expect("the server reads"));
            let mut ended = false;
            while !ended || !dues.is_empty() {
                let mut line = String::new();
                if let Err(error) = output.read_line(&mut line) {
                    let missing: Vec<String> = dues.iter().map(Due::name).collect();
                    panic!("{error}: ended {ended}, no answer to {missing:?} of {}", String::from_utf8_lossy(&all));
                }
                let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                    return tally.fault("a line that is no JSON, or an end", &all, &line);
                };
                if answer["id"] == end {
                    ended = true;
                } else if !settle(&mut dues, &answer, model, tally) {
                    return tally.fault("an answer to nothing", &all, &line);
                }
            }
        });
    }

    fn made(&self, random: &mut Random, model: &Mutex<Model>) -> Made {
        let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection has one principal: a few tries find a call that suits it.
        let mut made = model.call(random);
        for _ in 0..40 {
            if made.who == self.who || random.once_in(40) {
                break;
            }
            made = model.call(random);
        }
        made
    }

    fn valid(&mut self, random: &mut Random, model: &Mutex<Model>, tally: &Tally, dues: &mut Vec<Due>) -> Vec<u8> {
        let frame =
            |id: &Value, made: &Made| json!({"jsonrpc": "2.0", "id": id, "method": made.method, "params": made.params});
        match random.below(10) {
            0 => {
                tally.sent("batch", true);
                let calls: Vec<(Value, Made)> =
                    (0..1 + random.below(5)).map(|_| (self.id(random), self.made(random, model))).collect();
                let text = Value::Array(calls.iter().map(|(id, made)| frame(id, made)).collect()).to_string();
                dues.push(Due::Batch(calls));
                text.into_bytes()
            }
            1 => {
                tally.sent("notification", true);
                let made = self.made(random, model);
                json!({"jsonrpc": "2.0", "method": made.method, "params": made.params}).to_string().into_bytes()
            }
            _ => {
                tally.sent("call", true);
                let (id, made) = (self.id(random), self.made(random, model));
                let text = frame(&id, &made).to_string();
                dues.push(Due::Call(id, made));
                text.into_bytes()
            }
        }
    }

    fn broken(&mut self, random: &mut Random, model: &Mutex<Model>, tally: &Tally, dues: &mut Vec<Due>) -> Vec<u8> {
        tally.sent("broken frame", false);
        let (id, made) = (self.id(random), self.made(random, model));
        let broken = broken(&id, &made.method, &made.params, random);
        let bytes = broken.bytes.clone();
        dues.push(Due::Refusal(id, broken));
        bytes
    }
}

/// Takes what an answer settles from what is due; false where it settles nothing.
fn settle(dues: &mut Vec<Due>, answer: &Value, model: &Mutex<Model>, tally: &Tally) -> bool {
    let found = dues.iter().position(|due| match due {
        Due::Call(id, _) => answer["id"] == *id,
        Due::Batch(calls) => {
            let ids = answer.as_array().into_iter().flatten().map(|answer| &answer["id"]);
            answer.is_array() && ids.eq(calls.iter().map(|(id, _)| id))
        }
        Due::Refusal(id, broken) => {
            let nameless = broken.nameless && answer["id"].is_null() && answer["error"].is_object();
            answer["id"] == *id || nameless || refusals(answer, id)
        }
    });
    let Some(found) = found else { return false };
    match dues.remove(found) {
        Due::Call(_, made) => tally.answered(model, &made, answer),
        Due::Batch(calls) => {
            let answers = answer.as_array().into_iter().flatten();
            calls.iter().zip(answers).for_each(|((_, made), answer)| tally.answered(model, made, answer));
        }
        Due::Refusal(_, broken) => tally.refused(broken.how, &broken.bytes, answer),
    }
    true
}

fn refusals(answer: &Value, id: &Value) -> bool {
    answer.as_array().is_some_and(|all| all.iter().all(|one| one["id"] == *id || one["id"].is_null()))
}

/// What ends a connection: first lines that are none, and a frame that is too long.
pub fn ends(socket: &Path, token: &str, random: &mut Random, tally: &Tally) {
    let stream = UnixStream::connect(socket).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut lines = Lines::new(stream.try_clone().expect("a stream"), stream.try_clone().expect("a stream"), "nobody");
    let login = |token: &str| {
        json!({"jsonrpc": "2.0", "id": 0, "method": "session.authenticate", "params": {"token": token}}).to_string()
    };
    let sent: Vec<u8> = match random.below(5) {
        0 => login("wrong").into_bytes(),
        1 => login(&"x".repeat(5000)).into_bytes(),
        2 => json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.get", "params": {}}).to_string().into_bytes(),
        3 => b"\xff\xfe".to_vec(),
        _ => [login(token).into_bytes(), b"\n".to_vec(), vec![b' '; FRAME_BYTES_MAX], b"  ".to_vec()].concat(),
    };
    tally.sent("end of a connection", false);
    // The server may have ended the connection before it read everything.
    let _ = lines.input.write_all(&[&sent[..], b"\n"].concat());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut said = Vec::new();
    let _ = lines.output.read_to_end(&mut said);
    for line in String::from_utf8_lossy(&said).lines() {
        let answer: Value = serde_json::from_str(line).unwrap_or_default();
        if answer["result"]["value"]["principal"].is_null() {
            tally.refused("the end of a connection", &sent[..sent.len().min(200)], &answer);
        }
    }
}
