//! Scenarios of interruption results: typed and partial, closing an interrupt and nothing else, and what each side sees.

use super::super::attestation::{digest, payload, signed, trusted};
use super::cast::{
    MINUTE, SECOND, WRITER, builder, disposition, message, message_at, message_id, receipt, received, task_input, with,
};
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const INVALID: &str = "interruption-result-invalid";

pub(super) fn stories() -> Vec<Story> {
    vec![partial(), conclusions(), asserted(), not_of_this(), going_on(), attested()]
}

fn target(id: &str, state: &str) -> Value {
    let target = json!({"targetId": id, "state": state, "observedAt": time(SECOND)});
    match state {
        "cancelled" => with(target, "/reasonCode", "accepted"),
        "denied" => with(target, "/reasonCode", "policy-denied"),
        "failed" => with(target, "/reasonCode", "adapter-failed"),
        _ => target,
    }
}

/// A result in which the model's turn has this state, and there are such tool calls.
fn result(number: u32, turn: &str, tools: &[Value]) -> Value {
    json!({
        "specVersion": "0.0-draft", "interruptionId": format!("int_work-{number:04}"),
        "messageId": message_id(number), "receiver": builder(),
        "freshness": {"expectedRunId": "run-1", "expectedObjectiveVersion": 4}, "requestedAt": time(0),
        "results": {
            "modelTurn": target("turn-1", turn),
            "toolCalls": {"enumeration": "partial", "targets": tools, "detail": "Two more are not named."},
            "subprocesses": {"enumeration": "unavailable", "targets": []},
        },
        "updatedAt": time(SECOND),
    })
}

fn record<'s>(story: &'s mut Story, caller: &str, number: u32, revision: u32, result: Value) -> &'s mut Step {
    story.call(caller, "messages.recordInterruptionResult", with(message_at(number, revision), "/result", result))
}

/// An interrupt that a harness took: revision 2.
fn taken(story: &mut Story, offset: i64) -> u32 {
    let number = story.begun("interrupt", offset);
    let taken = json!({"disposition": disposition(2, "adapter-submitted", "accepted", "accepted")});
    story.receipt("host", 1, receipt("turn-1")).ok(taken);
    number
}

fn interrupted(revision: u32, outcome: &str) -> Value {
    with(disposition(revision, "adapter-submitted", "accepted", "accepted"), "/outcome", outcome)
}

/// Rule OC-4: a receipt says that a harness took the interrupt, and not what it stopped; partial results do, and the last
/// one closes it (weakness A6).
fn partial() -> Story {
    let mut story = Story::adapted("an interrupt is closed by its result", "supervisor");
    let number = taken(&mut story, 0);
    for word in ["effect-observed", "failed"] {
        let params = with(with(message_at(number, 2), "/outcome", word), "/evidenceRefs", json!(["log:1"]));
        story.call("host", "messages.recordOutcome", params).refused("state-conflict", "OC-4");
    }
    let tools = [target("tool-1", "not-cancellable"), target("tool-2", "requested")];
    let first = result(number, "cancelled", &tools);
    let open = json!({
        "disposition": interrupted(3, "not-observed"),
        "interruption": {"state": "open", "source": "observed", "resultDigest": digest(&first)},
    });
    let params = with(message_at(number, 2), "/result", first.clone());
    let params = with(params, "/idempotencyKey", "idem_result-1");
    let name = "messages.recordInterruptionResult";
    story.call("host", name, params.clone()).at(SECOND).rules(&["IN-1", "IN-2", "IN-3", "IN-6"]).ok(open.clone());
    story.call("host", name, params.clone()).replayed(open);
    let other = with(params, "/result/updatedAt", time(2 * SECOND));
    story.call("host", name, other).refused("idempotency-conflict", "OP-6");
    let tools = [target("tool-1", "not-cancellable"), target("tool-2", "failed"), target("tool-3", "denied")];
    let last = with(result(number, "cancelled", &tools), "/updatedAt", time(2 * SECOND));
    record(&mut story, "host", number, 2, last.clone()).refused("revision-conflict", "OP-7");
    let closed = json!({
        "disposition": interrupted(4, "effect-observed"), "interruption": {"state": "closed", "source": "observed"},
    });
    record(&mut story, "host", number, 3, last.clone()).at(2 * SECOND).rules(&["IN-4", "IN-5", "OC-4"]).ok(closed);
    record(&mut story, "host", number, 4, last.clone()).refused("state-conflict", "IN-6");
    record(&mut story, "builder", number, 4, last).refused("state-conflict", "IN-6");
    let whole = json!({"interruption": {
        "state": "closed", "interruptionId": "int_work-0001", "modelTurn": target("turn-1", "cancelled"),
        "toolCalls": {"enumeration": "partial", "detail": "Two more are not named.", "targets": tools},
        "subprocesses": {"enumeration": "unavailable", "targets": []},
    }});
    story.call("builder", "inspector.snapshot", message(number)).ok(whole);
    let hidden = |state: &str| json!({"state": state, "targetId": absent(), "detail": absent()});
    let projected = json!({"interruption": {
        "state": "closed", "modelTurn": with(hidden("cancelled"), "/reasonCode", "accepted"),
        "toolCalls": {"detail": absent(), "targets": [hidden("not-cancellable"), hidden("failed"), hidden("denied")]},
    }});
    for caller in ["writer", "alice", "guard"] {
        story.call(caller, "inspector.snapshot", message(number)).ok(projected.clone());
    }
    let events = json!([{}, {}, {}, {}, {}, {
        "eventType": "interruption-result-recorded", "revision": 3,
        "detail": {"interruption": "open", "result": "some-cancelled", "source": "observed", "resultDigest": absent()},
    }, {"detail": {"interruption": "closed"}}]);
    story.call("writer", "audit.list", message(number)).ok(events);
    story
}

