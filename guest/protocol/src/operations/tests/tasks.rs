//! Registering, attaching, granting, declaring.

use super::world::*;
use crate::Code;
use crate::kernel::{Principal, Status};
use alloc::format;
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

#[test]
fn an_adapter_reference_names_a_profile_and_a_session_and_nothing_else() {
    let mut world = World::new();
    let (alice, survey) = (user("alice"), task("alice", "survey"));
    let mut command = registration(&survey);
    command["task"]["adapterRef"] = json!({"kind": "codex", "command": "/bin/sh"});
    let problem = world.call(&alice, "tasks.register", command).problem.unwrap();
    assert_eq!((problem.code, problem.pointer.as_str()), (Code::ParamsInvalid, "/task/adapterRef"));
    world.call(&alice, "tasks.register", registration(&survey)).ok();
    let attach = |reference_: serde_json::Value, revision: i64| json!({"task": reference(&survey), "adapterRef": reference_, "expectedRevision": revision});
    for reference in [json!({"session": "1"}), json!({"kind": 1}), json!({"kind": "codex", "session": ""})] {
        assert_eq!(world.call(&survey, "tasks.attach", attach(reference, 0)).rule(), "TK-1");
    }
    let keyed = with(attach(json!({"kind": "gemini"}), 0), json!({"idempotencyKey": "idem_attach-1"}));
    let attached = world.call(&survey, "tasks.attach", keyed.clone()).ok();
    assert_eq!((&attached["adapterRef"], &attached["revision"]), (&json!({"kind": "gemini"}), &json!(1)));
    assert_eq!(world.call(&survey, "tasks.attach", keyed).status, Status::Replayed);
    let again = attach(json!({"kind": "codex"}), 0);
    assert_eq!(world.call(&alice, "tasks.attach", again.clone()).code(), Code::RevisionConflict);
    assert_eq!(world.call(&user("bob"), "tasks.attach", again.clone()).code(), Code::NotVisible);
    assert_eq!(world.call(&operator(), "tasks.attach", again).code(), Code::ControlPlaneRequired);
    // The registration is still the one that it was.
    assert_eq!(world.call(&alice, "tasks.register", registration(&survey)).ok()["adapterRef"]["kind"], "gemini");
    let next = json!({"previous": reference(&survey), "next": registration(&incarnation("alice", "survey", 2))["task"],
        "expectedRevision": 1});
    world.call(&alice, "tasks.rotateIncarnation", next).ok();
    let late = attach(json!({"kind": "codex"}), 2);
    assert_eq!(world.call(&alice, "tasks.attach", late).code(), Code::TaskRetired);
    let draft = grant(&survey, &survey, "peer", 1);
    assert_eq!(world.call(&alice, "relationships.grant", draft).code(), Code::TaskRetired);
}

#[test]
fn missing_and_foreign_tasks_look_the_same() {
    let mut world = World::new();
    let survey = task("alice", "survey");
    world.call(&user("alice"), "tasks.register", registration(&survey)).ok();
    let missing = json!({"task": {"taskId": "nothing", "incarnationId": "inc_nothing-0001"}});
    for stranger in [user("bob"), task("alice", "bridge"), task("bob", "survey")] {
        let foreign = world.call(&stranger, "tasks.get", json!({"task": reference(&survey)}));
        assert_eq!(foreign.value, world.call(&stranger, "tasks.get", missing.clone()).value);
        assert_eq!(foreign.code(), Code::NotVisible);
    }
    for reader in [policy("board"), operator(), host()] {
        world.call(&reader, "tasks.get", json!({"task": reference(&survey)})).ok();
    }
}

/// Makes a caller one that no document could name.
type Spoil = fn(&mut Principal);

/// Which member of a caller is wrong is said: it comes from a token or a host, and somebody has to mend it.
#[test]
fn a_caller_that_no_document_could_name_learns_which_member_it_is() {
    let mut world = World::new();
    let writer = task("alice", "writer");
    let faulty: [(&str, Spoil); 6] = [
        ("tenant", |caller| caller.tenant.clear()),
        ("id", |caller| caller.id.push('\n')),
        ("incarnation", |caller| caller.incarnation = None),
        ("owner", |caller| caller.owner = Some("operator:alice".into())),
        ("worker", |caller| caller.worker = Some(" ".into())),
        ("authentication", |caller| caller.authentication = "writer".into()),
    ];
    for (member, spoil) in faulty {
        let mut caller = writer.clone();
        spoil(&mut caller);
        let refused = world.call(&caller, "tasks.get", json!({"task": reference(&writer)}));
        let detail = refused.problem.expect("a refusal").detail;
        assert!(detail.starts_with("OP-1: ") && detail.ends_with(&format!("not so: {member}.")), "{detail}");
    }
}
