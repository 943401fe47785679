//! Faulty data is refused before anything is written from it.

use super::{Table, audit::audit};
use serde_json::{Value, json};

/// The audit's complaint about the real data after `change`; empty if there is none.
fn complaint(change: impl FnOnce(&mut Value)) -> String {
    let root = crate::root();
    let mut data: Value = super::load(&root, "spec/transitions.json").unwrap();
    change(&mut data);
    let table: Table = serde_json::from_value(data).unwrap();
    audit(&table, &super::super::rules::ids(&root).unwrap()).err().map_or(String::new(), |error| format!("{error:#}"))
}

#[track_caller]
fn refused(expected: &str, change: impl FnOnce(&mut Value)) {
    let complaint = complaint(change);
    assert!(complaint.contains(expected), "{complaint:?} does not say {expected:?}");
}

#[test]
fn the_data_as_it_is_passes() {
    assert_eq!(complaint(|_| {}), "");
}

#[test]
fn names_are_known_and_unique() {
    refused("state pending stands twice", |data| data["machines"][1]["states"][1]["name"] = json!("pending"));
    refused("no event find", |data| data["machines"][0]["edges"][0]["event"] = json!("find"));
    refused("no party", |data| data["machines"][0]["events"][0]["by"] = json!(["anybody"]));
    refused("no guard", |data| data["machines"][0]["edges"][0]["guards"] = json!(["luck"]));
    refused("no rule XX-1", |data| data["machines"][0]["edges"][0]["rule"] = json!("XX-1"));
    refused("no state lost", |data| data["combinations"]["forbidden"][0]["when"]["states"] = json!(["lost"]));
    refused("guards without use", |data| {
        data["guards"].as_array_mut().unwrap().push(json!({"name": "luck", "meaning": ""}));
    });
}

#[test]
fn a_pair_has_one_edge_or_one_refusal() {
    refused("two edges from", |data| {
        let edge = data["machines"][2]["edges"][0].clone();
        data["machines"][2]["edges"].as_array_mut().unwrap().push(edge);
    });
    refused("is an edge and a refusal", |data| {
        data["machines"][0]["refusals"][0]["from"] = json!(["context-admitted"])
    });
}

#[test]
fn every_state_is_reached_and_has_a_way_to_an_end() {
    refused("is never reached", |data| {
        data["machines"][1]["edges"].as_array_mut().unwrap().retain(|edge| edge["to"] != "unsupported");
    });
    // Quarantine without an exit: the dead end of the draft.
    refused("terminal states and only those have no edge", |data| {
        data["machines"][3]["edges"].as_array_mut().unwrap().retain(|edge| edge["from"] != "manual-reconciliation");
    });
    refused("has no way to an end", |data| {
        data["machines"][3]["edges"].as_array_mut().unwrap().retain(|edge| edge["event"] != "record-receipt");
        data["machines"][3]["states"].as_array_mut().unwrap().retain(|state| state["name"] != "receipt-recorded");
        data["machines"][3]["refusals"] = json!([]);
    });
}

#[test]
fn reasons_and_combinations_speak_of_everything() {
    refused("the reasons are listed for every decision", |data| {
        data["reasons"]["by_decision"].as_array_mut().unwrap().pop();
    });
    refused("the default reason of accepted", |data| data["reasons"]["by_decision"][1]["default"] = json!("other"));
    refused("speaks of every machine", |data| data["combinations"]["optional"] = json!(["claim"]));
}
