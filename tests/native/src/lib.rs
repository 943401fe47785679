//! The rules without the sandbox: the same functions as the component, for tests and for finding faults.
//!
//! The conversions are those of `guest/component`, over the types that the host has of the same records; there is no rule
//! here either.

extern crate alloc;

#[path = "../../../guest/component/src/conversions.rs"]
mod conversions;
#[path = "../../../guest/component/src/verdicts.rs"]
mod verdicts;

pub mod twin;
pub mod vectors;

use threadmesh_protocol as protocol;
pub use threadmesh_protocol::characters::unseen;
use threadmesh_protocol::operations::Stepper;
use threadmesh_runtime::{
    Core, CoreError, Outcome, Session,
    wit::{self, Answer, Checked, Error, Evaluated, Found, Frame, Group, Operation, Principal, Request, Step, Verdict},
};
use verdicts::{error, verdict};

/// The rules, linked into this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeCore;

impl Core for NativeCore {
    fn session(&self) -> Result<Box<dyn Session + '_>, CoreError> {
        Ok(Box::<Native>::default())
    }
}

#[derive(Default)]
struct Native(Stepper);

/// The result of a rule as the outcome of a call: natively there is always an answer.
fn answered<T>(result: Result<T, protocol::Error>) -> Outcome<T> {
    Ok(result.map_err(error))
}

impl Session for Native {
    fn describe(&mut self) -> Result<String, CoreError> {
        Ok(protocol::about::DESCRIPTION.into())
    }

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
        answered(protocol::attestation::verify(document, anchors, expected, now).map(verdict))
    }

    fn check_anchors(&mut self, anchors: &str) -> Outcome<u32> {
        answered(protocol::attestation::check_anchors(anchors))
    }

    fn verify_disposition(&mut self, document: &str, anchors: &str, now: f64) -> Outcome<Vec<Verdict>> {
        let verdicts = protocol::attestation::verify_disposition(document, anchors, now);
        answered(verdicts.map(|verdicts| verdicts.into_iter().map(verdict).collect()))
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

    fn decide(
        &mut self,
        request: &Request,
        answers: &[Answer],
        evaluated: &[Evaluated],
        now: f64,
        entropy: &str,
    ) -> Outcome<Step> {
        let answers = answers.iter().cloned().map(conversions::answer).collect();
        let evaluated = evaluated.iter().cloned().map(conversions::evaluated).collect();
        let request = conversions::request(request.clone());
        answered(self.0.decide(request, answers, evaluated, now, entropy.into()).map(conversions::step))
    }

    fn resume(&mut self, entropy: &str, found: &[Found], evaluated: &[Evaluated]) -> Outcome<Option<Step>> {
        let found = found.iter().cloned().map(conversions::found).collect();
        let evaluated = evaluated.iter().cloned().map(conversions::evaluated).collect();
        answered(self.0.resume(entropy, found, evaluated).map(|step| step.map(conversions::step)))
    }

    fn check_principal(&mut self, principal: &Principal) -> Result<Option<Error>, CoreError> {
        Ok(protocol::kernel::check_principal(&conversions::principal(principal.clone())).map(error))
    }

    fn operations(&mut self) -> Result<Vec<Operation>, CoreError> {
        Ok(protocol::operations::operations().iter().map(conversions::operation).collect())
    }

    fn split(&mut self, text: &str) -> Result<Frame, CoreError> {
        let frame = protocol::kernel::split(text);
        Ok(Frame { batch: frame.batch, calls: frame.calls.into_iter().map(conversions::call).collect() })
    }
}
