//! Registering, attaching, granting, declaring.

use super::world::*;
use crate::Code;
use crate::coordinator::Status;
use serde_json::json;

#[test]
fn a_task_is_registered_once_and_replayed_after() {
    let mut world = World::new();
    let (alice, survey) = (user("alice"), task("alice", "survey"));
    let first = world.call(&alice, "tasks.register", registration(&survey)).ok();
    assert_eq!((first["replay"].as_bool(), first["revision"].as_i64()), (Some(false), Some(0)));
    assert_eq!(first["runtime"]["objectiveVersion"], 1);
    let again = world.call(&alice, "tasks.register", registration(&survey));
    assert_eq!((again.status, again.value["replay"].as_bool()), (Status::Accepted, Some(true)));

    let keyed = with(registration(&survey), json!({"idempotencyKey": "idem_survey-1"}));
    world.call(&alice, "tasks.register", keyed.clone()).ok();
    let again = world.call(&alice, "tasks.register", keyed);
    assert_eq!((again.status, again.value["replay"].as_bool()), (Status::Replayed, Some(true)));

    let mut other = registration(&survey);
    other["task"]["harness"] = "gemini".into();
    assert_eq!(world.call(&alice, "tasks.register", other).rule(), "TK-3");
    let mut other = registration(&survey);
    other["task"]["taskId"] = "bridge".into();
    assert_eq!(world.call(&alice, "tasks.register", other).code(), Code::IncarnationConflict);
    let second = incarnation("alice", "survey", 2);
    assert_eq!(world.call(&alice, "tasks.register", registration(&second)).code(), Code::TaskLive);
    assert_eq!(world.call(&survey, "tasks.register", registration(&second)).code(), Code::ControlPlaneRequired);
}

#[test]
fn ids_of_other_owners_do_not_conflict() {
    let mut world = World::new();
    let survey = task("zoe", "survey");
    for index in 0..12 {
        let squatter = alloc::format!("mallory-{index:02}");
        world.call(&user(&squatter), "tasks.register", registration(&survey)).ok();
    }
    world.call(&user("zoe"), "tasks.register", registration(&survey)).ok();
    for caller in [user("zoe"), survey.clone()] {
        world.call(&caller, "tasks.get", json!({"task": reference(&survey)})).ok();
    }
    let policy = policy("board");
    assert_eq!(world.call(&policy, "tasks.get", json!({"task": reference(&survey)})).code(), Code::NotVisible);
    world.call(&policy, "tasks.register", registration(&survey)).ok();
    world.call(&policy, "tasks.get", json!({"task": reference(&survey)})).ok();
}
