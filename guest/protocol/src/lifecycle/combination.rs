//! Which states of different machines can stand together in the records of one message.
//!
//! The invariants are written out as conditions. The vectors come from a table of forbidden pairs in
//! `spec/transitions.json`; every combination is a vector, so the two formulations check each other.

use super::{Claim, Decision, Delivery, Outcome, Submission, Uptake, Verification, known};
use crate::json::{self, Value};
use crate::rules::{check, check_at};
use crate::{Error, Rule};

/// The states of one message: its disposition, its current attempt and its mailbox claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Combination {
    /// How far the message came.
    pub delivery: Delivery,
    /// What the receiver said.
    pub decision: Decision,
    /// What was seen to happen.
    pub outcome: Outcome,
    /// The current attempt, if one was prepared.
    pub submission: Option<Submission>,
    /// The claim, if one was made.
    pub claim: Option<Claim>,
    /// Whether what it says was verified, and what was taken up of it, if it is a cross-thread event.
    pub event: Option<(Verification, Uptake)>,
}

impl Default for Combination {
    /// Where all machines start, without an attempt or a claim.
    fn default() -> Self {
        let (delivery, decision, outcome) = (Delivery::INITIAL, Decision::INITIAL, Outcome::INITIAL);
        Self { delivery, decision, outcome, submission: None, claim: None, event: None }
    }
}

impl Combination {
    /// Whether these states can stand together. Else `combination-illegal`; the pointer (`/delivery`, `/outcome`,
    /// `/submission`, `/claim`) names the machine whose state cannot stand beside the others. The first broken rule is
    /// reported. To be called whenever a record is read or written.
    pub fn check(&self) -> Result<(), Error> {
        self.check_disposition()?;
        self.check_attempt()?;
        self.check_claim()?;
        self.check_event()
    }

    fn check_disposition(&self) -> Result<(), Error> {
        let entered = matches!(self.delivery, Delivery::ContextAdmitted | Delivery::AdapterSubmitted);
        let turned_down = matches!(self.decision, Decision::Rejected | Decision::Expired);
        let settled = self.decision.was_accepted() || turned_down;
        check_at(Rule::LC1, !entered || settled, || "/delivery".into())?;
        check_at(Rule::LC2, !(entered && turned_down), || "/delivery".into())?;
        let effect = matches!(self.outcome, Outcome::EffectObserved | Outcome::ExternallyVerified);
        check_at(Rule::LC3, !effect || self.submitted(), || "/outcome".into())
    }

    fn check_attempt(&self) -> Result<(), Error> {
        let ready = self.decision.was_accepted() && self.delivery != Delivery::ControlPlaneAccepted;
        check_at(Rule::LC4, self.submission.is_none() || ready, || "/submission".into())?;
        let receipt = self.submission == Some(Submission::ReceiptRecorded);
        check_at(Rule::LC5, !receipt || self.submitted(), || "/submission".into())?;
        let by_receipt = receipt || self.submission.is_none();
        check_at(Rule::LC6, by_receipt || !self.submitted(), || "/delivery".into())?;
        let relabelled = self.decision == Decision::Revoked
            || (self.delivery.terminal() && self.delivery != Delivery::AdapterSubmitted);
        let unknown = self.submission == Some(Submission::OutcomeUnknown);
        check_at(Rule::LC7, !(unknown && relabelled), || "/submission".into())
    }

    fn check_claim(&self) -> Result<(), Error> {
        let open = self.decision.open();
        check_at(Rule::LC8, self.claim != Some(Claim::Claimed) || open, || "/claim".into())?;
        check_at(Rule::LC9, self.claim != Some(Claim::Acknowledged) || !open, || "/claim".into())
    }

    fn check_event(&self) -> Result<(), Error> {
        let Some((verification, uptake)) = self.event else { return Ok(()) };
        let state = matches!(uptake, Uptake::Applied | Uptake::Invalidated);
        check_at(Rule::LC25, !state || verification == Verification::Verified, || "/uptake".into())?;
        let examined = verification == Verification::Examining;
        check_at(Rule::LC26, !examined || self.decision.open(), || "/verification".into())?;
        let taken = state || matches!(uptake, Uptake::Requested | Uptake::Declined);
        check_at(Rule::LC27, !taken || self.decision.was_accepted(), || "/uptake".into())
    }

    fn submitted(&self) -> bool {
        self.delivery == Delivery::AdapterSubmitted
    }
}

/// Whether the combination that a JSON object `{machine: state}` names can exist; then the answer is `legal`. Delivery,
/// decision and outcome are named, submission and claim may be, and verification with uptake. Errors: the `json-*` codes; `unknown-kind` at the member
/// for a machine or state that is not in the table (LC-20); `combination-illegal` for what is no such object (LC-10) and
/// as [`Combination::check`].
pub fn check_combination(text: &str) -> Result<&'static str, Error> {
    let tree = json::parse_document(text)?;
    read(tree.root())?.check()?;
    Ok("legal")
}

fn read(object: Value<'_>) -> Result<Combination, Error> {
    let (mut delivery, mut decision, mut outcome) = (None, None, None);
    let (mut verification, mut uptake) = (None, None);
    let mut combination = Combination::default();
    for (machine, value) in object.members() {
        let state = value.as_str().unwrap_or_default();
        let at = value.pointer();
        match machine {
            Delivery::MACHINE => delivery = Some(known(Delivery::parse(state), &at)?),
            Decision::MACHINE => decision = Some(known(Decision::parse(state), &at)?),
            Outcome::MACHINE => outcome = Some(known(Outcome::parse(state), &at)?),
            Submission::MACHINE => combination.submission = Some(known(Submission::parse(state), &at)?),
            Claim::MACHINE => combination.claim = Some(known(Claim::parse(state), &at)?),
            Verification::MACHINE => verification = Some(known(Verification::parse(state), &at)?),
            Uptake::MACHINE => uptake = Some(known(Uptake::parse(state), &at)?),
            _ => return Err(Error::broken(Rule::LC20, at)),
        }
    }
    let named = delivery.is_some() && decision.is_some() && outcome.is_some();
    check(Rule::LC10, named && verification.is_some() == uptake.is_some())?;
    combination.event = verification.zip(uptake);
    // The initial states stand in only where a test switched LC-10 off.
    combination.delivery = delivery.unwrap_or(Delivery::INITIAL);
    combination.decision = decision.unwrap_or(Decision::INITIAL);
    combination.outcome = outcome.unwrap_or(Outcome::INITIAL);
    Ok(combination)
}
