//! The life of one WebSocket: frames in, answers and events out.
//!
//! Frames run in the order of their arrival. What may wait, and subscriptions, run beside them. One task writes, through a
//! short queue: whoever fills it waits until the client has read.

use super::super::App;
use super::super::feed::{Feed, Item, Start, Subject, TaskRef};
use super::super::gate::Caller;
use super::super::pool::{Full, Kind};
use super::super::rpc::run_waiting;
use super::subscriptions::Subscriptions;
use crate::service;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, StreamExt, stream::SplitSink};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{self, Answer, Call, Frame, error, respond};
use threadmesh_runtime::wit::Fact;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

/// Messages that wait for the client to read.
const QUEUE: usize = 16;
/// Their bytes; one message alone may have more.
const QUEUED_BYTES_MAX: usize = 1 << 20;
/// How long the last words of a connection may take.
const CLOSING: Duration = Duration::from_secs(1);
/// Subscriptions, and frames that wait, of one connection.
const BESIDE_MAX: usize = 16;
/// After so many heartbeats without a word from the client the connection is taken for dead.
const SILENT_BEATS_MAX: u32 = 3;

/// Why a connection ends, as a close code of RFC 6455 and a word.
type Close = (u16, &'static str);
const GOING_AWAY: Close = (1001, "shutting-down");
const NOT_TEXT: Close = (1003, "text-only");
const REVOKED: Close = (1008, "authentication-required");
const TOO_LONG: Close = (1009, "json-size");
const SILENT: Close = (1001, "silent");

struct Session {
    app: Arc<App>,
    caller: Caller,
    /// Where the connection belongs in a trace; it goes with every call.
    context: Vec<Fact>,
    out: Out,
    beside: JoinSet<()>,
    subscriptions: Subscriptions,
}

/// Where messages to the client go: a queue of so many, and of so many bytes. Cheap to clone; all clones are one.
#[derive(Clone)]
struct Out {
    queue: mpsc::Sender<Queued>,
    bytes: Arc<Semaphore>,
}

/// A message, and its part of the bytes that may be queued.
type Queued = (Message, Option<OwnedSemaphorePermit>);

impl Out {
    fn new() -> (Self, mpsc::Receiver<Queued>) {
        let (queue, queued) = mpsc::channel(QUEUE);
        (Out { queue, bytes: Arc::new(Semaphore::new(QUEUED_BYTES_MAX)) }, queued)
    }

    /// Queues a message as soon as there is room; false where nobody writes any more.
    async fn send(&self, message: Message) -> bool {
        let length = match &message {
            Message::Text(text) => text.len().min(QUEUED_BYTES_MAX),
            _ => 0,
        };
        let bytes = Arc::clone(&self.bytes).acquire_many_owned(u32::try_from(length).unwrap_or(u32::MAX)).await;
        self.queue.send((message, bytes.ok())).await.is_ok()
    }

    /// Asks the client for a word, unless it has enough to read.
    fn ping(&self) {
        let _ = self.queue.try_send((Message::Ping(Vec::new().into()), None));
    }
}

/// Serves `socket` until one side ends it. Its calls belong to a trace by `context`.
pub async fn run(app: &Arc<App>, caller: &Caller, context: Vec<Fact>, socket: WebSocket) {
    let (sink, mut source) = socket.split();
    let (out, queue) = Out::new();
    let limit = Duration::from_millis(app.limits.write_ms_max);
    let mut writer = tokio::spawn(write(sink, queue, limit));
    let (app, caller) = (Arc::clone(app), caller.clone());
    let subscriptions = Subscriptions::default();
    let mut session = Session { app, caller, context, out, beside: JoinSet::new(), subscriptions };
    let close = session.serve(&mut source, &mut writer).await;
    session.end(close).await;
    // Once nobody writes any more, the writer ends.
    drop(session);
    if !writer.is_finished() {
        let _ = writer.await;
    }
}

/// Writes what is in the queue, until nobody fills it any more or the client reads nothing.
async fn write(mut sink: SplitSink<WebSocket, Message>, mut queue: mpsc::Receiver<Queued>, limit: Duration) {
    while let Some((message, _bytes)) = queue.recv().await {
        let last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(limit, sink.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
        if last {
            break;
        }
    }
    // Also the answer to a client that has closed is only sent with this.
    let _ = tokio::time::timeout(CLOSING, sink.close()).await;
}

impl Session {
    /// Serves until there is a reason to end; nothing where the client is gone.
    async fn serve(
        &mut self,
        source: &mut (impl futures_util::Stream<Item = Result<Message, axum::Error>> + Unpin),
        writer: &mut tokio::task::JoinHandle<()>,
    ) -> Option<Close> {
        let limits = self.app.limits;
        let beat = Duration::from_millis(limits.heartbeat_ms);
        let mut pulse = tokio::time::interval(Duration::from_millis(limits.pulse_ms));
        let (mut heard, mut pinged) = (Instant::now(), Instant::now());
        let app = Arc::clone(&self.app);
        loop {
            let message = tokio::select! {
                message = source.next() => message,
                () = app.closed() => return Some(GOING_AWAY),
                _ = &mut *writer => return None,
                Some(_) = self.beside.join_next() => continue,
                _ = pulse.tick() => {
                    if !app.gate.holds(self.caller.credential()) {
                        return Some(REVOKED);
                    }
                    if heard.elapsed() > beat * SILENT_BEATS_MAX {
                        return Some(SILENT);
                    }
                    if pinged.elapsed() >= beat {
                        pinged = Instant::now();
                        self.out.ping();
                    }
                    continue;
                }
            };
            heard = Instant::now();
            match message {
                None | Some(Ok(Message::Close(_))) => return None,
                Some(Err(_)) => return Some(TOO_LONG),
                Some(Ok(Message::Text(text))) if text.len() > limits.body_bytes_max => return Some(TOO_LONG),
                Some(Ok(Message::Binary(_))) => return Some(NOT_TEXT),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Text(_))) if !app.gate.holds(self.caller.credential()) => return Some(REVOKED),
                Some(Ok(Message::Text(text))) => self.frame(text.to_string()).await,
            }
        }
    }

    /// Lets subscriptions say how they end, and closes.
    async fn end(&mut self, close: Option<Close>) {
        let Some((code, reason)) = close else {
            self.beside.abort_all();
            return;
        };
        let patience = Duration::from_millis(self.app.limits.drain_ms_max / 2);
        let ended = async { while self.beside.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, ended).await.is_err() {
            self.beside.abort_all();
        }
        self.out.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    }

    async fn answer(&self, text: Option<String>) {
        if let Some(text) = text {
            self.out.send(Message::text(text)).await;
        }
    }

    async fn frame(&mut self, text: String) {
        // What has no place is looked at all the same, one frame of a connection after the other: its calls have ids.
        let place = self.app.pool.enter(Kind::Call, &self.caller);
        let (app, caller, context) = (Arc::clone(&self.app), self.caller.clone(), self.context.clone());
        let begun = tokio::task::spawn_blocking(move || {
            let frame = match app.service.split(&text) {
                Ok(frame) => frame,
                Err(problem) => return Err(Some(respond("null", &Answer::Error(problem)))),
            };
            let _place = match place {
                Ok(place) => place,
                Err(full) => return Err(rpc::refuse(&frame, &busy(full))),
            };
            if own_call(&frame).is_some() || service::waits(app.service.as_ref(), &frame) {
                return Ok(frame);
            }
            let standing = app.gate.standing(&caller);
            Err(service::run(app.service.as_ref(), &standing, &frame, &context, &Cancel::default()))
        });
        match begun.await {
            Ok(Err(answer)) => self.answer(answer).await,
            Ok(Ok(frame)) => match own_call(&frame) {
                Some(call) => self.own(call).await,
                None => self.wait(frame).await,
            },
            Err(_) => self.answer(Some(respond("null", &Answer::Error(lost())))).await,
        }
    }

    /// Runs a frame that may wait beside the others.
    async fn wait(&mut self, frame: Frame) {
        let place = self.beside();
        let place = match place {
            Ok(place) => place,
            Err(full) => return self.answer(rpc::refuse(&frame, &busy(full))).await,
        };
        let (app, caller, out) = (Arc::clone(&self.app), self.caller.clone(), self.out.clone());
        let (gone, context) = (rpc::refuse(&frame, &lost()), self.context.clone());
        self.beside.spawn(async move {
            let done = run_waiting(&app, caller, place, frame, context).await;
            if let Some(text) = done.unwrap_or(gone) {
                out.send(Message::text(text)).await;
            }
        });
    }

    /// A place beside the frames.
    fn beside(&mut self) -> Result<super::super::pool::Place, Full> {
        while self.beside.try_join_next().is_some() {}
        match self.beside.len() < BESIDE_MAX {
            true => self.app.pool.enter(Kind::Wait, &self.caller),
            false => Err(Full::Caller),
        }
    }

    /// Answers a call that is about this connection.
    async fn own(&mut self, call: Call) {
        let answer = match call.method.as_str() {
            "stream.subscribe" => self.subscribe(&call).await,
            "stream.unsubscribe" => self.unsubscribe(&call.params),
            _ => Err(error("method-not-found", "there is stream.subscribe and stream.unsubscribe")),
        };
        let (answer, feed) = match answer {
            Ok((value, feed)) => (Answer::Result(json!({"method": call.method, "value": value}).to_string()), feed),
            Err(problem) => (Answer::Error(problem), None),
        };
        if let Some(id) = &call.id {
            self.answer(Some(respond(id, &answer))).await;
        }
        // Only after the answer, so that the number is known before the first event.
        if let Some((number, feed)) = feed {
            let handle = self.beside.spawn(push(number, feed, self.out.clone()));
            self.subscriptions.keep(number, handle);
        }
    }

    async fn subscribe(&mut self, call: &Call) -> Result<(Value, Option<(u64, Feed)>), String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Params {
            task: TaskRef,
            owner: Option<String>,
            after: Option<Value>,
        }
        let shape =
            "stream.subscribe takes {\"task\": {taskId, incarnationId}, \"owner\": kind:id, \"after\": cursor or now}";
        let params: Params = serde_json::from_str(&call.params).map_err(|_| error("params-invalid", shape))?;
        let place = self.beside().map_err(busy)?;
        let start = match &params.after {
            None => Some(Start::default()),
            Some(Value::String(text)) => Some(Start::Now).filter(|_| text == "now"),
            Some(cursor) => cursor.as_u64().and_then(Start::after),
        };
        let start = start.ok_or_else(|| error("params-invalid", shape))?;
        let subject = Subject { task: params.task, owner: params.owner };
        let feed = Feed::start(&self.app, &self.caller, place, subject, start).await?;
        let number = self.subscriptions.number();
        Ok((json!({"subscription": number}), Some((number, feed))))
    }

    fn unsubscribe(&mut self, params: &str) -> Result<(Value, Option<(u64, Feed)>), String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Params {
            subscription: u64,
        }
        let shape = "stream.unsubscribe takes {\"subscription\": number}";
        let params: Params = serde_json::from_str(params).map_err(|_| error("params-invalid", shape))?;
        let ended = self.subscriptions.end(params.subscription);
        Ok((json!({"ended": ended}), None))
    }
}

