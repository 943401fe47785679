//! The dispatcher over real targets: what happened outside is counted, by the target, and once.

use super::{
    service::{Seen, Service, response},
    *,
};
use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, Mutex},
};
use threadmesh_runtime::dispatcher::{Config, Dispatcher, fake::FakeCore};

fn start(core: &FakeCore, profile: &Profile, instance: &str) -> Dispatcher {
    let config = Config { sweep: Duration::from_millis(10), ..Config::new(instance) };
    Dispatcher::start(core.host(instance), vec![profile.clone()], config).unwrap()
}

/// What a service remembers: how often each key had an effect, and how often it was asked about.
#[derive(Default)]
struct Books {
    effects: HashMap<String, u32>,
    asked: HashMap<String, u32>,
}

/// A service that keeps books. `submit` says how a posted key is answered, `visible` whether a query finds it.
fn shop(
    submit: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    visible: impl Fn(&Books, &str) -> bool + Send + Sync + 'static,
) -> (Service, Arc<Mutex<Books>>) {
    let books = Arc::new(Mutex::new(Books::default()));
    let own = Arc::clone(&books);
    let service = Service::start(move |seen: &Seen, mut stream| {
        let key = seen.headers["idempotency-key"].clone();
        let text = {
            let mut books = own.lock().unwrap();
            if seen.method == "POST" {
                *books.effects.entry(key.clone()).or_default() += 1;
                submit(&key)
            } else {
                *books.asked.entry(key.clone()).or_default() += 1;
                Some(if visible(&books, &key) { response(200, &found(&key)) } else { response(404, "") })
            }
        };
        // Without a text the connection ends after the effect, without an answer.
        drop(text.map(|text| stream.write_all(text.as_bytes())));
    });
    (service, books)
}

