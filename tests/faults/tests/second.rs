//! A second dispatcher starts while the calls of the first are in flight: no second call, no early judgement.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use std::{fs, thread};
use threadmesh_faults::campaign::{Campaign, SOON};
use threadmesh_faults::mesh::{Mesh, Opening, core};
use threadmesh_faults::worker::{CALLS_MAX, Orders, calls};
use threadmesh_faults::{check, ledger, lines, random, script};

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");
const MESSAGES: u64 = 12;

#[test]
fn a_second_dispatcher_leaves_calls_in_flight_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    // The next seed by which there are calls, and all of them fit at once: more would wait for the gate.
    let seed = (random::seed()..).find(|seed| (1..=CALLS_MAX).contains(&calls(*seed, MESSAGES))).expect("some seed");
    // Nothing of this test takes so long: every judgement would be an early one.
    let mut campaign = Campaign::new(folder.path(), PROGRAM, seed, false, "full").with_deadline(600_000);
    let gate = folder.path().join("gate");
    fs::write(&gate, "").expect("the gate");
    fs::write(folder.path().join("calm"), "").expect("the calm");
    let orders = Orders { threads: 1, messages: Some(MESSAGES), settle_ms: 60_000, ..campaign.orders() };
    let mut first = campaign.start(&orders, None);
    let last = format!("msg_0000-0-{:05}", MESSAGES - 1);
    let sent = |line: &lines::Line| matches!(line, lines::Line::Try(attempt) if attempt.params["envelope"]["messageId"] == *last);
    // All calls fit, so that the load comes to its last message with every call still in flight.
    assert!(first.listen(SOON, sent), "{}", first.told.errors);
    let until = Instant::now() + SOON;
    while ledger::read(folder.path(), "calls").is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }

    let idle =
        Orders { run: 1, threads: 0, messages: None, settle_ms: 1_500, retries: Vec::new(), ..campaign.orders() };
    let opening = Opening { instance: format!("second-{seed}"), ..idle.opening.clone() };
    let second = campaign.start(&Orders { opening, ..idle }, None).finish();
    let (calls, queries, unresolved) = second.done.expect("it ended by itself");
    assert_eq!((calls, queries), (0, 0), "{second:?}");
    assert!(unresolved > 0, "{second:?}");
    refuse_early_judgement(&campaign);
    assert!(ledger::read(folder.path(), "effects").is_empty(), "the gate is shut");

    fs::remove_file(&gate).expect("the gate opens");
    campaign.told.push(first.finish());
    campaign.told.push(second);
    let report = check::check(&campaign, true);
    println!("{report}");
    assert!(report.problems.is_empty(), "seed {seed}: {:#?}", report.problems);
    assert_eq!(report.called.0, report.called.1);
    assert_eq!(report.states.get("receipt-recorded"), Some(&report.called.0), "{report}");
}

/// A host that is not the owner is refused, whatever it says of an attempt in flight.
fn refuse_early_judgement(campaign: &Campaign) {
    let mesh = Mesh::open(core(), &Opening::plain(&campaign.db(), "third")).expect("it opens");
    let attempts = mesh.unresolved().expect("a list");
    let receipt = json!({
        "adapterOperationId": "invented", "acceptedAt": "2026-01-01T00:00:00Z", "evidenceRefs": ["nothing"],
    });
    for (number, attempt) in attempts.iter().enumerate() {
        for result in ["found", "absent-final", "absent-now", "unanswerable", "not-submitted"] {
            let mut params = json!({
                "submissionId": attempt.submission_id, "result": result, "evidenceRefs": ["nothing"],
                "idempotencyKey": format!("idem_early-{number}-{result}"),
            });
            if result == "found" {
                params["receipt"] = receipt.clone();
            }
            let refused = judge(&mesh, "adapter.recordQuery", &params);
            // Only the owner can know that it never made the call, however late it is.
            let code = if result == "not-submitted" { "reconciliation-authority" } else { "submission-settling" };
            assert_eq!(refused, code, "{result}");
        }
        let params = json!({
            "submissionId": attempt.submission_id, "expectedRevision": 1, "receipt": receipt,
            "idempotencyKey": format!("idem_early-{number}-receipt"),
        });
        assert_eq!(judge(&mesh, "adapter.recordReceipt", &params), "submission-settling");
    }
}

fn judge(mesh: &Mesh, operation: &str, params: &Value) -> String {
    mesh.call(&script::host("third"), operation, params).expect_err("it is refused").code
}
