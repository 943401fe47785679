//! `demo`: the whole job, with real processes.

use crate::program::Rig;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn the_demo_shows_exactly_one_effect_and_keeps_everything() {
    let rig = Rig::new();
    let began = Instant::now();
    let (code, steps) = rig.json(&["demo"]);
    assert_eq!(
        code,
        0,
        "{steps:?}\n{}",
        fs::read_to_string(rig.path("threadmesh-demo/server.log")).unwrap_or_default()
    );
    assert!(began.elapsed() < Duration::from_secs(60), "it takes less than a minute");
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().expect("a name")).collect();
    assert_eq!(names, ["cast", "grant", "suggest", "stale-steer", "crash", "restart", "reconciled", "trail", "end"]);
    let of = |name: &str| &steps.iter().find(|step| step["step"] == name).expect("a step")["data"];
    assert_eq!(of("grant")["before"]["code"], "policy-denied");
    assert_eq!(of("stale-steer")["disposition"]["decisionReasonCode"], "stale-objective");
    assert_eq!(of("restart")["state"], "outcome-unknown");
    assert_eq!(of("reconciled")["submission"]["state"], "receipt-recorded");
    assert_eq!(of("reconciled")["ledger"].as_array().map(Vec::len), Some(1));
    let kinds: Vec<&Value> = of("trail").as_array().expect("events").iter().map(|event| &event["eventType"]).collect();
    assert_eq!(kinds.first(), Some(&&json!("message-durably-received")));
    assert_eq!(kinds.last(), Some(&&json!("adapter-receipt-recorded")));
    let ledger = fs::read_to_string(rig.path("threadmesh-demo/ledger.jsonl")).expect("the ledger");
    assert_eq!(ledger.lines().count(), 1, "{ledger}");
    let db = rig.path("threadmesh-demo/mesh.db");
    let db = db.to_str().expect("text");
    let (code, shown) = rig.json(&["show", "msg_suggestion_1", "--db", db, "--as", "planner"]);
    assert_eq!((code, &shown[0]["submissions"][0]["state"]), (0, &json!("receipt-recorded")));
    assert_eq!(rig.run(&["doctor", "--db", db]).code, 0);
    let (code, steps) = rig.json(&["demo"]);
    assert_eq!((code, steps.len()), (0, 9), "a demo may be shown again");
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let rig = Rig::new();
    fs::create_dir(rig.path("threadmesh-demo")).expect("a folder");
    rig.write("threadmesh-demo/mesh.db", "mine");
    let (code, values) = rig.json(&["demo"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("file-exists")));
    assert_eq!(fs::read_to_string(rig.path("threadmesh-demo/mesh.db")).expect("it is there"), "mine");
}
