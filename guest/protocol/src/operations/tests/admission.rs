//! Admission of messages to a model's context, and what is recorded of it.

use super::world::*;
use crate::Code;
use crate::digest::sha256_text;
use crate::generated::machines::{Decision, Delivery, Submission};
use crate::kernel::{Principal, Status};
use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};
use serde_json::{Value, json};

const MESSAGE: &str = "msg_river-0001";
const OTHER: &str = "msg_river-0002";

/// The pair of [`World::pair`], whose profile gives evidence of `kind`.
fn admitting(kind: &str) -> (World, Principal, Principal) {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let mut declared = with(profile("codex", "caller"), json!({"digest": sha256_text(kind.as_bytes())}));
    declared["capabilities"]["features"]["contextAdmission"] = "receiver-mediated".into();
    declared["contextAdmission"] = json!({"evidence": kind, "snapshotDigest": sha256_text(b"snapshot")});
    world.call(&operator(), "adapters.declare", declared).ok();
    (world, survey, bridge)
}

/// A message that was accepted, and its admission.
fn prepared(world: &mut World, survey: &Principal, bridge: &Principal, message: &str) -> Value {
    world.send(survey, bridge, message, "suggest");
    world.accept(survey, bridge, message);
    prepare(world, survey, bridge, message).ok()
}

fn prepare(world: &mut World, survey: &Principal, bridge: &Principal, message: &str) -> Reply {
    world.call(bridge, "adapter.prepareContextAdmission", at(world, survey, message))
}

fn at(world: &World, survey: &Principal, message: &str) -> Value {
    with(named(survey, message), json!({"expectedRevision": world.life_of(survey, message).revision}))
}

/// Evidence of a kind for what `prepared` answered.
fn evidence(kind: &str, prepared: &Value) -> Value {
    let own = match kind {
        "acp-session" => json!({"sessionId": "session-bridge", "stopReason": "end_turn"}),
        "codex-app-server" => json!({"threadId": "session-bridge", "turnId": "turn-1", "turnStatus": "completed"}),
        "gemini-headless" => {
            json!({"sessionId": "session-bridge", "exitCode": 0, "toolUseCount": 0, "resultStatus": "success"})
        }
        _ => json!({"session": "session-bridge", "toolCallId": "call-1"}),
    };
    let bound = json!({
        "kind": kind, "nonce": prepared["nonce"], "snapshotDigest": sha256_text(b"snapshot"),
        "renderingDigest": prepared["rendering"]["digest"], "renderingBytes": prepared["rendering"]["bytes"],
    });
    with(bound, own)
}

fn confirmation(world: &World, survey: &Principal, message: &str, prepared: &Value, evidence: Value) -> Value {
    let more = json!({"admissionToken": prepared["admissionToken"], "evidence": evidence});
    with(at(world, survey, message), more)
}

#[test]
fn each_kind_of_evidence_confirms_and_is_stored_with_its_own_members_only() {
    let kinds = [("acp-session", 4), ("codex-app-server", 5), ("gemini-headless", 6)];
    for (kind, members) in kinds {
        let (mut world, survey, bridge) = admitting(kind);
        let prepared = prepared(&mut world, &survey, &bridge, MESSAGE);
        let mut wrong = evidence(kind, &prepared);
        wrong["snapshotDigest"] = sha256_text(b"another").into();
        let wrong = confirmation(&world, &survey, MESSAGE, &prepared, wrong);
        assert_eq!(world.call(&bridge, "adapter.confirmContextAdmission", wrong).rule(), "CX-12");
        let right = confirmation(&world, &survey, MESSAGE, &prepared, evidence(kind, &prepared));
        let disposition = world.call(&bridge, "adapter.confirmContextAdmission", right.clone()).ok();
        assert_eq!((&disposition["delivery"], &disposition["revision"]), (&json!("context-admitted"), &json!(2)));
        let admitted = world.life(MESSAGE).admitted.unwrap();
        let stored: Value = serde_json::from_str(&admitted.evidence).unwrap();
        assert_eq!(stored.as_object().unwrap().len(), members, "{stored}");
        assert_eq!(admitted.how, "confirmed");
        let again = world.call(
            &bridge,
            "adapter.confirmContextAdmission",
            with(right, json!({"idempotencyKey": "idem_again-1"})),
        );
        assert_eq!(again.rule(), "CX-8");
        let events = world.events(MESSAGE);
        assert_eq!(events[3..], ["context-admission-claimed", "context-admitted"]);
        world.check();
    }
}

