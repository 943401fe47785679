//! The life of a message, walked through in every order.
//!
//! A small model of what the operations do with the machines (and nothing else: no time, no grants). It shows that the
//! invariants forbid nothing that can be reached, and that from everything that can be reached there is a way to an end.

use super::super::{
    Claim, ClaimEvent, Combination, Decision, DecisionEvent, Delivery, DeliveryEvent, Outcome, OutcomeEvent,
    Submission, SubmissionEvent,
};
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

/// What waits until the attempt is resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    revoke: bool,
    fail: bool,
    expire: bool,
    admit: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    at: Combination,
    pending: Pending,
    /// Whether an earlier attempt was confirmed as not submitted.
    earlier: bool,
}

type Step = fn(Message) -> Option<Message>;

impl Message {
    fn unresolved(&self) -> bool {
        self.at.submission.is_some_and(Submission::unresolved)
    }

    fn delivery(mut self, event: DeliveryEvent) -> Option<Self> {
        self.at.delivery = self.at.delivery.apply(event).ok()?;
        Some(self)
    }

    fn submission(mut self, event: SubmissionEvent) -> Option<Self> {
        self.at.submission = Some(self.at.submission?.apply(event).ok()?);
        Some(self)
    }

    fn claim(mut self, event: ClaimEvent) -> Option<Self> {
        self.at.claim = Some(self.at.claim.unwrap_or(Claim::INITIAL).apply(event).ok()?);
        Some(self)
    }

    /// A decision closes a living claim.
    fn decide(mut self, event: DecisionEvent, closing: ClaimEvent) -> Option<Self> {
        self.at.decision = self.at.decision.apply(event).ok()?;
        if self.at.claim == Some(Claim::Claimed) { self.claim(closing) } else { Some(self) }
    }

    fn prepare(mut self) -> Option<Self> {
        self.at.delivery.apply(DeliveryEvent::Submit).ok()?;
        if self.at.decision != Decision::Accepted {
            return None;
        }
        if self.at.submission.is_some() {
            self.earlier |= self.at.submission == Some(Submission::ConfirmedNotSubmitted);
            return self.submission(SubmissionEvent::Replace);
        }
        self.at.submission = Some(Submission::INITIAL);
        Some(self)
    }

    fn begin(self) -> Option<Self> {
        self.at.delivery.apply(DeliveryEvent::Submit).ok()?;
        if self.at.decision == Decision::Accepted { self.submission(SubmissionEvent::Begin) } else { None }
    }

    /// The receipt and the move of the delivery are one transaction.
    fn receipt(self) -> Option<Self> {
        Some(self.submission(SubmissionEvent::RecordReceipt)?.delivery(DeliveryEvent::Submit)?.relabel())
    }

    fn absent(self) -> Option<Self> {
        Some(self.submission(SubmissionEvent::ConfirmAbsent)?.relabel())
    }

    fn contradict(mut self) -> Option<Self> {
        if self.at.submission == Some(Submission::Prepared) && !core::mem::take(&mut self.earlier) {
            return None;
        }
        self.submission(SubmissionEvent::Contradict)
    }

    /// Applies what waited and still has an edge.
    fn relabel(mut self) -> Self {
        let Pending { revoke, fail, expire, admit } = core::mem::take(&mut self.pending);
        let steps: [(bool, Step); 4] =
            [(revoke, Self::revoke), (fail, Self::fail), (expire, Self::expire), (admit, Self::admit)];
        steps.into_iter().filter(|(waits, _)| *waits).fold(self, |message, (_, step)| step(message).unwrap_or(message))
    }

    fn waits(mut self, set: impl FnOnce(&mut Pending)) -> Option<Self> {
        set(&mut self.pending);
        Some(self)
    }

    fn revoke(self) -> Option<Self> {
        if self.unresolved() {
            return self.waits(|pending| pending.revoke = true);
        }
        self.decide(DecisionEvent::Revoke, ClaimEvent::Lapse)
    }

