//! The life of one authenticated connection: frames in, answers out.
//!
//! Frames run in the order of their arrival, one after the other. A frame with a call that may wait runs on a thread of
//! its own, so that its answer may come after those of later frames.

use crate::lines::{Line, Lines};
use crate::service::{Service, run, waits};
use crate::shares::{Full, Places, Shares};
use crate::standing::Standing;
use crate::stop::Stop;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use threadmesh_runtime::rpc::{self, Answer};

/// How much one server takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest frame, in bytes: `document_bytes_max` of spec/limits.md unless told otherwise.
    pub frame_bytes_max: usize,
    /// Connections at once, whether or not they have authenticated.
    pub connections_max: usize,
    /// Of them, those that have.
    pub callers: Places,
    /// Frames that may wait at once, over all connections.
    pub waits: Places,
    /// Frames of one connection that may wait at once.
    pub waits_max: usize,
    /// How long a connection may take to authenticate, in milliseconds.
    pub authenticate_ms_max: u64,
    /// How long a client may take to read an answer, in milliseconds.
    pub write_ms_max: u64,
    /// How long answers may take after the wish to stop, in milliseconds.
    pub drain_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes_max: 1 << 20,
            connections_max: 320,
            callers: Places { all: 256, owner: 192, principal: 128 },
            waits: Places { all: 192, owner: 112, principal: 64 },
            waits_max: 16,
            authenticate_ms_max: 5_000,
            write_ms_max: 30_000,
            drain_ms_max: 5_000,
        }
    }
}

/// Where the answers of one connection go, whole lines at a time. After a failed write nothing more is written: half a
/// line may be out. Cloning it shares it.
#[derive(Clone)]
pub struct Output {
    inner: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
}

impl Output {
    /// Answers to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Output { inner: Arc::new(Mutex::new(Some(Box::new(writer)))) }
    }

    /// Writes one line.
    pub fn send(&self, text: &str) -> io::Result<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = inner.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let written = writer.write_all(format!("{text}\n").as_bytes()).and_then(|()| writer.flush());
        if written.is_err() {
            *inner = None;
        }
        written
    }

    /// Writes an answer that is a fault of the transport's own, for a frame whose id is not known.
    pub(crate) fn fault(&self, code: &str, detail: &str) -> io::Result<()> {
        self.send(&rpc::fault(code, detail))
    }
}

/// The frames of a connection that wait.
#[derive(Default)]
struct Waits {
    count: Mutex<usize>,
    ended: Condvar,
}

impl Waits {
    fn enter(&self, max: usize) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let room = *count < max;
        *count += usize::from(room);
        room
    }

    fn leave(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.ended.notify_all();
    }

    /// Returns when nothing waits any more, or, after the wish to stop, when `patience` is over.
    fn settle(&self, stop: &Stop, patience: Duration) {
        let mut deadline = None;
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count > 0 && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            if stop.requested() && deadline.is_none() {
                deadline = Some(Instant::now() + patience);
            }
            let pause = Duration::from_millis(50);
            count = self.ended.wait_timeout(count, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A connection whose principal is known.
pub struct Connection<'a> {
    /// What runs the calls.
    pub service: &'a Arc<dyn Service>,
    /// Who is calling: a credential that ends refuses what is left of a frame, ends its waits, and ends the connection at
    /// its next frame.
    pub caller: &'a Standing,
    /// How much is taken on.
    pub limits: Limits,
    /// The places of frames that wait, of all connections.
    pub waits: &'a Shares,
    /// The wish to stop.
    pub stop: &'a Stop,
}

impl Connection<'_> {
    /// Serves frames until the input ends, a frame is too long, or the token is gone, and then waits for the frames that
    /// wait. Returns when every answer is out or, after the wish to stop, when the time for it is over.
    pub fn serve<R: Read>(&self, lines: &mut Lines<R>, output: &Output) -> io::Result<()> {
        let waits = Arc::new(Waits::default());
        let result = self.frames(lines, output, &waits);
        waits.settle(self.stop, Duration::from_millis(self.limits.drain_ms_max));
        result
    }

    fn frames<R: Read>(&self, lines: &mut Lines<R>, output: &Output, waits: &Arc<Waits>) -> io::Result<()> {
        loop {
            match lines.next(self.limits.frame_bytes_max)? {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let max = self.limits.frame_bytes_max;
                    let detail = format!("a frame is longer than {max} bytes; the connection ends");
                    return output.fault("json-size", &detail);
                }
                Line::NotUtf8 => output.fault("json-encoding", "a frame is not UTF-8")?,
                Line::Text(_) if !self.caller.holds() => {
                    return output.fault("authentication-required", "the token of this connection is no longer valid");
                }
                Line::Text(text) => self.frame(&text, output, waits)?,
            }
        }
    }

    fn frame(&self, text: &str, output: &Output, waiting: &Arc<Waits>) -> io::Result<()> {
        let frame = match self.service.split(text) {
            Ok(frame) => frame,
            Err(problem) => return output.send(&rpc::respond("null", &Answer::Error(problem))),
        };
        if !waits(self.service.as_ref(), &frame) {
            return answer(run(self.service.as_ref(), self.caller, &frame, &[], &self.service.ending()), output);
        }
        if !waiting.enter(self.limits.waits_max) {
            let busy = rpc::error("backpressure", "too many waiting calls on this connection");
            return answer(rpc::refuse(&frame, &busy), output);
        }
        let place = match self.waits.enter(&self.caller.entry().principal) {
            Ok(place) => place,
            Err(full) => {
                waiting.leave();
                return answer(rpc::refuse(&frame, &busy(full)), output);
            }
        };
        let (service, caller) = (Arc::clone(self.service), self.caller.clone());
        let (output, waiting) = (output.clone(), Arc::clone(waiting));
        let wait = move || {
            // Whoever waited may have gone; there is nobody else to tell.
            let _ = answer(run(service.as_ref(), &caller, &frame, &[], &service.ending()), &output);
            drop(place);
            waiting.leave();
        };
        std::thread::Builder::new().name("wait".to_owned()).spawn(wait).map(drop)
    }
}

/// The error of a frame that has no place.
pub(crate) fn busy(full: Full) -> String {
    let detail = match full {
        Full::Caller => "this principal or its owner has too many calls under way",
        Full::Server => "too many calls are under way",
    };
    rpc::error("backpressure", detail)
}

fn answer(text: Option<String>, output: &Output) -> io::Result<()> {
    text.map_or(Ok(()), |text| output.send(&text))
}
