//! The dispatcher over a stand-in for the core, with adapters that are closures.

mod calls;
mod looking;
mod resuming;

use super::{fake::FakeCore, *};
use crate::adapter::{Adapter, Holder, Outcome, Query, QueryOutcome, QueryPolicy, Reason, Receipt, Submission};
use std::sync::atomic::AtomicUsize;

/// Long enough never to be reached by a working program.
const SOON: Duration = Duration::from_secs(60);

type Submit = Box<dyn Fn(&Submission, Instant) -> Outcome + Send + Sync>;
type Ask = Box<dyn Fn(&Query) -> QueryOutcome + Send + Sync>;

/// An adapter of two closures that counts its calls.
struct Scripted {
    submit: Submit,
    query: Ask,
    submits: AtomicUsize,
    queries: AtomicUsize,
}

impl Scripted {
    fn new(
        submit: impl Fn(&Submission, Instant) -> Outcome + Send + Sync + 'static,
        query: impl Fn(&Query) -> QueryOutcome + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (submits, queries) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { submit: Box::new(submit), query: Box::new(query), submits, queries })
    }

    /// Submits like this, and answers no query.
    fn mute(submit: impl Fn(&Submission, Instant) -> Outcome + Send + Sync + 'static) -> Arc<Self> {
        Self::new(submit, |_| QueryOutcome::Unanswerable(reason()))
    }

    fn submits(&self) -> usize {
        self.submits.load(Ordering::SeqCst)
    }

    fn queries(&self) -> usize {
        self.queries.load(Ordering::SeqCst)
    }
}

impl Adapter for Scripted {
    fn submit(&self, call: &Submission, deadline: Instant) -> Outcome {
        self.submits.fetch_add(1, Ordering::SeqCst);
        (self.submit)(call, deadline)
    }
    fn query(&self, query: &Query, _: Instant) -> QueryOutcome {
        self.queries.fetch_add(1, Ordering::SeqCst);
        (self.query)(query)
    }
}

fn reason() -> Reason {
    Reason::new("scripted", "as the test says")
}

fn receipt(id: &str) -> Receipt {
    Receipt {
        adapter_operation_id: format!("op-{id}"),
        accepted_at: "2026-01-01T00:00:00Z".into(),
        evidence_refs: vec![format!("ledger:{id}")],
    }
}

fn profile(adapter: &Arc<Scripted>) -> Profile {
    let adapter: Arc<dyn Adapter> = Arc::clone(adapter) as _;
    Profile {
        name: "target".into(),
        digest: fake::digest("target"),
        capabilities: "{}".into(),
        admission: None,
        deadline: Duration::from_secs(30),
        settle: Duration::from_secs(5),
        can_query: true,
        absent_final: false,
        query: QueryPolicy {
            deadline: Duration::from_secs(5),
            backoff: Duration::from_millis(1),
            backoff_max: Duration::from_millis(4),
            attempts_max: 3,
        },
        adapter: Some(adapter),
    }
}

fn config(instance: &str) -> Config {
    Config { workers: 2, query_workers: 1, sweep: Duration::from_millis(10), ..Config::new(instance) }
}

/// A core, a dispatcher over it called `one`, and its profile.
fn start(profile: &Profile) -> (FakeCore, Dispatcher) {
    start_with(profile, config("one"))
}

fn start_with(profile: &Profile, config: Config) -> (FakeCore, Dispatcher) {
    let core = FakeCore::new();
    let dispatcher = Dispatcher::start(core.host(&config.instance), vec![profile.clone()], config).unwrap();
    (core, dispatcher)
}