    fn fail(self) -> Option<Self> {
        if self.unresolved() {
            return self.waits(|pending| pending.fail = true);
        }
        self.delivery(DeliveryEvent::Fail)
    }

    fn expire(self) -> Option<Self> {
        if self.unresolved() {
            return self.waits(|pending| pending.expire = true);
        }
        let message = self.delivery(DeliveryEvent::Expire)?;
        Some(message.decide(DecisionEvent::Expire, ClaimEvent::Lapse).unwrap_or(message))
    }

    fn admit(self) -> Option<Self> {
        if self.at.decision != Decision::Accepted {
            return None;
        }
        if self.unresolved() {
            return self.waits(|pending| pending.admit = true);
        }
        self.delivery(DeliveryEvent::Admit)
    }

    fn outcome(mut self, event: OutcomeEvent) -> Option<Self> {
        if event != OutcomeEvent::Fail && self.at.delivery != Delivery::AdapterSubmitted {
            return None;
        }
        self.at.outcome = self.at.outcome.apply(event).ok()?;
        Some(self)
    }

    /// A native operation that changes no state, and so has no attempt.
    fn native(self) -> Option<Self> {
        let accepted = self.at.decision == Decision::Accepted && self.at.submission.is_none();
        if accepted { self.delivery(DeliveryEvent::Submit) } else { None }
    }

    fn nexts(self) -> Vec<Self> {
        let answer = |event| self.decide(event, ClaimEvent::Acknowledge);
        let by_others = |event| self.decide(event, ClaimEvent::Lapse);
        let claim = if self.at.decision.open() { self.claim(ClaimEvent::Claim) } else { None };
        let all = [
            self.delivery(DeliveryEvent::Persist),
            self.delivery(DeliveryEvent::Notify),
            self.delivery(DeliveryEvent::Offer),
            claim,
            self.claim(ClaimEvent::TakeOver),
            self.claim(ClaimEvent::Lapse),
            answer(DecisionEvent::Accept),
            answer(DecisionEvent::Reject),
            answer(DecisionEvent::MarkUnsupported),
            answer(DecisionEvent::MarkStale),
            by_others(DecisionEvent::MarkStale),
            by_others(DecisionEvent::Expire),
            self.decide(DecisionEvent::Defer, ClaimEvent::Release),
            self.revoke(),
            self.fail(),
            self.expire(),
            self.admit(),
            self.native(),
            self.prepare(),
            self.begin(),
            self.receipt(),
            self.absent(),
            self.submission(SubmissionEvent::Quarantine),
            self.contradict(),
            self.outcome(OutcomeEvent::Observe),
            self.outcome(OutcomeEvent::Verify),
            self.outcome(OutcomeEvent::Fail),
        ];
        all.into_iter().flatten().filter(|next| *next != self).collect()
    }

    /// Delivered or given up, decided, nothing open outside, nobody at work.
    fn ended(&self) -> bool {
        let decided = !self.at.decision.open();
        self.at.delivery.terminal() && decided && !self.unresolved() && self.at.claim != Some(Claim::Claimed)
    }
}

/// Everything that can be reached, each with what comes right before it.
fn reached() -> BTreeMap<Message, Vec<Message>> {
    let start = Message::default();
    let mut before = BTreeMap::from([(start, Vec::new())]);
    let mut open = Vec::from([start]);
    while let Some(message) = open.pop() {
        for next in message.nexts() {
            before.entry(next).or_insert_with(|| {
                open.push(next);
                Vec::new()
            });
            before.get_mut(&next).unwrap().push(message);
        }
    }
    before
}

