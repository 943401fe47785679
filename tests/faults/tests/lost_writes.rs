//! The same as `kill.rs`, but everything that was not synced is lost with the process: only `synchronous=FULL` keeps
//! what was acknowledged.

use threadmesh_faults::check::Report;
use threadmesh_faults::{campaign::Campaign, check, random};

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");

/// A run in which every process is killed. Only with `full` is there anything to settle afterwards.
fn run(synchronous: &'static str, leaking: bool, kills: usize) -> Report {
    let (folder, seed) = (tempfile::tempdir().expect("a folder"), random::seed());
    let mut campaign = Campaign::new(folder.path(), PROGRAM, seed, true, synchronous);
    if leaking {
        campaign = campaign.leaking();
    }
    campaign.kill_after(40);
    (1..kills).for_each(|_| campaign.kill_one());
    if synchronous == "full" {
        campaign.settle();
    }
    let report = check::check(&campaign, synchronous == "full");
    println!("synchronous={synchronous}, leaking {leaking}\n{report}");
    report
}

fn lost(report: &Report) -> usize {
    report.problems.iter().filter(|problem| problem.starts_with("lost: ")).count()
}

#[test]
fn with_full_nothing_acknowledged_is_lost() {
    nothing_is_lost(false);
}

#[test]
fn with_full_torn_and_reordered_writes_do_no_harm() {
    nothing_is_lost(true);
}

fn nothing_is_lost(leaking: bool) {
    let kills = std::env::var("THREADMESH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let report = run("full", leaking, kills);
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    assert!(report.acknowledged >= 40, "{report}");
}

#[test]
fn with_normal_the_check_finds_losses() {
    assert!(lost(&run("normal", false, 2)) > 0, "a check that finds nothing here proves nothing");
}

#[test]
fn with_off_the_check_finds_losses() {
    assert!(lost(&run("off", false, 2)) > 0, "a check that finds nothing here proves nothing");
}
