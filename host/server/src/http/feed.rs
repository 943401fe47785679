//! The events of one task, one after the other: what SSE and WebSocket push.
//!
//! Whoever pushes asks for the next item, and asks only when the item before it is on its way, so that no more than one
//! page is ever held. Each page is a `tasks.wait` of its own, decided as the caller stands then; what was read is handed
//! out only while the credential holds and for a short time, and is read anew after it. Cursors are dense: where one is
//! missing, or the caller's is ahead of the stream, that is said ([`Item::Gap`]).

use super::App;
use super::gate::Caller;
use super::pool::Place;
use super::rpc::Ending;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{Answer, Refusal, error};
use tokio::task::JoinHandle;

/// Events in one page.
const PAGE: u32 = 100;
/// The greatest cursor.
const CURSOR_MAX: u64 = (1 << 53) - 1;
/// How long one read waits; a stream lives through any number of them.
const WAIT_MS: u64 = 25_000;

/// A task incarnation, as in params.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRef {
    /// The task.
    pub task_id: String,
    /// Its incarnation.
    pub incarnation_id: String,
}

/// Whose events, as in the params of `tasks.wait`.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The task.
    pub task: TaskRef,
    /// Its owner, where owners use the same ids.
    pub owner: Option<String>,
}

/// Where a stream starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first event after a cursor.
    After(u64),
    /// With the next event that happens.
    Now,
}

impl Default for Start {
    fn default() -> Self {
        Start::After(0)
    }
}

impl Start {
    /// A cursor in decimal digits, or `now`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            "now" => Some(Start::Now),
            cursor if digits => cursor.parse().ok().and_then(Self::after),
            _ => None,
        }
    }

    /// After a cursor, where it is one: a whole number that every JSON reader holds exactly.
    pub fn after(cursor: u64) -> Option<Self> {
        (cursor <= CURSOR_MAX).then_some(Start::After(cursor))
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event: its cursor, and its JSON text on one line.
    Event(u64, String),
    /// The cursors from `from` to `to` do not come; the stream goes on after `after`.
    Gap {
        /// The first that does not come.
        from: u64,
        /// The last that does not come.
        to: u64,
        /// What to resume after.
        after: u64,
    },
    /// Nothing for as long as a stream is silent.
    Quiet,
    /// Nothing more. It resumes after the cursor.
    End {
        /// A code of spec/errors.md, `shutting-down` or `slow-consumer`.
        reason: String,
        /// What to resume after.
        after: u64,
    },
}

/// A stream of events.
pub struct Feed {
    reader: Reader,
    /// The cursor of the last item handed out.
    after: u64,
    page: VecDeque<(u64, String)>,
    read_at: Instant,
    gap: Option<Item>,
    running: Option<JoinHandle<Read>>,
    ending: Ending,
    /// When something was handed out last.
    handed: Instant,
}

/// What was read, or the `error` member of a refusal.
type Read = Result<Page, String>;

/// A page, and the greatest cursor there is.
struct Page {
    events: VecDeque<(u64, String)>,
    head: u64,
}

/// Reads pages as the caller.
#[derive(Clone)]
struct Reader {
    app: Arc<App>,
    caller: Caller,
    subject: Subject,
    /// Kept as long as anything of the feed runs.
    _place: Arc<Place>,
}

impl Feed {
    /// The events of `subject` from `start` on. Error: the `error` member with which the core refuses the first look.
    pub async fn start(
        app: &Arc<App>,
        caller: &Caller,
        place: Place,
        subject: Subject,
        start: Start,
    ) -> Result<Self, String> {
        let reader = Reader { app: Arc::clone(app), caller: caller.clone(), subject, _place: Arc::new(place) };
        let first = reader.clone();
        let head = tokio::task::spawn_blocking(move || first.head()).await;
        let head = head.unwrap_or_else(|_| Err(lost()))?;
        let after = match start {
            Start::After(after) => after,
            Start::Now => head,
        };
        let gap = (head < after).then_some(Item::Gap { from: head + 1, to: after, after: head });
        let now = Instant::now();
        let (page, ending) = (VecDeque::new(), Ending::default());
        Ok(Feed { reader, after: head.min(after), page, read_at: now, gap, running: None, ending, handed: now })
    }