#[test]
fn whatever_can_be_reached_is_legal_and_has_a_way_to_an_end() {
    let before = reached();
    for message in before.keys() {
        assert_eq!(message.at.check(), Ok(()), "{message:?}");
    }
    let mut open: Vec<&Message> = before.keys().filter(|message| message.ended()).collect();
    let mut ending: BTreeSet<&Message> = open.iter().copied().collect();
    while let Some(message) = open.pop() {
        open.extend(before[message].iter().filter(|earlier| ending.insert(earlier)));
    }
    let stuck: Vec<_> = before.keys().filter(|message| !ending.contains(message)).collect();
    assert!(stuck.is_empty(), "{stuck:?}");
}

/// Every combination of states, legal or not.
fn product() -> Vec<Combination> {
    let submissions = || [None].into_iter().chain(Submission::ALL.iter().copied().map(Some));
    let claims = || [None].into_iter().chain(Claim::ALL.iter().copied().map(Some));
    let mut all = Vec::new();
    for (delivery, decision) in Delivery::ALL.iter().flat_map(|one| Decision::ALL.iter().map(move |two| (*one, *two))) {
        for (outcome, submission) in Outcome::ALL.iter().flat_map(|one| submissions().map(move |two| (*one, two))) {
            all.extend(claims().map(|claim| Combination {
                delivery,
                decision,
                outcome,
                submission,
                claim,
                event: None,
            }));
        }
    }
    all
}

/// What is legal and yet not reached is what documents of the draft may say although our operations never do: an
/// expired delivery whose decision stays open, and an answer `expired` by the claim's holder.
#[test]
fn hardly_anything_is_legal_that_cannot_be_reached() {
    let reached: BTreeSet<Combination> = reached().keys().map(|message| message.at).collect();
    let product = product();
    assert_eq!(product.len(), 6144);
    for states in product.iter().filter(|states| states.check().is_ok() && !reached.contains(states)) {
        let lapsed = states.delivery == Delivery::Expired && states.decision.open();
        let answered = states.decision == Decision::Expired && states.claim == Some(Claim::Acknowledged);
        assert!(lapsed || answered, "{states:?}");
    }
}

#[test]
fn unknown_is_sticky() {
    for message in reached().keys().filter(|message| message.at.submission == Some(Submission::OutcomeUnknown)) {
        for next in message.nexts() {
            let moved = next.at.delivery != message.at.delivery;
            let told = matches!(next.at.delivery, Delivery::DurablyReceived | Delivery::ReceiverNotified)
                || next.at.delivery == Delivery::CheckpointOffered;
            let same = next.at.decision == message.at.decision && (!moved || told);
            assert!(same || !next.unresolved(), "{message:?} {next:?}");
            assert_ne!(next.at.submission, Some(Submission::Prepared));
        }
    }
}

#[test]
fn what_waited_is_applied_when_the_attempt_is_resolved() {
    let unknown = Message {
        at: Combination {
            delivery: Delivery::DurablyReceived,
            decision: Decision::Accepted,
            submission: Some(Submission::OutcomeUnknown),
            ..Combination::default()
        },
        ..Message::default()
    };
    let waiting = unknown.revoke().and_then(Message::expire).unwrap();
    assert_eq!(waiting.at, unknown.at);
    let absent = waiting.absent().unwrap().at;
    assert_eq!((absent.delivery, absent.decision), (Delivery::Expired, Decision::Revoked));
    let late = waiting.receipt().unwrap().at;
    assert_eq!((late.delivery, late.decision), (Delivery::AdapterSubmitted, Decision::Revoked));
    assert_eq!(late.outcome, Outcome::NotObserved);
}

#[test]
fn a_contradiction_after_relabelling_ends_only_as_not_submitted() {
    let relabelled: Vec<_> = reached()
        .into_keys()
        .filter(|message| message.at.submission == Some(Submission::ManualReconciliation))
        .filter(|message| matches!(message.at.delivery, Delivery::Failed | Delivery::Expired))
        .collect();
    assert!(!relabelled.is_empty());
    assert!(relabelled.iter().all(|message| message.receipt().is_none() && message.absent().is_some()));
}
