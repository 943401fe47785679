use super::*;
use std::sync::mpsc::channel;

/// A change of an effect's body.
type Edit = fn(&mut serde_json::Value);

fn busy(method: &'static str) -> fake::Fault {
    Box::new(move |asked, _| {
        (asked == method).then(|| Refusal { code: "busy".into(), detail: "locked".into(), retryable: true })
    })
}

#[test]
fn a_receipt_is_recorded_and_the_call_is_made_once() {
    let adapter = Scripted::mute(|call, _| {
        assert_eq!(call.payload.text, r#"{"specVersion":"0.0-draft","messageId":"msg_a"}"#, "byte for byte");
        assert_eq!(call.idempotency_key, "adp_a");
        assert_eq!(call.session.as_deref(), Some("ses-1"));
        Outcome::Submitted(receipt("a"))
    });
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    let effect = core.begin_with("a", &profile, "one", |body| body["session"] = json!("ses-1"));
    let again = CallEffect { name: effect.name.clone(), key: effect.key.clone(), body: effect.body.clone() };
    dispatcher.perform(effect);
    dispatcher.perform(again);
    assert!(dispatcher.drain(SOON));
    assert_eq!(core.attempt("a").state, "receipt-recorded");
    assert_eq!((adapter.submits(), dispatcher.stats().duplicates), (1, 1));
    assert_eq!(core.count("adapters.declare", ""), 1);
}

#[test]
fn whatever_is_known_not_to_have_been_made_is_recorded_as_such() {
    let adapter = Scripted::mute(|_, _| Outcome::NotSubmitted(reason()));
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    dispatcher.perform(core.begin("refused", &profile, "one"));
    let edits: [(&str, Edit); 4] = [
        ("unknown-profile", |body| body["profile"] = json!("other")),
        ("changed-profile", |body| body["profileDigest"] = json!("sha256:0")),
        ("changed-envelope", |body| body["envelopeDigest"] = json!("sha256:0")),
        ("too-late", |body| body["settleAt"] = json!(1_000_000 + 4_999)),
    ];
    for (id, edit) in edits {
        dispatcher.perform(core.begin_with(id, &profile, "one", edit));
    }
    assert!(dispatcher.drain(SOON));
    for id in ["refused", "unknown-profile", "changed-profile", "changed-envelope", "too-late"] {
        assert_eq!(core.attempt(id).state, "confirmed-not-submitted", "{id}");
    }
    assert_eq!(adapter.submits(), 1, "only the first reached the adapter");
    assert_eq!(dispatcher.stats().not_submitted, 5);
}

#[test]
fn what_this_host_does_not_know_is_neither_performed_nor_settled() {
    let adapter = Scripted::mute(|_, _| Outcome::Submitted(receipt("a")));
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    let known = core.begin("unknown-name", &profile, "one");
    dispatcher.perform(CallEffect { name: "adapter.revoke".into(), ..known });
    let known = core.begin("unreadable", &profile, "one");
    dispatcher.perform(CallEffect { body: "{}".into(), ..known });
    let without = |body: &mut serde_json::Value| drop(body.as_object_mut().and_then(|body| body.remove("envelope")));
    dispatcher.perform(core.begin_with("nothing-handed-over", &profile, "one", without));
    assert!(dispatcher.drain(SOON));
    for id in ["unknown-name", "unreadable", "nothing-handed-over"] {
        assert_eq!(core.attempt(id).state, "outcome-unknown", "{id}");
    }
    let stats = dispatcher.stats();
    assert_eq!((adapter.submits(), stats.unperformed, stats.not_submitted), (0, 3, 0));
}

#[test]
fn a_call_that_is_no_message_is_made_alike() {
    let adapter = Scripted::mute(|call, _| {
        assert_eq!(call.holder, Holder::Other { kind: "run".into(), id: "run-1".into() });
        assert_eq!((call.scope.as_str(), call.idempotency_key.as_str()), ("sha256:scope", "adp_a"));
        assert_eq!((call.payload.kind.as_str(), call.payload.text.as_str()), ("action", r#"{"n":1}"#));
        Outcome::Submitted(receipt("a"))
    });
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    dispatcher.perform(core.begin_with("a", &profile, "one", |body| {
        let text = r#"{"n":1}"#;
        body["holder"] = json!({"kind": "run", "id": "run-1"});
        body["scope"] = json!("sha256:scope");
        body["payload"] = json!({"kind": "action", "text": text, "digest": fake::digest(text)});
    }));
    assert!(dispatcher.drain(SOON));
    assert_eq!(core.attempt("a").state, "receipt-recorded");
}

#[test]
fn a_panic_in_an_adapter_is_unknown_and_the_worker_lives() {
    let adapter = Scripted::mute(|call, _| {
        assert!(call.submission_id != "panics", "on purpose");
        Outcome::Submitted(receipt("b"))
    });
    let profile = Profile { can_query: false, ..profile(&adapter) };
    let (core, dispatcher) = start_with(&profile, Config { workers: 1, ..config("one") });
    dispatcher.perform(core.begin("panics", &profile, "one"));
    dispatcher.perform(core.begin("b", &profile, "one"));
    assert!(dispatcher.drain(SOON));
    assert_eq!(core.attempt("panics").state, "outcome-unknown");
    assert_eq!(core.attempt("b").state, "receipt-recorded");
    assert_eq!(dispatcher.stats().panics, 1);
}

#[test]
fn malformed_receipts_leave_the_attempt_unknown_and_are_never_retried() {
    let edits: [fn(&mut Receipt); 10] = [
        |r| r.accepted_at = "yesterday".into(),
        |r| r.accepted_at = "2026-01-01 00:00:00Z".into(),
        |r| r.accepted_at = "9".repeat(100_000),
        |r| r.accepted_at.clear(),
        |r| r.adapter_operation_id.clear(),
        |r| r.adapter_operation_id = "x".repeat(501),
        |r| r.evidence_refs.clear(),
        |r| r.evidence_refs = vec!["same".into(), "same".into()],
        |r| r.evidence_refs = (0..33).map(|n| n.to_string()).collect(),
        |r| r.evidence_refs = vec!["y".repeat(2001)],
    ];
    let adapter = Scripted::mute(move |call, _| {
        let mut bad = receipt("x");
        edits[call.submission_id.parse::<usize>().unwrap()](&mut bad);
        Outcome::Submitted(bad)
    });
    let profile = profile(&adapter);
    let notes = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&notes);
    let note: Arc<dyn Fn(&Note) + Send + Sync> = Arc::new(move |note| lock(&sink).push(note.clone()));
    let (core, dispatcher) = start_with(&profile, Config { note, ..config("one") });
    for n in 0..10 {
        dispatcher.perform(core.begin(&n.to_string(), &profile, "one"));
    }
    assert!(dispatcher.drain(SOON));
    for n in 0..10 {
        assert_eq!(core.attempt(&n.to_string()).state, "outcome-unknown", "receipt {n}");
        let logged = |note: &Note| note.event == "outcome-unknown" && note.submission_id == n.to_string();
        assert!(lock(&notes).iter().any(logged), "receipt {n} is in the log");
    }
    assert_eq!(adapter.submits(), 10);
    assert_eq!(dispatcher.stats().unknown, 10);
}

#[test]
fn a_receipt_follows_a_revision_that_moved_meanwhile() {
    let (go, wait) = channel();
    let wait = Mutex::new(wait);
    let adapter = Scripted::mute(move |_, _| {
        lock(&wait).recv().unwrap();
        Outcome::Submitted(receipt("a"))
    });
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    dispatcher.perform(core.begin("a", &profile, "one"));
    core.change("a", |attempt| attempt.revision = 7);
    go.send(()).unwrap();
    core.wait_state("a", "receipt-recorded");
    assert_eq!(core.count("adapter.recordReceipt", ""), 2);
}

#[test]
fn a_store_that_is_down_delays_the_receipt_and_repeats_nothing() {
    let adapter = Scripted::mute(|call, _| Outcome::Submitted(receipt(&call.submission_id)));
    let profile = profile(&adapter);
    let (core, dispatcher) = start(&profile);
    core.set_fault(Some(busy("adapter.recordReceipt")));
    dispatcher.perform(core.begin("a", &profile, "one"));
    core.wait(|_| dispatcher.stats().held == 1, || "the receipt to be held".into());
    assert!(!dispatcher.drain(Duration::ZERO), "what is held is not drained");
    core.set_fault(None);
    core.wait_state("a", "receipt-recorded");
    assert!(dispatcher.drain(SOON));
    let keys: HashSet<String> = core
        .operations()
        .iter()
        .filter(|(_, method, _)| method == "adapter.recordReceipt")
        .map(|(_, _, params)| params["idempotencyKey"].to_string())
        .collect();
    assert_eq!(keys.len(), 1, "every try is the same operation");
    assert_eq!((adapter.submits(), adapter.queries(), dispatcher.stats().submitted), (1, 0, 1));
}

#[test]
fn a_hanging_adapter_blocks_neither_others_nor_the_stop_and_its_late_receipt_counts() {
    let (go, wait) = channel();
    let wait = Mutex::new(wait);
    let adapter = Scripted::mute(move |call, _| {
        if call.submission_id == "hangs" {
            lock(&wait).recv().unwrap();
        }
        Outcome::Submitted(receipt(&call.submission_id))
    });
    let profile = Profile { deadline: Duration::from_millis(300), can_query: false, ..profile(&adapter) };
    let config = Config { workers: 1, overrun: Duration::ZERO, ..config("one") };
    let (core, dispatcher) = start_with(&profile, config);
    dispatcher.perform(core.begin("hangs", &profile, "one"));
    core.wait(|_| dispatcher.stats().overdue == 1, || "the call to be overdue".into());
    dispatcher.perform(core.begin("next", &profile, "one"));
    core.wait_state("next", "receipt-recorded");
    assert!(!dispatcher.stop(Duration::from_millis(50)), "it is still in flight");
    assert_eq!(core.attempt("hangs").state, "outcome-unknown", "and not taken for not sent");
    go.send(()).unwrap();
    core.wait_state("hangs", "receipt-recorded");
    assert_eq!(dispatcher.stats().late, 1);
}

#[test]
fn stopping_makes_no_more_calls_and_says_so() {
    let (go, wait) = channel();
    let wait = Mutex::new(wait);
    let (begun, entered) = channel();
    let begun = Mutex::new(begun);
    let adapter = Scripted::mute(move |call, _| {
        lock(&begun).send(()).unwrap();
        lock(&wait).recv().unwrap();
        Outcome::Submitted(receipt(&call.submission_id))
    });
    let profile = profile(&adapter);
    let (core, dispatcher) = start_with(&profile, Config { workers: 1, ..config("one") });
    dispatcher.perform(core.begin("in-flight", &profile, "one"));
    dispatcher.perform(core.begin("queued", &profile, "one"));
    entered.recv().unwrap();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| dispatcher.stop(SOON));
        core.wait(|_| dispatcher.core.closing(), || "the stop to begin".into());
        go.send(()).unwrap();
        assert!(stopping.join().unwrap());
    });
    dispatcher.perform(core.begin("after", &profile, "one"));
    assert_eq!(core.attempt("in-flight").state, "receipt-recorded");
    assert_eq!(core.attempt("queued").state, "confirmed-not-submitted");
    assert_eq!(core.attempt("after").state, "confirmed-not-submitted");
    assert_eq!(adapter.submits(), 1);
}

