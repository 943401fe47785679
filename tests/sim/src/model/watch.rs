//! What must never come of a step.

use super::{State, World, rows::Ran};
use crate::{
    cast,
    oracle::{party, text, unresolved, urgent},
};
use serde_json::Value;
use std::sync::Arc;

/// What establishes the outcome of a call; nothing else may.
const EVIDENCE: &[&str] = &["adapter.recordQuery", "adapter.recordReceipt", "adapter.reconcileSubmission"];

/// What is wrong with a step of `operation` that led from the lives `before` to `state`.
pub(super) fn fault(world: World, state: &State, operation: &str, before: &[Arc<Value>], ran: &Ran) -> Option<String> {
    if ran.strayed.is_some() {
        return ran.strayed.clone();
    }
    if let Some(aside) = &ran.aside {
        return Some(format!("{operation} keeps content aside: {aside}"));
    }
    let shows = |life: &&Arc<Value>| life.get("purged").is_some() && ran.told.contains(&secret(life));
    if let Some(life) = before.iter().find(shows) {
        return Some(format!("{operation} answers with purged content of {life}"));
    }
    if !ran.accepted {
        return None;
    }
    let after = state.rows.all("life");
    let steps = before.iter().zip(&after);
    let mut faults = steps.filter_map(|(old, new)| relabelled(operation, old, new).or_else(|| acts(state, old, new)));
    faults.next().or_else(|| kept(state, &after)).or_else(|| miscounted(world, state, &after))
}

fn secret(life: &Value) -> String {
    let number = text(life, "messageId").rsplit('_').next().and_then(|number| number.parse().ok());
    cast::secret(number.unwrap_or_default())
}

/// While nobody knows what became of a call, only evidence about it changes anything, and nothing but the attempt.
fn relabelled(operation: &str, old: &Value, new: &Value) -> Option<String> {
    if !unresolved(old) {
        return None;
    }
    let names: &[&str] = match (EVIDENCE.contains(&operation), unresolved(new)) {
        (true, false) => &[],
        (true, true) => &["delivery", "decision", "outcome", "purged"],
        // A message can become unknown while its purge waits for the host: that nothing is left is no label.
        (false, _) if operation == "maintenance.recordScrub" => &["delivery", "decision", "outcome", "attempt", "past"],
        (false, _) => &["delivery", "decision", "outcome", "purged", "attempt", "past"],
    };
    let same = names.iter().all(|name| old[*name] == new[*name]);
    (!same).then(|| format!("{operation} relabels {new} while its call is unknown: it was {old}"))
}

/// Nothing is claimed, affirmed, prepared or begun after the grant, the receiver, the objective or the message ended.
fn acts(state: &State, old: &Value, new: &Value) -> Option<String> {
    let fence = |life: &Value| life["claim"]["fence"].as_i64().unwrap_or(0);
    let (was, is) = (text(&old["attempt"], "state"), text(&new["attempt"], "state"));
    let affirmed = old["decision"] != new["decision"] && matches!(text(new, "decision"), "accepted" | "deferred");
    let prepared = is == "prepared" && old["attempt"]["id"] != new["attempt"]["id"];
    let begun = is == "outcome-unknown" && was != is;
    let acted = fence(new) > fence(old) || affirmed || prepared || begun;
    (acted && !stands(state, new)).then(|| format!("{new} is acted on, and what it rests on is over: it was {old}"))
}

fn stands(state: &State, life: &Value) -> bool {
    let current = |end: &Value| {
        state
            .rows
            .all("task")
            .into_iter()
            .find(|task| task["taskId"] == end["taskId"] && task["incarnationId"] == end["incarnationId"])
    };
    let live = |end: &str| current(&life[end]).is_some_and(|task| !task["retiredAt"].is_number());
    let objective = current(&life["receiver"]).map(|task| task["objectiveVersion"].clone());
    state.rows.all("grant").iter().all(|grant| !grant["revoked"].is_number())
        && live("sender")
        && live("receiver")
        && life["expires"].as_i64().is_some_and(|end| state.now() < end)
        && (!urgent(life) || objective == Some(1.into()))
}

/// What was purged is in no row.
fn kept(state: &State, lives: &[Arc<Value>]) -> Option<String> {
    let purged = lives.iter().filter(|life| life.get("purged").is_some());
    let mut left = purged.filter_map(|life| {
        let mut rows = ["life", "message"].into_iter().flat_map(|collection| state.rows.texts(collection));
        rows.find(|(_, body)| body.contains(&secret(life)))
    });
    left.next().map(|(id, body)| format!("{id} is purged, and its content is there: {body}"))
}

/// The receiver's box counts the open messages, among them those that are not in this part of the world.
fn miscounted(world: World, state: &State, lives: &[Arc<Value>]) -> Option<String> {
    let open = |life: &&Arc<Value>| {
        let ended = matches!(text(life, "delivery"), "adapter-submitted" | "failed" | "expired");
        matches!(text(life, "decision"), "pending" | "deferred") && !ended
    };
    let receiver = party(&lives.first()?["receiver"]);
    let (id, body) = state.rows.texts("box").find(|(id, _)| *id == receiver)?;
    let counted = serde_json::from_str::<Value>(body).unwrap_or_default()["open"].as_u64();
    let there = lives.iter().filter(open).count() + world.messages.saturating_sub(lives.len());
    (counted != Some(there as u64)).then(|| format!("{id} counts {counted:?}, and {there} are open"))
}