    /// The next item; after [`Item::End`] there is none. May be dropped before it is done and called again.
    pub async fn next(&mut self) -> Item {
        let limits = self.reader.app.limits;
        if self.handed.elapsed() > Duration::from_millis(limits.slow_ms_max) {
            return self.end("slow-consumer");
        }
        if self.read_at.elapsed() > Duration::from_millis(limits.page_ms_max) {
            self.page.clear();
        }
        let item = self.await_item(Duration::from_millis(limits.heartbeat_ms)).await;
        self.handed = Instant::now();
        item
    }

    async fn await_item(&mut self, patience: Duration) -> Item {
        let deadline = tokio::time::Instant::now() + patience;
        let mut pulse = tokio::time::interval(Duration::from_millis(self.reader.app.limits.pulse_ms));
        loop {
            if !self.reader.holds() {
                return self.end("authentication-required");
            }
            if self.reader.app.is_closing() {
                return self.end("shutting-down");
            }
            if let Some(item) = self.take() {
                return item;
            }
            let running = self.running.get_or_insert_with(|| self.reader.read(self.after, &self.ending.0));
            let read = tokio::select! {
                read = running => read,
                () = self.reader.app.closed() => continue,
                _ = pulse.tick() => continue,
                () = tokio::time::sleep_until(deadline) => return Item::Quiet,
            };
            self.running = None;
            match read.unwrap_or_else(|_| Err(lost())) {
                Ok(page) => (self.page, self.read_at) = (page.events, Instant::now()),
                Err(error) => {
                    let code = Refusal::read(&error).code;
                    return self.end(if code.is_empty() { "core-trap" } else { &code });
                }
            }
        }
    }

    /// What is there already.
    fn take(&mut self) -> Option<Item> {
        if let Some(gap) = self.gap.take() {
            return Some(gap);
        }
        let cursor = self.page.front()?.0;
        if cursor > self.after + 1 {
            let gap = Item::Gap { from: self.after + 1, to: cursor - 1, after: cursor - 1 };
            self.after = cursor - 1;
            return Some(gap);
        }
        let (cursor, text) = self.page.pop_front()?;
        self.after = cursor;
        Some(Item::Event(cursor, text))
    }

    fn end(&mut self, reason: &str) -> Item {
        self.ending.0.cancel();
        Item::End { reason: reason.to_owned(), after: self.after }
    }
}

impl Reader {
    fn holds(&self) -> bool {
        self.app.gate.holds(self.caller.credential())
    }

    /// Starts to read the page after a cursor, and to wait for it.
    fn read(&self, after: u64, cancel: &Cancel) -> JoinHandle<Read> {
        let (reader, cancel) = (self.clone(), cancel.clone());
        tokio::task::spawn_blocking(move || reader.page(after, PAGE, WAIT_MS, &cancel))
    }

    fn page(&self, after: u64, limit: u32, wait_ms: u64, cancel: &Cancel) -> Read {
        let mut params = json!({"afterCursor": after, "limit": limit, "timeoutMs": wait_ms, "task": self.subject.task});
        if let Some(owner) = &self.subject.owner {
            params["owner"] = json!(owner);
        }
        let service = &self.app.service;
        match service.call_until(self.caller.entry(), "tasks.wait", &params.to_string(), cancel) {
            Answer::Result(text) => page(&text).ok_or_else(lost),
            Answer::Error(error) => Err(error),
        }
    }

    /// The greatest cursor there is. This asks whether the caller may look at all.
    fn head(&self) -> Result<u64, String> {
        self.page(0, 1, 0, &Cancel::default()).map(|page| page.head)
    }
}

/// What an answer of `tasks.wait` tells, each event on one line.
fn page(answer: &str) -> Option<Page> {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        value: Told<'a>,
    }
    #[derive(Deserialize)]
    struct Told<'a> {
        #[serde(borrow)]
        events: Vec<&'a RawValue>,
        head: u64,
    }
    #[derive(Deserialize)]
    struct Numbered {
        cursor: u64,
    }
    let told = serde_json::from_str::<Wrapped<'_>>(answer).ok()?.value;
    let number = |text: &str| serde_json::from_str::<Numbered>(text).ok().map(|event| event.cursor);
    // Line ends between the tokens of JSON mean no more than a space.
    let line = |event: &&RawValue| Some((number(event.get())?, event.get().replace(['\n', '\r'], " ")));
    Some(Page { events: told.events.iter().map(line).collect::<Option<_>>()?, head: told.head })
}

fn lost() -> String {
    error("core-trap", "the stream cannot be read")
}