/// The one call of a frame, where it is about the connection itself.
fn own_call(frame: &Frame) -> Option<Call> {
    match frame.calls.as_slice() {
        [call] if !frame.batch && call.response.is_none() && call.method.starts_with("stream.") => Some(call.clone()),
        _ => None,
    }
}

/// Pushes the items of `feed` until it ends.
async fn push(subscription: u64, mut feed: Feed, out: Out) {
    loop {
        let item = feed.next().await;
        let text = match &item {
            Item::Event(cursor, event) => {
                let params = format!("{{\"subscription\":{subscription},\"cursor\":{cursor},\"event\":{event}}}");
                rpc::notification("tasks.event", &params)
            }
            Item::Gap { from, to, after } => {
                notify("tasks.gap", &json!({"subscription": subscription, "from": from, "to": to, "after": after}))
            }
            Item::Quiet => continue,
            Item::End { reason, after } => {
                notify("tasks.end", &json!({"subscription": subscription, "reason": reason, "after": after}))
            }
        };
        if !out.send(Message::text(text)).await || matches!(item, Item::End { .. }) {
            return;
        }
    }
}

fn notify(method: &str, params: &Value) -> String {
    rpc::notification(method, &params.to_string())
}

fn busy(full: Full) -> String {
    error(
        "backpressure",
        match full {
            Full::Caller => "too many requests of this principal at once",
            Full::Server => "too many requests at once",
        },
    )
}

fn lost() -> String {
    error("core-trap", "the frame could not be carried out")
}
