//! The rules without the sandbox: the same functions as the component, for tests and for finding faults.
//!
//! Conversions are one to one, as in `guest/component`; there is no rule here either.

#[rustfmt::skip]
#[allow(clippy::too_many_lines)]
mod codes;
mod records;
pub mod twin;
pub mod vectors;

use codes::code;
use threadmesh_protocol as protocol;
use threadmesh_runtime::{
    Core, CoreError, Outcome, Session,
    wit::{Answer, Checked, Error, Frame, Operation, Request, Step, Verdict},
};

/// The rules, linked into this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeCore;

impl Core for NativeCore {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        Ok(Box::new(Native))
    }
}

struct Native;

fn error(error: protocol::Error) -> Error {
    Error { code: code(error.code), pointer: error.pointer, detail: error.detail }
}

/// The result of a rule as the outcome of a call: natively there is always an answer.
fn answered<T>(result: Result<T, protocol::Error>) -> Outcome<T> {
    Ok(result.map_err(error))
}

impl Session for Native {
    fn canonicalize(&mut self, text: &str) -> Outcome<String> {
        answered(protocol::json::parse(text).map(|tree| tree.canonical()))
    }

    fn digest(&mut self, text: &str) -> Outcome<String> {
        answered(protocol::json::parse(text).map(|tree| tree.digest()))
    }

    fn parse_time(&mut self, text: &str) -> Outcome<f64> {
        answered(protocol::time::parse(text).map(|ms| ms as f64))
    }

    fn check(&mut self, kind: &str, text: &str) -> Outcome<Checked> {
        let checked = protocol::documents::check(kind, text);
        answered(checked.map(|checked| Checked { canonical: checked.canonical, digest: checked.digest }))
    }

    fn kinds(&mut self) -> Result<Vec<String>, CoreError> {
        Ok(protocol::documents::kinds().map(Into::into).collect())
    }

    fn verify(&mut self, document: &str, anchors: &str, expected: &str, now: f64) -> Outcome<Verdict> {
        answered(protocol::attestation::verify(document, anchors, expected, now).map(records::verdict))
    }

    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32> {
        answered(protocol::attestation::check_anchors(anchors))
    }

    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>> {
        let verdicts = protocol::attestation::verify_disposition(document, anchors, now);
        answered(verdicts.map(|verdicts| verdicts.into_iter().map(records::verdict).collect()))
    }

    fn step(&mut self, machine: &str, state: &str, event: &str) -> Outcome<String> {
        answered(protocol::lifecycle::step_text(machine, state, event).map(Into::into))
    }

    fn check_reason(&mut self, state: &str, reason: &str) -> Outcome<String> {
        answered(protocol::lifecycle::check_reason(state, reason).map(Into::into))
    }

    fn check_combination(&mut self, states: &str) -> Outcome<String> {
        answered(protocol::lifecycle::check_combination(states).map(Into::into))
    }

    fn decide(&mut self, request: &Request, answers: &[Answer], now: f64, entropy: &str) -> Outcome<Step> {
        let answers: Vec<_> = answers.iter().cloned().map(records::answer).collect();
        let request = records::request(request.clone());
        answered(protocol::coordinator::decide(&request, &answers, now, entropy).map(records::step))
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        Ok(protocol::coordinator::operations().iter().map(records::operation).collect())
    }

    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        let frame = protocol::coordinator::split(text);
        Ok(Frame { batch: frame.batch, calls: frame.calls.into_iter().map(records::call).collect() })
    }
}
