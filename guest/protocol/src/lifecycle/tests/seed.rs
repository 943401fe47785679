//! The tables of the delivery semantics, transcribed by hand a second time and compared with the generated ones.

use super::super::{
    Claim, ClaimEvent, Decision, DecisionEvent, Delivery, DeliveryEvent, Outcome, OutcomeEvent, Reason, Submission,
    SubmissionEvent,
};
use std::{collections::BTreeSet, vec::Vec};

type Rows = &'static [(&'static str, &'static str)];

const DELIVERY: Rows = &[
    ("control-plane-accepted", "durably-received failed expired"),
    ("durably-received", "receiver-notified checkpoint-offered context-admitted adapter-submitted failed expired"),
    ("receiver-notified", "checkpoint-offered context-admitted adapter-submitted failed expired"),
    ("checkpoint-offered", "context-admitted adapter-submitted failed expired"),
    ("context-admitted", "adapter-submitted failed expired"),
    ("adapter-submitted", ""),
    ("failed", ""),
    ("expired", ""),
];

const DECISION: Rows = &[
    ("pending", "accepted rejected deferred stale expired unsupported revoked"),
    ("accepted", "revoked"),
    ("rejected", ""),
    ("deferred", "accepted rejected stale expired revoked"),
    ("stale", ""),
    ("expired", ""),
    ("unsupported", ""),
    ("revoked", ""),
];

const OUTCOME: Rows = &[
    ("not-observed", "effect-observed externally-verified failed"),
    ("effect-observed", "externally-verified"),
    ("externally-verified", ""),
    ("failed", ""),
];

/// The seed gives the states and the way through them; the exits of quarantine, replacing and contradiction are settled.
const SUBMISSION: Rows = &[
    ("prepared", "prepared outcome-unknown manual-reconciliation"),
    ("outcome-unknown", "receipt-recorded confirmed-not-submitted manual-reconciliation"),
    ("receipt-recorded", ""),
    ("confirmed-not-submitted", "prepared manual-reconciliation"),
    ("manual-reconciliation", "receipt-recorded confirmed-not-submitted"),
];

const CLAIM: Rows = &[("free", "claimed"), ("claimed", "free claimed acknowledged"), ("acknowledged", "")];

const REASONS: Rows = &[
    ("pending", ""),
    ("accepted", "accepted"),
    ("rejected", "policy-denied receiver-rejected structured-gate-required backpressure evidence-insufficient other"),
    ("deferred", "receiver-deferred backpressure other"),
    ("stale", "stale-incarnation stale-run stale-objective"),
    ("expired", "expired"),
    ("unsupported", "unsupported-intent unsupported-delivery-mode structured-gate-required"),
    ("revoked", "revoked"),
];

/// What the draft's `respond` records when no reason is named.
const DEFAULTS: Rows = &[
    ("pending", ""),
    ("accepted", "accepted"),
    ("rejected", "receiver-rejected"),
    ("deferred", "receiver-deferred"),
    ("stale", "stale-objective"),
    ("expired", "expired"),
    ("unsupported", "unsupported-intent"),
    ("revoked", "revoked"),
];

const REASON_CODES: &str = "accepted policy-denied receiver-rejected receiver-deferred stale-incarnation stale-run \
    stale-objective expired unsupported-intent unsupported-delivery-mode structured-gate-required revoked backpressure \
    evidence-insufficient adapter-failed other";

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

macro_rules! agrees {
    ($state:ident, $event:ident, $rows:expr) => {{
        let names: Vec<&str> = $state::ALL.iter().map(|state| state.name()).collect();
        assert_eq!(names, $rows.iter().map(|row| row.0).collect::<Vec<_>>(), "states of {}", $state::MACHINE);
        assert_eq!($state::INITIAL.name(), $rows[0].0);
        for (state, (name, targets)) in $state::ALL.iter().zip($rows) {
            let steps = $event::ALL.iter().filter_map(|event| state.step(*event));
            let reached: BTreeSet<&str> = steps.map(|next| next.name()).collect();
            assert_eq!(reached, words(targets), "{} from {name}", $state::MACHINE);
            assert_eq!(state.terminal(), targets.is_empty(), "{} {name}", $state::MACHINE);
            assert_eq!($state::parse(name), Some(*state));
        }
        for event in $event::ALL {
            assert_eq!($event::parse(event.name()), Some(*event));
            assert!(!event.parties().is_empty());
        }
    }};
}

#[test]
fn the_generated_tables_are_those_of_the_seed() {
    agrees!(Delivery, DeliveryEvent, DELIVERY);
    agrees!(Decision, DecisionEvent, DECISION);
    agrees!(Outcome, OutcomeEvent, OUTCOME);
}

#[test]
fn the_generated_tables_of_attempts_and_claims_are_the_settled_ones() {
    agrees!(Submission, SubmissionEvent, SUBMISSION);
    agrees!(Claim, ClaimEvent, CLAIM);
}

#[test]
fn an_event_of_a_disposition_always_leads_to_the_same_state() {
    macro_rules! one_target {
        ($state:ident, $event:ident) => {
            for event in $event::ALL {
                let targets: BTreeSet<_> = $state::ALL.iter().filter_map(|state| state.step(*event)).collect();
                assert_eq!(targets.len(), 1, "{}", event.name());
            }
        };
    }
    one_target!(Delivery, DeliveryEvent);
    one_target!(Decision, DecisionEvent);
    one_target!(Outcome, OutcomeEvent);
    one_target!(Submission, SubmissionEvent);
}

#[test]
fn reasons_go_with_decisions_as_in_the_seed() {
    let codes: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(codes, words(REASON_CODES));
    for ((state, (name, reasons)), (_, default)) in Decision::ALL.iter().zip(REASONS).zip(DEFAULTS) {
        assert_eq!(state.name(), *name);
        let listed: BTreeSet<&str> = state.reasons().iter().map(|reason| reason.name()).collect();
        assert_eq!(listed, words(reasons), "{name}");
        assert_eq!(state.default_reason().map_or("", Reason::name), *default, "{name}");
        assert!(state.check_reason(state.default_reason()).is_ok());
        for reason in Reason::ALL {
            assert_eq!(state.check_reason(Some(*reason)).is_ok(), listed.contains(reason.name()));
        }
    }
}
