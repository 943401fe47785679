//! Every target on its seeds and on seeded mutations of them; `THREADMESH_ROUNDS` multiplies the rounds.

use std::env;
use threadmesh_fuzz::{mutate::mutate, random::Random, seeds, targets};

/// Runs `target` on all its seeds and on `rounds` mutations: some are accepted, and some of the mutations too.
fn smoke(target: &str, rounds: usize) {
    let target = targets::find(target).expect("a target of that name");
    let seeds = seeds::of(target.name);
    assert!(seeds.len() > 20, "only {} seeds", seeds.len());
    let step = seeds.len().div_ceil(rounds / 4);
    let accepted = seeds.iter().step_by(step).filter(|seed| (target.run)(seed)).count();
    assert!(accepted > 0, "no seed is accepted");
    let mut random = Random::new(20_261_130);
    let more = env::var("THREADMESH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut taken, rounds) = (0, rounds * more);
    for _ in 0..rounds {
        let seed = random.pick(&seeds).expect("there are seeds");
        let input = mutate(seed, target.head, &mut random);
        let before = random.clone();
        let ran = std::panic::catch_unwind(|| (target.run)(&input));
        let accepted =
            ran.unwrap_or_else(|_| panic!("{} {before:?}: {}", target.name, String::from_utf8_lossy(&input)));
        taken += usize::from(accepted);
    }
    println!("{}: {accepted} seeds and {taken} of {rounds} mutations accepted", target.name);
    assert!(taken > 0 && taken < rounds, "{taken} of {rounds} mutations accepted");
}

#[test]
fn canonical_json() {
    smoke("canonical-json", 3000);
}

#[test]
fn documents() {
    smoke("documents", 3000);
}

#[test]
fn decisions() {
    smoke("decide", 120);
}

#[test]
fn frames() {
    smoke("jsonrpc", 1500);
}

#[test]
fn attestations() {
    smoke("attestation", 1500);
}