#[test]
fn the_pause_points_lie_around_the_call() {
    let points = Arc::new(Mutex::new(Vec::new()));
    let (seen, called) = (Arc::clone(&points), Arc::clone(&points));
    let adapter = Scripted::mute(move |_, _| {
        lock(&called).push("call");
        Outcome::Submitted(receipt("a"))
    });
    let profile = profile(&adapter);
    let pause: Arc<dyn Fn(&'static str) + Send + Sync> = Arc::new(move |point| lock(&seen).push(point));
    let (core, dispatcher) = start_with(&profile, Config { pause, ..config("one") });
    dispatcher.perform(core.begin("a", &profile, "one"));
    assert!(dispatcher.drain(SOON));
    assert_eq!(*lock(&points), ["after-commit-before-call", "call", "after-call-before-record"]);
}

#[test]
fn a_profile_that_the_core_refuses_stops_the_start() {
    let adapter = Scripted::mute(|_, _| Outcome::NotSubmitted(reason()));
    let profile = profile(&adapter);
    let core = FakeCore::new();
    let twice = Dispatcher::start(core.host("one"), vec![profile.clone(), profile.clone()], config("one"));
    assert!(matches!(twice, Err(StartError::Twice(_))));
    core.set_fault(Some(busy("adapters.declare")));
    let refused = Dispatcher::start(core.host("one"), vec![profile], config("one"));
    assert!(matches!(refused, Err(StartError::Declare { .. })));
}
