//! Every call of a scripted life to the disk fails, once and for good, in every way.
//!
//! A sample of the places is tried, by `THREADMESH_SEED`. `THREADMESH_DISK=all` tries every place.

use std::sync::{Arc, OnceLock};
use std::time::Instant;
use threadmesh_faults::trial::{self, Seen};
use threadmesh_faults::vfs::{CALLS, Call, How, Plan};
use threadmesh_faults::{mesh, random};
use threadmesh_runtime::Core;

/// How many places of a kind are tried, unless all are.
const SAMPLE: u64 = 8;
/// How many places are tried where a thread makes calls too.
const BESIDE: u64 = 16;
/// The same, where one place alone need not be noticed.
const LARGE_SAMPLE: u64 = 40;

fn core() -> &'static Arc<dyn Core> {
    static CORE: OnceLock<Arc<dyn Core>> = OnceLock::new();
    CORE.get_or_init(mesh::core)
}

/// How many calls of a kind a life without a fault makes.
fn count(call: Call) -> u64 {
    static COUNTS: OnceLock<Vec<u64>> = OnceLock::new();
    let counts = COUNTS.get_or_init(|| {
        let begun = Instant::now();
        let (seen, disk) = trial::run(core(), None).expect("a life without a fault");
        assert_eq!(seen, Seen::default());
        let counts: Vec<u64> = CALLS.iter().map(|call| disk.count(*call)).collect();
        println!("{CALLS:?}: {counts:?} in {:?}", begun.elapsed());
        counts
    });
    counts[call as usize]
}

/// Lets a call fail at each place, or at a sample of them; what was seen, and the problems by place.
fn fail(call: Call, how: How, lasting: bool, sample: u64) -> (Seen, Vec<String>) {
    let (begun, count) = (Instant::now(), count(call));
    let all = std::env::var("THREADMESH_DISK").is_ok_and(|value| value == "all");
    let stride = if all { 1 } else { (count / sample).max(1) };
    let first = 1 + random::seed() % stride;
    let (mut sum, mut problems, mut places) = (Seen::default(), Vec::new(), 0);
    for number in (first..=count).step_by(usize::try_from(stride).expect("small")) {
        places += 1;
        match trial::run(core(), Some(Plan { call, number, how, lasting })) {
            Ok((seen, _)) => sum += seen,
            Err(problem) => {
                problems.push(format!("{call:?} {number} of {count}, {how:?}, lasting {lasting}: {problem}"))
            }
        }
    }
    println!("{call:?} {how:?}, lasting {lasting}: {places} of {count} places, {sum:?}, {:?}", begun.elapsed());
    assert!(sum.met || !problems.is_empty(), "{call:?} is never met");
    (sum, problems)
}

fn no_harm(call: Call, hows: &[How]) -> Seen {
    let (mut sum, mut all) = (Seen::default(), Vec::new());
    for how in hows {
        for lasting in [false, true] {
            let (seen, problems) = fail(call, *how, lasting, SAMPLE);
            sum += seen;
            all.extend(problems);
        }
    }
    assert!(all.is_empty(), "{all:#?}");
    sum
}

#[test]
fn a_full_disk() {
    let seen = no_harm(Call::Write, &[How::Full, How::HalfFull]);
    assert!(seen.refused > 0 && seen.unknown == 0, "it is known that nothing was committed: {seen:?}");
}

#[test]
fn a_write_that_fails() {
    let seen = no_harm(Call::Write, &[How::Error, How::HalfError]);
    assert!(seen.refused > 0 && seen.unknown == 0, "it is known that nothing was committed: {seen:?}");
}

#[test]
fn a_sync_that_fails() {
    let seen = no_harm(Call::Sync, &[How::Error, How::HalfError, How::Late]);
    assert!(seen.unknown > 0, "{seen:?}");
}

#[test]
fn a_read_that_fails() {
    let seen = no_harm(Call::Read, &[How::Error]);
    assert!(seen.refused > 0, "{seen:?}");
}

#[test]
fn calls_around_the_content_that_fail() {
    for call in [Call::Truncate, Call::Size, Call::Open, Call::Delete, Call::Access] {
        no_harm(call, &[How::Error]);
    }
}

#[test]
fn locks_and_shared_memory_that_fail() {
    for call in [Call::Lock, Call::Map, Call::MapLock] {
        no_harm(call, &[How::Error]);
    }
}

/// The thread that carries the log over meets the fault: nothing that was acknowledged is lost, and after a flush nobody
/// writes any more.
#[test]
fn a_log_that_is_carried_over_beside_the_commits() {
    let (_, disk) = trial::run_beside(core(), None).expect("a life without a fault");
    for (call, how) in [(Call::Sync, How::Error), (Call::Sync, How::Late), (Call::Write, How::Full)] {
        let (count, mut struck, mut problems) = (disk.count(call), 0, Vec::new());
        let first = 1 + random::seed() % 3;
        for number in (first..=count).step_by(usize::try_from(count.div_ceil(BESIDE)).expect("small")) {
            for lasting in [false, true] {
                let plan = Plan { call, number, how, lasting };
                match trial::run_beside(core(), Some(plan)) {
                    Ok((seen, disk)) => {
                        let there = disk.struck().is_some_and(|name| name == "threadmesh-log");
                        struck += u32::from(there);
                        if there && call == Call::Sync && seen.unknown == 0 {
                            problems.push(format!("{plan:?}: a flush failed, and everything went on"));
                        }
                    }
                    Err(problem) => problems.push(format!("{plan:?}: {problem}")),
                }
            }
        }
        println!("{call:?} {how:?}: {struck} in the thread");
        assert!(problems.is_empty(), "{problems:#?}");
        assert!(struck > 0, "{call:?} of the thread is never met");
    }
}

/// A store that answers before the flush, and one that takes a failed write for done, look like this to the trial.
#[test]
fn a_store_that_does_not_look_is_caught() {
    let (_, unsynced) = fail(Call::Sync, How::Ignored, true, SAMPLE);
    assert!(unsynced.iter().any(|problem| problem.contains("power failure at the end")), "{unsynced:#?}");
    let (_, unwritten) = fail(Call::Write, How::Ignored, false, LARGE_SAMPLE);
    // Some of them are written again before anybody needs them.
    println!("{} of the ignored writes are noticed", unwritten.len());
    assert!(!unwritten.is_empty(), "a check that finds nothing here proves nothing");
}
