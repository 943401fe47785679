//! The check itself: each kind of damage is found, in a run without any.

use std::fs;
use std::path::Path;
use threadmesh_faults::campaign::Campaign;
use threadmesh_faults::worker::Orders;
use threadmesh_faults::{check, ledger, random};

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");

/// A worker that was not killed.
fn sound(folder: &Path) -> Campaign {
    let mut campaign = Campaign::new(folder, PROGRAM, random::seed(), false, "full").with_deadline(60_000);
    fs::write(folder.join("calm"), "").expect("the calm");
    let orders = Orders { threads: 2, messages: Some(12), settle_ms: 60_000, ..campaign.orders() };
    let told = campaign.start(&orders, None).finish();
    campaign.told.push(told);
    campaign
}

/// The problems after the ledger `name` was rewritten.
fn after(campaign: &Campaign, name: &str, rewrite: impl Fn(&mut Vec<ledger::Entry>)) -> Vec<String> {
    let path = campaign.folder.join(name);
    let before = fs::read_to_string(&path).expect("a ledger");
    let mut entries = ledger::read(&campaign.folder, name);
    rewrite(&mut entries);
    let lines: String = entries.iter().map(|entry| serde_json::to_string(entry).expect("JSON") + "\n").collect();
    fs::write(&path, lines).expect("the ledger");
    let problems = check::check(campaign, true).problems;
    fs::write(&path, before).expect("the ledger");
    problems
}

fn holds(problems: &[String], text: &str) {
    assert!(problems.iter().any(|problem| problem.contains(text)), "no {text:?} in {problems:#?}");
}

#[test]
fn every_damage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut campaign = sound(folder.path());
    let report = check::check(&campaign, true);
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    assert!(report.called.1 > 0, "{report}");

    let twice = |entries: &mut Vec<ledger::Entry>| entries.push(entries[0].clone());
    holds(&after(&campaign, "effects", twice), "2 times effective");
    holds(&after(&campaign, "effects", twice), "two effects of");
    holds(&after(&campaign, "calls", twice), "2 times called");
    holds(&after(&campaign, "calls", |entries| entries[0].caller += 1), "called by another process");
    // Which profile the first effect belongs to is a matter of threads.
    let missing = after(&campaign, "effects", |entries| drop(entries.remove(0)));
    holds(&missing, "is receipt-recorded, called true, effect false");
    let unknown = |entries: &mut Vec<ledger::Entry>| entries[0].submission = "sub_unknown-0001".into();
    holds(&after(&campaign, "effects", unknown), "which no record knows");

    // Told of more than there is.
    let invented = campaign.told[0].tries.iter().find(|(_, attempt)| attempt.operation == "messages.send");
    let (mut attempt, (replayed, value)) = {
        let (number, attempt) = invented.expect("a message");
        (attempt.clone(), campaign.told[0].acks[number].clone())
    };
    attempt.number = 1_000_000;
    attempt.params["envelope"]["messageId"] = "msg_invented-0001".into();
    campaign.told[0].tries.insert(attempt.number, attempt.clone());
    campaign.told[0].acks.insert(attempt.number, (replayed, value));
    campaign.told[0].recorded.push(("sub_invented-0001".into(), "receipt".into()));
    let problems = check::check(&campaign, true).problems;
    holds(&problems, "lost: msg_invented-0001");
    holds(&problems, "lost: receipt of sub_invented-0001");
}
