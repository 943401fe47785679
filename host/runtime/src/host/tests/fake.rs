//! A core of a few toy operations on named counters, and a store that can be watched and made to fail.

use crate::{
    Core, CoreError, Outcome, Session,
    store::{
        Answer as Found, Applied, ApplyError, Batch, Changes, EffectLease, Epoch, LeasedEffect, Query as Asked,
        ReadSet, Snapshot, Store, StoreError,
    },
    wit::{
        Answer, Call, Checked, Decision, Effect, EffectKind, Error, Evaluated, Frame, Group, Operation, Principal,
        Query, Request, Status, Step, StepKind, Verdict, Waiting, Write,
    },
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

#[derive(Default)]
pub struct Fake {
    /// Every entropy that a decision got.
    pub entropy: Mutex<Vec<String>>,
    /// How many sessions were made.
    pub sessions: AtomicU64,
}

impl Core for Fake {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        self.sessions.fetch_add(1, SeqCst);
        Ok(Box::new(Toy { fake: self, dead: false }))
    }
}

struct Toy<'f> {
    fake: &'f Fake,
    dead: bool,
}

pub fn counter(name: &str) -> Query {
    Query {
        collection: "c".into(),
        index: String::new(),
        start: name.into(),
        end: None,
        reverse: false,
        limit: 1,
        bytes: 0,
    }
}

fn needs(names: &[&str]) -> Step {
    let queries = names.iter().map(|name| counter(name)).collect();
    Step { kind: StepKind::Needs, queries, evaluations: Vec::new(), decision: None, waiting: None }
}

fn ready(response: impl Into<String>) -> Decision {
    Decision {
        status: Status::Accepted,
        response: response.into(),
        problem: None,
        writes: Vec::new(),
        effects: Vec::new(),
        audit: Vec::new(),
        topics: Vec::new(),
        proceed: None,
        facts: Vec::new(),
    }
}

fn step(decision: Decision) -> Step {
    let (queries, evaluations) = (Vec::new(), Vec::new());
    Step { kind: StepKind::Ready, queries, evaluations, decision: Some(decision), waiting: None }
}

fn wait(waiting: Option<Waiting>) -> Step {
    let (queries, evaluations) = (Vec::new(), Vec::new());
    Step { kind: StepKind::Wait, queries, evaluations, decision: None, waiting }
}

/// The revision and the number of a counter.
fn read(answer: &Answer) -> (u32, u32) {
    answer.rows.first().map_or((0, 0), |row| (row.revision, row.body.parse().unwrap()))
}

fn add(name: &str, answer: &Answer) -> Decision {
    let (expected, number) = read(answer);
    let number = number + 1;
    let (collection, id, body) = ("c".into(), name.into(), Some(number.to_string()));
    let write = Write { collection, id, expected, body, entries: Vec::new() };
    Decision { writes: vec![write], topics: vec![name.into()], ..ready(number.to_string()) }
}

fn trap() -> CoreError {
    CoreError::Trap { function: "decide", detail: "toy".into() }
}

impl Toy<'_> {
    fn run(&mut self, request: &Request, answers: &[Answer], now: f64) -> Outcome<Step> {
        let name = request.params.as_str();
        let one = || answers.first();
        Ok(Ok(match (request.operation.as_str(), one()) {
            ("add" | "get" | "read-at" | "sneak" | "until-one" | "wrong" | "pages", None) => needs(&[name]),
            ("get", Some(answer)) => step(ready(read(answer).1.to_string())),
            ("read-at", Some(answer)) => step(ready(format!("{now} {}", read(answer).1))),
            ("add" | "sneak", Some(answer)) => step(add(name, answer)),
            ("wrong", Some(answer)) => {
                let mut decision = add(name, answer);
                decision.writes[0].expected += 7;
                step(decision)
            }
            ("both", _) => match answers.len() {
                0 => needs(&[name.split(' ').next().unwrap()]),
                1 => needs(&[name.split(' ').nth(1).unwrap()]),
                _ => step(ready(format!("{} {}", read(&answers[0]).1, read(&answers[1]).1))),
            },
            // What the first counter says is the name of the one to ask for next.
            ("follow", None) => needs(&[name]),
            ("follow", Some(answer)) => {
                let next = read(answer).1.to_string();
                match answers.iter().any(|answer| answer.query.start == next) {
                    true => step(ready(next)),
                    false => needs(&[&next]),
                }
            }
            ("until-one", Some(answer)) if read(answer).1 == 0 => {
                let waiting = Some(Waiting { topics: vec![name.into()], until: 9e12 });
                wait(waiting)
            }
            ("until-one", Some(answer)) => step(ready(read(answer).1.to_string())),
            ("until-soon", _) => {
                let waiting = Some(Waiting { topics: vec!["never".into()], until: now + name.parse::<f64>().unwrap() });
                match request.cursor.as_deref() {
                    Some("timeout") => step(ready("late")),
                    _ => wait(waiting),
                }
            }
            ("pages", Some(answer)) => {
                let left: u32 = request.cursor.as_deref().map_or(3, |cursor| cursor.parse().unwrap());
                let proceed = (left > 0).then(|| (left - 1).to_string());
                step(Decision { proceed, ..add(name, answer) })
            }
            ("forever", _) => needs(&[name]),
            ("refuse", _) => step(Decision { status: Status::Refused, ..ready("{\"no\":1}") }),
            ("effects", _) => {
                let effect =
                    |kind, effect: &str| Effect { kind, name: effect.into(), key: name.into(), body: "{}".into() };
                let effects = vec![effect(EffectKind::Call, "do"), effect(EffectKind::Repeatable, "wake")];
                step(Decision { effects, ..ready("{}") })
            }
            ("time", _) => step(ready(now.to_string())),
            ("stamp", None) => needs(&[name]),
            ("stamp", Some(answer)) => step(Decision { response: now.to_string(), ..add(name, answer) }),
            ("trap", _) => {
                self.dead = true;
                return Err(trap());
            }
            ("panic", _) => panic!("the toy panics"),
            (_, _) => {
                let pointer = String::new();
                // No host knows this code.
                return Ok(Err(Error {
                    group: Group::Budget,
                    code: "toys-used-up".into(),
                    retryable: true,
                    pointer,
                    detail: "no such toy".into(),
                }));
            }
        }))
    }
}