fn receipt(key: &str) -> String {
    format!(r#"{{"adapterOperationId":"op-{key}","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["shop:{key}"]}}"#)
}

fn found(key: &str) -> String {
    format!(r#"{{"result":"found","idempotencyKey":"{key}","receipt":{}}}"#, receipt(key))
}

fn target(service: &Service, more: &str) -> Profile {
    let origin = service.origin();
    profile(&format!(
        "kind = \"http\"\nsubmit_url = \"{origin}/ops\"\nquery_url = \"{origin}/ops/{{idempotencyKey}}\"\n\
         settle_ms = 1000\ndeadline_ms = 20000\n{more}\n[profile.target.query]\nbackoff_ms = 1\nbackoff_ms_max = 5\nattempts_max = 50"
    ))
}

#[test]
fn a_connection_that_breaks_after_the_effect_is_found_again_by_query() {
    let (service, books) = shop(|_| None, |_, _| true);
    let profile = target(&service, "");
    let core = FakeCore::new();
    let dispatcher = start(&core, &profile, "one");
    dispatcher.perform(core.begin("1", &profile, "one"));
    core.wait_state("1", "receipt-recorded");
    assert!(dispatcher.stop(SOON));
    assert_eq!(books.lock().unwrap().effects["adp_1"], 1);
}

/// The vector of settled point 3, end to end: the service commits after our timeout and after our queries.
#[test]
fn a_commit_after_timeout_and_query_is_neither_repeated_nor_called_absent() {
    let (service, books) = shop(|_| None, |books, key| books.asked[key] > 4);
    let profile = target(&service, "");
    let core = FakeCore::new();
    let dispatcher = start(&core, &profile, "one");
    dispatcher.perform(core.begin("1", &profile, "one"));
    assert!(dispatcher.drain(SOON));
    core.advance(Duration::from_secs(60));
    core.wait_state("1", "receipt-recorded");
    assert_eq!(core.count("adapter.recordQuery", "absent-final"), 0);
    let books = books.lock().unwrap();
    assert_eq!((books.effects["adp_1"], books.asked["adp_1"]), (1, 5));
}

#[test]
fn after_a_restart_attempts_are_asked_about_and_not_sent_again() {
    let (service, books) = shop(|key| Some(response(200, &format!("broken {key}"))), |_, _| true);
    let profile = target(&service, "");
    let core = FakeCore::new();
    // The first process neither asks nor records: its store is gone from the moment of the call.
    core.set_fault(Some(Box::new(|method, _| {
        (method != "adapters.declare").then(|| threadmesh_runtime::dispatcher::Refusal {
            code: "unavailable".into(),
            detail: String::new(),
            retryable: true,
        })
    })));
    let first = start(&core, &profile, "one");
    for n in 0..5 {
        first.perform(core.begin(&n.to_string(), &profile, "one"));
    }
    first.drain(SOON);
    drop(first);
    core.set_fault(None);
    core.advance(Duration::from_secs(60));
    let second = start(&core, &profile, "two");
    for n in 0..5 {
        core.wait_state(&n.to_string(), "receipt-recorded");
    }
    assert!(second.stop(SOON));
    let books = books.lock().unwrap();
    assert!((0..5).all(|n| books.effects[&format!("adp_{n}")] == 1));
}

#[test]
fn two_dispatchers_run_each_program_once() {
    let place = Place::new();
    // Appends its key with one write; every fourth dies between effect and receipt.
    let script = r#"
if [ "$THREADMESH_OPERATION" = submit ]; then id=$THREADMESH_SUBMISSION; else id=$THREADMESH_QUERIED; fi
receipt="{\"adapterOperationId\":\"op-$id\",\"acceptedAt\":\"2026-01-01T00:00:00Z\",\"evidenceRefs\":[\"ledger:$id\"]}"
if [ "$THREADMESH_OPERATION" = query ]; then
  if grep -qx "$id" ledger; then echo "{\"result\":\"found\",\"idempotencyKey\":\"adp_$id\",\"receipt\":$receipt}"
  else echo '{"result":"absent-now"}'; fi
  exit
fi
echo "$id" >> ledger
case $id in *0|*4|*8) kill -9 $$;; esac
echo "{\"outcome\":\"submitted\",\"receipt\":$receipt}"
"#;
    let profile = place.script(script, "can_query = true\n[profile.target.query]\nbackoff_ms = 1");
    let core = FakeCore::new();
    let (one, two) = (start(&core, &profile, "one"), start(&core, &profile, "two"));
    let ids: Vec<String> = (0..12).map(|n| format!("n{n}")).collect();
    for (n, id) in ids.iter().enumerate() {
        let (dispatcher, name) = if n % 2 == 0 { (&one, "one") } else { (&two, "two") };
        dispatcher.perform(core.begin(id, &profile, name));
    }
    ids.iter().for_each(|id| core.wait_state(id, "receipt-recorded"));
    assert!(one.stop(SOON) && two.stop(SOON));
    let mut ledger = place.lines("ledger");
    let mut expected = ids.clone();
    ledger.sort();
    expected.sort();
    assert_eq!(ledger, expected, "each effect happened exactly once");
}

#[test]
fn a_stop_waits_for_the_program_in_flight() {
    let place = Place::new();
    let script = "echo begun > begun; while [ ! -e go ]; do sleep 0.01; done; echo effect >> ledger\n";
    let profile = place.script(&format!("{script}{}", super::command::RECEIPT), "");
    let core = FakeCore::new();
    let dispatcher = start(&core, &profile, "one");
    dispatcher.perform(core.begin("1", &profile, "one"));
    wait_until("the program runs", || place.lines("begun") == ["begun"]);
    assert!(!dispatcher.drain(Duration::ZERO));
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| dispatcher.stop(SOON));
        fs::write(place.path("go"), "").unwrap();
        assert!(stop.join().unwrap());
    });
    assert_eq!(core.attempt("1").state, "receipt-recorded");
    assert_eq!(place.lines("ledger"), ["effect"]);
}
