//! Scenarios of what is recorded of a message beside decisions and attempts: that it was notified of or offered, what was
//! seen to happen, what is attested, and by whose anchors; and how denials are counted.

use super::super::attestation::{digest, payload, signed, trusted};
use super::cast::{
    BUILDER, DAY, MINUTE, SECOND, SETTLED, WRITER, builder, disposition, envelope, message, message_at, message_id,
    receipt, received, task_input, with, without, writer,
};
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const AUTHORITY: &str = "reconciliation-authority";

pub(super) fn stories() -> Vec<Story> {
    vec![told(), told_of_what(), told_when(), observed(), failures(), anchors(), verified(), not_verified(), denials()]
}

fn deliver<'s>(story: &'s mut Story, caller: &str, number: u32, revision: u32, delivery: &str) -> &'s mut Step {
    story.call(caller, "messages.recordDelivery", with(message_at(number, revision), "/delivery", delivery))
}

fn outcome<'s>(story: &'s mut Story, caller: &str, number: u32, revision: u32, outcome: &str) -> &'s mut Step {
    let params = with(message_at(number, revision), "/outcome", outcome);
    story.call(caller, "messages.recordOutcome", with(params, "/evidenceRefs", refs()))
}

fn refs() -> Value {
    json!(["https://verifier.example/evidence/1"])
}

/// Rule DF-1: every step of the delivery has somebody who may report it, and no step is reported twice (weakness B15).
fn told() -> Story {
    let mut story = Story::adapted("a message is notified of, offered, accepted and submitted", "peer");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let number = story.sent("suggest", 0);
    let missing = with(with(message_at(99, 0), "/delivery", "receiver-notified"), "/idempotencyKey", "idem_missing-1");
    story.call("builder", "messages.recordDelivery", missing).error("not-visible").named("missing");
    for caller in ["writer", "alice", "bob", "guard", "ops", "stranger", "carol"] {
        deliver(&mut story, caller, number, 0, "receiver-notified").error("not-visible").same_as("missing");
    }
    deliver(&mut story, "builder", number, 0, "durably-received").refused(AUTHORITY, "DF-1");
    deliver(&mut story, "host", number, 0, "durably-received").error("transition-illegal").rules(&["LC-11"]);
    deliver(&mut story, "builder", number, 1, "receiver-notified").refused("revision-conflict", "OP-7");
    let notified = disposition(1, "receiver-notified", "pending", "");
    let params = with(with(message_at(number, 0), "/delivery", "receiver-notified"), "/idempotencyKey", "idem_told-1");
    story
        .call("builder", "messages.recordDelivery", params.clone())
        .rules(&["DF-1", "DF-2", "DF-3", "LC-11"])
        .ok(notified.clone());
    story.call("builder", "messages.recordDelivery", params.clone()).replayed(notified);
    let other = with(params, "/delivery", "checkpoint-offered");
    story.call("builder", "messages.recordDelivery", other).refused("idempotency-conflict", "OP-6");
    deliver(&mut story, "builder", number, 1, "receiver-notified").error("transition-illegal").rules(&["LC-11"]);
    deliver(&mut story, "host", number, 1, "checkpoint-offered").rules(&["DF-1", "DF-3"]).ok(disposition(
        2,
        "checkpoint-offered",
        "pending",
        "",
    ));
    deliver(&mut story, "host", number, 2, "receiver-notified").error("transition-illegal").rules(&["LC-11"]);
    // That it was offered is no answer of its receiver.
    story.seen(number, disposition(2, "checkpoint-offered", "pending", ""));
    story.respond(number, 2, "accepted").ok(disposition(3, "checkpoint-offered", "accepted", "accepted"));
    story.prepare(number, 3).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    story.begin(3).ok(json!({"replay": false}));
    story.receipt("host", 3, receipt("turn-1")).ok(json!({"disposition": {"delivery": "adapter-submitted"}}));
    deliver(&mut story, "builder", number, 4, "checkpoint-offered").error("transition-illegal").rules(&["LC-11"]);
    let kinds = [
        "message-durably-received",
        "receiver-notified",
        "checkpoint-offered",
        "receiver-decided",
        "adapter-submission-prepared",
        "adapter-attempt-started",
        "adapter-receipt-recorded",
    ];
    let events: Vec<Value> = kinds.iter().map(|kind| json!({ "eventType": kind })).collect();
    story.call("writer", "audit.list", message(number)).ok(json!(events));
    story
}

