//! A fixed number of simulated lives: nothing that must never be, and enough of everything that can be.
//!
//! `THREADMESH_SIM_LIVES` sets how many.

use std::{collections::BTreeSet, sync::Arc, time::Instant};
use threadmesh_native::{NativeCore, twin::Twin};
use threadmesh_runtime::{Core, WasmCore};
use threadmesh_sim::{
    coverage::Coverage,
    life::{Keep, Life},
    machines::Machines,
    plan,
};

/// How many lives, where nothing else is asked for.
const LIVES: u64 = 500;
/// Every how manieth life is decided by the component and the native rules together.
const TWIN_EVERY: u64 = 25;
/// How often each kind of fault must have happened.
const FAULTS_MIN: u64 = 2;

fn native() -> Arc<dyn Core> {
    Arc::new(NativeCore)
}

#[test]
fn lives_keep_every_promise() {
    let lives = std::env::var("THREADMESH_SIM_LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(LIVES);
    let (native, begun) = (native(), Instant::now());
    let twin: Arc<dyn Core> = Arc::new(Twin::new(Arc::clone(&native), Arc::new(WasmCore::new().expect("the component"))));
    let mut coverage = Coverage::default();
    for seed in 1..=lives {
        let core = if seed % TWIN_EVERY == 0 { &twin } else { &native };
        let outcome = Life::draw(seed).live(core, Keep::default());
        coverage.add(&outcome.stats, &outcome.seen);
        let violations = &outcome.violations;
        assert!(violations.is_empty(), "threadmesh-sim --seed {seed} --minimise: {violations:?}");
        assert!(!outcome.stats.failures.contains_key("core-trap"), "seed {seed}: the core gave no answer");
    }
    let (operations, crashes) = coverage.medians();
    println!(
        "{lives} lives in {:.1} s; the median has {operations} operations and {crashes} crashes; {} attempts left to people",
        begun.elapsed().as_secs_f64(),
        coverage.total.queued
    );
    assert!(operations >= 20 && crashes >= 2, "the median life has {operations} operations and {crashes} crashes");
    assert!(coverage.total.queued > 0, "nothing was ever left to people");
    reached(&coverage);
}

/// What was reached is what can be reached.
fn reached(coverage: &Coverage) {
    let machines = Machines::read();
    let (missing, surprising) = coverage.edges(&machines);
    assert!(missing.is_empty(), "edges that were never taken: {missing:?}");
    assert!(surprising.is_empty(), "edges that should be out of reach: {surprising:?}");
    let (missing, surprising) = coverage.pairs(&machines);
    assert!(missing.is_empty(), "illegal steps that nobody ever asked for: {missing:?}");
    assert!(surprising.is_empty(), "illegal steps that should be out of reach: {surprising:?}");
    let count = |kind: &str| coverage.total.faults.get(kind).copied().unwrap_or(0);
    let rare: BTreeSet<&str> = plan::kinds().filter(|kind| count(kind) < FAULTS_MIN).collect();
    assert!(rare.is_empty(), "faults that hardly ever happened: {rare:?}");
}

#[test]
fn a_life_is_lived_again_exactly() {
    let mut digests = BTreeSet::new();
    for seed in 1..=12 {
        let lived = || Life::draw(seed).live(&native(), Keep { trace: true, calls: false });
        let (one, other) = (lived(), lived());
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.stats.digest, other.stats.digest, "seed {seed}");
        digests.insert(one.stats.digest);
    }
    assert_eq!(digests.len(), 12, "different seeds give different lives");
}

#[test]
fn the_rules_take_the_steps_of_the_table() {
    let machines = Machines::read();
    let (native, component) = (native(), WasmCore::new().expect("the component"));
    for core in [native.as_ref(), &component as &dyn Core] {
        let mut session = core.session().expect("a session");
        for machine in machines.all() {
            for (state, event) in machine.states.iter().flat_map(|state| machine.events.iter().map(move |it| (state, it))) {
                let next = session.step(&machine.name, state, event).expect("an answer").ok();
                assert_eq!(next.as_deref(), machine.next(state, event), "{} {state} {event}", machine.name);
            }
        }
    }
}
