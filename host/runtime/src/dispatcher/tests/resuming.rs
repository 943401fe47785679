use super::*;
use crate::adapter::Absence;

fn unknown() -> Outcome {
    Outcome::Unknown(reason())
}

/// A core with an attempt `a` that a process `dead` began and never settled; it is past settling.
fn orphan(profile: &Profile) -> FakeCore {
    let core = FakeCore::new();
    drop(core.begin("a", profile, "dead"));
    core.advance(Duration::from_secs(35));
    core
}

fn resume(core: &FakeCore, profile: &Profile, instance: &str) -> Dispatcher {
    Dispatcher::start(core.host(instance), vec![profile.clone()], config(instance)).unwrap()
}

#[test]
fn an_attempt_of_a_dead_process_is_asked_about_and_never_sent_again() {
    let adapter = Scripted::new(
        |_, _| unknown(),
        |query| {
            assert_eq!(
                (query.idempotency_key.as_str(), &query.holder),
                ("adp_a", &Holder::Message { id: "msg_a".into(), sender_incarnation_id: "inc_sender".into() })
            );
            QueryOutcome::Found(receipt("a"))
        },
    );
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "receipt-recorded");
    assert!(dispatcher.stop(SOON));
    assert_eq!((adapter.submits(), adapter.queries()), (0, 1));
}

#[test]
fn nobody_else_asks_before_settling_and_lease_are_over() {
    let adapter = Scripted::new(|_, _| unknown(), |_| QueryOutcome::Found(receipt("a")));
    let profile = profile(&adapter);
    let core = FakeCore::new();
    drop(core.begin("a", &profile, "slow"));
    core.change("a", |attempt| attempt.revision = 4);
    let dispatcher = resume(&core, &profile, "two");
    core.advance(Duration::from_millis(34_999));
    let swept = dispatcher.stats().sweeps;
    core.wait(|_| dispatcher.stats().sweeps > swept + 3, || "a few sweeps".into());
    assert_eq!(adapter.queries(), 0);
    core.advance(Duration::from_millis(1));
    core.wait_state("a", "receipt-recorded");
}

/// The vector of settled point 3: the service commits after our timeout and after our first query.
#[test]
fn a_late_commit_after_timeout_and_query_is_found_and_never_called_absent() {
    let asked = AtomicUsize::new(0);
    let adapter = Scripted::new(
        |_, _| unknown(),
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => QueryOutcome::AbsentNow(reason()),
            // Even a target that says "final" is not believed where the operator does not vouch for it.
            1 => QueryOutcome::AbsentFinal(Absence { reason: reason(), evidence_refs: vec!["t:1".into()] }),
            _ => QueryOutcome::Found(receipt("a")),
        },
    );
    let profile = Profile { query: QueryPolicy { attempts_max: 9, ..profile(&adapter).query }, ..profile(&adapter) };
    let core = orphan(&profile);
    let dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "receipt-recorded");
    assert_eq!(core.count("adapter.recordQuery", "absent-now"), 2);
    assert_eq!(core.count("adapter.recordQuery", "absent-final"), 0);
    assert_eq!((adapter.submits(), dispatcher.stats().absent_now), (0, 2));
}

#[test]
fn a_final_absence_counts_where_the_operator_vouches_for_it() {
    let final_absence = || QueryOutcome::AbsentFinal(Absence { reason: reason(), evidence_refs: vec!["t:1".into()] });
    let adapter = Scripted::new(|_, _| unknown(), move |_| final_absence());
    let profile = Profile { absent_final: true, ..profile(&adapter) };
    let core = orphan(&profile);
    let _dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "confirmed-not-submitted");
    let (_, _, params) = core.operations().pop_if_query();
    assert_eq!(params["evidenceRefs"], json!(["t:1", "host-query:two/target/scripted"]));
}

/// The last `adapter.recordQuery` of a list of operations.
trait Last {
    fn pop_if_query(self) -> (String, String, serde_json::Value);
}

impl Last for Vec<(String, String, serde_json::Value)> {
    fn pop_if_query(self) -> (String, String, serde_json::Value) {
        self.into_iter().rfind(|(_, method, _)| method == "adapter.recordQuery").unwrap()
    }
}

#[test]
fn an_own_absence_is_not_final_before_settling() {
    let adapter = Scripted::new(
        |_, _| unknown(),
        |_| QueryOutcome::AbsentFinal(Absence { reason: reason(), evidence_refs: Vec::new() }),
    );
    let profile = Profile { absent_final: true, ..profile(&adapter) };
    let (core, dispatcher) = start(&profile);
    dispatcher.perform(core.begin("a", &profile, "one"));
    core.wait(|_| adapter.queries() >= 3, || "three early queries".into());
    assert_eq!(core.attempt("a").state, "outcome-unknown");
    assert_eq!(core.count("adapter.recordQuery", ""), 0, "nothing to record yet");
    core.advance(Duration::from_secs(35));
    core.wait_state("a", "confirmed-not-submitted");
}

#[test]
fn a_hanging_call_makes_no_absence_final() {
    let (go, wait) = std::sync::mpsc::channel();
    let wait = Mutex::new(wait);
    let adapter = Scripted::new(
        move |_, _| {
            lock(&wait).recv().unwrap();
            Outcome::Submitted(receipt("a"))
        },
        |_| QueryOutcome::AbsentFinal(Absence { reason: reason(), evidence_refs: Vec::new() }),
    );
    let deadline = Duration::from_millis(300);
    let query = QueryPolicy { attempts_max: 1000, ..profile(&adapter).query };
    let profile = Profile { absent_final: true, deadline, query, ..profile(&adapter) };
    let (core, dispatcher) = start_with(&profile, Config { overrun: Duration::ZERO, ..config("one") });
    dispatcher.perform(core.begin("a", &profile, "one"));
    core.wait(|_| dispatcher.stats().overdue == 1, || "the call to be overdue".into());
    core.advance(Duration::from_secs(35));
    core.wait(|core| core.count("adapter.recordQuery", "absent-now") > 0, || "a recorded query".into());
    assert_eq!(core.count("adapter.recordQuery", "absent-final"), 0);
    go.send(()).unwrap();
    core.wait_state("a", "receipt-recorded");
}

