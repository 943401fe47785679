//! Declaring adapter profiles.

use super::world::*;
use crate::Code;
use crate::digest::sha256_text;
use crate::kernel::Status;
use serde_json::json;

#[test]
fn a_profile_is_declared_by_the_operator_or_the_host_and_replaced_by_another_digest() {
    let mut world = World::new();
    for caller in [user("alice"), policy("board"), task("alice", "survey")] {
        assert_eq!(world.call(&caller, "adapters.declare", profile("codex", "host")).code(), Code::OperatorRequired);
    }
    assert_eq!(world.call(&host(), "adapters.declare", profile("codex", "host")).ok()["replay"], false);
    assert_eq!(world.call(&operator(), "adapters.declare", profile("codex", "host")).ok()["replay"], true);
    assert_eq!(world.rows("profile")[0].revision, 1);
    let mut other = profile("codex", "caller");
    assert_eq!(world.call(&operator(), "adapters.declare", other.clone()).rule(), "AP-1");
    other["digest"] = sha256_text(b"other").into();
    other["idempotencyKey"] = "idem_declare-1".into();
    assert_eq!(world.call(&operator(), "adapters.declare", other.clone()).ok()["executor"], "caller");
    assert_eq!(world.call(&operator(), "adapters.declare", other).status, Status::Replayed);
    assert_eq!(world.rows("profile")[0].revision, 2);
}

#[test]
fn capabilities_are_checked_as_a_document() {
    let mut world = World::new();
    let mut steering = profile("codex", "host");
    steering["capabilities"]["features"]["objectiveVersioning"] = false.into();
    let problem = world.call(&operator(), "adapters.declare", steering).problem.unwrap();
    assert_eq!(problem.code, Code::CapabilitiesInvalid);
    assert_eq!(problem.pointer, "/capabilities/features/objectiveVersioning");
    let slow = with(profile("codex", "host"), json!({"deadlineMs": 3_600_001}));
    assert_eq!(world.call(&operator(), "adapters.declare", slow).code(), Code::ParamsInvalid);
}

#[test]
fn an_attempt_is_bound_to_the_profile_that_it_was_prepared_under() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.accept(&survey, &bridge, "msg_river-0001");
    let params = with(named(&survey, "msg_river-0001"), json!({"expectedRevision": 1}));
    let prepared = world.call(&bridge, "adapter.prepareSubmission", params.clone()).ok();
    let begin = json!({"submissionId": prepared["submission"]["submissionId"], "expectedRevision": 1});
    let other = with(profile("codex", "host"), json!({"digest": sha256_text(b"other")}));
    world.call(&operator(), "adapters.declare", other).ok();
    assert_eq!(world.call(&bridge, "adapter.beginSubmission", begin).code(), Code::AdapterRefChanged);
    let again = world.call(&bridge, "adapter.prepareSubmission", params).ok();
    assert_ne!(again["submission"]["submissionId"], prepared["submission"]["submissionId"]);
    world.begin(&survey, &bridge, "msg_river-0001");
    world.check();
}
