//! The interfaces of the world `core` only.

use crate::Component;
use crate::conversions::{answer, call, evaluated, found, operation, principal, request, step};
use crate::exports::threadmesh::core::{documents, lifecycle, types};
use crate::one::One;
use crate::verdicts::error;
use crate::wit;
use alloc::{string::String, vec::Vec};
use threadmesh_protocol as protocol;
use threadmesh_protocol::kernel as core;
use threadmesh_protocol::operations::Stepper;

impl documents::Guest for Component {
    fn check(kind: String, text: String) -> Result<documents::Checked, types::Error> {
        protocol::documents::check(&kind, &text)
            .map(|checked| documents::Checked { canonical: checked.canonical, digest: checked.digest })
            .map_err(error)
    }

    fn kinds() -> Vec<String> {
        protocol::documents::kinds().map(Into::into).collect()
    }
}

impl lifecycle::Guest for Component {
    fn step(machine: String, state: String, event: String) -> Result<String, types::Error> {
        protocol::lifecycle::step_text(&machine, &state, &event).map(Into::into).map_err(error)
    }

    fn check_reason(state: String, reason: String) -> Result<String, types::Error> {
        protocol::lifecycle::check_reason(&state, &reason).map(Into::into).map_err(error)
    }

    fn check_combination(states: String) -> Result<String, types::Error> {
        protocol::lifecycle::check_combination(&states).map(Into::into).map_err(error)
    }
}

/// What the last `decide` left for `resume`.
static STEPPER: One<Stepper> = One::new(Stepper::new());

impl wit::Guest for Component {
    fn decide(
        request: wit::Request,
        answers: Vec<wit::Answer>,
        given: Vec<wit::Evaluated>,
        now: f64,
        entropy: String,
    ) -> Result<wit::Step, types::Error> {
        let request = self::request(request);
        let answers = answers.into_iter().map(answer).collect();
        let given = given.into_iter().map(evaluated).collect();
        let step = STEPPER.with(|stepper| stepper.decide(request, answers, given, now, entropy));
        step.map(self::step).map_err(error)
    }

    fn resume(
        entropy: String,
        new: Vec<wit::Found>,
        given: Vec<wit::Evaluated>,
    ) -> Result<Option<wit::Step>, types::Error> {
        let new = new.into_iter().map(found).collect();
        let given = given.into_iter().map(evaluated).collect();
        let step = STEPPER.with(|stepper| stepper.resume(&entropy, new, given));
        step.map(|step| step.map(self::step)).map_err(error)
    }

    fn check_principal(caller: wit::Principal) -> Option<types::Error> {
        core::check_principal(&principal(caller)).map(error)
    }

    fn operations() -> Vec<wit::Operation> {
        protocol::operations::operations().iter().map(operation).collect()
    }

    fn split(text: String) -> wit::Frame {
        let frame = core::split(&text);
        wit::Frame { batch: frame.batch, calls: frame.calls.into_iter().map(call).collect() }
    }
}