/// What a closed result makes of the outcome, where the host saw it.
fn conclusions() -> Story {
    let mut story = Story::adapted("what an interrupt came to", "supervisor");
    let first = taken(&mut story, 0);
    let none = result(first, "not-running", &[target("tool-1", "not-cancellable")]);
    let failed = json!({"disposition": interrupted(3, "failed"), "interruption": {"state": "closed"}});
    record(&mut story, "host", first, 2, none).at(SECOND).rules(&["OC-4"]).ok(failed);
    let second = taken(&mut story, SECOND);
    let some = result(second, "not-running", &[target("tool-1", "cancelled")]);
    record(&mut story, "host", second, 2, some).ok(json!({"disposition": interrupted(3, "effect-observed")}));
    story
}

/// What the receiver says is kept as said; the host may still say what it saw (settled 4).
fn asserted() -> Story {
    let mut story = Story::adapted("what the receiver says of an interrupt", "supervisor");
    let number = taken(&mut story, 0);
    let said = result(number, "cancelled", &[]);
    let kept = json!({
        "disposition": interrupted(3, "not-observed"), "interruption": {"state": "closed", "source": "asserted"},
    });
    record(&mut story, "builder", number, 2, said.clone()).at(SECOND).rules(&["IN-6"]).ok(kept);
    record(&mut story, "builder", number, 3, said.clone()).refused("state-conflict", "IN-6");
    let seen = json!({
        "disposition": interrupted(4, "effect-observed"), "interruption": {"state": "closed", "source": "observed"},
    });
    record(&mut story, "host", number, 3, said).rules(&["IN-6"]).ok(seen);
    // Without a harness the receiver stops things itself, and there is no effect to observe.
    let own = story.accepted("interrupt", SECOND);
    let kept = json!({"disposition": received(2, "accepted", "accepted"), "interruption": {"state": "closed"}});
    record(&mut story, "builder", own, 1, result(own, "cancelled", &[])).rules(&["IN-1"]).ok(kept);
    story
}

/// Rules IN-1 to IN-3: whose result it is.
fn not_of_this() -> Story {
    let mut story = Story::adapted("a result is about its interrupt", "supervisor");
    let number = taken(&mut story, 0);
    record(&mut story, "builder", 99, 0, result(99, "cancelled", &[])).error("not-visible").named("missing");
    for caller in ["writer", "alice", "bob", "guard", "ops", "carol"] {
        let good = result(number, "cancelled", &[]);
        record(&mut story, caller, number, 2, good).error("not-visible").same_as("missing");
    }
    let good = result(number, "cancelled", &[target("tool-1", "cancelled")]);
    for (path, value) in [
        ("/messageId", json!(message_id(9))),
        ("/receiver", json!({"taskId": "builder", "incarnationId": "inc_builder-0002"})),
        ("/freshness", json!({"expectedRunId": "run-2", "expectedObjectiveVersion": 4})),
        ("/freshness", json!({"expectedRunId": "run-1"})),
    ] {
        let other = with(good.clone(), path, value);
        record(&mut story, "host", number, 2, other)
            .at(SECOND)
            .error_at(INVALID, &format!("/result{path}"))
            .rules(&["IN-2"]);
    }
    let late = time(SECOND + 5_001);
    for path in ["/updatedAt", "/results/modelTurn/observedAt", "/results/toolCalls/targets/0/observedAt"] {
        let ahead = with(with(good.clone(), "/updatedAt", late.clone()), path, late.clone());
        let ahead = if path == "/updatedAt" { ahead } else { with(ahead, "/updatedAt", time(SECOND)) };
        record(&mut story, "host", number, 2, ahead).error_at(INVALID, &format!("/result{path}")).rules(&["IN-3"]);
    }
    let success = with(good.clone(), "/success", true);
    record(&mut story, "host", number, 2, success).error_at("params-invalid", "/result/success");
    let odd = with(good, "/results/modelTurn/reasonCode", "policy-denied");
    record(&mut story, "host", number, 2, odd).error(INVALID).rules(&["IR-1"]);
    let steer = story.accepted("steer", SECOND);
    record(&mut story, "builder", steer, 1, result(steer, "cancelled", &[])).refused("state-conflict", "IN-1");
    let undecided = story.sent("interrupt", SECOND);
    record(&mut story, "builder", undecided, 0, result(undecided, "cancelled", &[])).refused("state-conflict", "IN-1");
    let unknown = story.begun("interrupt", SECOND);
    let early = result(unknown, "cancelled", &[]);
    record(&mut story, "host", unknown, 1, early.clone()).refused("external-outcome-unknown", "SU-1");
    let next = json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({}));
    record(&mut story, "builder", unknown, 1, early).refused("task-retired", "OP-4");
    story
}