impl Session for Toy<'_> {
    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        _: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step> {
        assert!(!self.dead, "a session that trapped is not asked again");
        if answers.is_empty() {
            self.fake.entropy.lock().unwrap().push(entropy.to_owned());
        }
        self.run(request, answers, now)
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        let writing = ["add", "wrong", "pages", "forever", "refuse", "effects", "trap", "panic", "stamp"];
        let reading = ["get", "read-at", "sneak", "both", "follow", "until-one", "until-soon", "time"];
        let operation =
            |name: &&str, read_only| Operation { name: (*name).into(), read_only, internal: false, row: "{}".into() };
        Ok(writing
            .iter()
            .map(|name| operation(name, false))
            .chain(reading.iter().map(|name| operation(name, true)))
            .collect())
    }

    /// `ID METHOD PARAMS`, several with `;` between; the id `-` is none, and `! TEXT` is a ready answer.
    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        let call = |text: &str| {
            let mut parts = text.splitn(3, ' ');
            let (id, method) = (parts.next().unwrap(), parts.next().unwrap());
            let response = (id == "!").then(|| format!("\"{method}\""));
            let id = (id != "-" && id != "!").then(|| id.to_owned());
            Call { id, method: method.into(), params: parts.next().unwrap_or("").into(), response }
        };
        Ok(Frame { batch: text.contains(';'), calls: text.split(';').map(call).collect() })
    }

    fn check_principal(&mut self, _: &Principal) -> Result<Option<Error>, CoreError> {
        Ok(None)
    }
    fn describe(&mut self) -> Result<String, CoreError> {
        Err(trap())
    }
    fn canonicalize(&mut self, _: &str) -> Outcome<String> {
        Err(trap())
    }
    fn digest(&mut self, _: &str) -> Outcome<String> {
        Err(trap())
    }
    fn parse_time(&mut self, _: &str) -> Outcome<f64> {
        Err(trap())
    }
    fn check(&mut self, _: &str, _: &str) -> Outcome<Checked> {
        Err(trap())
    }
    fn kinds(&mut self) -> Result<Vec<String>, CoreError> {
        Err(trap())
    }
    fn verify(&mut self, _: &str, _: &str, _: &str, _: f64) -> Outcome<Verdict> {
        Err(trap())
    }
    fn check_anchors(&mut self, _: &str) -> Outcome<u32> {
        Err(trap())
    }
    fn verify_disposition(&mut self, _: &str, _: &str, _: f64) -> Outcome<Vec<Verdict>> {
        Err(trap())
    }
    fn step(&mut self, _: &str, _: &str, _: &str) -> Outcome<String> {
        Err(trap())
    }
    fn check_reason(&mut self, _: &str, _: &str) -> Outcome<String> {
        Err(trap())
    }
    fn check_combination(&mut self, _: &str) -> Outcome<String> {
        Err(trap())
    }
}

/// Runs before a read, with its number since this was set.
type BeforeRead = Box<dyn Fn(u64) + Send + Sync>;

