//! Where a message goes: the receiver's ids, and the relationship that allows it, found by the receiver's name.

use crate::failure::Failure;
use crate::mesh::Mesh;
use crate::names::Names;
use crate::target::TaskName;
use serde_json::{Value, json};

/// What is asked for.
pub struct Asked<'a> {
    /// The sending task, and its owner where that is known.
    pub sender: &'a TaskName,
    pub owner: Option<&'a str>,
    /// The receiver: a name, or TASK@INCARNATION.
    pub to: &'a str,
    /// The relationship, if it is named.
    pub relationship: Option<&'a str>,
    /// The intent, and the mode by which it usually goes.
    pub intent: &'a str,
    pub mode: &'a str,
}

/// A way to a receiver.
pub struct Route {
    /// The receiver.
    pub target: TaskName,
    /// The relationship whose grant allows it.
    pub relationship: String,
    /// The delivery mode: the usual one, or one that the grant allows.
    pub mode: String,
}

/// Finds the way among what current grants allow the sender. Where ids and relationship are all named, nothing is looked up.
pub fn find(mesh: &mut dyn Mesh, names: &Names, asked: &Asked<'_>) -> Result<Route, Failure> {
    let exact = TaskName::parse(asked.to).ok();
    if let (Some(target), Some(relationship)) = (&exact, asked.relationship) {
        return Ok(Route {
            target: target.clone(),
            relationship: relationship.to_owned(),
            mode: asked.mode.to_owned(),
        });
    }
    let meant = exact.or_else(|| names.task(asked.to).ok().map(|named| named.task));
    let related = related(mesh, asked)?;
    let is_meant = |item: &&Value| match (target(item), &meant) {
        (Some(target), Some(meant)) => target == *meant,
        (Some(target), None) => target.task == asked.to,
        (None, _) => false,
    };
    let mut ways: Vec<&Value> = related.iter().filter(is_meant).collect();
    if let Some(relationship) = asked.relationship {
        ways.retain(|item| item["relationshipId"] == relationship);
    }
    if ways.iter().any(|item| allows(item, "allowedIntents", asked.intent)) {
        ways.retain(|item| allows(item, "allowedIntents", asked.intent));
    }
    let [way] = ways.as_slice() else { return Err(none_or_several(&ways, names, asked)) };
    let missing = || Failure::unusable("answer-unreadable", "tasks.listRelated: an item without ids", "");
    let target = target(way).ok_or_else(missing)?;
    let relationship = way["relationshipId"].as_str().ok_or_else(missing)?.to_owned();
    // A suggestion is stored only where its link does not let it be offered.
    let stored = asked.mode == "checkpoint-offer" && !allows(way, "allowedDeliveryModes", asked.mode);
    let mode = if stored { "store-only" } else { asked.mode }.to_owned();
    Ok(Route { target, relationship, mode })
}

/// The live targets of the sender's current grants.
fn related(mesh: &mut dyn Mesh, asked: &Asked<'_>) -> Result<Vec<Value>, Failure> {
    let mut params = json!({"task": asked.sender.to_json(), "limit": 100});
    if let Some(owner) = asked.owner {
        params["owner"] = json!(owner);
    }
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = mesh.value("tasks.listRelated", &params)?;
        let outgoing = |item: &&Value| item["direction"] == "outgoing" && item["live"] == true;
        found.extend(page["items"].as_array().into_iter().flatten().filter(outgoing).cloned());
        match page["nextCursor"].as_u64().filter(|next| *next > after) {
            Some(next) => after = next,
            None => return Ok(found),
        }
        params["afterCursor"] = json!(after);
    }
}

fn target(item: &Value) -> Option<TaskName> {
    let text = |name: &str| item["task"][name].as_str().map(str::to_owned);
    Some(TaskName { task: text("taskId")?, incarnation: text("incarnationId")? })
}

fn allows(item: &Value, list: &str, word: &str) -> bool {
    item[list].as_array().is_some_and(|words| words.iter().any(|one| one == word))
}

fn none_or_several(ways: &[&Value], names: &Names, asked: &Asked<'_>) -> Failure {
    let (from, to) = (&asked.sender.task, asked.to);
    if ways.is_empty() {
        let under = asked.relationship.map(|id| format!(" under {id}")).unwrap_or_default();
        let detail = format!("no link allows {from} to send to {to}{under}");
        let next = match names.task(to) {
            Ok(_) => format!("the owner of both makes it: `threadmesh link {from} {to}`"),
            Err(unknown) => format!("{}: {}", unknown.detail, unknown.next),
        };
        return Failure::refused("no-link", detail, next);
    }
    let mut targets: Vec<String> = ways.iter().filter_map(|item| target(item)).map(|name| name.to_string()).collect();
    targets.dedup();
    if targets.len() > 1 {
        let detail = format!("more than one task has the id {to}: {}", targets.join(", "));
        return Failure::refused("name-ambiguous", detail, "name it as TASK@INCARNATION");
    }
    let ids: Vec<&str> = ways.iter().filter_map(|item| item["relationshipId"].as_str()).collect();
    let detail = format!("more than one link allows {from} to send to {to}: {}", ids.join(", "));
    Failure::refused("name-ambiguous", detail, "name one: --relationship ID")
}
