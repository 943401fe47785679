//! The pipe between a client and the MCP server: lines, each a message.
//!
//! What the server below does not answer is answered here: a line that is no JSON. And requests with an id that is under
//! way are held until that one is answered, since answers are told apart by nothing but the id: each gets its own.

use crate::lines::{Line, Lines};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use threadmesh_runtime::rpc::{Answer, error, respond};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

/// The longest message: `document_bytes_max` of spec/limits.md, and room for the call around it.
const LINE_BYTES_MAX: usize = 2 << 20;
/// Requests that are held at once; further ones are refused.
const HELD_MAX: usize = 64;
/// Lines on their way to the server, and answers of the pipe's own, at once.
const QUEUE: usize = 16;

/// What the pipe looks at in a message.
#[derive(Deserialize)]
struct Peek {
    jsonrpc: Option<String>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
}

impl Peek {
    fn of(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Whether the server takes it as a request, and so answers under its id; anything else it refuses without one.
    fn is_request(&self) -> bool {
        let id = self.id.as_ref().is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64());
        let params = self.params.as_ref().is_none_or(Value::is_object);
        let answers = self.result.is_some() || self.error.is_some();
        self.jsonrpc.as_deref() == Some("2.0") && self.method.is_some() && id && params && !answers
    }

    /// The id of a request or an answer, as text: 1 and "1" are two.
    fn id(&self) -> Option<String> {
        self.id.as_ref().filter(|id| id.is_string() || id.is_number()).map(ToString::to_string)
    }

    /// The id of the request that this cancels.
    fn cancels(&self) -> Option<String> {
        let cancels = self.method.as_deref() == Some("notifications/cancelled");
        self.params.as_ref().filter(|_| cancels)?.get("requestId").map(ToString::to_string)
    }
}

/// Requests under way by id, and those that wait for the id.
#[derive(Default)]
struct UnderWay {
    ids: HashMap<String, VecDeque<String>>,
    held: usize,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Goes,
    Held,
    TooMany,
}

impl UnderWay {
    fn enter(&mut self, id: &str, line: &str) -> Entry {
        match self.ids.get_mut(id) {
            None => {
                self.ids.insert(id.to_owned(), VecDeque::new());
                Entry::Goes
            }
            Some(_) if self.held >= HELD_MAX => Entry::TooMany,
            Some(waiting) => {
                waiting.push_back(line.to_owned());
                self.held += 1;
                Entry::Held
            }
        }
    }

    /// The request with this id is answered; the next one that waited for the id.
    fn leave(&mut self, id: &str) -> Option<String> {
        match self.ids.get_mut(id)?.pop_front() {
            Some(next) => {
                self.held -= 1;
                Some(next)
            }
            None => {
                self.ids.remove(id);
                None
            }
        }
    }

    /// Requests with this id are cancelled: none of them is answered.
    fn forget(&mut self, id: &str) {
        self.held -= self.ids.remove(id).map_or(0, |waiting| waiting.len());
    }
}

/// Reads lines of a client on a thread that may block.
struct Reader {
    under_way: Arc<Mutex<UnderWay>>,
    to_server: mpsc::Sender<String>,
    to_client: mpsc::Sender<String>,
}

impl Reader {
    /// Until the input ends, or nobody listens any more.
    fn run<R: Read>(&self, input: R) -> io::Result<()> {
        let mut lines = Lines::new(input);
        loop {
            let told = match lines.next(LINE_BYTES_MAX)? {
                Line::Text(line) => self.take(line),
                Line::NotUtf8 => self.answer("null", "json-encoding", "a line is not UTF-8"),
                Line::TooLong => {
                    let detail = format!("a line is longer than {LINE_BYTES_MAX} bytes; nothing after it is read");
                    self.answer("null", "json-size", &detail);
                    None
                }
                Line::End => None,
            };
            if told.is_none() {
                return Ok(());
            }
        }
    }

    /// Passes a message on, holds it, or answers it. Nothing where nobody listens any more.
    fn take(&self, line: String) -> Option<()> {
        let Some(message) = Peek::of(&line) else {
            return match serde_json::from_str::<IgnoredAny>(&line) {
                Ok(_) => self.to_server.blocking_send(line).ok(),
                Err(fault) => self.answer("null", "json-syntax", &format!("a line is no JSON: {fault}")),
            };
        };
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = message.cancels() {
            under_way.forget(&id);
        }
        let entry = match message.id().filter(|_| message.is_request()) {
            Some(id) => (under_way.enter(&id, &line), id),
            None => (Entry::Goes, String::new()),
        };
        drop(under_way);
        match entry {
            (Entry::Goes, _) => self.to_server.blocking_send(line).ok(),
            (Entry::Held, _) => Some(()),
            (Entry::TooMany, id) => self.answer(&id, "backpressure", "too many requests have an id that is under way"),
        }
    }

