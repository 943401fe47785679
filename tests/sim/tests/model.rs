//! Every order of everything in a small world: one message that is claimed and attempted once, one worker, one host.
//!
//! `threadmesh-sim --model 1x2` looks through a larger one in minutes.

use stateright::{Checker, Model};
use std::time::Instant;
use threadmesh_sim::model::World;

/// A bound against a world that grows without being noticed.
const STATES_MAX: usize = 50_000;

const SMALL: World = World { messages: 1, pairs: 1, tries: 1, no_exit: false };

#[test]
fn every_situation_has_a_way_out() {
    let begun = Instant::now();
    let checker = SMALL.checker().spawn_bfs().join();
    println!("{} different states in {:.1} s", checker.unique_state_count(), begun.elapsed().as_secs_f64());
    checker.assert_properties();
    assert!(checker.is_done(), "it was looked through to its end");
    assert!((500..STATES_MAX).contains(&checker.unique_state_count()));
}

#[test]
fn without_an_exit_from_quarantine_somebody_is_stuck() {
    let checker = World { no_exit: true, ..SMALL }.checker().spawn_bfs().join();
    let path = checker.assert_any_discovery("no stuck state");
    println!("stuck after {:?}", path.into_actions());
}