#[test]
fn evidence_for_one_message_confirms_no_other() {
    let (mut world, survey, bridge) = admitting("acp-session");
    let first = prepared(&mut world, &survey, &bridge, MESSAGE);
    let second = prepared(&mut world, &survey, &bridge, OTHER);
    assert_ne!(first["nonce"], second["nonce"]);
    let crossed = confirmation(&world, &survey, OTHER, &second, evidence("acp-session", &first));
    assert_eq!(world.call(&bridge, "adapter.confirmContextAdmission", crossed).rule(), "CX-10");
    let mut patched = evidence("acp-session", &first);
    patched["nonce"] = second["nonce"].clone();
    let crossed = confirmation(&world, &survey, OTHER, &second, patched);
    assert_eq!(world.call(&bridge, "adapter.confirmContextAdmission", crossed).code(), Code::CorruptDelivery);
    let mut cut = evidence("acp-session", &second);
    cut["renderingBytes"] = (cut["renderingBytes"].as_i64().unwrap() - 1).into();
    let cut = confirmation(&world, &survey, OTHER, &second, cut);
    assert_eq!(world.call(&bridge, "adapter.confirmContextAdmission", cut).code(), Code::CorruptDelivery);
    assert_eq!(world.life(OTHER).delivery, Delivery::DurablyReceived);
    let right = confirmation(&world, &survey, OTHER, &second, evidence("acp-session", &second));
    world.call(&bridge, "adapter.confirmContextAdmission", right).ok();
}

#[test]
fn while_it_is_in_flight_nothing_else_happens_to_the_message() {
    let (mut world, survey, bridge) = admitting("acp-session");
    prepared(&mut world, &survey, &bridge, MESSAGE);
    assert_eq!(prepare(&mut world, &survey, &bridge, MESSAGE).rule(), "CX-4");
    let at = at(&world, &survey, MESSAGE);
    let submit = world.call(&bridge, "adapter.prepareSubmission", at.clone());
    assert_eq!(submit.rule(), "CX-6");
    let fail = with(at.clone(), json!({"failureReason": "no harness"}));
    assert_eq!(world.call(&bridge, "messages.failDelivery", fail).rule(), "SU-1");
    let revoke = with(at, json!({"decision": "revoked"}));
    assert_eq!(world.call(&bridge, "messages.respond", revoke).rule(), "SU-1");
    world.now += 700_000;
    let swept = world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    assert_eq!(swept["expired"], json!([]));
    world.check();
}

#[test]
fn a_late_confirmation_is_recorded_as_what_happened() {
    let (mut world, survey, bridge) = admitting("acp-session");
    let prepared = prepared(&mut world, &survey, &bridge, MESSAGE);
    let revoke = json!({"grantId": "grant_survey-bridge-1", "expectedGrantVersion": 1});
    world.call(&user("alice"), "relationships.revoke", revoke).ok();
    world.now += 700_000;
    let confirm = confirmation(&world, &survey, MESSAGE, &prepared, evidence("acp-session", &prepared));
    let disposition = world.call(&bridge, "adapter.confirmContextAdmission", confirm).ok();
    assert_eq!(disposition["delivery"], "context-admitted");
    // Now it is due, and ends as it would have.
    let swept = world.call(&policy("board"), "maintenance.expireDue", json!({})).ok();
    assert_eq!(swept["expired"][0]["messageId"], MESSAGE);
    world.check();
}

