//! The state machines of `spec/transitions.json`, and which of their states can stand together.
//!
//! States, events and edges are generated; what is written here is how a step is refused, how a decision and its reason
//! code go together, and the invariants across machines ([`Combination`]). Guards are not checked here: the operations
//! do that before they take an edge.

mod combination;

pub use crate::generated::machines::{
    Claim, ClaimEvent, Decision, DecisionEvent, Delivery, DeliveryEvent, MACHINES, Outcome, OutcomeEvent, Party,
    Proposal, ProposalEvent, Reason, Submission, SubmissionEvent, Thread, ThreadEvent, Uptake, UptakeEvent,
    Verification, VerificationEvent,
};
pub use combination::{Combination, check_combination};

use crate::rules::{check, check_at};
use crate::{Error, Rule};
use alloc::format;

macro_rules! apply {
    ($state:ident, $event:ident, $rule:literal) => {
        impl $state {
            /// The state after `event`. Where there is no edge: `transition-illegal` with an empty pointer, by
            #[doc = $rule]
            pub fn apply(self, event: $event) -> Result<Self, Error> {
                let next = self.step(event);
                check(self.refusal(event), next.is_some()).map_err(|broken| {
                    let mut error = broken.at("");
                    error.detail = format!("{} ({} in {})", error.detail, event.name(), self.name());
                    error
                })?;
                // Without a next state only where a test switched the rule off: nothing moves.
                Ok(next.unwrap_or(self))
            }
        }
    };
}

apply!(Delivery, DeliveryEvent, "LC-11, or LC-16 where the message is over.");
apply!(Decision, DecisionEvent, "LC-12.");
apply!(Outcome, OutcomeEvent, "LC-13.");
apply!(Submission, SubmissionEvent, "LC-14, or LC-17 where the attempt may have crossed the boundary.");
apply!(Claim, ClaimEvent, "LC-15.");
apply!(Proposal, ProposalEvent, "LC-21.");
apply!(Thread, ThreadEvent, "LC-22.");
apply!(Verification, VerificationEvent, "LC-23.");
apply!(Uptake, UptakeEvent, "LC-24.");

impl Submission {
    /// Whether something may have happened outside that nobody established yet. Meanwhile nothing relabels the message
    /// (settled 6): the guard `attempt-resolved`.
    pub const fn unresolved(self) -> bool {
        matches!(self, Self::OutcomeUnknown | Self::ManualReconciliation)
    }
}

impl Decision {
    /// Whether the receiver can still decide: pending or deferred.
    pub const fn open(self) -> bool {
        matches!(self, Self::Pending | Self::Deferred)
    }

    /// Whether the receiver accepted it, even if that was revoked later.
    pub const fn was_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Revoked)
    }

    /// Whether it may carry `reason`. Else `decision-reason-invalid` at `/reason`, by LC-18 or, for pending, LC-19.
    pub fn check_reason(self, reason: Option<Reason>) -> Result<(), Error> {
        reason_fits(self, reason.map_or("", Reason::name))
    }
}

/// The name of the state after `event` in `state` of `machine`, all by name. Errors: `unknown-kind` at `/machine`,
/// `/state` or `/event` for a name that is not in the table (LC-20), `transition-illegal` at `/event` where there is no
/// edge (LC-11 to LC-17, LC-21 to LC-24).
pub fn step_text(machine: &str, state: &str, event: &str) -> Result<&'static str, Error> {
    match machine {
        Delivery::MACHINE => {
            stepped(Delivery::parse(state), DeliveryEvent::parse(event), Delivery::apply).map(Delivery::name)
        }
        Decision::MACHINE => {
            stepped(Decision::parse(state), DecisionEvent::parse(event), Decision::apply).map(Decision::name)
        }
        Outcome::MACHINE => {
            stepped(Outcome::parse(state), OutcomeEvent::parse(event), Outcome::apply).map(Outcome::name)
        }
        Submission::MACHINE => {
            stepped(Submission::parse(state), SubmissionEvent::parse(event), Submission::apply).map(Submission::name)
        }
        Claim::MACHINE => stepped(Claim::parse(state), ClaimEvent::parse(event), Claim::apply).map(Claim::name),
        Proposal::MACHINE => {
            stepped(Proposal::parse(state), ProposalEvent::parse(event), Proposal::apply).map(Proposal::name)
        }
        Thread::MACHINE => stepped(Thread::parse(state), ThreadEvent::parse(event), Thread::apply).map(Thread::name),
        Verification::MACHINE => {
            stepped(Verification::parse(state), VerificationEvent::parse(event), Verification::apply)
                .map(Verification::name)
        }
        Uptake::MACHINE => stepped(Uptake::parse(state), UptakeEvent::parse(event), Uptake::apply).map(Uptake::name),
        _ => Err(Error::broken(Rule::LC20, "/machine")),
    }
}

/// Whether the decision `state` may carry the reason code `reason`, both by name; the empty text is no reason. The
/// reason comes back. Errors: `unknown-kind` at `/state` (LC-20), `decision-reason-invalid` at `/reason` (LC-18, LC-19),
/// also for a text that is no reason code.
pub fn check_reason<'a>(state: &str, reason: &'a str) -> Result<&'a str, Error> {
    let decision = known(Decision::parse(state), "/state")?;
    reason_fits(decision, reason)?;
    Ok(reason)
}

fn reason_fits(decision: Decision, reason: &str) -> Result<(), Error> {
    let (rule, fits) = match decision.reasons() {
        [] => (Rule::LC19, reason.is_empty()),
        reasons => (Rule::LC18, reasons.iter().any(|fitting| fitting.name() == reason)),
    };
    check_at(rule, fits, || "/reason".into())
}

fn stepped<S, E>(state: Option<S>, event: Option<E>, apply: impl FnOnce(S, E) -> Result<S, Error>) -> Result<S, Error> {
    let state = known(state, "/state")?;
    let event = known(event, "/event")?;
    apply(state, event).map_err(|error| Error { pointer: "/event".into(), ..error })
}

/// Rule LC-20: names are those of the table.
fn known<T>(named: Option<T>, pointer: &str) -> Result<T, Error> {
    named.ok_or_else(|| Error::broken(Rule::LC20, pointer))
}

#[cfg(test)]
mod tests;
