//! The rounds of one operation: what was brought so far, and the next step by it.

use crate::{
    Session,
    core::Outcome,
    wit::{Answer, Evaluated, Found, Query, Request, Step},
};

/// One operation between its first step and its last.
///
/// A session that keeps a step goes on from there ([`Session::resume`]); otherwise it decides again with everything. The step is
/// the same.
#[derive(Debug)]
pub struct Rounds<'r> {
    request: &'r Request,
    now: f64,
    entropy: &'r str,
    answers: Vec<Answer>,
    evaluated: Vec<Evaluated>,
    /// What the last step asked for and what was found, until the next step.
    queries: Vec<Query>,
    found: Vec<Found>,
    /// How many evaluations the last step knew.
    known: usize,
    /// Whether the last step may be gone on from.
    goes_on: bool,
}

impl<'r> Rounds<'r> {
    /// Before the first step of `request` at `now` (whole milliseconds) with `entropy` (64 hex digits), after these
    /// `evaluated`.
    pub fn new(request: &'r Request, now: f64, entropy: &'r str, evaluated: Vec<Evaluated>) -> Self {
        let (answers, queries, found) = (Vec::new(), Vec::new(), Vec::new());
        Self { request, now, entropy, answers, evaluated, queries, found, known: 0, goes_on: false }
    }

    /// The next step. Errors as those of [`Session::decide`].
    pub fn step(&mut self, session: &mut dyn Session) -> Outcome<Step> {
        let mut resumed = Ok(Ok(None));
        if std::mem::take(&mut self.goes_on) {
            resumed = session.resume(self.entropy, &self.found, self.evaluated.get(self.known..).unwrap_or_default());
        }
        let answer = |(query, Found { rows, more })| Answer { query, rows, more };
        self.answers.extend(self.queries.drain(..).zip(self.found.drain(..)).map(answer));
        let step = match resumed {
            Ok(Ok(None)) => session.decide(self.request, &self.answers, &self.evaluated, self.now, self.entropy),
            Ok(Ok(Some(step))) => Ok(Ok(step)),
            Ok(Err(error)) => Ok(Err(error)),
            Err(fault) => Err(fault),
        };
        (self.known, self.goes_on) = (self.evaluated.len(), matches!(step, Ok(Ok(_))));
        step
    }

    /// Takes what the last step asked for: something for each query, and what became of its evaluations.
    pub fn bring(&mut self, queries: Vec<Query>, found: Vec<Found>, evaluated: impl IntoIterator<Item = Evaluated>) {
        (self.queries, self.found) = (queries, found);
        self.evaluated.extend(evaluated);
    }

    /// All answers that the last step was given.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// All evaluations so far.
    pub fn evaluated(&self) -> &[Evaluated] {
        &self.evaluated
    }
}