/// Rules DF-2 and DF-3: which messages are told of at all (behaviours G11).
fn told_of_what() -> Story {
    let mut story = Story::granted("what is only stored is neither notified of nor offered", "peer");
    let state = "state-conflict";
    let stored = story.sent("notify", 0);
    for delivery in ["receiver-notified", "checkpoint-offered"] {
        deliver(&mut story, "builder", stored, 0, delivery).refused(state, "DF-3");
        deliver(&mut story, "host", stored, 0, delivery).refused(state, "DF-3");
    }
    let aside = with(envelope(2, "notify", 0), "/delivery/requestedMode", "side-channel");
    story.send(aside).ok(json!({"replay": false}));
    deliver(&mut story, "builder", 2, 0, "checkpoint-offered").refused(state, "DF-3");
    deliver(&mut story, "builder", 2, 0, "receiver-notified").rules(&["DF-3"]).ok(json!({"revision": 1}));
    let wake = with(envelope(3, "suggest", 0), "/delivery/requestedMode", "wake-idle");
    story.send(wake).ok(json!({"replay": false}));
    deliver(&mut story, "builder", 3, 0, "checkpoint-offered").rules(&["DF-3"]).ok(json!({"revision": 1}));
    for (number, decision) in [(4, "rejected"), (5, "unsupported"), (6, "deferred"), (7, "accepted")] {
        story.send(envelope(number, "suggest", 0)).ok(json!({"replay": false}));
        story.respond(number, 0, decision).ok(json!({"revision": 1}));
        let step = deliver(&mut story, "builder", number, 1, "checkpoint-offered");
        match number {
            4 | 5 => step.refused(state, "DF-2"),
            _ => step.rules(&["DF-2"]).ok(json!({"revision": 2})),
        };
    }
    story
}

/// What is over, revoked, somebody else's or unknown is not told of.
fn told_when() -> Story {
    let mut story = Story::adapted("when a message may be offered", "peer");
    let claimed = story.sent("suggest", 0);
    story.claim("builder-w1", claimed, 0).ok(json!({"fence": 1}));
    deliver(&mut story, "builder-w2", claimed, 0, "checkpoint-offered").refused("mailbox-busy", "MB-1");
    deliver(&mut story, "host", claimed, 0, "checkpoint-offered").refused("mailbox-busy", "MB-1");
    let unknown = story.begun("suggest", 0);
    deliver(&mut story, "host", unknown, 1, "checkpoint-offered").refused("external-outcome-unknown", "SU-1");
    let late = story.sent("suggest", 0);
    deliver(&mut story, "builder", late, 0, "checkpoint-offered").at(60 * MINUTE).refused("message-expired", "MS-3");
    let revoked = story.sent("suggest", 60 * MINUTE);
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    deliver(&mut story, "builder", revoked, 0, "receiver-notified").refused("policy-denied", "PO-3");
    let next = json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({}));
    deliver(&mut story, "builder", revoked, 1, "receiver-notified").refused("task-retired", "OP-4");
    story
}

