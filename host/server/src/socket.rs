//! Many connections over a Unix socket. Only this account can reach it: the folder is 0700, the socket 0600, and the
//! account at the other end is asked of the kernel. Each connection then authenticates with its first line.

mod place;
#[cfg(test)]
mod tests;

pub use place::{SocketError, SocketPlace, default_path};

use crate::connection::{self, Connection, Limits, Output};
use crate::lines::{Line, Lines};
use crate::service::Service;
use crate::shares::Shares;
use crate::stop::Stop;
use crate::tokens::{Entry, TokenBook};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use threadmesh_runtime::rpc::{self, Answer, error, respond};

/// The longest first line: a token is short, and whoever sends more is not authenticated.
const FIRST_LINE_BYTES_MAX: usize = 4096;

/// A server of one socket.
pub struct SocketServer {
    /// What runs the calls.
    pub service: Arc<dyn Service>,
    /// Who may call.
    pub book: Arc<TokenBook>,
    /// How much is taken on.
    pub limits: Limits,
}

/// The live connections, so that they can be ended, and their threads.
#[derive(Default)]
struct Live {
    next: u64,
    streams: HashMap<u64, UnixStream>,
    /// Those that have not authenticated, by age.
    strangers: BTreeSet<u64>,
    threads: Vec<JoinHandle<()>>,
}

impl Live {
    /// Ends the oldest connection that has not authenticated; whether there was one.
    fn end_a_stranger(&mut self) -> bool {
        let Some(stranger) = self.strangers.pop_first() else { return false };
        let stream = self.streams.remove(&stranger);
        stream.is_some_and(|stream| stream.shutdown(Shutdown::Both).is_ok())
    }
}

/// The places of those who have authenticated.
struct Room {
    callers: Shares,
    waits: Shares,
}

impl SocketServer {
    /// Serves `place` until somebody asks to stop; then takes no new connection, lets the running frames finish and
    /// removes the socket.
    pub fn serve(self, place: SocketPlace, stop: &Stop) -> Result<(), SocketError> {
        let listener = place.listener().try_clone().map_err(|error| place.error(error))?;
        let server = Arc::new(self);
        let live = Arc::new(Mutex::new(Live::default()));
        let room =
            Arc::new(Room { callers: Shares::new(server.limits.callers), waits: Shares::new(server.limits.waits) });
        let acceptor = {
            let (server, live, stop) = (Arc::clone(&server), Arc::clone(&live), stop.clone());
            let accept = move || server.accept(&listener, &room, &live, &stop);
            std::thread::Builder::new().name("accept".to_owned()).spawn(accept).map_err(|error| place.error(error))?
        };
        stop.wait();
        server.service.end_waits();
        // Linux ends the waiting for connections with this, whatever became of the socket's file; others look at the wish
        // after a connection, and this one is for that alone.
        let _ = rustix::net::shutdown(place.listener(), rustix::net::Shutdown::Both);
        drop(UnixStream::connect(place.path()));
        let patience = Instant::now() + Duration::from_millis(server.limits.drain_ms_max);
        while !acceptor.is_finished() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(place);
        drain(&live, Duration::from_millis(server.limits.drain_ms_max));
        Ok(())
    }

