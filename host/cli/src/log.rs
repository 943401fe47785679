//! A server's standard error: its log, one JSON object a line, and remarks for people.
//!
//! While the log is written, nobody else writes to standard error: whoever does not read it would hold them up.

use crate::terminal::Printer;
use serde::Serialize;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How many lines wait for whoever reads them. What comes on top is counted and not kept.
const LINES_MAX: usize = 1_024;

/// A log that a thread of its own writes: whoever does not read it holds up nobody else. All clones are one.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    printer: Printer,
    lines: Mutex<Option<SyncSender<String>>>,
    lost: Arc<AtomicU64>,
    ended: Mutex<Receiver<()>>,
}

impl Log {
    /// Starts it. Without a thread to be had, nothing is kept.
    pub fn start(printer: Printer) -> Self {
        let (lines, waiting) = sync_channel(LINES_MAX);
        let (end, ended) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&lost);
        let writer = thread::Builder::new().name("threadmesh-log".into()).spawn(move || {
            write(&waiting, &theirs);
            let _ = end.send(());
        });
        let lines = writer.is_ok().then_some(lines);
        Log(Arc::new(Inner { printer, lines: Mutex::new(lines), lost, ended: Mutex::new(ended) }))
    }

    /// Adds a line. What targets and callers say may be in it, so it is escaped like everything else.
    pub fn line(&self, event: &impl Serialize) {
        self.add(serde_json::to_string(event).unwrap_or_default());
    }

    /// Adds a remark for people; nothing where answers are JSON.
    pub fn remark(&self, text: &str) {
        if self.0.printer.remarks() {
            self.add(text.to_owned());
        }
    }

    fn add(&self, line: String) {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok());
        if !kept {
            self.0.lost.fetch_add(1, Relaxed);
        }
    }

    /// Takes no more, and waits until what there is has been written, at most for `patience`.
    pub fn end(&self, patience: Duration) {
        *self.0.lines.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever does not read it by now does not want it.
        let _ = ended.recv_timeout(patience);
    }
}

fn write(lines: &Receiver<String>, lost: &AtomicU64) {
    let printer = Printer::new(false);
    while let Ok(line) = lines.recv() {
        printer.remark(&line);
        let lost = lost.swap(0, Relaxed);
        if lost > 0 {
            printer.remark(&json!({"event": "lines-lost", "count": lost}).to_string());
        }
    }
}
