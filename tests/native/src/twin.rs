//! Two cores as one: every call runs in both, and they must agree.
//!
//! A host over a [`Twin`] of the component and the native rules is the differential test: whatever is done with it, each
//! answer was given twice. A step that goes on from an earlier one was given a third time, by `decide` with all answers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use threadmesh_runtime::{
    Core, CoreError, Outcome, Session,
    wit::{
        Answer, Checked, Error, Evaluated, Found, Frame, Operation, Principal, Query, Request, Step, StepKind, Verdict,
    },
};

/// Two cores. Where they disagree, a call ends as a trap that says how.
#[derive(Clone)]
pub struct Twin {
    first: Arc<dyn Core>,
    second: Arc<dyn Core>,
    compared: Arc<AtomicU64>,
    resumed: Arc<AtomicU64>,
}

impl Twin {
    /// `first` and `second`.
    pub fn new(first: Arc<dyn Core>, second: Arc<dyn Core>) -> Self {
        Self { first, second, compared: Arc::default(), resumed: Arc::default() }
    }

    /// How many answers were compared, in this and all its clones.
    pub fn compared(&self) -> u64 {
        self.compared.load(Relaxed)
    }

    /// How many steps went on from an earlier one, in this and all its clones.
    pub fn resumed(&self) -> u64 {
        self.resumed.load(Relaxed)
    }
}

impl Core for Twin {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        let (first, second, anew) = (self.first.session()?, self.second.session()?, self.second.session()?);
        Ok(Box::new(Both { twin: self, first, second, anew, asked: None }))
    }
}

struct Both<'t> {
    twin: &'t Twin,
    first: Box<dyn Session + 't>,
    second: Box<dyn Session + 't>,
    /// Of the second core: decides whatever the others go on with.
    anew: Box<dyn Session + 't>,
    asked: Option<Asked>,
}

/// All that a step was asked with, and what it asked for.
struct Asked {
    request: Request,
    answers: Vec<Answer>,
    evaluated: Vec<Evaluated>,
    now: f64,
    entropy: String,
    queries: Vec<Query>,
}

impl Both<'_> {
    fn agree<T: PartialEq + std::fmt::Debug>(
        &mut self,
        function: &'static str,
        ask: impl Fn(&mut dyn Session) -> Result<T, CoreError>,
    ) -> Result<T, CoreError> {
        let (first, second) = (ask(self.first.as_mut()), ask(self.second.as_mut()));
        self.twin.compared.fetch_add(1, Relaxed);
        if first == second {
            return first;
        }
        Err(CoreError::Trap { function, detail: format!("the cores disagree:\n{first:#?}\n{second:#?}") })
    }
}

impl Both<'_> {
    /// Compares a step that was gone on to with the one that is decided with everything.
    fn compare(
        &mut self,
        step: &Result<Step, Error>,
        mut asked: Asked,
        found: &[Found],
        evaluated: &[Evaluated],
    ) -> Result<(), CoreError> {
        let answer = |(query, found): (_, Found)| Answer { query, rows: found.rows, more: found.more };
        asked.answers.extend(asked.queries.drain(..).zip(found.iter().cloned()).map(answer));
        asked.evaluated.extend_from_slice(evaluated);
        let Asked { request, answers, evaluated, now, entropy, .. } = &asked;
        let anew = self.anew.decide(request, answers, evaluated, *now, entropy)?;
        self.twin.resumed.fetch_add(1, Relaxed);
        if anew != *step {
            let detail = format!("what it goes on to is not what it decides:\n{step:#?}\n{anew:#?}");
            return Err(CoreError::Trap { function: "resume", detail });
        }
        self.asked = needs(&Ok(anew)).map(|queries| Asked { queries, ..asked });
        Ok(())
    }
}

/// What a step asks for, if it needs anything.
fn needs(step: &Outcome<Step>) -> Option<Vec<Query>> {
    let Ok(Ok(step)) = step else { return None };
    (step.kind == StepKind::Needs).then(|| step.queries.clone())
}

impl Session for Both<'_> {
    fn describe(&mut self) -> Result<String, CoreError> {
        self.agree("describe", |core| core.describe())
    }

    fn canonicalize(&mut self, text: &str) -> Outcome<String> {
        self.agree("canonicalize", |core| core.canonicalize(text))
    }

    fn digest(&mut self, text: &str) -> Outcome<String> {
        self.agree("digest", |core| core.digest(text))
    }

    fn parse_time(&mut self, text: &str) -> Outcome<f64> {
        self.agree("parse-time", |core| core.parse_time(text))
    }

    fn check(&mut self, kind: &str, text: &str) -> Outcome<Checked> {
        self.agree("check", |core| core.check(kind, text))
    }

    fn kinds(&mut self) -> Result<Vec<String>, CoreError> {
        self.agree("kinds", |core| core.kinds())
    }

    fn verify(&mut self, document: &str, anchors: &str, expected: &str, now: f64) -> Outcome<Verdict> {
        self.agree("verify", |core| core.verify(document, anchors, expected, now))
    }

    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32> {
        self.agree("check-anchors", |core| core.check_anchors(anchors))
    }

    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>> {
        self.agree("verify-disposition", |core| core.verify_disposition(document, anchors, now))
    }

    fn step(&mut self, machine: &str, state: &str, event: &str) -> Outcome<String> {
        self.agree("step", |core| core.step(machine, state, event))
    }

    fn check_reason(&mut self, state: &str, reason: &str) -> Outcome<String> {
        self.agree("check-reason", |core| core.check_reason(state, reason))
    }

    fn check_combination(&mut self, states: &str) -> Outcome<String> {
        self.agree("check-combination", |core| core.check_combination(states))
    }

    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step> {
        let step = self.agree("decide", |core| core.decide(request, answers, evaluated, now, entropy));
        self.asked = needs(&step).map(|queries| Asked {
            request: request.clone(),
            answers: answers.to_vec(),
            evaluated: evaluated.to_vec(),
            now,
            entropy: entropy.into(),
            queries,
        });
        step
    }

    fn resume(&mut self, entropy: &str, found: &[Found], evaluated: &[Evaluated]) -> Outcome<Option<Step>> {
        let resumed = self.agree("resume", |core| core.resume(entropy, found, evaluated))?.map(|step| step.map(Ok));
        let Some(step) = resumed.unwrap_or_else(|error| Some(Err(error))) else { return Ok(Ok(None)) };
        let asked = self.asked.take().filter(|asked| asked.entropy == entropy && asked.queries.len() == found.len());
        if let Some(asked) = asked {
            self.compare(&step, asked, found, evaluated)?;
        }
        Ok(step.map(Some))
    }

    fn check_principal(&mut self, principal: &Principal) -> Result<Option<Error>, CoreError> {
        self.agree("check-principal", |core| core.check_principal(principal))
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        self.agree("operations", |core| core.operations())
    }

    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        self.agree("split", |core| core.split(text))
    }
}