#[test]
fn a_lost_token_is_recovered_by_whoever_may() {
    let others = |bridge: &Principal| {
        [
            (bridge.clone(), 0),
            (Principal { worker: Some("worker-2".into()), ..bridge.clone() }, 180_000),
            (user("alice"), 180_000),
            (policy("board"), 180_000),
            (operator(), 180_000),
        ]
    };
    for resolution in ["confirmed-admitted", "confirmed-not-admitted", "corrupt-delivery"] {
        for index in 0..5 {
            let (mut world, survey, bridge) = admitting("acp-session");
            let (who, after) = others(&bridge)[index].clone();
            let prepared = prepared(&mut world, &survey, &bridge, MESSAGE);
            let mut params = with(at(&world, &survey, MESSAGE), json!({"resolution": resolution}));
            if resolution == "confirmed-admitted" {
                params["evidence"] = evidence("acp-session", &prepared);
                params["evidence"].as_object_mut().unwrap().remove("nonce");
            }
            world.now += after;
            if after > 0 {
                world.now -= 1;
                let early = world.call(&who, "adapter.recoverContextAdmission", params.clone());
                assert_eq!(early.rule(), "CX-15");
                world.now += 1;
            }
            let disposition = world.call(&who, "adapter.recoverContextAdmission", params).ok();
            let shown = resolution == "confirmed-admitted";
            let delivery = if shown { "context-admitted" } else { "durably-received" };
            assert_eq!(disposition["delivery"], delivery);
            assert!(world.life(MESSAGE).admission.is_none());
            let next = prepare(&mut world, &survey, &bridge, MESSAGE);
            match shown {
                true => assert_eq!(next.rule(), "CX-7"),
                false => assert_ne!(next.ok()["nonce"], prepared["nonce"]),
            }
            world.check();
        }
    }
}

#[test]
fn a_successor_recovers_what_a_retired_incarnation_left() {
    let (mut world, survey, bridge) = admitting("acp-session");
    let prepared = prepared(&mut world, &survey, &bridge, MESSAGE);
    let next = incarnation("alice", "bridge", 2);
    let mut rotate = json!({"previous": reference(&bridge), "expectedRevision": 0});
    rotate["next"] = registration(&next)["task"].clone();
    world.call(&user("alice"), "tasks.rotateIncarnation", rotate).ok();
    let confirm = confirmation(&world, &survey, MESSAGE, &prepared, evidence("acp-session", &prepared));
    assert_eq!(world.call(&bridge, "adapter.confirmContextAdmission", confirm).code(), Code::TaskRetired);
    let params = with(at(&world, &survey, MESSAGE), json!({"resolution": "confirmed-not-admitted"}));
    for stranger in [task("zoe", "bridge"), user("zoe"), survey.clone()] {
        let refused = world.call(&stranger, "adapter.recoverContextAdmission", params.clone());
        assert_eq!(refused.code(), Code::NotVisible);
    }
    world.now += 180_000;
    world.call(&next, "adapter.recoverContextAdmission", params).ok();
    assert!(!world.life(MESSAGE).unresolved());
    world.check();
}

#[test]
fn a_preparation_is_answered_again_while_its_lease_runs_and_through_todays_gate() {
    let (mut world, survey, bridge) = admitting("acp-session");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    world.accept(&survey, &bridge, MESSAGE);
    let params = with(at(&world, &survey, MESSAGE), json!({"idempotencyKey": "idem_prepare-1"}));
    let first = world.call(&bridge, "adapter.prepareContextAdmission", params.clone()).ok();
    let again = world.call(&bridge, "adapter.prepareContextAdmission", params.clone());
    assert_eq!(again.status, Status::Replayed);
    for member in ["admissionToken", "nonce", "rendering", "adapterRef", "expiresAt"] {
        assert_eq!(again.value[member], first[member], "{member}");
    }
    let mut revoked = world.clone();
    let revoke = json!({"grantId": "grant_survey-bridge-1", "expectedGrantVersion": 1});
    revoked.call(&user("alice"), "relationships.revoke", revoke).ok();
    let refused = revoked.call(&bridge, "adapter.prepareContextAdmission", params.clone());
    assert!(!format!("{}", refused.value).contains("pier"));
    assert_eq!(refused.code(), Code::PolicyDenied);
    world.now += 180_000;
    assert_eq!(world.call(&bridge, "adapter.prepareContextAdmission", params).rule(), "CX-18");
}

