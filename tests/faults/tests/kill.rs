//! Workers are killed with SIGKILL at random points; nothing acknowledged is lost, and nothing happens twice.
//!
//! `THREADMESH_KILLS` is the number of kills, `THREADMESH_SEED` repeats a run.

use threadmesh_faults::{campaign::Campaign, check, random};

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");
/// How often a long run looks at the file between kills.
const CHECK_EVERY: usize = 50;

fn kills(usual: usize) -> usize {
    std::env::var("THREADMESH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let (folder, seed, kills) = (tempfile::tempdir().expect("a folder"), random::seed(), kills(6));
    let mut campaign = Campaign::new(folder.path(), PROGRAM, seed, false, "full");
    for kill in 1..=kills {
        campaign.kill_one();
        if kill % CHECK_EVERY == 0 {
            let report = check::check(&campaign, false);
            println!("after {kill} kills:\n{report}");
            assert!(report.problems.is_empty(), "seed {seed}: {:#?}", report.problems);
        }
    }
    campaign.settle();
    let report = check::check(&campaign, true);
    println!("{report}");
    assert!(report.problems.is_empty(), "seed {seed}: {:#?}", report.problems);
    assert_eq!(report.kills, kills);
    if kills >= 300 {
        assert!(report.between_begin_and_receipt >= 50, "{report}");
        assert!(report.between_commit_and_call >= 20, "{report}");
    }
}
