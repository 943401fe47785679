//! Tasks, grants, consent and expiry.

use super::{host, life, request};
use crate::{
    cast::{self, ROUTES, TASKS},
    outside::PROFILES,
    random::Random,
    world::World,
};
use serde_json::{Value, json};
use threadmesh_protocol::time;
use threadmesh_runtime::wit::Principal;

/// Messages past their time end.
pub fn expire(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let who = random.one(&[cast::policy(), cast::policy(), cast::user("alice"), cast::user("mallory")]);
    let Some(who) = who else { return };
    request(world, slot, &who, "maintenance.expireDue", json!({"limit": 1 + random.below(4)}));
}

/// The next version of a grant; sometimes an older one, for less, or for a short time.
pub fn grant(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let route = random.below(ROUTES.len());
    let latest = world.cast(|cast| cast.grants.get(&route).copied().unwrap_or(0));
    let version = if random.chance(12) { latest.max(1) } else { latest + 1 };
    let kind = random.pick(&["supervisor", "supervisor", "peer"]);
    let lives = *random.pick(&[&60_000, &60_000, &60_000, &60_000, &60_000, &60_000, &40_000_000_000]);
    let expires = random.chance(25).then(|| world.time.now() + lives);
    let mut params = world.cast(|cast| {
        cast.grants.insert(route, version.max(latest));
        cast::grant(cast, route, kind, version, expires)
    });
    match random.below(16) {
        0 => {
            params["grant"]["allowedIntents"] = json!(["notify"]);
            params["grant"]["allowedDeliveryModes"] = json!(["store-only", "side-channel"]);
        }
        1 => params["grant"]["allowedDeliveryModes"] = json!(["store-only"]),
        2 => {
            // An older version under another id.
            params["grant"]["grantId"] = format!("grant_again{route}-{version:04}").into();
            params["grant"]["grantVersion"] = 1.into();
        }
        _ => {}
    }
    if random.chance(18) {
        params["decision"]["requiresConsent"] = true.into();
    }
    let who = if random.chance(90) { cast::policy() } else { cast::user("alice") };
    request(world, slot, &who, "relationships.grant", params);
}

/// A grant is withdrawn.
pub fn revoke(world: &World, random: &mut Random) {
    let route = random.pick(&[&0, &0, &0, &1, &2]).to_owned();
    withdraw(world, random, route);
}

/// The grant of a route is withdrawn.
pub fn withdraw(world: &World, random: &mut Random, route: usize) {
    let Some(slot) = host(world, random) else { return };
    let version = world.cast(|cast| cast.grants.get(&route).copied().unwrap_or(1));
    let who =
        random.one(&[cast::policy(), cast::policy(), cast::user("bob"), cast::user("alice"), cast::user("mallory")]);
    let Some(who) = who else { return };
    let expected = if random.chance(90) { version } else { version + 1 };
    let params = json!({"grantId": cast::grant_id(route, version), "expectedGrantVersion": expected});
    request(world, slot, &who, "relationships.revoke", params);
    if random.chance(60) {
        follow(world, random);
    }
}

/// What commits left to do is done, or goes wrong by itself.
fn follow(world: &World, random: &mut Random) {
    if let Some(row) = super::named("stored") {
        (0..3).for_each(|_| world.act(row, random.draw(), random.chance(30)));
    }
}

/// A task as it is stored, and whoever acts for it.
fn task(world: &World, random: &mut Random) -> (Principal, Value) {
    let id = random.pick(&["survey", "bridge", "bridge", "annex"]);
    let task = world.cast(|cast| cast.task(id, None));
    let fits = |row: &Value| row["incarnationId"].as_str() == task.incarnation.as_deref();
    let row = world.oracle(|oracle| oracle.rows("task").find(|(_, row)| fits(row)).map(|(_, row)| row.clone()));
    (task, row.unwrap_or_default())
}

fn revised(task: &Principal, row: &Value, more: Value) -> Value {
    let revision = row["revision"].as_i64().unwrap_or(0);
    super::with(json!({"task": cast::reference(task), "expectedRevision": revision}), more)
}

