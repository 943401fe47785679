//! Makes a failing life shorter: leaves out what it does not need to fail, and what needs not go wrong.

use crate::life::{Action, Life};

/// The shortest life found that still `fails`, by leaving out ever smaller runs of actions, then by calming what is left.
/// `fails` must hold of `life`.
pub fn minimise(life: &Life, fails: impl Fn(&Life) -> bool) -> Life {
    let with = |actions: Vec<Action>| Life { actions, ..life.clone() };
    let mut best = life.actions.clone();
    let mut run = best.len().div_ceil(2).max(1);
    loop {
        let before = best.len();
        let mut from = 0;
        while from < best.len() {
            let to = (from + run).min(best.len());
            let shorter: Vec<Action> = best[..from].iter().chain(&best[to..]).cloned().collect();
            if fails(&with(shorter.clone())) {
                best = shorter;
            } else {
                from = to;
            }
        }
        match (run, best.len() == before) {
            (1, true) => break,
            (1, false) => {}
            _ => run = run.div_ceil(2),
        }
    }
    for at in 0..best.len() {
        let mut calmer = best.clone();
        calmer[at].calm = true;
        if !best[at].calm && fails(&with(calmer.clone())) {
            best = calmer;
        }
    }
    with(best)
}
