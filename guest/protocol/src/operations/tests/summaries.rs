//! Task summaries and related tasks: what is read, and at what cost.

use super::world::*;
use crate::authority::summary::{Reach, Summary};
use crate::documents;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Value, json};

fn summary(bridge: &crate::kernel::Principal, relationship: &str, grant: &str) -> Value {
    json!({
        "expectedPreviousVersion": null,
        "summary": {
            "specVersion": "0.0-draft", "summaryId": "sum_bridge-1", "summaryVersion": 1, "task": reference(bridge),
            "projection": {
                "relationshipId": relationship, "grantId": grant, "grantVersion": 2,
                "summaryVisibility": "objective-hint",
            },
            "state": "running", "objective": {"hint": "Close the gap.", "version": 1}, "activeRunId": "run-1",
            "blockerHint": "Waits for steel.", "dependencyHints": ["The pier."],
            "coordination": {"intents": ["suggest"], "deliveryModes": ["checkpoint-offer"]},
            "sensitivity": "public-metadata", "audience": {"visibility": "public"},
            "updatedAt": crate::time::format(START),
        },
    })
}

/// Whatever a reader is shown is a summary by the rules of the document.
#[test]
fn every_view_is_a_valid_summary() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let mut draft = grant(&survey, &bridge, "peer", 2);
    draft["grant"]["summaryVisibility"] = "objective-hint".into();
    world.call(&user("alice"), "relationships.grant", draft).ok();
    let relation = relationship(&survey, &bridge);
    let params = summary(&bridge, &relation, "grant_survey-bridge-2");
    world.call(&bridge, "tasks.publishSummary", params.clone()).ok();
    let read = json!({"task": reference(&bridge), "relationshipId": relation});
    let mut sizes = Vec::new();
    for reader in [&user("alice"), &bridge, &survey, &policy("board"), &operator()] {
        let seen = world.call(reader, "tasks.getSummary", read.clone()).ok();
        documents::check("task-summary", &seen.to_string()).unwrap();
        assert_eq!(seen["summaryId"], "sum_bridge-1");
        sizes.push(seen.as_object().unwrap().len());
    }
    assert_eq!(sizes, [14, 14, 14, 10, 10]);
    // A purge finds the hints by the time of publication.
    assert_eq!(world.index("summary", "purge"), [format!("{TENANT}/{START:016}")]);
    let text = world.rows("audit").into_iter().map(|row| row.body).collect::<Vec<_>>().concat();
    for hint in ["Close the gap", "steel", "pier"] {
        assert!(!text.contains(hint), "{hint} in the audit");
    }
}

/// The source of a grant is shown what its projection names, even if more was stored.
#[test]
fn a_projection_shows_no_more_than_it_names() {
    let bridge = task("alice", "bridge");
    let shown = |visibility: &str| {
        let mut document = summary(&bridge, "rel_river", "grant_river-1")["summary"].clone();
        document["projection"]["summaryVisibility"] = visibility.into();
        document["unheardOf"] = "Something.".into();
        let stored = Summary {
            document: document.to_string(),
            digest: String::new(),
            summary_id: "sum_bridge-1".into(),
            version: 1,
            task: party(&bridge),
            reader: party(&task("alice", "survey")),
            relationship: "rel_river".into(),
            grant: String::new(),
            published: START,
        };
        let seen: Value = serde_json::from_str(&stored.show(Reach::Projection).unwrap()).unwrap();
        let more = ["activeRunId", "blockerHint", "dependencyHints", "objective", "unheardOf"];
        more.into_iter().filter(|name| seen.get(name).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(shown("state-only"), Vec::<&str>::new());
    assert_eq!(shown("coordination"), ["activeRunId", "blockerHint", "dependencyHints"]);
    assert_eq!(shown("objective-hint"), ["activeRunId", "blockerHint", "dependencyHints", "objective"]);
}

/// A summary without hints holds nothing that a purge has to reach.
#[test]
fn a_summary_without_hints_is_not_kept_for_a_purge() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let mut draft = grant(&survey, &bridge, "peer", 2);
    draft["grant"]["summaryVisibility"] = "objective-hint".into();
    world.call(&user("alice"), "relationships.grant", draft).ok();
    let mut params = summary(&bridge, &relationship(&survey, &bridge), "grant_survey-bridge-2");
    for hint in ["objective", "blockerHint", "dependencyHints", "activeRunId"] {
        params["summary"].as_object_mut().unwrap().remove(hint);
    }
    world.call(&bridge, "tasks.publishSummary", params).ok();
    assert_eq!(world.index("summary", "purge"), Vec::<String>::new());
}

/// What an expired grant, a revoked one and an older version leave behind does not cost a related task anything.
#[test]
fn related_tasks_are_found_without_reading_what_is_over() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for version in 2..=60 {
        world.call(&user("alice"), "relationships.grant", grant(&survey, &bridge, "peer", version)).ok();
    }
    let related = world.call(&survey, "tasks.listRelated", json!({"task": reference(&survey)}));
    assert!(related.rows_read <= 5, "{} rows", related.rows_read);
    assert_eq!(related.ok()["items"][0]["grantVersion"], 60);
    let all = world.call(&survey, "relationships.list", json!({"task": reference(&survey), "limit": 100})).ok();
    assert_eq!(all["items"].as_array().unwrap().len(), 60);
}