/// Rules OC-1 and OC-2: an effect is what the host saw of what was submitted (settled 4).
fn observed() -> Story {
    let mut story = Story::adapted("an effect is what the host saw", "peer");
    let number = story.begun("suggest", 0);
    story.call("builder", "messages.recordOutcome", missing()).error("not-visible").named("missing");
    for caller in ["writer", "alice", "carol"] {
        outcome(&mut story, caller, number, 1, "effect-observed").error("not-visible").same_as("missing");
    }
    outcome(&mut story, "host", number, 1, "effect-observed").refused("external-outcome-unknown", "SU-1");
    outcome(&mut story, "builder", number, 1, "failed").refused("external-outcome-unknown", "SU-1");
    story.receipt("builder", 1, receipt("turn-1")).at(SETTLED).ok(json!({"disposition": {"outcome": "not-observed"}}));
    for caller in ["builder", "bob", "guard", "ops"] {
        outcome(&mut story, caller, number, 2, "effect-observed").refused(AUTHORITY, "OC-1");
    }
    outcome(&mut story, "host", number, 1, "effect-observed").refused("revision-conflict", "OP-7");
    let attested = with(message_at(number, 2), "/outcome", "effect-observed");
    let attested = with(attested, "/evidenceRefs", refs());
    let attested = with(attested, "/verificationAttestations", json!([signed(payload())]));
    story.call("host", "messages.recordOutcome", attested).refused("params-invalid", "OC-3");
    let none = with(with(message_at(number, 2), "/outcome", "effect-observed"), "/evidenceRefs", json!([]));
    story.call("host", "messages.recordOutcome", none).error_at("params-invalid", "/evidenceRefs");
    let seen = with(disposition(3, "adapter-submitted", "accepted", "accepted"), "/outcome", "effect-observed");
    let params = with(with(message_at(number, 2), "/outcome", "effect-observed"), "/evidenceRefs", refs());
    let params = with(params, "/idempotencyKey", "idem_outcome-1");
    story.call("host", "messages.recordOutcome", params.clone()).rules(&["OC-1", "OC-2", "OC-3"]).ok(seen.clone());
    story.call("host", "messages.recordOutcome", params.clone()).replayed(seen.clone());
    let other = with(params, "/outcome", "failed");
    story.call("host", "messages.recordOutcome", other).refused("idempotency-conflict", "OP-6");
    for word in ["effect-observed", "failed"] {
        outcome(&mut story, "host", number, 3, word).error("transition-illegal").rules(&["LC-13"]);
    }
    story.seen(number, seen);
    let accepted = story.accepted("suggest", SETTLED);
    outcome(&mut story, "host", accepted, 1, "effect-observed").refused("state-conflict", "OC-2");
    story
}

fn missing() -> Value {
    with(with(message_at(99, 0), "/outcome", "failed"), "/evidenceRefs", refs())
}

/// That it did not work is said by host or receiver, of what was accepted.
fn failures() -> Story {
    let mut story = Story::adapted("what was seen not to work", "peer");
    let number = story.sent("suggest", 0);
    outcome(&mut story, "builder", number, 0, "failed").refused("state-conflict", "OC-2");
    story.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
    for caller in ["bob", "guard", "ops"] {
        outcome(&mut story, caller, number, 1, "failed").refused(AUTHORITY, "OC-1");
    }
    let failed = with(received(2, "accepted", "accepted"), "/outcome", "failed");
    outcome(&mut story, "builder", number, 1, "failed").rules(&["OC-1", "OC-2", "OC-4"]).ok(failed.clone());
    story.seen(number, failed);
    outcome(&mut story, "builder", number, 2, "failed").error("transition-illegal").rules(&["LC-13"]);
    let rejected = story.sent("suggest", 0);
    story.respond(rejected, 0, "rejected").ok(json!({"revision": 1}));
    outcome(&mut story, "host", rejected, 1, "failed").refused("state-conflict", "OC-2");
    let next = json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({}));
    outcome(&mut story, "builder", number, 2, "failed").refused("task-retired", "OP-4");
    story
}

/// Rule AN-1: whose keys count is the operator's to say.
fn anchors() -> Story {
    let mut story = Story::granted("trust anchors are the operator's", "peer");
    let declare = |anchors: Value| json!({ "anchors": anchors });
    for caller in ["alice", "guard", "host", "writer"] {
        story.call(caller, "anchors.declare", declare(trusted())).refused("operator-required", "AN-1");
    }
    let faulty = with(json!({"list": trusted()}), "/list/0/algorithm", "none");
    story
        .call("ops", "anchors.declare", declare(faulty["list"].clone()))
        .error_at("anchor-invalid", "/anchors/0/algorithm")
        .rules(&["AT-7"]);
    story.call("ops", "anchors.declare", declare(json!([1]))).error("params-invalid");
    let declared = json!({"replay": false, "count": 2, "digest": digest(&trusted())});
    let keyed = with(declare(trusted()), "/idempotencyKey", "idem_anchors-1");
    story.call("ops", "anchors.declare", keyed.clone()).rules(&["AN-1"]).ok(declared.clone());
    story.call("ops", "anchors.declare", keyed.clone()).replayed(with(declared.clone(), "/replay", true));
    story.call("ops", "anchors.declare", declare(trusted())).ok(with(declared, "/replay", true));
    let one = json!([trusted()[0]]);
    let other = with(keyed, "/anchors", one.clone());
    story.call("ops", "anchors.declare", other).refused("idempotency-conflict", "OP-6");
    story.call("ops", "anchors.declare", declare(one)).ok(json!({"replay": false, "count": 1}));
    story.call("ops", "anchors.declare", declare(json!([]))).ok(json!({"replay": false, "count": 0}));
    story
}

