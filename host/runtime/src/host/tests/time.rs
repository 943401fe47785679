//! Clocks.

use super::*;
use crate::{host::clock::Watch, wit::PrincipalKind};
use std::sync::Mutex;

#[derive(Clone)]
struct Manual(Arc<Mutex<(i64, i64)>>);

impl Manual {
    fn at(wall_ms: i64) -> Self {
        Self(Arc::new(Mutex::new((wall_ms, 0))))
    }

    fn set(&self, wall_ms: i64, steady_ms: i64) {
        *self.0.lock().unwrap() = (wall_ms, steady_ms);
    }
}

impl Clock for Manual {
    fn wall_ms(&self) -> i64 {
        self.0.lock().unwrap().0
    }
    fn steady_ms(&self) -> i64 {
        self.0.lock().unwrap().1
    }
}

/// The error of a host whose clock is that far behind.
fn behind(behind_ms: i64) -> HostError {
    HostError::Clock(ClockError::Behind { behind_ms })
}

fn host_at(clock: &Manual, store: &Arc<MemoryStore>) -> Host {
    let store = Arc::clone(store) as Arc<dyn Store>;
    Host::builder(Arc::new(Fake::default()), store).clock(clock.clone()).build().unwrap()
}

fn operator() -> Principal {
    Principal {
        tenant: "default".into(),
        kind: PrincipalKind::Operator,
        id: "op".into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "test".into(),
    }
}

/// A process that was stopped between the clock and the reading decides again.
#[test]
fn a_read_does_not_judge_by_a_time_that_has_gone() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(Watched::new(MemoryStore::new())));
    let builder = Host::builder(Arc::new(Fake::default()), Arc::clone(&store) as Arc<dyn Store>);
    let host = builder.clock(clock.clone()).build().unwrap();
    for (stopped_ms, seen) in [(5_000, "1000000 0"), (5_001, "1010001 0")] {
        let sleeper = clock.clone();
        let start = sleeper.wall_ms();
        store.before_read(move |number| {
            if number == 1 {
                sleeper.set(start + stopped_ms, start + stopped_ms - 1_000_000)
            }
        });
        assert_eq!(body(&host, "read-at", "a"), seen, "stopped for {stopped_ms} ms");
    }
    store.before_read({
        let sleeper = clock.clone();
        move |_| sleeper.set(sleeper.wall_ms() + 6_000, sleeper.steady_ms() + 6_000)
    });
    assert_eq!(host.call(None, "read-at", "a"), Err(HostError::Conflict { tries: 3 }), "it never gets to an answer");
}

/// A page that meets a clock that is behind is not lost: nobody would ask for it again.
#[test]
fn a_page_waits_until_the_clock_is_right() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(MemoryStore::new()));
    let builder = Host::builder(Arc::new(Fake::default()), Arc::clone(&store) as Arc<dyn Store>);
    let host = builder.clock(clock.clone()).by_hand().build().unwrap();
    assert_eq!(body(&host, "pages", "a"), "1");
    clock.set(990_000, 0);
    assert_eq!([host.perform_stored(), host.perform_stored()], [Err(behind(10_000)), Err(behind(10_000))]);
    clock.set(1_000_000, 0);
    while host.perform_stored() != Ok(0) {}
    assert_eq!(body(&host, "get", "a"), "4");
}

#[test]
fn a_probe_writes_and_moves_no_time() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(MemoryStore::new()));
    let host = host_at(&clock, &store);
    assert_eq!(body(&host, "stamp", "a"), "1000000");
    clock.set(1_000_500, 500);
    let before = store.changes().unwrap();
    assert_eq!([host.probe(), host.probe()], [Ok(()), Ok(())]);
    assert_ne!(store.changes().unwrap(), before);
    assert_eq!(store.last_time(), Ok(1_000_000));
    clock.set(900_000, -100_000);
    assert!(matches!(host.probe(), Err(HostError::Clock(_))), "it fails as a write would");
}

