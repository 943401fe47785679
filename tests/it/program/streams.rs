//! Clients of the pushed events: Server-Sent Events, and a WebSocket.

use super::http::{Answered, Asked, HttpServer, chunk};
use serde_json::{Value, json};
use std::io::BufReader;
use std::net::TcpStream;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client::IntoClientRequest};

/// One pushed event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pushed {
    /// What to resume after.
    pub id: Option<u64>,
    /// `tasks.event`, `tasks.gap` or `tasks.end`.
    pub kind: String,
    /// Its data.
    pub data: Value,
}

/// A stream of Server-Sent Events.
pub struct Events {
    input: BufReader<TcpStream>,
    text: String,
}

impl Events {
    /// Asks for `path`; the answer instead where it is none of 200.
    pub fn open(server: &HttpServer, request: &Asked) -> Result<Self, Answered> {
        let mut stream = server.open();
        std::io::Write::write_all(&mut stream, &request.bytes(&server.address)).expect("the server reads");
        let mut input = BufReader::new(stream);
        let head = Answered::head(&mut input);
        if head.status != 200 {
            let length = head.field("content-length").map_or(0, |length| length.parse().expect("a length"));
            let mut body = vec![0; length];
            std::io::Read::read_exact(&mut input, &mut body).expect("a body");
            return Err(Answered { body: String::from_utf8(body).expect("text"), ..head });
        }
        assert_eq!(head.field("content-type"), Some("text/event-stream"));
        Ok(Events { input, text: String::new() })
    }

    /// Asks for the events of a task after a cursor.
    pub fn of(server: &HttpServer, token: &str, task: &Value, after: u64) -> Result<Self, Answered> {
        let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        let path = format!("/events?taskId={}&incarnationId={}&after={after}", text("taskId"), text("incarnationId"));
        Self::open(server, &Asked::new("GET", &path).bearer(token))
    }

    /// The next event; nothing at the end.
    pub fn next(&mut self) -> Option<Pushed> {
        loop {
            while !self.text.contains("\n\n") {
                self.text += &chunk(&mut self.input)?;
            }
            let (one, rest) = self.text.split_once("\n\n").expect("one");
            let mut pushed = Pushed::default();
            for line in one.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => pushed.id = Some(id.parse().expect("a cursor")),
                    Some(("event", kind)) => kind.clone_into(&mut pushed.kind),
                    Some(("data", data)) => pushed.data = serde_json::from_str(data).expect("JSON"),
                    _ => assert!(line.starts_with(": ") || line.starts_with("retry: "), "{line:?}"),
                }
            }
            self.text = rest.to_owned();
            if !pushed.kind.is_empty() {
                return Some(pushed);
            }
        }
    }
}

/// A WebSocket.
pub struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Connects as the principal of `token`; the status instead where there is no upgrade.
    pub fn open(server: &HttpServer, token: &str) -> Result<Self, u16> {
        Self::open_with(server, token, &[])
    }

    /// The same with more header fields.
    pub fn open_with(server: &HttpServer, token: &str, fields: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://{}/stream", server.address).into_client_request().expect("a request");
        let value = format!("Bearer {token}").parse().expect("a value");
        request.headers_mut().insert("authorization", value);
        for (name, value) in fields {
            request.headers_mut().insert(*name, value.parse().expect("a value"));
        }
        match tungstenite::client(request, server.open()) {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends one message.
    pub fn send(&mut self, message: Message) {
        self.0.send(message).expect("the server reads");
    }

    /// Sends one call.
    pub fn call(&mut self, id: u32, method: &str, params: &Value) {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(Message::text(frame.to_string()));
    }

    /// Subscribes to a task, and reads the answer.
    pub fn subscribe(&mut self, task: &Value, after: u64) -> Value {
        self.call(0, "stream.subscribe", &json!({"task": task, "after": after}));
        self.next().expect("an answer")
    }

    /// Closes, and waits for the server's answer to that.
    pub fn close(mut self) {
        self.0.close(None).expect("the server reads");
        loop {
            match self.0.read() {
                Ok(_) => {}
                // Only after the server's own close the connection ends in order.
                Err(tungstenite::Error::ConnectionClosed) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The next text; the code and the reason with which the server closed otherwise.
    pub fn next(&mut self) -> Result<Value, (u16, String)> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Ok(serde_json::from_str(&text).expect("JSON")),
                Ok(Message::Close(Some(frame))) => return Err((frame.code.into(), frame.reason.to_string())),
                Ok(Message::Close(None)) => return Err((0, String::new())),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