/// What an attestation about a message of writer's says.
fn about(number: u32) -> Value {
    let subject = json!({
        "messageId": message_id(number), "senderIncarnationId": WRITER, "receiver": builder(),
        "claimType": "external-effect", "claimDigest": format!("sha256:{:064}", 3),
    });
    let said = with(with(payload(), "/subject", subject), "/evidenceDigest", digest(&refs()));
    with(with(said, "/verifiedAt", time(MINUTE)), "/trustPolicy/decidedAt", time(MINUTE + SECOND))
}

fn hand_in<'s>(story: &'s mut Story, caller: &str, revision: u32, attestations: &[Value]) -> &'s mut Step {
    let params = with(message_at(1, revision), "/outcome", "externally-verified");
    let params = with(params, "/evidenceRefs", refs());
    story.call(caller, "messages.recordOutcome", with(params, "/verificationAttestations", json!(attestations)))
}

/// A submitted message, two minutes after its attempt began, and what the vectors trust.
fn submitted(name: &str) -> Story {
    let mut story = Story::adapted(name, "peer");
    story.call("ops", "anchors.declare", json!({"anchors": trusted()})).ok(json!({"count": 2}));
    story.begun("suggest", 0);
    story.receipt("host", 1, receipt("turn-1")).ok(json!({"disposition": {"outcome": "effect-observed"}}));
    story.call("writer", "messages.getDisposition", message(1)).at(2 * MINUTE).ok(json!({"revision": 2}));
    story
}

/// An attestation that verifies lifts the outcome, whoever of the receiving side hands it in.
fn verified() -> Story {
    let mut story = submitted("what is attested is externally verified");
    let good = signed(about(1));
    story.call("builder", "messages.recordOutcome", missing()).error("not-visible").named("missing");
    for caller in ["writer", "alice", "carol"] {
        hand_in(&mut story, caller, 2, std::slice::from_ref(&good)).error("not-visible").same_as("missing");
    }
    let plain = with(with(message_at(1, 2), "/outcome", "externally-verified"), "/evidenceRefs", refs());
    story.call("bob", "messages.recordOutcome", plain).refused("params-invalid", "OC-3");
    let second = signed(with(about(1), "/attestationId", "att_work-0002"));
    let seen = with(disposition(3, "adapter-submitted", "accepted", "accepted"), "/outcome", "externally-verified");
    hand_in(&mut story, "bob", 2, &[good.clone(), second])
        .rules(&["OC-1", "OC-3", "OC-5", "OC-6", "AT-18", "AT-30", "AT-31", "AT-32", "LC-13"])
        .ok(seen.clone());
    story.seen(1, seen);
    hand_in(&mut story, "builder", 3, &[good]).error("transition-illegal").rules(&["LC-13"]);
    outcome(&mut story, "host", 1, 3, "failed").error("transition-illegal").rules(&["LC-13"]);
    let verified = json!({"outcomeEvidence": {
        "source": "attested", "refs": refs(), "evidenceDigest": digest(&refs()), "recordedAt": time(2 * MINUTE),
    }});
    story.call("alice", "inspector.snapshot", message(1)).ok(verified);
    story
}