#[test]
fn a_pull_client_reads_in_one_commit_and_again_without_moving_the_state() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    let read =
        |world: &World, call: &str| with(at(world, &survey, MESSAGE), json!({"session": "mcp-1", "toolCallId": call}));
    let early = read(&world, "call-0");
    assert_eq!(world.call(&bridge, "adapter.admitContext", early).rule(), "CX-7");
    world.accept(&survey, &bridge, MESSAGE);
    let first = world.call(&bridge, "adapter.admitContext", read(&world, "call-1")).ok();
    assert_eq!(first["disposition"]["delivery"], "context-admitted");
    let text = first["rendering"]["text"].as_str().unwrap();
    assert_eq!(first["rendering"]["digest"], sha256_text(text.as_bytes()));
    assert_eq!(first["rendering"]["bytes"], text.len());
    let shown: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    assert_eq!((&shown["content"], &shown["authority"]), (&json!("Use the northern pier."), &json!("untrusted-peer")));
    assert_eq!((&shown["provenance"]["taskId"], &shown["claimed"]["harness"]), (&json!("survey"), &json!("codex")));
    let again = world.call(&bridge, "adapter.admitContext", read(&world, "call-2")).ok();
    assert_eq!(again["rendering"], first["rendering"]);
    assert_eq!(again["disposition"], first["disposition"]);
    assert_eq!(world.life(MESSAGE).revision, 2);
    let evidence = r#"{"kind":"mcp-session","session":"mcp-1","toolCallId":"call-1"}"#;
    assert_eq!(world.life(MESSAGE).admitted.unwrap().evidence, evidence);
    assert_eq!(world.events(MESSAGE)[3..], ["context-admitted", "context-read-again"]);
    world.now += 600_000;
    let late = read(&world, "call-3");
    assert_eq!(world.call(&bridge, "adapter.admitContext", late).code(), Code::MessageExpired);
    world.check();
}

#[test]
fn a_prepared_submission_gives_way_and_an_open_one_does_not() {
    let (mut world, survey, bridge) = admitting("mcp-session");
    let declared = with(profile("codex", "host"), json!({"digest": sha256_text(b"host")}));
    for message in [MESSAGE, OTHER] {
        world.send(&survey, &bridge, message, "suggest");
        world.accept(&survey, &bridge, message);
    }
    let params = at(&world, &survey, MESSAGE);
    let submission =
        world.call(&bridge, "adapter.prepareSubmission", params).ok()["submission"]["submissionId"].clone();
    prepare(&mut world, &survey, &bridge, MESSAGE).ok();
    let begin = json!({"submissionId": submission, "expectedRevision": 1});
    assert_eq!(world.call(&bridge, "adapter.beginSubmission", begin).code(), Code::NotVisible);
    world.call(&operator(), "adapters.declare", declared).ok();
    world.begin(&survey, &bridge, OTHER);
    assert_eq!(prepare(&mut world, &survey, &bridge, OTHER).rule(), "CX-5");
    let read = with(at(&world, &survey, OTHER), json!({"session": "mcp-1", "toolCallId": "call-1"}));
    assert_eq!(world.call(&bridge, "adapter.admitContext", read).rule(), "CX-5");
    world.check();
}

#[test]
fn a_receipt_that_turns_up_during_an_admission_leaves_both_with_a_way_out() {
    let (mut world, survey, bridge) = admitting("acp-session");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    world.accept(&survey, &bridge, MESSAGE);
    let submission = world.begin(&survey, &bridge, MESSAGE);
    world.now += 60_000;
    let absent = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    let params = json!({"submissionId": submission, "expectedRevision": 1, "reconciliation": absent});
    world.call(&operator(), "adapter.reconcileSubmission", params).ok();
    let prepared = prepare(&mut world, &survey, &bridge, MESSAGE).ok();
    let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    let late = json!({"submissionId": submission, "expectedRevision": 1, "receipt": receipt});
    assert_eq!(world.call(&bridge, "adapter.recordReceipt", late).ok()["contradiction"], true);
    assert_eq!(world.life(MESSAGE).attempt.unwrap().state, Submission::ManualReconciliation);
    let submitted = json!({"resolution": "confirmed-submitted", "evidenceRefs": ["case:1"], "receipt": receipt});
    let params = json!({"submissionId": submission, "expectedRevision": 1, "reconciliation": submitted});
    world.call(&operator(), "adapter.reconcileSubmission", params).ok();
    assert!(world.life(MESSAGE).unresolved(), "the admission is still in flight");
    let confirm = confirmation(&world, &survey, MESSAGE, &prepared, evidence("acp-session", &prepared));
    let disposition = world.call(&bridge, "adapter.confirmContextAdmission", confirm).ok();
    assert_eq!((&disposition["delivery"], &disposition["revision"]), (&json!("adapter-submitted"), &json!(3)));
    assert_eq!(world.life(MESSAGE).decision, Decision::Accepted);
    world.check();
}