/// Rules IN-4 and IN-5: later results go on from earlier ones.
fn going_on() -> Story {
    let mut story = Story::adapted("later results go on from earlier ones", "supervisor");
    let number = taken(&mut story, 0);
    let tools = [target("tool-1", "requested"), target("tool-2", "failed")];
    let first = result(number, "requested", &tools);
    record(&mut story, "host", number, 2, first.clone()).at(SECOND).ok(json!({"interruption": {"state": "open"}}));
    let at = |path: &str| format!("/result{path}");
    let other = with(first.clone(), "/interruptionId", "int_work-0002");
    record(&mut story, "host", number, 3, other).error_at(INVALID, &at("/interruptionId")).rules(&["IN-4"]);
    let older = with(first.clone(), "/updatedAt", time(0));
    record(&mut story, "host", number, 3, older).error_at(INVALID, &at("/updatedAt")).rules(&["IN-4"]);
    let tools_at = "/results/toolCalls/targets";
    let fewer = with(first.clone(), tools_at, json!([tools[0]]));
    record(&mut story, "host", number, 3, fewer).error_at(INVALID, &at(tools_at)).rules(&["IN-4"]);
    let turned = with(first.clone(), "/results/modelTurn/targetId", "turn-2");
    record(&mut story, "host", number, 3, turned).error_at(INVALID, &at("/results/modelTurn")).rules(&["IN-4"]);
    for state in ["cancelled", "requested"] {
        let changed = with(first.clone(), tools_at, json!([tools[0], target("tool-2", state)]));
        record(&mut story, "host", number, 3, changed).error_at(INVALID, &at(tools_at)).rules(&["IN-5"]);
    }
    record(&mut story, "host", number, 3, first.clone())
        .rules(&["IN-4", "IN-5"])
        .ok(json!({"disposition": {"revision": 4}}));
    let more = json!([target("tool-1", "cancelled"), tools[1], target("tool-3", "cancelled")]);
    let more = with(with(first, tools_at, more), "/results/modelTurn", target("turn-1", "not-running"));
    record(&mut story, "host", number, 4, more).ok(json!({"disposition": interrupted(5, "effect-observed")}));
    story
}

/// Rule OC-6: what was interrupted can be attested, as such.
fn attested() -> Story {
    let mut story = Story::adapted("what was interrupted is attested", "supervisor");
    story.call("ops", "anchors.declare", json!({"anchors": trusted()})).ok(json!({"count": 2}));
    let number = taken(&mut story, 0);
    let refs = json!(["log:1"]);
    let said = |claim: &str| {
        let subject = json!({
            "messageId": message_id(number), "senderIncarnationId": WRITER, "receiver": builder(), "claimType": claim,
            "claimDigest": format!("sha256:{:064}", 3),
        });
        let said = with(with(payload(), "/subject", subject), "/evidenceDigest", digest(&refs));
        signed(with(with(said, "/verifiedAt", time(SECOND)), "/trustPolicy/decidedAt", time(SECOND)))
    };
    let params = |claim: &str| {
        let params = with(message_at(number, 2), "/outcome", "externally-verified");
        with(with(params, "/evidenceRefs", refs.clone()), "/verificationAttestations", json!([said(claim)]))
    };
    let name = "messages.recordOutcome";
    story.call("builder", name, params("external-effect")).at(MINUTE).refused("verification-subject-mismatch", "OC-6");
    let seen = interrupted(3, "externally-verified");
    story.call("builder", name, params("interruption-target-state")).rules(&["OC-4", "OC-6"]).ok(seen);
    let told = json!({"disposition": interrupted(4, "externally-verified"), "interruption": {"state": "closed"}});
    record(&mut story, "host", number, 3, result(number, "cancelled", &[])).ok(told);
    story
}