/// Nothing else does: each attestation here has one fault.
fn not_verified() -> Story {
    let mut story = submitted("what does not verify changes nothing");
    let mismatch = "verification-subject-mismatch";
    let place = |path: &str| format!("/verificationAttestations/0{path}");
    for (path, value) in [
        ("/subject/messageId", json!(message_id(2))),
        ("/subject/senderIncarnationId", json!(BUILDER)),
        ("/subject/receiver/taskId", json!("writer")),
        ("/subject/receiver/incarnationId", json!("inc_builder-0002")),
        ("/evidenceDigest", json!(format!("sha256:{:064}", 4))),
    ] {
        let other = signed(with(about(1), path, value));
        hand_in(&mut story, "builder", 2, &[other]).error_at(mismatch, &place(path)).rules(&["AT-31"]);
    }
    let early = with(with(about(1), "/verifiedAt", time(-SECOND)), "/trustPolicy/decidedAt", time(0));
    hand_in(&mut story, "builder", 2, &[signed(early)]).refused(mismatch, "OC-5");
    let claim = with(about(1), "/subject/claimType", "interruption-target-state");
    hand_in(&mut story, "builder", 2, &[signed(claim)]).refused(mismatch, "OC-6");
    let future = with(about(1), "/trustPolicy/decidedAt", time(DAY));
    hand_in(&mut story, "builder", 2, &[signed(future)]).refused("verification-trust-denied", "AT-28");
    let rejected = with(about(1), "/trustPolicy/decision", "rejected");
    hand_in(&mut story, "builder", 2, &[signed(rejected)]).refused("verification-trust-denied", "AT-23");
    let good = signed(about(1));
    let altered = with(good.clone(), "/subject/claimDigest", format!("sha256:{:064}", 9));
    hand_in(&mut story, "builder", 2, &[altered]).error("verification-attestation-invalid").rules(&["VA-1"]);
    let stolen = with(good.clone(), "/proof/signature", signed(payload())["proof"]["signature"].clone());
    hand_in(&mut story, "builder", 2, &[stolen]).refused("verification-proof-invalid", "AT-30");
    hand_in(&mut story, "builder", 2, &[good.clone(), good.clone()]).refused("disposition-invalid", "AT-32");
    hand_in(&mut story, "builder", 2, &[good.clone(), without(good.clone(), "/proof")]).error("params-invalid");
    story.call("ops", "anchors.declare", json!({"anchors": []})).ok(json!({"count": 0}));
    hand_in(&mut story, "builder", 2, std::slice::from_ref(&good)).refused("verification-trust-denied", "AT-18");
    let accepted = story.accepted("suggest", 2 * MINUTE);
    let params = with(message_at(accepted, 1), "/outcome", "externally-verified");
    let params = with(with(params, "/evidenceRefs", refs()), "/verificationAttestations", json!([good]));
    story.call("builder", "messages.recordOutcome", params).refused("state-conflict", "OC-2");
    story.seen(1, json!({"revision": 2, "outcome": "effect-observed"}));
    story
}

/// Denials are counted into the caller's own stream, by the host alone (settled 15).
fn denials() -> Story {
    let mut story = Story::granted("denials are counted in the caller's own stream", "peer");
    let (minute, told_minute) = (super::START / 60_000, time(0));
    let one = |code: &str, count: u32| {
        json!({
            "kind": "task", "id": "writer", "incarnation": WRITER, "owner": "user:alice", "code": code,
            "minute": minute, "count": count,
        })
    };
    let user = json!({"kind": "user", "id": "alice", "code": "not-visible", "minute": minute, "count": 3});
    let denials = json!([one("policy-denied", 120), one("not-visible", 2), one("revision-conflict", 9), user]);
    let params = json!({"denials": denials, "idempotencyKey": "idem_denials-1"});
    for caller in ["ops", "guard", "writer"] {
        story.call(caller, "audit.recordDenials", params.clone()).rules(&["OP-2"]).error("method-not-found");
    }
    story.call("host", "audit.recordDenials", params.clone()).rules(&["OP-2"]).ok(json!({"recorded": 3}));
    story.call("host", "audit.recordDenials", params.clone()).replayed(json!({"recorded": 3}));
    let other = with(params, "/denials", json!([one("policy-denied", 121)]));
    story.call("host", "audit.recordDenials", other).refused("idempotency-conflict", "OP-6");
    let told = |code: &str, count: &str| {
        json!({
            "eventType": "denials-counted", "detail": {"code": code, "count": count, "minute": told_minute},
            "actor": {"kind": "host"}, "messageId": absent(),
        })
    };
    let seen = json!({"events": [told("policy-denied", "120"), told("not-visible", "2")], "nextCursor": 4});
    story.call("writer", "tasks.wait", json!({"task": writer(), "afterCursor": 2})).ok(seen);
    story.call("builder", "tasks.wait", json!({"task": builder(), "afterCursor": 2})).ok(json!({"events": []}));
    story
}