/// A task gets its next incarnation.
pub fn rotate(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (previous, row) = task(world, random);
    let number = world.cast(|cast| cast.incarnations.get(previous.id.as_str()).copied().unwrap_or(1));
    let next = cast::task(&previous.id, number + 1, None);
    let mut params = json!({
        "previous": cast::reference(&previous), "expectedRevision": row["revision"],
        "next": cast::input(&next, random.pick(&["steady", "sloppy", "mute", "own"])),
    });
    if random.chance(4) {
        params["next"]["taskId"] = "another".into();
    }
    let owner = cast::user(cast::owner(&previous.id));
    request(world, slot, &owner, "tasks.rotateIncarnation", params);
    follow(world, random);
    let known = |row: &Value| row["incarnationId"].as_str() == next.incarnation.as_deref();
    if world.oracle(|oracle| oracle.rows("task").any(|(_, row)| known(row))) {
        let name = TASKS.iter().find(|(name, _)| *name == previous.id).map(|(name, _)| *name);
        world.cast(|cast| name.map(|name| cast.incarnations.insert(name, number + 1)));
        // Whoever granted before grants to the next incarnation, mostly.
        if random.chance(70) {
            grant(world, random);
        }
    }
}

/// A task reports what it is at: another run, or a further objective.
pub fn runtime(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (task, row) = task(world, random);
    let objective = row["objectiveVersion"].as_i64().unwrap_or(0);
    let runtime = match random.below(5) {
        0 => json!({"runId": format!("run-{}", 1 + random.below(3))}),
        1 | 2 => json!({"objectiveVersion": objective + 1}),
        3 => json!({"objectiveVersion": objective - 1}),
        _ => json!({"checkpoint": format!("point-{}", random.below(3))}),
    };
    request(world, slot, &task, "tasks.updateRuntime", revised(&task, &row, json!({ "runtime": runtime })));
    follow(world, random);
}

/// A task is bound to another profile or session.
pub fn attach(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (task, row) = task(world, random);
    let kind = random.pick(&["steady", "steady", "sloppy", "mute", "own", "unknown"]);
    let mut reference = json!({"kind": kind, "session": format!("session-{}", random.below(3))});
    if random.chance(5) {
        reference["command"] = "rm".into();
    }
    request(world, slot, &task, "tasks.attach", revised(&task, &row, json!({ "adapterRef": reference })));
}

/// `task` is bound to another session of its profile, or of this one.
pub fn bind(world: &World, slot: usize, task: &Principal, profile: Option<&str>) {
    let fits = |row: &Value| row["incarnationId"].as_str() == task.incarnation.as_deref();
    let row = world.oracle(|oracle| oracle.rows("task").find(|(_, row)| fits(row)).map(|(_, row)| row.clone()));
    let Some(row) = row else { return };
    let kind = &row["adapterRef"]["kind"];
    if profile.is_some_and(|profile| *kind == profile) {
        return;
    }
    let kind = profile.map_or_else(|| kind.clone(), Into::into);
    let reference = json!({"kind": kind, "session": format!("session-{}", row["revision"])});
    request(world, slot, task, "tasks.attach", revised(task, &row, json!({ "adapterRef": reference })));
}

/// A task mutes itself or not.
pub fn consent(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (task, row) = task(world, random);
    let consent = match random.below(8) {
        0 => json!({"mute": true}),
        1 => json!({"doNotDisturbUntil": time::format(world.time.now() + 120_000)}),
        _ => json!({"mute": false, "doNotDisturbUntil": null}),
    };
    request(world, slot, &task, "tasks.setConsent", revised(&task, &row, json!({ "consent": consent })));
}

/// The operator changes the profile file; hosts that run keep the old one until they start again.
pub fn declare(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let version = world.cast(|cast| {
        cast.profiles += u32::from(random.chance(50));
        cast.profiles
    });
    let (name, _) = PROFILES[random.below(PROFILES.len())];
    let who = if random.chance(85) { cast::operator() } else { cast::user("alice") };
    let mut declaration = cast::declaration(name, version);
    match random.below(6) {
        0 => declaration["deadlineMs"] = 7.into(),
        1 => declaration["contextAdmission"] = json!({"evidence": "acp-session"}),
        _ => {}
    }
    request(world, slot, &who, "adapters.declare", declaration);
}

/// A task is registered that is there already, or of somebody else.
pub fn register(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let (task, _) = task(world, random);
    let mut input = cast::input(&task, "steady");
    match random.below(4) {
        0 => input["harness"] = "other".into(),
        1 => input["incarnationId"] = "inc_second-0001".into(),
        2 => input["taskId"] = "second".into(),
        _ => {}
    }
    let who = if random.chance(80) { cast::user(cast::owner(&task.id)) } else { task };
    // A second task under an id that is taken is refused; one that is not taken does no harm.
    let _ = life(world, random, |_| true);
    request(world, slot, &who, "tasks.register", json!({ "task": input }));
}