#[test]
fn the_sender_sees_neither_token_nor_session_nor_nonce() {
    let (mut world, survey, bridge) = admitting("acp-session");
    let prepared = prepared(&mut world, &survey, &bridge, MESSAGE);
    let confirm = confirmation(&world, &survey, MESSAGE, &prepared, evidence("acp-session", &prepared));
    world.call(&bridge, "adapter.confirmContextAdmission", confirm).ok();
    let mut seen = String::new();
    for who in [&survey, &user("alice")] {
        seen += &world.call(who, "audit.list", named(&survey, MESSAGE)).ok().to_string();
        seen += &world.call(who, "messages.getDisposition", named(&survey, MESSAGE)).ok().to_string();
    }
    seen += &world.call(&survey, "tasks.wait", json!({"task": reference(&survey)})).ok().to_string();
    let admitted = world.life(MESSAGE).admitted.unwrap();
    let token = prepared["admissionToken"].as_str().unwrap().to_owned();
    let secrets = [
        token.clone(),
        sha256_text(token.as_bytes()),
        prepared["nonce"].as_str().unwrap().to_owned(),
        "session-bridge".into(),
        sha256_text(admitted.evidence.as_bytes()),
    ];
    // The receiver's owner is the sender's owner here, so that only what the task itself sees is looked at for digests.
    let own = world.call(&survey, "audit.list", named(&survey, MESSAGE)).ok().to_string();
    for secret in secrets {
        assert!(!own.contains(&secret), "{secret} in {own}");
    }
    for secret in [&token, prepared["nonce"].as_str().unwrap(), "session-bridge"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}

#[test]
fn only_suggestions_that_may_reach_a_model_do() {
    let (mut world, survey, bridge) = admitting("acp-session");
    world.send(&survey, &bridge, MESSAGE, "notify");
    world.accept(&survey, &bridge, MESSAGE);
    assert_eq!(prepare(&mut world, &survey, &bridge, MESSAGE).rule(), "CX-1");
    for (index, mode) in ["store-only", "side-channel"].into_iter().enumerate() {
        let id = format!("msg_stored-{index:04}");
        let mut params = message(world.now, &survey, &bridge, &id, "suggest");
        params["envelope"]["delivery"]["requestedMode"] = mode.into();
        world.call(&survey, "messages.send", params).ok();
        world.accept(&survey, &bridge, &id);
        assert_eq!(prepare(&mut world, &survey, &bridge, &id).rule(), "CX-2");
        let read = with(at(&world, &survey, &id), json!({"session": "mcp-1", "toolCallId": "call-1"}));
        assert_eq!(world.call(&bridge, "adapter.admitContext", read).rule(), "CX-2");
    }
    let (mut world, survey, bridge) = (World::new(), task("alice", "survey"), task("alice", "bridge"));
    world.pair("peer");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    world.accept(&survey, &bridge, MESSAGE);
    assert_eq!(prepare(&mut world, &survey, &bridge, MESSAGE).rule(), "CX-3");
}

/// The same call with other entropy; what both answered.
fn drawn_twice(world: &World, who: &Principal, operation: &str, params: &Value) -> [Value; 2] {
    let (mut one, mut other) = (world.clone(), world.clone());
    // The entropy of a call is its number: one more was made here.
    other.request(who, operation, json!({}));
    [&mut one, &mut other].map(|world| world.call(who, operation, params.clone()).ok())
}

/// What the request alone decides could be worked out by whoever knows the request.
#[test]
fn secrets_come_from_the_entropy_of_their_call() {
    let (mut world, survey, bridge) = admitting("acp-session");
    world.send(&survey, &bridge, MESSAGE, "suggest");
    let params = with(at(&world, &survey, MESSAGE), json!({"idempotencyKey": "idem_secret-0001"}));
    let [one, other] = drawn_twice(&world, &bridge, "mailbox.claim", &params);
    assert_ne!(one["claimToken"], other["claimToken"]);
    world.accept(&survey, &bridge, MESSAGE);
    let params = with(at(&world, &survey, MESSAGE), json!({"idempotencyKey": "idem_secret-0002"}));
    let [one, other] = drawn_twice(&world, &bridge, "adapter.prepareContextAdmission", &params);
    for member in ["admissionToken", "nonce"] {
        assert!(one[member].is_string());
        assert_ne!(one[member], other[member], "{member}");
    }
    assert_ne!(one["admissionToken"], one["nonce"]);
}