#[test]
fn a_clock_a_little_behind_stands_still() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(MemoryStore::new()));
    let host = host_at(&clock, &store);
    assert_eq!(body(&host, "stamp", "a"), "1000000");
    clock.set(995_000, -5_000);
    assert_eq!(body(&host, "stamp", "a"), "1000000");
    assert_eq!(body(&host, "time", ""), "1000000");
    clock.set(1_000_001, 1);
    assert_eq!(body(&host, "stamp", "a"), "1000001");
}

#[test]
fn a_clock_far_behind_is_refused_until_it_is_accepted() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(MemoryStore::new()));
    body(&host_at(&clock, &store), "stamp", "a");
    clock.set(500_000, 0);
    let (host, other) = (host_at(&clock, &store), host_at(&clock, &store));
    assert_eq!(host.call(None, "stamp", "a"), Err(behind(500_000)));
    assert_eq!(host.call(None, "time", ""), Err(behind(500_000)));
    let user = Principal { kind: PrincipalKind::User, ..operator() };
    assert!(matches!(host.accept_clock(&user), Err(HostError::Misuse(_))));
    assert_eq!(host.accept_clock(&operator()), Ok(true));
    assert_eq!(body(&host, "stamp", "a"), "500000");
    clock.set(500_010, 10);
    assert_eq!(body(&host, "stamp", "a"), "500010");
    clock.set(500_005, 15);
    assert_eq!(body(&host, "stamp", "a"), "500010", "from then on it goes forward only");
    clock.set(490_000, 20);
    assert_eq!(host.call(None, "stamp", "a"), Err(behind(10_010)));
    clock.set(500_020, 20);
    assert_eq!(body(&other, "stamp", "a"), "500020", "another host learns of it");
    assert_eq!(body(&host_at(&clock, &store), "stamp", "a"), "500020", "and a later start");
    let audit = crate::store::Query {
        collection: "audit".into(),
        index: "host".into(),
        start: "clock".into(),
        end: None,
        reverse: false,
        limit: 9,
        bytes: 0,
    };
    assert_eq!(store.read(&[audit]).unwrap()[0].rows.len(), 1);
    clock.set(2_000_000, 1_499_980);
    assert_eq!(host_at(&clock, &store).accept_clock(&operator()), Ok(false), "nothing to accept");
}

#[test]
fn a_clock_that_jumps_stops_the_writing_for_good() {
    let (clock, store) = (Manual::at(1_000_000), Arc::new(MemoryStore::new()));
    let host = host_at(&clock, &store);
    clock.set(1_160_000, 100_000);
    assert_eq!(body(&host, "stamp", "a"), "1160000", "a minute is no jump");
    clock.set(1_260_001, 200_000);
    assert_eq!(host.call(None, "stamp", "a"), Err(HostError::Clock(ClockError::Jumped { moved_ms: 60_001 })));
    assert_eq!(body(&host, "time", ""), "1260001", "reading goes on");
    clock.set(1_200_000, 200_000);
    assert_eq!(host.call(None, "stamp", "a"), Err(HostError::Clock(ClockError::Jumped { moved_ms: 60_001 })));
    assert!(host_at(&clock, &store).call(None, "stamp", "a").is_ok());
}

#[test]
fn negative_and_enormous_times_never_reach_the_core() {
    let watch = Watch::new(Box::new(Manual::at(-5)));
    assert!(matches!(watch.for_writing(0), Err(ClockError::Behind { .. })));
    assert!(matches!(watch.for_reading(0), Err(ClockError::Behind { .. })));
    let watch = Watch::new(Box::new(Manual::at(i64::MAX)));
    assert_eq!(watch.for_writing(0), Ok((1 << 53) - 1));
}

#[test]
fn limits_are_those_of_the_table() {
    let table: serde_json::Value = serde_json::from_str(include_str!("../../../../../spec/limits.json")).unwrap();
    let limit = |name: &str| {
        let limits = table["limits"].as_array().unwrap();
        limits.iter().find(|limit| limit["name"] == name).unwrap()["value"].as_i64().unwrap()
    };
    assert_eq!(limit("rounds_max"), i64::try_from(crate::host::decider::ROUNDS_MAX).unwrap());
    assert_eq!(limit("clock_behind_ms_max"), crate::host::clock::BEHIND_MS_MAX);
}