/// A store in front of another one.
pub struct Watched<S> {
    inner: S,
    reads: AtomicU64,
    before_read: Mutex<Option<BeforeRead>>,
    /// How often it was asked for a number of changes.
    pub looks: AtomicU64,
    /// How long a commit takes.
    pub commit_takes: Mutex<Duration>,
    /// What the next commit says instead of committing.
    pub commit_fails: Mutex<Option<StoreError>>,
    /// How many commits come before that one.
    pub commits_first: AtomicU64,
    /// What the next begin says.
    pub begin_fails: Mutex<Option<StoreError>>,
    /// How many applies conflict from now on.
    pub conflicts: AtomicU64,
    /// What leasing says from now on.
    pub lease_fails: Mutex<Option<StoreError>>,
}

impl<S> Watched<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            reads: 0.into(),
            before_read: Mutex::default(),
            looks: 0.into(),
            commit_takes: Mutex::default(),
            commit_fails: Mutex::default(),
            commits_first: 0.into(),
            begin_fails: Mutex::default(),
            conflicts: 0.into(),
            lease_fails: Mutex::default(),
        }
    }

    pub fn before_read(&self, run: impl Fn(u64) + Send + Sync + 'static) {
        self.reads.store(0, SeqCst);
        *self.before_read.lock().unwrap() = Some(Box::new(run));
    }
}

impl<S: Store> Store for Watched<S> {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(Look { store: self, inner: None }))
    }
    fn begin(&self) -> Result<Box<dyn Batch + '_>, StoreError> {
        if let Some(error) = self.begin_fails.lock().unwrap().clone() {
            return Err(error);
        }
        Ok(Box::new(Transaction { inner: self.inner.begin()?, store: self }))
    }
    fn last_time(&self) -> Result<i64, StoreError> {
        self.inner.last_time()
    }
    fn changes(&self) -> Result<u64, StoreError> {
        self.looks.fetch_add(1, SeqCst);
        self.inner.changes()
    }
    fn lease_effects(&self, now: i64, lease_ms: i64, limit: u32) -> Result<Vec<LeasedEffect>, StoreError> {
        match self.lease_fails.lock().unwrap().clone() {
            Some(error) => Err(error),
            None => self.inner.lease_effects(now, lease_ms, limit),
        }
    }
    fn complete_effect(&self, lease: EffectLease) -> Result<bool, StoreError> {
        self.inner.complete_effect(lease)
    }
    fn release_effect(&self, lease: EffectLease, retry_at: i64, failed: Option<&str>) -> Result<bool, StoreError> {
        self.inner.release_effect(lease, retry_at, failed)
    }
    fn advance_effects(&self, now: i64) -> Result<(), StoreError> {
        self.inner.advance_effects(now)
    }

    fn next_effect_due(&self) -> Result<Option<i64>, StoreError> {
        self.inner.next_effect_due()
    }
    fn scrub(&self, wait: std::time::Duration) -> Result<crate::store::Scrub, StoreError> {
        self.inner.scrub(wait)
    }
}

/// A snapshot that is taken when it is first read from, after what comes before that reading.
struct Look<'s, S> {
    store: &'s Watched<S>,
    inner: Option<Box<dyn Snapshot + 's>>,
}

impl<S: Store> Snapshot for Look<'_, S> {
    fn read(&mut self, queries: &[Asked]) -> Result<Vec<Found>, StoreError> {
        let number = self.store.reads.fetch_add(1, SeqCst) + 1;
        let run = self.store.before_read.lock().unwrap().take();
        if let Some(run) = run {
            run(number);
            *self.store.before_read.lock().unwrap() = Some(run);
        }
        match &mut self.inner {
            Some(inner) => inner.read(queries),
            taken => taken.insert(self.store.inner.snapshot()?).read(queries),
        }
    }
}

struct Transaction<'s, S> {
    inner: Box<dyn Batch + 's>,
    store: &'s Watched<S>,
}

impl<S> Batch for Transaction<'_, S> {
    fn read(&mut self, queries: &[Asked]) -> Result<Vec<Found>, StoreError> {
        self.inner.read(queries)
    }
    fn last_time(&mut self) -> Result<i64, StoreError> {
        self.inner.last_time()
    }
    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }
    fn apply(&mut self, reads: &ReadSet, changes: &Changes) -> Result<Applied, ApplyError> {
        let conflict = self.store.conflicts.try_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        if conflict {
            return Err(ApplyError::Conflict(crate::store::Conflict::Read { query: 0 }));
        }
        self.inner.apply(reads, changes)
    }
    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        // What this commit says is settled before it takes its time.
        let before = self.store.commits_first.try_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        let fails = if before { None } else { self.store.commit_fails.lock().unwrap().take() };
        let takes = *self.store.commit_takes.lock().unwrap();
        std::thread::sleep(takes);
        match fails {
            Some(error) => Err(error),
            None => self.inner.commit(),
        }
    }
}