    fn accept(self: &Arc<Self>, listener: &UnixListener, room: &Arc<Room>, live: &Arc<Mutex<Live>>, stop: &Stop) {
        loop {
            let stream = listener.accept();
            if stop.requested() {
                return;
            }
            match stream {
                Ok((stream, _)) => self.admit(stream, room, live, stop),
                // Out of descriptors, most likely: give the connections that live a moment to end.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Starts the thread of a connection, or turns it away.
    fn admit(self: &Arc<Self>, stream: UnixStream, room: &Arc<Room>, live: &Arc<Mutex<Live>>, stop: &Stop) {
        let write_limit = Some(Duration::from_millis(self.limits.write_ms_max));
        let (Ok(()), Ok(copy)) = (stream.set_write_timeout(write_limit), stream.try_clone()) else { return };
        let mut table = lock(live);
        table.threads.retain(|thread| !thread.is_finished());
        if table.streams.len() >= self.limits.connections_max && !table.end_a_stranger() {
            drop(table);
            let full = rpc::fault("backpressure", "too many connections");
            let _ = stream.set_nonblocking(true);
            let _ = io::Write::write_all(&mut &stream, format!("{full}\n").as_bytes());
            return;
        }
        let id = table.next;
        table.next += 1;
        table.streams.insert(id, copy);
        table.strangers.insert(id);
        let (server, shared, stop) = (Arc::clone(self), Arc::clone(live), stop.clone());
        let room = Arc::clone(room);
        let run = move || {
            let known = || {
                lock(&shared).strangers.remove(&id);
            };
            // A connection that breaks concerns its client alone.
            let _ = server.connection(stream, &room, &stop, known);
            let mut table = lock(&shared);
            table.strangers.remove(&id);
            table.streams.remove(&id);
        };
        match std::thread::Builder::new().name("connection".to_owned()).spawn(run) {
            Ok(thread) => table.threads.push(thread),
            Err(_) => {
                table.strangers.remove(&id);
                table.streams.remove(&id);
            }
        }
    }

    /// Serves a connection; `known` is called once it has authenticated.
    fn connection(&self, stream: UnixStream, room: &Room, stop: &Stop, known: impl FnOnce()) -> io::Result<()> {
        let output = Output::new(stream.try_clone()?);
        if !same_account(&stream) {
            return output.fault("authentication-required", "the other end belongs to another account");
        }
        let deadline = Instant::now() + Duration::from_millis(self.limits.authenticate_ms_max);
        let mut lines = Lines::new(TimedStream { stream, deadline: Some(deadline) });
        let first = lines.next(FIRST_LINE_BYTES_MAX)?;
        let Some((entry, answer)) = self.authenticate(&first, &output)? else { return Ok(()) };
        known();
        let _place = match room.callers.enter(&entry.principal) {
            Ok(place) => place,
            Err(full) => return output.send(&rpc::respond("null", &Answer::Error(connection::busy(full)))),
        };
        answer.map_or(Ok(()), |answer| output.send(&answer))?;
        lines.stream_mut().deadline = None;
        lines.stream().stream.set_read_timeout(None)?;
        let (service, caller) = (&self.service, &self.book.standing(entry));
        let connection = Connection { service, caller, limits: self.limits, waits: &room.waits, stop };
        connection.serve(&mut lines, &output)
    }

    /// Looks at the first line: the entry that it proves and the answer to it, or nothing, and then the connection ends.
    fn authenticate(&self, first: &Line, output: &Output) -> io::Result<Option<(Entry, Option<String>)>> {
        let text = match first {
            Line::Text(text) => text,
            Line::End => return Ok(None),
            Line::NotUtf8 => return output.fault("json-encoding", "a frame is not UTF-8").map(|()| None),
            Line::TooLong => {
                let detail = format!("the first line is longer than {FIRST_LINE_BYTES_MAX} bytes");
                return output.fault("json-size", &detail).map(|()| None);
            }
        };
        let call = match self.service.split(text) {
            Ok(mut frame) if !frame.batch && frame.calls.len() == 1 => frame.calls.remove(0),
            Ok(_) => return deny(output, "null", "the first line is not session.authenticate"),
            Err(problem) => return output.send(&respond("null", &Answer::Error(problem))).map(|()| None),
        };
        if let Some(response) = &call.response {
            return output.send(response).map(|()| None);
        }
        let id = call.id.as_deref().unwrap_or("null");
        if call.method != "session.authenticate" {
            return deny(output, id, "the first line is not session.authenticate");
        }
        let Ok(params) = serde_json::from_str::<Authenticate>(&call.params) else {
            return deny(output, id, "session.authenticate takes {\"token\": \"…\"}");
        };
        let entry = match self.book.resolve(&params.token) {
            Ok(Some(entry)) => entry,
            Ok(None) => return deny(output, id, "no such token"),
            Err(_) => return deny(output, id, "the token file cannot be used; see the server's doctor"),
        };
        let answer = call.id.as_ref().map(|id| {
            let value = json!({
                "method": "session.authenticate",
                "value": {
                    "name": entry.name,
                    "principal": entry.principal,
                    "authenticationId": entry.authentication_id,
                },
            });
            respond(id, &Answer::Result(value.to_string()))
        });
        Ok(Some((entry, answer)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Authenticate {
    token: String,
}

fn deny<T>(output: &Output, id: &str, detail: &str) -> io::Result<Option<T>> {
    output.send(&respond(id, &Answer::Error(error("authentication-required", detail)))).map(|()| None)
}

/// A stream whose reads end at a deadline, however slowly the bytes come.
struct TimedStream {
    stream: UnixStream,
    deadline: Option<Instant>,
}

impl io::Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(buffer)
    }
}

/// Ends the input of every connection and waits for their answers, up to `patience`.
fn drain(live: &Mutex<Live>, patience: Duration) {
    let deadline = Instant::now() + patience;
    let threads = {
        let mut table = lock(live);
        for stream in table.streams.values() {
            let _ = stream.shutdown(Shutdown::Read);
        }
        std::mem::take(&mut table.threads)
    };
    while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
fn same_account(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Elsewhere the modes of the folder and of the socket must do.
#[cfg(not(target_os = "linux"))]
fn same_account(_: &UnixStream) -> bool {
    true
}
