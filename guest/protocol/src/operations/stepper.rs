//! Operations step by step: what a step that needs something leaves behind, so that the next one takes only what is new.
//!
//! Nothing of it counts: a step that goes on says what [`decide`](super::decide) says of the same request with all answers.

use super::find;
use crate::json::Parse;
use crate::kernel::{
    Answer, Evaluated, Found, Query, Request, Step, Stored,
    context::Given,
    decide::{self as framed, Asked, Find},
};
use crate::{Code, Error};
use alloc::{string::String, vec::Vec};

/// How many bytes are kept at most; what is larger is decided from the start.
const BYTES_MAX: usize = 256 << 10;

/// Takes the steps of one operation after the other.
#[derive(Debug)]
pub struct Stepper {
    find: Find,
    kept: Option<Kept>,
}

/// A step that needs something.
#[derive(Debug)]
struct Kept {
    request: Request,
    now: f64,
    entropy: String,
    answers: Vec<Answer>,
    evaluated: Vec<Evaluated>,
    parse: Parse,
    /// What it asked for.
    queries: Vec<Query>,
}

impl Default for Stepper {
    fn default() -> Self {
        Self::new()
    }
}

impl Stepper {
    /// With nothing kept.
    pub const fn new() -> Self {
        Self::over(find)
    }

    /// With other operations.
    pub(crate) const fn over(find: Find) -> Self {
        Self { find, kept: None }
    }

    /// As [`decide`](super::decide); forgets what was kept, and keeps this step if it needs something.
    pub fn decide(
        &mut self,
        request: Request,
        answers: Vec<Answer>,
        evaluated: Vec<Evaluated>,
        now: f64,
        entropy: String,
    ) -> Result<Step, Error> {
        self.kept = None;
        let asked = Asked { request: &request, now, entropy: &entropy };
        let (step, parse) = framed::decide(self.find, asked, Given { answers: &answers, evaluated: &evaluated })?;
        if let Some(parse) = parse {
            let queries = Vec::new();
            self.keep(Kept { request, now, entropy, answers, evaluated, parse, queries }, &step);
        }
        Ok(step)
    }

    /// The next step of the operation that was begun with `entropy`, by the answers to the last one's queries, in order, and
    /// what became of its evaluations. Nothing where no such step is kept. Error: `host-misuse` where there is not one
    /// answer for each query; then nothing is kept any more.
    pub fn resume(
        &mut self,
        entropy: &str,
        found: Vec<Found>,
        evaluated: Vec<Evaluated>,
    ) -> Result<Option<Step>, Error> {
        let Some(mut kept) = self.kept.take_if(|kept| kept.entropy == entropy) else { return Ok(None) };
        if found.len() != kept.queries.len() {
            return Err(Error::new(Code::HostMisuse, "", "there is not one answer for each query"));
        }
        let answer = |(query, Found { rows, more })| Answer { query, rows, more };
        kept.answers.extend(kept.queries.drain(..).zip(found).map(answer));
        kept.evaluated.extend(evaluated);
        let Kept { request, now, entropy, answers, evaluated, parse, queries } = kept;
        let asked = Asked { request: &request, now, entropy: &entropy };
        let given = Given { answers: &answers, evaluated: &evaluated };
        let Some(again) = framed::again(self.find, asked, parse, given) else { return Ok(None) };
        let (step, parse) = again?;
        if let Some(parse) = parse {
            self.keep(Kept { request, now, entropy, answers, evaluated, parse, queries }, &step);
        }
        Ok(Some(step))
    }

    /// Keeps a step that needs something and is not too large.
    fn keep(&mut self, kept: Kept, step: &Step) {
        let Step::Needs { queries, .. } = step else { return };
        if kept.bytes() <= BYTES_MAX {
            self.kept = Some(Kept { queries: queries.clone(), ..kept });
        }
    }
}

impl Kept {
    /// What it holds of others, in bytes.
    fn bytes(&self) -> usize {
        let texts = |texts: &[&String]| texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
        let row = |row: &Stored| texts(&[&row.id, &row.key, &row.body]);
        let rows = self.answers.iter().flat_map(|answer| &answer.rows).map(row);
        let told = |one: &Evaluated| {
            texts(&[&one.evaluation.input]).saturating_add(one.verdict.as_ref().map_or(0, |verdict| verdict.len()))
        };
        let evaluated = self.evaluated.iter().map(told);
        let own = self.request.params.len().saturating_add(self.parse.bytes());
        rows.chain(evaluated).fold(own, usize::saturating_add)
    }
}
