//! A fixed number of simulated lives: nothing that must never be, and enough of everything that can be.
//!
//! `THREADMESH_SIM_LIVES` sets how many.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc, time::Instant};
use threadmesh_native::{NativeCore, twin::Twin};
use threadmesh_protocol::operations::operations;
use threadmesh_runtime::{Core, WasmCore};
use threadmesh_sim::{
    coverage::{Coverage, DENIED, rules},
    life::{Keep, Life},
    machines::Machines,
    plan,
};

/// The first seed: from here on, what is rare is met within the lives of one run.
const FIRST: u64 = 1;
/// How many lives, where nothing else is asked for.
const LIVES: u64 = 1000;
/// How many times as many there may be until everything was seen that can be.
const MORE: u64 = 3;
/// Every how manieth life is decided by the component and the native rules together.
const TWIN_EVERY: u64 = 25;
/// How many lives are lived over files as well.
const LIVES_OVER_FILES: u64 = 50;
/// How often each kind of fault must have happened.
const FAULTS_MIN: u64 = 2;

fn native() -> Arc<dyn Core> {
    Arc::new(NativeCore)
}

/// Lives these lives, some of them by both implementations of the rules, on all processors.
fn live(seeds: RangeInclusive<u64>) -> Coverage {
    let native = native();
    let twin: Arc<dyn Core> =
        Arc::new(Twin::new(Arc::clone(&native), Arc::new(WasmCore::new().expect("the component"))));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let stripe = |first: u64| {
        let mut coverage = Coverage::default();
        for seed in seeds.clone().skip(first as usize).step_by(threads as usize) {
            let core = if seed % TWIN_EVERY == 0 { &twin } else { &native };
            let outcome = Life::draw(seed).live(core, Keep::default());
            coverage.add(&outcome.stats, &outcome.seen);
            let violations = &outcome.violations;
            assert!(violations.is_empty(), "threadmesh-sim --seed {seed} --minimise: {violations:?}");
            assert!(!outcome.stats.failures.contains_key("core-trap"), "seed {seed}: the core gave no answer");
        }
        coverage
    };
    let mut all = Coverage::default();
    std::thread::scope(|scope| {
        let stripe = &stripe;
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || stripe(first))).collect();
        workers.into_iter().for_each(|worker| all.merge(worker.join().expect("every life is lived to its end")));
    });
    all
}

#[test]
fn lives_keep_every_promise() {
    let lives = std::env::var("THREADMESH_SIM_LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(LIVES);
    let begun = Instant::now();
    let mut coverage = live(FIRST..=FIRST + lives - 1);
    for round in 1..MORE {
        if lacking(&coverage).is_empty() {
            break;
        }
        let first = FIRST + round * lives;
        coverage.merge(live(first..=first + lives - 1));
    }
    let (operations, crashes) = coverage.medians();
    println!(
        "{} lives in {:.1} s; the median has {operations} operations and {crashes} crashes; {} attempts left to people",
        coverage.lives,
        begun.elapsed().as_secs_f64(),
        coverage.total.queued
    );
    assert!(operations >= 20 && crashes >= 2, "the median life has {operations} operations and {crashes} crashes");
    assert!(coverage.total.queued > 0, "nothing was ever left to people");
    let lacking = lacking(&coverage);
    assert!(lacking.is_empty(), "never seen: {lacking:?}");
    let surprising = surprising(&coverage);
    assert!(surprising.is_empty(), "out of reach, and seen: {surprising:?}");
}

/// What can be seen and was not: operations that an action asks for and that are accepted, edges, illegal steps that
/// somebody asks for, rules that are broken, and kinds of faults.
fn lacking(coverage: &Coverage) -> Vec<String> {
    let machines = Machines::read();
    let count = |kind: &str| coverage.total.faults.get(kind).copied().unwrap_or(0);
    let rare = plan::kinds().filter(|kind| count(kind) < FAULTS_MIN).map(|kind| format!("fault {kind}"));
    let edges = coverage.edges(&machines).0.into_iter().map(|edge| format!("edge {edge}"));
    let pairs = coverage.pairs(&machines).0.into_iter().map(|pair| format!("illegal {pair}"));
    let asked =
        operations().iter().map(|operation| operation.name).filter(|name| coverage.total.asked.contains_key(*name));
    let never = asked
        .filter(|name| !coverage.total.accepted.contains_key(*name) && !DENIED.contains(name))
        .map(|name| format!("operation {name}"));
    let unbroken = rules(&coverage.total.rules).0.into_iter().map(|rule| format!("rule {rule}"));
    edges.chain(pairs).chain(rare).chain(never).chain(unbroken).collect()
}

fn surprising(coverage: &Coverage) -> Vec<String> {
    let machines = Machines::read();
    let rules = rules(&coverage.total.rules).1;
    coverage.edges(&machines).1.into_iter().chain(coverage.pairs(&machines).1).chain(rules).collect()
}

#[test]
fn a_life_is_lived_again_exactly() {
    let mut digests = BTreeSet::new();
    for seed in 1..=12 {
        let lived = || Life::draw(seed).live(&native(), Keep { trace: true, ..Keep::default() });
        let (one, other) = (lived(), lived());
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.stats.digest, other.stats.digest, "seed {seed}");
        digests.insert(one.stats.digest);
    }
    assert_eq!(digests.len(), 12, "different seeds give different lives");
}

/// Every process opens the file for itself, and what is lived is what is lived in memory.
#[test]
fn lives_over_files_are_the_same() {
    let begun = Instant::now();
    for seed in 1..=LIVES_OVER_FILES {
        let lived = |file| Life::draw(seed).live(&native(), Keep { file, ..Keep::default() });
        let (memory, file) = (lived(false), lived(true));
        assert!(file.violations.is_empty(), "threadmesh-sim --file --seed {seed}: {:?}", file.violations);
        assert_eq!(memory.stats.digest, file.stats.digest, "seed {seed} goes another way over a file");
    }
    println!("{LIVES_OVER_FILES} lives over files in {:.1} s", begun.elapsed().as_secs_f64());
}

#[test]
fn the_rules_take_the_steps_of_the_table() {
    let machines = Machines::read();
    let (native, component) = (native(), WasmCore::new().expect("the component"));
    for core in [native.as_ref(), &component as &dyn Core] {
        let mut session = core.session().expect("a session");
        for machine in machines.all() {
            for (state, event) in
                machine.states.iter().flat_map(|state| machine.events.iter().map(move |it| (state, it)))
            {
                let next = session.step(&machine.name, state, event).expect("an answer").ok();
                assert_eq!(next.as_deref(), machine.next(state, event), "{} {state} {event}", machine.name);
            }
        }
    }
}
