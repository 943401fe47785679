//! Every order of everything in small worlds: one message that is claimed and attempted once, and two that are attempted once,
//! with one worker and one host.
//!
//! `threadmesh-sim --model 1x2` and `--model 2x2` look through larger ones in minutes, where they are built with
//! `optimised.toml`.

use stateright::{Checker, Model};
use std::time::Instant;
use threadmesh_sim::model::{Action, COMMON, Planted, World, pair::Pair};

/// A bound against a world that grows without being noticed.
const STATES_MAX: usize = 50_000;

const SMALL: World = World { messages: 1, pairs: 1, tries: 1, common: COMMON, leaps: 2, planted: None };
/// For two messages.
const SMALLER: World = World {
    tries: 0,
    leaps: 1,
    common: &[Action::Revoke, Action::Rotate, Action::Purge, Action::Scrub, Action::Wait],
    ..SMALL
};

#[test]
fn every_situation_has_a_way_out() {
    let begun = Instant::now();
    let checker = SMALL.checker().spawn_bfs().join();
    println!("{} different states in {:.1} s", checker.unique_state_count(), begun.elapsed().as_secs_f64());
    checker.assert_properties();
    assert!(checker.is_done(), "it was looked through to its end");
    assert!((500..STATES_MAX).contains(&checker.unique_state_count()));
}

/// In how few steps planted faults can be seen.
const STEPS: usize = 7;

/// A world with a fault in it is found to be wrong.
fn noticed(planted: Planted, property: &'static str) {
    let world = World { planted: Some(planted), ..SMALLER };
    let checker = world.checker().target_max_depth(STEPS).spawn_bfs().join();
    let path = checker.assert_any_discovery(property);
    println!("{planted:?}: {:?}", path.into_actions());
}

#[test]
fn without_an_exit_from_quarantine_somebody_is_stuck() {
    noticed(Planted::NoExit, "no stuck state");
}

#[test]
fn content_that_a_purge_leaves_is_noticed() {
    for planted in [Planted::PurgeKeepsFailure, Planted::PurgeKeepsEnvelope] {
        noticed(planted, "nothing happens that must not");
    }
}

/// The sets stand for the situations that there are, no more and no fewer: that is what stepping one by one finds.
#[test]
fn two_messages_that_share_everything_have_a_way_out() {
    let begun = Instant::now();
    let mut pair = Pair::new(SMALLER);
    let report = pair.look();
    println!("{report:?} in {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(report.wrong, None);
    assert!(report.seen.iter().all(|seen| seen.effect && seen.manual && seen.purged), "{report:?}");
    let checker = pair.checker().spawn_bfs().join();
    println!("{} one by one in {:.1} s", checker.unique_state_count(), begun.elapsed().as_secs_f64());
    checker.assert_properties();
    assert!(checker.is_done(), "it was looked through to its end");
    assert_eq!(checker.unique_state_count() as u64, report.situations);
}

#[test]
fn faults_of_either_of_two_messages_are_noticed() {
    let wrong = |planted| {
        let world = World { planted: Some(planted), ..SMALLER };
        Pair::new(world).look().wrong.expect("something is wrong")
    };
    let stuck = wrong(Planted::NoExit);
    assert!(stuck.starts_with("no stuck state"), "{stuck}");
    let kept = wrong(Planted::PurgeKeepsFailure);
    assert!(kept.contains("is purged, and its content is there"), "{kept}");
}