    fn answer(&self, id: &str, code: &str, detail: &str) -> Option<()> {
        self.to_client.blocking_send(respond(id, &Answer::Error(error(code, detail)))).ok()
    }
}

/// Carries lines between a client and a server until the client's input ends and the server has said its last; `server` is
/// the other end of what the server reads and writes. Errors: the client cannot be read or written.
pub async fn carry<R, W, S>(input: R, mut output: W, server: S) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let under_way = Arc::new(Mutex::new(UnderWay::default()));
    let (to_server, mut lines) = mpsc::channel::<String>(QUEUE);
    let (to_client, mut answers) = mpsc::channel::<String>(QUEUE);
    // Without a bound of its own: as many as may be held.
    let (freed, mut free) = mpsc::unbounded_channel::<String>();
    let reader = Reader { under_way: Arc::clone(&under_way), to_server, to_client };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || reader.run(input))?;
    let (from, mut to) = tokio::io::split(server);
    let passing = tokio::spawn(async move {
        while let Some(line) = tokio::select! {
            Some(line) = free.recv() => Some(line),
            line = lines.recv() => line,
        } {
            to.write_all(format!("{line}\n").as_bytes()).await?;
            to.flush().await?;
        }
        to.shutdown().await
    });
    let mut said = BufReader::new(from).lines();
    let mut answering = true;
    loop {
        let line = tokio::select! {
            line = said.next_line() => match line? {
                Some(line) => line,
                None => break,
            },
            answer = answers.recv(), if answering => match answer {
                Some(answer) => answer,
                None => {
                    answering = false;
                    continue;
                }
            },
        };
        output.write_all(format!("{line}\n").as_bytes()).await?;
        output.flush().await?;
        let answered = Peek::of(&line).filter(|message| message.method.is_none()).and_then(|message| message.id());
        let next = answered.and_then(|id| under_way.lock().unwrap_or_else(PoisonError::into_inner).leave(&id));
        // Where the server has gone, nobody answers it.
        next.map(|line| freed.send(line));
    }
    passing.abort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id that the server does not answer under must not stay under way: nothing would free it.
    #[test]
    fn only_what_is_answered_under_its_id_is_under_way() {
        let request = |line: &str| Peek::of(line).is_some_and(|message| message.is_request());
        for line in
            [r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"5","method":"ping","params":{}}"#]
        {
            assert!(request(line), "{line}");
        }
        for line in [
            r#"{"id":5,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"ping","method":"ping"}"#,
        ] {
            assert!(!request(line), "{line}");
        }
    }

    #[test]
    fn an_id_is_under_way_once_and_the_rest_waits_in_order() {
        let mut under_way = UnderWay::default();
        assert_eq!(under_way.enter("1", "a"), Entry::Goes);
        assert_eq!(under_way.enter("\"1\"", "b"), Entry::Goes);
        assert_eq!([under_way.enter("1", "c"), under_way.enter("1", "d")], [Entry::Held, Entry::Held]);
        assert_eq!(under_way.leave("1").as_deref(), Some("c"));
        assert_eq!(under_way.leave("1").as_deref(), Some("d"));
        assert_eq!(under_way.leave("1"), None);
        assert_eq!(under_way.leave("1"), None, "an answer to nothing frees nothing");
        assert_eq!(under_way.enter("1", "e"), Entry::Goes);
        under_way.enter("1", "f");
        under_way.forget("1");
        assert_eq!((under_way.held, under_way.leave("1")), (0, None));
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut under_way = UnderWay::default();
        under_way.enter("1", "first");
        assert!((0..HELD_MAX).all(|_| under_way.enter("1", "again") == Entry::Held));
        assert_eq!(under_way.enter("1", "again"), Entry::TooMany);
        assert_eq!(under_way.enter("2", "another"), Entry::Goes);
        under_way.leave("1");
        assert_eq!(under_way.enter("1", "again"), Entry::Held);
    }
}
