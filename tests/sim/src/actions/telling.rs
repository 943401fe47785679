//! What tasks let each other know, and the consent to a grant.

use super::{host, request};
use crate::{
    cast::{self, ROUTES},
    oracle::{party, text},
    random::Random,
    world::World,
};
use serde_json::{Value, json};
use threadmesh_protocol::time;
use threadmesh_runtime::wit::Principal;

/// A task lets the source of a grant towards it know something.
pub fn publish(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let route = random.below(ROUTES.len());
    let (source, target) = ROUTES[route];
    let (version, from, to, number) = world.cast(|cast| {
        cast.hints += 1;
        let version = cast.grants.get(&route).copied().unwrap_or(1);
        (version, cast.task(source, None), cast.task(target, None), cast.hints)
    });
    let known = published(world, route, &to, &from);
    let last = known.as_ref().map(|row| row["version"].as_i64().unwrap_or(0));
    let previous = if random.chance(92) { last } else { Some(77) };
    let next = last.map_or(0, |last| last + i64::from(random.chance(70)));
    let visibility = match cast::visibility(route, version) {
        _ if random.chance(8) => "state-only",
        "none" => "state-only",
        shown => shown,
    };
    let summary = summary(world, random, (route, version, visibility), (&from, &to), (number, next));
    let owner = cast::user(cast::owner(&to.id));
    let who = random.one(&[to.clone(), to.clone(), to, owner, cast::policy(), cast::operator(), cast::user("mallory")]);
    let Some(who) = who else { return };
    let params = json!({"summary": summary, "expectedPreviousVersion": previous});
    request(world, slot, &who, "tasks.publishSummary", params);
}

/// The summary that stands between two tasks.
fn published(world: &World, route: usize, task: &Principal, reader: &Principal) -> Option<Value> {
    let relationship = cast::relationship(route);
    let own = |principal: &Principal| party(&cast::owned(principal));
    let fits = |row: &Value| {
        row["relationship"] == relationship.as_str()
            && party(&row["task"]) == own(task)
            && party(&row["reader"]) == own(reader)
    };
    world.oracle(|oracle| oracle.rows("summary").find(|(_, row)| fits(row)).map(|(_, row)| row.clone()))
}

fn summary(
    world: &World,
    random: &mut Random,
    (route, version, visibility): (usize, u32, &str),
    (from, to): (&Principal, &Principal),
    (number, next): (u32, i64),
) -> Value {
    let ahead = if random.chance(4) { 9_000 } else { 0 };
    let id =
        |task: &Principal| task.incarnation.as_deref().and_then(|id| id.rsplit('-').next()).unwrap_or("1").to_owned();
    let relationship = cast::relationship(route);
    let sensitivity = random.pick(&["relationship-scoped", "relationship-scoped", "restricted", "public-metadata"]);
    let audience = match sensitivity {
        "restricted" => json!({"visibility": "owner-only"}),
        _ if random.chance(25) => json!({"visibility": "owner-only"}),
        _ => json!({"visibility": "relationship-scoped", "relationshipIds": [relationship]}),
    };
    let mut summary = json!({
        "specVersion": "0.0-draft", "summaryId": format!("sum_route{route}-{}-{}", id(from), id(to)),
        "summaryVersion": next, "task": cast::reference(to),
        "projection": {
            "relationshipId": relationship, "grantId": cast::grant_id(route, version), "grantVersion": version,
            "summaryVisibility": visibility,
        },
        "state": "running", "coordination": {"intents": ["suggest"], "deliveryModes": ["checkpoint-offer"]},
        "sensitivity": sensitivity, "audience": audience, "updatedAt": time::format(world.time.now() + ahead),
    });
    if random.chance(4) {
        summary["summaryId"] = "sum_another-0001".into();
    }
    if visibility != "state-only" {
        summary["blockerHint"] = cast::hint(number).into();
        summary["dependencyHints"] = json!(["the parser"]);
    }
    if visibility == "objective-hint" {
        summary["objective"] = json!({"hint": "ship it", "version": 1});
    }
    summary
}

/// Somebody reads a summary.
pub fn read(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let route = random.below(ROUTES.len());
    let (source, target) = ROUTES[route];
    let (from, to) = world.cast(|cast| (cast.task(source, None), cast.task(target, None)));
    let others = [cast::user(cast::owner(target)), cast::user(cast::owner(source)), cast::policy(), cast::operator()];
    let lurker = cast::task("lurker", 1, None);
    let who = random.one(&[[from.clone(), from, to.clone(), lurker].as_slice(), &others].concat());
    let Some(who) = who else { return };
    let params = json!({"task": cast::reference(&to), "relationshipId": cast::relationship(route)});
    world.call(slot, &who, "tasks.getSummary", &params);
}

/// The target of a grant that asks for it agrees, or takes that back; or somebody else tries to.
pub fn agree(world: &World, random: &mut Random) {
    let any = random.chance(12);
    let fits = |row: &Value| row["superseded"] == false && (any || row.get("consent").is_some());
    let rows: Vec<Value> =
        world.oracle(|oracle| oracle.rows("grant").filter(|(_, row)| fits(row)).map(|(_, row)| row.clone()).collect());
    let (Some(slot), Some(row)) = (host(world, random), random.one(&rows)) else { return };
    let target = world.cast(|cast| cast.task(text(&row["target"], "taskId"), None));
    let owner = cast::user(text(&row["target"], "owner").trim_start_matches("user:"));
    let others = [cast::user("alice"), cast::policy(), cast::user("mallory")];
    let who = random.one(&[[target.clone(), target, owner.clone(), owner].as_slice(), &others].concat());
    let Some(who) = who else { return };
    let version = row["version"].as_i64().unwrap_or(0) + i64::from(random.chance(6));
    let params = json!({"grantId": row["grantId"], "expectedGrantVersion": version, "consent": random.chance(80)});
    request(world, slot, &who, "relationships.consent", params);
}
