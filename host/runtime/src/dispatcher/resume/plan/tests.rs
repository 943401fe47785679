use super::*;
use crate::adapter::{Adapter, Outcome, Query, QueryOutcome, Reason, Submission};
use std::sync::Arc;

struct Silent;

impl Adapter for Silent {
    fn submit(&self, _: &Submission, _: Instant) -> Outcome {
        Outcome::Unknown(Reason::new("silent", ""))
    }
    fn query(&self, _: &Query, _: Instant) -> QueryOutcome {
        QueryOutcome::Unanswerable(Reason::new("silent", ""))
    }
}

fn profile() -> Profile {
    Profile {
        name: "p".into(),
        digest: "d".into(),
        capabilities: "{}".into(),
        admission: None,
        deadline: Duration::from_secs(1),
        settle: Duration::from_secs(1),
        can_query: true,
        absent_final: false,
        query: QueryPolicy {
            deadline: Duration::from_secs(1),
            backoff: Duration::from_secs(2),
            backoff_max: Duration::from_secs(7),
            attempts_max: 3,
        },
        adapter: Some(Arc::new(Silent)),
    }
}

fn item() -> Unresolved {
    serde_json::from_str(
        r#"{"submissionId":"s","adapterIdempotencyKey":"k","tenant":"t","profile":"p","profileDigest":"d",
        "settleAt":2000,"leaseUntil":3000,"queries":0,"expectedRevision":1,"envelopeDigest":"e","messageId":"m",
        "senderIncarnationId":"i","instance":"other","later":"ignored"}"#,
    )
    .unwrap()
}

fn at(wall_ms: u64) -> Clocks {
    Clocks { now: Instant::now(), wall_ms }
}

const ASK: Plan = Plan::Ask { settled: true, last: false };

#[test]
fn another_instances_attempt_waits_for_both_settling_and_lease() {
    let backlog = Backlog::default();
    for (wall_ms, expected) in [(1999, Plan::Leave), (2000, Plan::Leave), (2999, Plan::Leave), (3000, ASK)] {
        assert_eq!(backlog.plan(&item(), Some(&profile()), Place::Absent, at(wall_ms)), expected, "at {wall_ms}");
    }
    let lease_first = Unresolved { settle_at: 3000.0, lease_until: 2000.0, ..item() };
    assert_eq!(backlog.plan(&lease_first, Some(&profile()), Place::Absent, at(2999)), Plan::Leave);
}

#[test]
fn an_own_attempt_is_asked_about_once_its_call_has_ended() {
    let mut backlog = Backlog::default();
    backlog.ended("s");
    assert_eq!(backlog.plan(&item(), Some(&profile()), Place::Present, at(0)), Plan::Leave);
    let early = Plan::Ask { settled: false, last: false };
    assert_eq!(backlog.plan(&item(), Some(&profile()), Place::Absent, at(0)), early);
}

#[test]
fn a_call_in_flight_is_left_alone_whatever_the_clock_says() {
    let backlog = Backlog::default();
    assert_eq!(backlog.plan(&item(), Some(&profile()), Place::Present, at(9000)), Plan::Leave);
    assert_eq!(backlog.plan(&item(), Some(&profile()), Place::Overdue, at(9000)), ASK);
}

#[test]
fn only_the_pinned_version_of_a_profile_may_be_asked() {
    let backlog = Backlog::default();
    assert_eq!(backlog.plan(&item(), None, Place::Absent, at(9000)), Plan::Foreign);
    let other = Profile { digest: "other".into(), ..profile() };
    assert_eq!(backlog.plan(&item(), Some(&other), Place::Absent, at(9000)), Plan::Foreign);
    let caller = Profile { adapter: None, ..profile() };
    assert_eq!(backlog.plan(&item(), Some(&caller), Place::Absent, at(9000)), Plan::Leave);
}

#[test]
fn a_profile_that_cannot_answer_leaves_the_attempt_to_people_after_settling() {
    let backlog = Backlog::default();
    let mute = Profile { can_query: false, ..profile() };
    assert_eq!(backlog.plan(&item(), Some(&mute), Place::Absent, at(2999)), Plan::Leave);
    assert_eq!(backlog.plan(&item(), Some(&mute), Place::Absent, at(3000)), Plan::GiveUp);
}

#[test]
fn queries_back_off_and_end() {
    let (mut backlog, profile) = (Backlog::default(), profile());
    let clocks = at(9000);
    backlog.asked("s", &profile.query, clocks.now, false);
    let after = |secs| Clocks { now: clocks.now + Duration::from_secs(secs), ..clocks };
    assert_eq!(backlog.plan(&item(), Some(&profile), Place::Absent, after(1)), Plan::Leave);
    assert_eq!(backlog.plan(&item(), Some(&profile), Place::Absent, after(2)), ASK);
    let seconds: Vec<u64> = (0..40).map(|n| pause(&profile.query, n).as_secs()).collect();
    assert_eq!(seconds[..5], [2, 4, 7, 7, 7]);
    assert!(seconds[5..].iter().all(|s| *s == 7), "doubling never overflows");

    let counted = |queries| Unresolved { queries, ..item() };
    let last = Plan::Ask { settled: true, last: true };
    assert_eq!(backlog.plan(&counted(2), Some(&profile), Place::Absent, after(2)), last);
    assert_eq!(backlog.plan(&counted(3), Some(&profile), Place::Absent, after(2)), Plan::GiveUp);
    backlog.asked("s", &profile.query, clocks.now, true);
    assert_eq!(backlog.plan(&counted(2), Some(&profile), Place::Absent, after(99)), Plan::GiveUp, "failures count");
}

#[test]
fn what_is_resolved_is_forgotten() {
    let mut backlog = Backlog::default();
    backlog.ended("s");
    backlog.ended("busy");
    assert!(backlog.tell_once("s"));
    assert!(!backlog.tell_once("s"));
    backlog.keep_only(&HashSet::new(), |id| id == "busy");
    assert!(!backlog.has_ended("s"));
    assert!(backlog.has_ended("busy"));
    assert!(backlog.tell_once("s"));
}
