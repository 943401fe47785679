//! Decisions: scenarios in the form of the conformance vectors, over a store that the decisions themselves fill.
//!
//! What a store could hold is reached by operations only; then rows are damaged, which no store does, and the rules must
//! still come to an end.

pub mod cast;
mod life;
mod sound;

pub(crate) use sound::sound;

use crate::{random::Random, store::Store};
use life::Life;
use serde_json::Value as Other;
use threadmesh_protocol::{
    Code, Error,
    generated::limits::ROUNDS_MAX,
    kernel::{Answer, Decision, Entry, Evaluated, Query, Request, Step},
    operations::decide,
};

/// Steps of a scenario that are performed.
pub(crate) const STEPS_MAX: usize = 32;
/// Randomness for calls that need none of their own.
const ENTROPY: &str = "00000000000000000000000000000000000000000000000000000000000000a1";

/// One scenario. Whether one of its calls was accepted.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(scenario) = serde_json::from_str::<Other>(text) else { return false };
    Life::new(&scenario, data).is_some_and(Life::live)
}

/// How the rounds of one decision ended, and all facts that it had.
pub struct Ended {
    /// The last step, or the misuse that the rules found.
    pub step: Result<Step, Error>,
    /// The facts.
    pub answers: Vec<Answer>,
}

impl Ended {
    /// The decision, if there is one.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.step {
            Ok(Step::Ready(decision)) => Some(decision),
            _ => None,
        }
    }
}

/// Decides with the facts of `store`, as a host does.
pub fn rounds(request: &Request, store: &Store, now: i64) -> Ended {
    rounds_with(request, store, now, ENTROPY)
}

/// As [`rounds`], with this entropy.
pub fn rounds_with(request: &Request, store: &Store, now: i64, entropy: &str) -> Ended {
    rounds_after(request, store, now, entropy, Vec::new())
}

/// As [`rounds_with`], after these evaluations; whatever else is asked for ends as `unavailable`, as on a host without an
/// engine for policies.
pub fn rounds_after(request: &Request, store: &Store, now: i64, entropy: &str, mut evaluated: Vec<Evaluated>) -> Ended {
    let mut answers: Vec<Answer> = Vec::new();
    for _ in 0..=ROUNDS_MAX {
        let step = once(request, &answers, &evaluated, now, entropy);
        match step {
            Ok(Step::Needs { queries, evaluations }) => {
                assert!(!queries.is_empty() || !evaluations.is_empty(), "asks for nothing");
                evaluated.extend(evaluations.into_iter().map(|evaluation| Evaluated {
                    evaluation,
                    end: "unavailable".into(),
                    verdict: None,
                    facts: Vec::new(),
                }));
                asked(request, &queries, &answers);
                answers.extend(queries.iter().map(|query| store.answer(query)));
            }
            step => return Ended { step, answers },
        }
    }
    panic!("{} asks for facts more than {ROUNDS_MAX} times", request.operation);
}

/// One step, which is the same again, and in whatever order the facts come. Asked of one request in four.
fn once(
    request: &Request,
    answers: &[Answer],
    evaluated: &[Evaluated],
    now: i64,
    entropy: &str,
) -> Result<Step, Error> {
    let step = decide(request, answers, evaluated, now as f64, entropy);
    if !Random::of(request.params.as_bytes()).chance(25) {
        return step;
    }
    assert_eq!(step, decide(request, answers, evaluated, now as f64, entropy), "another answer to the same question");
    if answers.len() > 1 {
        let mut back = answers.to_vec();
        back.reverse();
        assert_eq!(step, decide(request, &back, evaluated, now as f64, entropy), "the order of the facts counts");
    }
    step
}

/// Every query is new, bounded, and about the caller's tenant; a short name is the digest of an id that has it.
fn asked(request: &Request, queries: &[Query], answers: &[Answer]) {
    let tenant = request.principal.as_ref().map(|principal| key(&principal.tenant)).unwrap_or_default();
    for (position, query) in queries.iter().enumerate() {
        assert!(!queries[..position].contains(query), "asks twice for {query:?}");
        assert!(!answers.iter().any(|answer| answer.query == *query), "asks again for {query:?}");
        assert!((1..=1001).contains(&query.limit) && !query.collection.is_empty(), "{query:?}");
        let end = query.end.as_ref();
        assert!(end.is_none_or(|end| *end >= query.start), "{query:?}");
        if is_short(&query.collection, &query.index) {
            assert!(short_name(&query.start).is_some(), "{query:?} is about nobody");
            assert!(end.is_none_or(|end| end.starts_with(&query.start[..SHORT])), "{query:?} is about several");
            continue;
        }
        assert!(query.start.is_empty() || of_tenant(&query.start, &tenant), "{query:?} leaves the tenant");
        assert!(end.is_none_or(|end| end.starts_with(&tenant)), "{query:?}");
    }
}

/// Length of a short name.
const SHORT: usize = 22;

/// Whether the keys of an index begin with a short name instead of the tenant.
pub(crate) fn is_short(collection: &str, index: &str) -> bool {
    matches!(
        (collection, index),
        ("audit", "stream" | "message")
            | ("life", "inbox" | "urgent" | "held" | "bound")
            | ("grant" | "proposal", "party" | "related")
    )
}

/// The short name that a key begins with.
pub(crate) fn short_name(key: &str) -> Option<&str> {
    let (name, _) = key.split_once('/')?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (name.len() == SHORT && plain).then_some(name)
}

/// Whether an entry is found under the tenant, or under a short name.
pub(crate) fn found(collection: &str, entry: &Entry, tenant: &str) -> bool {
    if is_short(collection, &entry.index) {
        return short_name(&entry.key).is_some();
    }
    of_tenant(&entry.key, tenant)
}

/// Whether a key begins with this part. A key that is a part of another one is escaped once more.
pub(crate) fn of_tenant(text: &str, tenant: &str) -> bool {
    let part = |tenant: &str, end: &str| {
        text.strip_prefix(tenant).is_some_and(|rest| rest.is_empty() || rest.starts_with(end))
    };
    let escaped = key(tenant);
    part(tenant, "/") || part(&escaped, "%2F") || part(&key(&escaped), "%252F")
}

/// `part` as a part of a key.
pub(crate) fn key(part: &str) -> String {
    part.replace('%', "%25").replace('/', "%2F")
}

/// Whether the rules may answer so to a host that gives them what no store holds.
pub(crate) fn misuse(error: &Error) -> bool {
    matches!(error.code, Code::HostMisuse | Code::RecordDamaged)
}