#[test]
fn after_its_number_of_absences_an_attempt_is_left_to_people() {
    let adapter = Scripted::new(|_, _| unknown(), |_| QueryOutcome::AbsentNow(reason()));
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "manual-reconciliation");
    assert_eq!(core.count("adapter.recordQuery", "absent-now"), 2);
    assert_eq!((adapter.queries(), adapter.submits()), (3, 0));
    core.wait(|_| dispatcher.stats().unanswerable == 1, || "the count".into());
}

#[test]
fn a_target_that_gives_no_usable_answer_ends_with_people_too() {
    let asked = AtomicUsize::new(0);
    let adapter = Scripted::new(
        |_, _| unknown(),
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => panic!("on purpose"),
            1 => QueryOutcome::Unanswerable(reason()),
            _ => QueryOutcome::Found(Receipt { evidence_refs: Vec::new(), ..receipt("a") }),
        },
    );
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let _dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "manual-reconciliation");
    assert_eq!(core.count("adapter.recordQuery", "found"), 0);
}

#[test]
fn a_found_receipt_that_the_core_never_takes_ends_with_people() {
    let adapter = Scripted::new(
        |_, _| unknown(),
        |_| QueryOutcome::Found(Receipt { accepted_at: "yesterday, twenty o'clock".into(), ..receipt("a") }),
    );
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let _dispatcher = resume(&core, &profile, "two");
    core.wait_state("a", "manual-reconciliation");
    assert_eq!((core.count("adapter.recordQuery", "found"), adapter.queries()), (3, 3));
}

#[test]
fn a_profile_that_cannot_be_asked_leaves_its_attempts_to_people_after_settling() {
    let adapter = Scripted::mute(|_, _| unknown());
    let profile = Profile { can_query: false, ..profile(&adapter) };
    let (core, dispatcher) = start(&profile);
    dispatcher.perform(core.begin("a", &profile, "one"));
    assert!(dispatcher.drain(SOON));
    assert_eq!(core.attempt("a").state, "outcome-unknown");
    core.advance(Duration::from_secs(35));
    core.wait_state("a", "manual-reconciliation");
    assert_eq!(adapter.queries(), 0);
}

#[test]
fn a_changed_profile_is_not_asked() {
    let adapter = Scripted::new(|_, _| unknown(), |_| QueryOutcome::Found(receipt("a")));
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let changed = Profile { digest: fake::digest("changed"), ..profile.clone() };
    let dispatcher = resume(&core, &changed, "two");
    core.wait(|_| dispatcher.stats().sweeps > 3, || "a few sweeps".into());
    assert_eq!((adapter.queries(), dispatcher.stats().foreign), (0, 1));
    assert_eq!(core.attempt("a").state, "outcome-unknown");
}

#[test]
fn two_dispatchers_over_one_core_settle_many_attempts_once() {
    let adapter = Scripted::new(
        |call, _| if call.submission_id.ends_with('0') { unknown() } else { Outcome::Submitted(receipt("x")) },
        |query| QueryOutcome::Found(receipt(&query.submission_id)),
    );
    let profile = profile(&adapter);
    let (core, one) = start(&profile);
    let two = resume(&core, &profile, "two");
    for n in 0..40 {
        one.perform(core.begin(&format!("one-{n}"), &profile, "one"));
        two.perform(core.begin(&format!("two-{n}"), &profile, "two"));
    }
    assert!(one.drain(SOON) && two.drain(SOON), "a clock that jumps would make what is queued too late");
    drop(core.begin("orphan", &profile, "dead"));
    core.advance(Duration::from_secs(35));
    core.wait_state("orphan", "receipt-recorded");
    for n in 0..40 {
        core.wait_state(&format!("one-{n}"), "receipt-recorded");
        core.wait_state(&format!("two-{n}"), "receipt-recorded");
    }
    assert!(one.stop(SOON) && two.stop(SOON));
    assert_eq!(adapter.submits(), 80);
}

#[test]
fn a_refused_list_or_record_only_delays() {
    let adapter = Scripted::new(|_, _| unknown(), |_| QueryOutcome::Found(receipt("a")));
    let profile = profile(&adapter);
    let core = orphan(&profile);
    let dispatcher = resume_with_fault(&core, &profile);
    core.wait(|_| dispatcher.stats().sweeps > 2, || "a few sweeps".into());
    core.set_fault(Some(Box::new(|method, _| {
        (method == "adapter.recordQuery").then(|| Refusal {
            code: "submission-settling".into(),
            detail: String::new(),
            retryable: false,
        })
    })));
    core.wait(|_| dispatcher.stats().refused > 1, || "refused records".into());
    core.set_fault(None);
    core.wait_state("a", "receipt-recorded");
}

fn resume_with_fault(core: &FakeCore, profile: &Profile) -> Dispatcher {
    core.set_fault(Some(Box::new(|method, _| {
        (method == "adapter.listUnresolved").then(|| Refusal {
            code: "busy".into(),
            detail: String::new(),
            retryable: true,
        })
    })));
    resume(core, profile, "two")
}
