//! Scenarios of context admission: who may put what before a model, what proves it, and who says so when the token is lost.

use super::super::attestation::digest;
use super::cast::{
    BUILDER, MINUTE, adapter_ref, bound, builder, disposition, envelope, grant, message, message_at, profile, receipt,
    received, task_input, task_ref, with, without,
};
use super::story::{Step, Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

/// The lease of an admission.
const LEASE: i64 = 3 * MINUTE;

pub(super) fn stories() -> Vec<Story> {
    vec![
        declared(),
        shown("acp-session"),
        shown("codex-app-server"),
        shown("gemini-headless"),
        shown("mcp-session"),
        unproven(),
        bound_to_the_message(),
        corrupt(),
        one_in_flight(),
        replayed(),
        which_messages(),
        which_adapters(),
        beside_submissions(),
        sticky(),
        late(),
        recovered(),
        recovered_by(),
        read(),
        read_again(),
        unseen(),
        what_the_sender_learns(),
    ]
}

/// The digest of what the harness says of itself.
fn snapshot() -> Value {
    format!("sha256:{:064}", 5).into()
}

/// A profile that gives this kind of evidence.
fn admitting(kind: &str) -> Value {
    let mut declared = with(profile(), "/executor", "caller");
    declared["capabilities"]["features"]["contextAdmission"] = "receiver-mediated".into();
    declared["capabilities"]["features"]["provenanceRendering"] = "model-visible".into();
    let evidence = match kind {
        "mcp-session" => json!({ "evidence": kind }),
        _ => json!({"evidence": kind, "snapshotDigest": snapshot()}),
    };
    with(declared, "/contextAdmission", evidence)
}

/// A story whose receiver can show messages to a model.
fn story(name: &str, kind: &str) -> Story {
    let mut story = Story::granted(name, "peer");
    story.declare(admitting(kind));
    story
}

/// Evidence of a kind for the admission that was kept.
fn evidence(kind: &str) -> Value {
    let mut evidence = json!({
        "kind": kind, "nonce": var("nonce"), "renderingDigest": var("digest"), "renderingBytes": var("bytes"),
    });
    let own = match kind {
        "acp-session" => json!({"sessionId": "session-1", "stopReason": "end_turn"}),
        "codex-app-server" => json!({"threadId": "session-1", "turnId": "turn-1", "turnStatus": "completed"}),
        "gemini-headless" => {
            json!({"sessionId": "session-1", "exitCode": 0, "toolUseCount": 0, "resultStatus": "success"})
        }
        _ => json!({"session": "session-1", "toolCallId": "call-1"}),
    };
    let members = evidence.as_object_mut().expect("an object");
    members.extend(own.as_object().expect("an object").clone());
    if kind != "mcp-session" {
        members.insert("snapshotDigest".into(), snapshot());
    }
    evidence
}

/// What is kept of it: the kind and the members of the kind.
fn kept(kind: &str) -> Value {
    let mut kept = evidence(kind);
    let members = kept.as_object_mut().expect("an object");
    members.retain(|name, _| !["nonce", "renderingDigest", "renderingBytes"].contains(&name.as_str()));
    kept
}

const PREPARE: &str = "adapter.prepareContextAdmission";
const CONFIRM: &str = "adapter.confirmContextAdmission";
const RECOVER: &str = "adapter.recoverContextAdmission";
const READ: &str = "adapter.admitContext";

/// Prepares the admission of an accepted message, and keeps what its answer has.
fn admit<'s>(story: &'s mut Story, caller: &str, number: u32, revision: u32) -> &'s mut Step {
    let step = story.call(caller, PREPARE, message_at(number, revision));
    step.keep("admission", "/admissionToken").keep("nonce", "/nonce");
    step.keep("digest", "/rendering/digest").keep("bytes", "/rendering/bytes").ok(json!({"replay": false}))
}

/// Params of a confirmation of the admission that was kept.
fn confirmation(number: u32, revision: u32, evidence: Value) -> Value {
    with(with(message_at(number, revision), "/admissionToken", var("admission")), "/evidence", evidence)
}

fn recovery(number: u32, revision: u32, resolution: &str) -> Value {
    with(message_at(number, revision), "/resolution", resolution)
}

fn reading(number: u32, revision: u32, call: &str) -> Value {
    with(with(message_at(number, revision), "/session", "mcp-1"), "/toolCallId", call)
}

fn admitted(revision: u32) -> Value {
    disposition(revision, "context-admitted", "accepted", "accepted")
}

/// Rules AP-2 and AP-3: which profile gives evidence.
fn declared() -> Story {
    let mut story = Story::new("which profile gives evidence of an admission");
    let silent = with(admitting("acp-session"), "/capabilities/features/contextAdmission", "none");
    story.call("ops", "adapters.declare", silent).refused("capabilities-invalid", "AP-2");
    let unpinned = without(admitting("gemini-headless"), "/contextAdmission/snapshotDigest");
    story.call("ops", "adapters.declare", unpinned).refused("params-invalid", "AP-3");
    let odd = with(admitting("acp-session"), "/contextAdmission/evidence", "goodwill");
    story.call("ops", "adapters.declare", odd).error_at("params-invalid", "/contextAdmission/evidence");
    story.declare(admitting("acp-session")).rules(&["AP-2", "AP-3"]).ok(json!({"replay": false}));
    story.declare(admitting("acp-session")).ok(json!({"replay": true}));
    let other = admitting("codex-app-server");
    story.call("ops", "adapters.declare", other).refused("idempotency-conflict", "AP-1");
    let mcp = with(admitting("mcp-session"), "/digest", format!("sha256:{:064}", 2));
    story.declare(mcp).rules(&["AP-2", "AP-3"]).ok(json!({"replay": false}));
    story
}

/// A message is accepted, its rendering is taken, shown and confirmed, with each kind of evidence.
fn shown(kind: &str) -> Story {
    let mut story = story(&format!("a suggestion is put before a model: {kind}"), kind);
    let number = story.accepted("suggest", 0);
    let answer = json!({
        "replay": false, "adapterRef": adapter_ref(), "revision": 1, "expiresAt": time(LEASE),
        "admission": {"decision": "accepted", "receiverIncarnationId": BUILDER, "revision": 1},
        "rendering": {"format": "threadmesh.peer-context.v2"},
    });
    admit(&mut story, "builder", number, 1).rules(&["CX-1", "CX-2", "CX-3", "CX-4", "CX-5", "CX-7"]).ok(answer);
    story.seen(number, received(1, "accepted", "accepted"));
    let rules = ["CX-8", "CX-9", "CX-10", "CX-11", "CX-12", "CX-13"];
    story.call("builder", CONFIRM, confirmation(number, 1, evidence(kind))).rules(&rules).ok(admitted(2));
    story.seen(number, admitted(2));
    story.call("builder", CONFIRM, confirmation(number, 2, evidence(kind))).refused("admission-token-invalid", "CX-8");
    let proof = json!({"evidenceDigest": digest(&kept(kind)), "how": "confirmed"});
    let claimed = json!({"eventType": "context-admission-claimed"});
    let told = json!({"eventType": "context-admitted", "detail": proof});
    let events = json!([{"eventType": "message-durably-received"}, {"eventType": "receiver-decided"}, claimed, told]);
    story.call("builder", "audit.list", message(number)).ok(events);
    story
}

/// Rules CX-9, CX-12 and CX-13: what does not prove it leaves the admission as it is.
fn unproven() -> Story {
    let mut story = story("evidence that proves nothing", "acp-session");
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder", number, 1);
    let mismatch = "adapter-evidence-mismatch";
    let acp = || evidence("acp-session");
    for (wrong, rule) in [
        (with(acp(), "/toolCallId", "call-1"), "CX-9"),
        (with(acp(), "/exitCode", 0), "CX-9"),
        (without(acp(), "/stopReason"), "CX-9"),
        (without(acp(), "/sessionId"), "CX-9"),
        (evidence("codex-app-server"), "CX-9"),
        (evidence("mcp-session"), "CX-9"),
        (with(acp(), "/sessionId", "session-2"), "CX-12"),
        (with(acp(), "/snapshotDigest", format!("sha256:{:064}", 6)), "CX-12"),
        (with(acp(), "/stopReason", "cancelled"), "CX-13"),
        (with(acp(), "/stopReason", "max_tokens"), "CX-13"),
    ] {
        story.call("builder", CONFIRM, confirmation(number, 1, wrong)).refused(mismatch, rule);
    }
    story.call("builder", CONFIRM, confirmation(number, 0, acp())).refused("revision-conflict", "OP-7");
    story.call("builder", CONFIRM, confirmation(number, 1, acp())).ok(admitted(2));
    let other = [
        ("codex-app-server", "/turnStatus", json!("failed")),
        ("gemini-headless", "/exitCode", json!(1)),
        ("gemini-headless", "/toolUseCount", json!(1)),
        ("gemini-headless", "/resultStatus", json!("error")),
    ];
    for (index, (kind, pointer, value)) in other.into_iter().enumerate() {
        story.declare(with(admitting(kind), "/digest", format!("sha256:{:064}", 10 + index)));
        let number = story.accepted("suggest", 0);
        admit(&mut story, "builder", number, 1);
        let wrong = with(evidence(kind), pointer, value);
        story.call("builder", CONFIRM, confirmation(number, 1, wrong)).refused(mismatch, "CX-13");
        story.seen(number, received(1, "accepted", "accepted"));
    }
    story
}

/// Rules CX-8 and CX-10: evidence for one message confirms no other (weaknesses A7).
fn bound_to_the_message() -> Story {
    let mut story = story("evidence for one message confirms no other", "codex-app-server");
    let (first, second) = (story.accepted("suggest", 0), story.accepted("suggest", 0));
    let step = admit(&mut story, "builder", first, 1);
    step.keep("first-token", "/admissionToken").keep("first-nonce", "/nonce").keep("first-digest", "/rendering/digest");
    let none = confirmation(second, 1, evidence("codex-app-server"));
    story.call("builder", CONFIRM, none).refused("admission-token-invalid", "CX-8");
    admit(&mut story, "builder", second, 1);
    let codex = || evidence("codex-app-server");
    let swapped = with(confirmation(second, 1, codex()), "/admissionToken", var("first-token"));
    story.call("builder", CONFIRM, swapped).refused("admission-token-invalid", "CX-8");
    let other = with(with(codex(), "/nonce", var("first-nonce")), "/renderingDigest", var("first-digest"));
    story.call("builder", CONFIRM, confirmation(second, 1, other)).refused("adapter-evidence-mismatch", "CX-10");
    let bare = without(codex(), "/nonce");
    story.call("builder", CONFIRM, confirmation(second, 1, bare)).refused("adapter-evidence-mismatch", "CX-10");
    let patched = with(codex(), "/renderingDigest", var("first-digest"));
    story.call("builder", CONFIRM, confirmation(second, 1, patched)).refused("corrupt-delivery", "CX-11");
    story.call("builder-w1", CONFIRM, confirmation(second, 1, codex())).refused("admission-token-invalid", "CX-8");
    let guess = with(confirmation(second, 1, codex()), "/admissionToken", format!("sha256:{}", "0".repeat(64)));
    story.call("builder", CONFIRM, guess).refused("admission-token-invalid", "CX-8");
    story.call("builder", CONFIRM, confirmation(second, 1, codex())).rules(&["CX-8", "CX-10"]).ok(admitted(2));
    story.seen(first, received(1, "accepted", "accepted"));
    story
}

/// Rule CX-11: truncated or altered content is never admitted (field reports P016).
fn corrupt() -> Story {
    let mut story = story("what is not the rendering is a corrupt delivery", "acp-session");
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder", number, 1);
    for (pointer, value) in
        [("/renderingBytes", json!(0)), ("/renderingBytes", json!(100)), ("/renderingDigest", snapshot())]
    {
        let wrong = with(evidence("acp-session"), pointer, value);
        story.call("builder", CONFIRM, confirmation(number, 1, wrong)).refused("corrupt-delivery", "CX-11");
    }
    story.seen(number, received(1, "accepted", "accepted"));
    story.call("builder", RECOVER, recovery(number, 1, "corrupt-delivery")).ok(received(1, "accepted", "accepted"));
    let ended = json!({"eventType": "context-admission-ended", "detail": {"resolution": "corrupt-delivery"}});
    let page = with(message(number), "/afterCursor", 3);
    story.call("writer", "audit.list", page).ok(json!([ended]));
    let fresh = json!({"nonce": not(var("nonce")), "admissionToken": not(var("admission"))});
    admit(&mut story, "builder", number, 1).rules(&["CX-4"]).ok(fresh);
    let whole = confirmation(number, 1, evidence("acp-session"));
    story.call("builder", CONFIRM, whole).rules(&["CX-11"]).ok(admitted(2));
    story
}

/// Rule CX-4: one admission at a time, whoever asks.
fn one_in_flight() -> Story {
    let mut story = story("one admission of a message at a time", "acp-session");
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder-w1", number, 1);
    for caller in ["builder-w1", "builder-w2", "builder"] {
        story.call(caller, PREPARE, message_at(number, 1)).refused("admission-in-flight", "CX-4");
        story.call(caller, READ, reading(number, 1, "call-1")).refused("admission-in-flight", "CX-4");
    }
    story.call("builder-w2", PREPARE, message_at(number, 1)).at(2 * LEASE).refused("admission-in-flight", "CX-4");
    let confirm = confirmation(number, 1, evidence("acp-session"));
    story.call("builder-w1", CONFIRM, confirm).ok(admitted(2));
    story.call("builder-w2", PREPARE, message_at(number, 2)).refused("state-conflict", "CX-7");
    story
}

/// Rule CX-18: a lost answer comes again to whoever got it, while it is of use.
fn replayed() -> Story {
    let mut story = story("a lost answer of a preparation", "acp-session");
    let number = story.accepted("suggest", 0);
    let keyed = with(message_at(number, 1), "/idempotencyKey", "idem_prepare-1");
    let step = story.call("builder-w1", PREPARE, keyed.clone());
    step.keep("admission", "/admissionToken").keep("nonce", "/nonce").keep("digest", "/rendering/digest");
    step.keep("bytes", "/rendering/bytes").ok(json!({"replay": false}));
    let same = json!({
        "replay": true, "admissionToken": var("admission"), "nonce": var("nonce"), "expiresAt": time(LEASE),
        "rendering": {"digest": var("digest"), "bytes": var("bytes")}, "adapterRef": adapter_ref(),
    });
    story.call("builder-w1", PREPARE, keyed.clone()).at(LEASE - 1).rules(&["CX-18"]).replayed(same);
    let other = with(keyed.clone(), "/expectedRevision", 0);
    story.call("builder-w1", PREPARE, other).refused("idempotency-conflict", "OP-6");
    // The key is the worker's own.
    story.call("builder-w2", PREPARE, keyed.clone()).refused("admission-in-flight", "CX-4");
    let moved =
        json!({"task": builder(), "adapterRef": {"kind": "loop", "session": "session-2"}, "expectedRevision": 0});
    story.call("bob", "tasks.attach", moved).ok(json!({"revision": 1}));
    let still = json!({"adapterRef": adapter_ref(), "admissionToken": var("admission")});
    story.call("builder-w1", PREPARE, keyed.clone()).replayed(still);
    story.call("builder-w1", PREPARE, keyed.clone()).at(LEASE).refused("admission-token-invalid", "CX-18");
    let confirm = with(confirmation(number, 1, evidence("acp-session")), "/idempotencyKey", "idem_confirm-1");
    story.call("builder-w1", CONFIRM, confirm.clone()).ok(admitted(2));
    story.call("builder-w1", CONFIRM, confirm.clone()).replayed(admitted(2));
    let other = with(confirm, "/expectedRevision", 2);
    story.call("builder-w1", CONFIRM, other).refused("idempotency-conflict", "OP-6");
    story.call("builder-w1", PREPARE, keyed).refused("admission-token-invalid", "CX-18");
    story
}

/// Rules CX-1, CX-2 and CX-7: which messages are put before a model (weaknesses A6; gap G11).
fn which_messages() -> Story {
    let mut story = Story::granted("which messages are put before a model", "supervisor");
    story.declare(admitting("acp-session"));
    let unsupported = "admission-unsupported";
    let pairs = [
        ("notify", "store-only", "CX-1"),
        ("notify", "side-channel", "CX-1"),
        ("steer", "active-steer", "CX-1"),
        ("interrupt", "interrupt-request", "CX-1"),
        ("suggest", "store-only", "CX-2"),
        ("suggest", "side-channel", "CX-2"),
    ];
    for (intent, mode, rule) in pairs {
        story.messages += 1;
        let number = story.messages;
        story.send(with(envelope(number, intent, 0), "/delivery/requestedMode", mode)).ok(json!({"replay": false}));
        story.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
        story.call("builder", PREPARE, message_at(number, 1)).refused(unsupported, rule);
        story.call("builder", READ, reading(number, 1, "call-1")).refused(unsupported, rule);
    }
    let pending = story.sent("suggest", 0);
    for (revision, decision) in [(0, ""), (1, "deferred"), (2, "rejected")] {
        if !decision.is_empty() {
            story.respond(pending, revision - 1, decision).ok(json!({}));
        }
        story.call("builder", PREPARE, message_at(pending, revision)).refused("state-conflict", "CX-7");
        story.call("builder", READ, reading(pending, revision, "call-1")).refused("state-conflict", "CX-7");
    }
    let claimed = story.sent("suggest", 0);
    story.claim("builder-w1", claimed, 0).keep("token", "/claimToken").ok(json!({}));
    story.call("builder-w2", PREPARE, message_at(claimed, 0)).refused("mailbox-busy", "MB-1");
    story.call("builder-w2", READ, reading(claimed, 0, "call-1")).refused("mailbox-busy", "MB-1");
    let failed = story.accepted("suggest", 0);
    let fail = with(message_at(failed, 1), "/failureReason", "No room.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"revision": 2}));
    story.call("builder", PREPARE, message_at(failed, 2)).refused("state-conflict", "CX-7");
    let wakes = story.messages + 1;
    story.messages = wakes;
    story.send(with(envelope(wakes, "suggest", 0), "/delivery/requestedMode", "wake-idle")).ok(json!({}));
    story.respond(wakes, 0, "accepted").ok(json!({}));
    story.call("builder", PREPARE, message_at(wakes, 0)).refused("revision-conflict", "OP-7");
    story.call("builder", READ, reading(wakes, 0, "call-1")).refused("revision-conflict", "OP-7");
    admit(&mut story, "builder", wakes, 1).rules(&["CX-1", "CX-2", "CX-7", "OP-7"]);
    let late = story.accepted("suggest", 0);
    story.call("builder", PREPARE, message_at(late, 1)).at(60 * MINUTE).refused("message-expired", "MS-3");
    story.call("builder", READ, reading(late, 1, "call-1")).refused("message-expired", "MS-3");
    story
}

/// Rule CX-3: an adapter that does not declare it is not asked to show anything.
fn which_adapters() -> Story {
    let mut story = Story::new("which adapters show messages to a model");
    story.register("alice", task_input("writer", super::cast::WRITER));
    story.register("bob", task_input("builder", BUILDER));
    story.grant(grant("peer", 1));
    let number = story.accepted("suggest", 0);
    story.call("builder", PREPARE, message_at(number, 1)).refused("adapter-not-bound", "AD-1");
    let attach = |revision: u32, reference: Value| json!({"task": builder(), "adapterRef": reference, "expectedRevision": revision});
    story.call("builder", "tasks.attach", attach(0, adapter_ref())).ok(json!({"revision": 1}));
    story.call("builder", PREPARE, message_at(number, 1)).refused("adapter-not-bound", "AD-1");
    story.declare(profile());
    story.call("builder", PREPARE, message_at(number, 1)).refused("adapter-incapable", "CX-3");
    let mut other = with(admitting("acp-session"), "/digest", format!("sha256:{:064}", 2));
    other["capabilities"]["deliveryModes"] = json!(["wake-idle"]);
    other["capabilities"]["intents"] = json!(["suggest"]);
    story.declare(other);
    story.call("builder", PREPARE, message_at(number, 1)).refused("adapter-incapable", "AD-2");
    story.declare(with(admitting("acp-session"), "/digest", format!("sha256:{:064}", 3)));
    story.call("builder", "tasks.attach", attach(1, json!({"kind": "loop"}))).ok(json!({"revision": 2}));
    story.call("builder", PREPARE, message_at(number, 1)).refused("adapter-incapable", "CX-3");
    story.call("builder", "tasks.attach", attach(2, adapter_ref())).ok(json!({"revision": 3}));
    admit(&mut story, "builder", number, 1).rules(&["CX-3"]);
    // A confirmation is about what was prepared, whatever was attached since.
    story.call("builder", "tasks.attach", attach(3, json!({"kind": "other"}))).ok(json!({"revision": 4}));
    let confirm = confirmation(number, 1, evidence("acp-session"));
    story.call("builder", CONFIRM, confirm).ok(admitted(2));
    story
}

/// Rules CX-5 and CX-6: a message is shown or submitted, one at a time (weaknesses A4 d).
fn beside_submissions() -> Story {
    let mut story = story("a message is shown or submitted, one at a time", "acp-session");
    let number = story.begun("suggest", 0);
    let open = |story: &mut Story| {
        story.call("builder", PREPARE, message_at(number, 1)).refused("submission-in-flight", "CX-5");
        story.call("builder", READ, reading(number, 1, "call-1")).refused("submission-in-flight", "CX-5");
    };
    open(&mut story);
    let manual = json!({"resolution": "manual-required", "evidenceRefs": ["log:1"]});
    story.reconcile("builder", 1, manual).ok(json!({"submission": {"state": "manual-reconciliation"}}));
    open(&mut story);
    let none = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]});
    story.reconcile("ops", 1, none).ok(json!({}));
    admit(&mut story, "builder", number, 1).rules(&["CX-5"]);
    story.prepare(number, 1).refused("admission-in-flight", "CX-6");
    let confirm = confirmation(number, 1, evidence("acp-session"));
    story.call("builder", CONFIRM, confirm).ok(admitted(2));
    story
        .prepare(number, 2)
        .keep("submission", "/submission/submissionId")
        .rules(&["CX-6"])
        .ok(json!({"replay": false}));
    story.begin(2).ok(json!({"submission": {"state": "outcome-unknown"}}));
    let submitted =
        json!({"submission": {"state": "receipt-recorded"}, "disposition": {"delivery": "adapter-submitted"}});
    story.receipt("builder", 2, receipt("turn-1")).ok(submitted);
    story.call("builder", PREPARE, message_at(number, 3)).refused("submission-in-flight", "CX-5");
    let never = story.begun("suggest", 0);
    story.receipt("builder", 1, receipt("turn-2")).ok(json!({"disposition": {"delivery": "adapter-submitted"}}));
    story.call("builder", READ, reading(never, 2, "call-1")).refused("submission-in-flight", "CX-5");
    // What was only prepared gives way.
    let other = story.accepted("suggest", 0);
    story.prepare(other, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    admit(&mut story, "builder", other, 1).rules(&["CX-5"]);
    story.begin(1).error("not-visible").effects(json!([]));
    story
}

/// Rule SU-1: while nobody knows whether a model saw it nothing relabels the message (gap G3).
fn sticky() -> Story {
    let mut story = story("nothing relabels a message that is being shown", "acp-session");
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder", number, 1);
    let unknown = "external-outcome-unknown";
    for decision in ["revoked", "rejected", "accepted"] {
        story.respond(number, 1, decision).refused(unknown, "SU-1");
    }
    let fail = with(message_at(number, 1), "/failureReason", "It hangs.");
    story.call("builder", "messages.failDelivery", fail.clone()).refused(unknown, "SU-1");
    let nothing = json!({"expired": [], "hasMore": false});
    story.call("guard", "maintenance.expireDue", json!({})).at(2 * 60 * MINUTE).ok(nothing);
    story.seen(number, received(1, "accepted", "accepted"));
    story
        .call("builder", RECOVER, recovery(number, 1, "confirmed-not-admitted"))
        .ok(received(1, "accepted", "accepted"));
    story.call("builder", "messages.failDelivery", fail).rules(&["SU-1"]).ok(json!({"delivery": "failed"}));
    story
}

/// A confirmation after revocation and expiry is recorded as what happened (behaviour 116).
fn late() -> Story {
    let mut story = story("a confirmation that comes late", "acp-session");
    let (number, other) = (story.accepted("suggest", 0), story.accepted("suggest", 0));
    admit(&mut story, "builder", number, 1);
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({}));
    story.call("builder", PREPARE, message_at(other, 1)).refused("policy-denied", "PO-3");
    story.call("builder", READ, reading(other, 1, "call-1")).refused("policy-denied", "PO-3");
    let confirm = confirmation(number, 1, evidence("acp-session"));
    story.call("builder", CONFIRM, confirm).at(2 * 60 * MINUTE).ok(admitted(2));
    let expired = json!({"hasMore": false});
    story.call("guard", "maintenance.expireDue", json!({})).ok(expired);
    story.seen(number, disposition(3, "expired", "accepted", "accepted"));
    story
}

/// Rules CX-14, CX-16 and CX-17: what is said of an admission whose token is lost, by its holder (weaknesses A4 f; gap G2).
fn recovered() -> Story {
    let mut story = story("a lost token", "acp-session");
    let number = story.accepted("suggest", 0);
    let not_admitted = recovery(number, 1, "confirmed-not-admitted");
    story.call("builder", RECOVER, not_admitted.clone()).refused("state-conflict", "CX-14");
    admit(&mut story, "builder", number, 1);
    let shown = recovery(number, 1, "confirmed-admitted");
    story.call("builder", RECOVER, shown.clone()).refused("reconciliation-evidence-required", "CX-16");
    let proof = || without(evidence("acp-session"), "/nonce");
    let more = with(not_admitted.clone(), "/evidence", proof());
    story.call("builder", RECOVER, more).refused("reconciliation-invalid", "CX-17");
    let stale = with(not_admitted.clone(), "/expectedRevision", 0);
    story.call("builder", RECOVER, stale).refused("revision-conflict", "OP-7");
    for (wrong, code, rule) in [
        (with(proof(), "/nonce", snapshot()), "adapter-evidence-mismatch", "CX-10"),
        (with(proof(), "/sessionId", "session-2"), "adapter-evidence-mismatch", "CX-12"),
        (with(proof(), "/renderingBytes", 1), "corrupt-delivery", "CX-11"),
    ] {
        story.call("builder", RECOVER, with(shown.clone(), "/evidence", wrong)).refused(code, rule);
    }
    let keyed = with(not_admitted, "/idempotencyKey", "idem_recover-1");
    let rules = ["CX-14", "CX-15", "CX-17"];
    story.call("builder", RECOVER, keyed.clone()).rules(&rules).ok(received(1, "accepted", "accepted"));
    story.call("builder", RECOVER, keyed.clone()).replayed(received(1, "accepted", "accepted"));
    let other = with(keyed, "/resolution", "corrupt-delivery");
    story.call("builder", RECOVER, other).refused("idempotency-conflict", "OP-6");
    admit(&mut story, "builder", number, 1);
    let proven = with(shown, "/evidence", proof());
    story.call("builder", RECOVER, proven).rules(&["CX-10", "CX-16"]).ok(admitted(2));
    story
}

/// Rule CX-15: others than the holder wait for the lease; and who they are (weaknesses A4 f).
fn recovered_by() -> Story {
    let mut story = story("who recovers a lost token", "acp-session");
    let mut offset = 0;
    for caller in ["builder-w2", "bob", "guard", "ops"] {
        let number = story.accepted("suggest", offset);
        admit(&mut story, "builder-w1", number, 1);
        let params = recovery(number, 1, "confirmed-not-admitted");
        story.call(caller, RECOVER, params.clone()).refused("admission-in-flight", "CX-15");
        let early = offset + LEASE - 1;
        story.call(caller, RECOVER, params.clone()).at(early).refused("admission-in-flight", "CX-15");
        offset += LEASE;
        story.call(caller, RECOVER, params).at(offset).rules(&["CX-15"]).ok(received(1, "accepted", "accepted"));
    }
    let number = story.accepted("suggest", offset);
    admit(&mut story, "builder-w1", number, 1);
    let next = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", next).ok(json!({}));
    let confirm = confirmation(number, 1, evidence("acp-session"));
    story.call("builder-w1", CONFIRM, confirm).refused("task-retired", "OP-4");
    for (method, params) in [
        (PREPARE, message_at(number, 1)),
        (READ, reading(number, 1, "call-1")),
        (RECOVER, recovery(number, 1, "confirmed-not-admitted")),
    ] {
        story.call("builder-w1", method, params).refused("task-retired", "OP-4");
    }
    let proof = without(evidence("acp-session"), "/nonce");
    let params = with(recovery(number, 1, "confirmed-admitted"), "/evidence", proof);
    story.call("builder-next", RECOVER, params.clone()).refused("admission-in-flight", "CX-15");
    story.call("builder-next", RECOVER, params).at(offset + LEASE).ok(admitted(2));
    story.call("builder-next", "tasks.get", json!({"task": task_ref("builder", "inc_builder-0002")})).ok(json!({}));
    story
}

/// A client that pulls reads in one commit, without any adapter.
fn read() -> Story {
    let mut story = Story::granted("a client that pulls reads a message", "peer");
    let number = story.accepted("suggest", 0);
    let keyed = with(reading(number, 1, "call-1"), "/idempotencyKey", "idem_read-1");
    let shown = json!({"disposition": admitted(2), "rendering": {"format": "threadmesh.peer-context.v2"}});
    let step = story.call("builder", READ, keyed.clone());
    step.keep("digest", "/rendering/digest").keep("text", "/rendering/text");
    step.rules(&["CX-1", "CX-2", "CX-4", "CX-5", "CX-7"]).ok(shown);
    let same = json!({"disposition": admitted(2), "rendering": {"digest": var("digest"), "text": var("text")}});
    story.call("builder", READ, keyed.clone()).replayed(same);
    story.call("builder", READ, with(keyed, "/toolCallId", "call-2")).refused("idempotency-conflict", "OP-6");
    for (pointer, value) in [("/session", ""), ("/toolCallId", "call\u{202e}1")] {
        story
            .call("builder", READ, with(reading(number, 2, "call-3"), pointer, value))
            .error_at("params-invalid", pointer);
    }
    let proof = json!({"kind": "mcp-session", "session": "mcp-1", "toolCallId": "call-1"});
    let told = json!({"eventType": "context-admitted", "detail": {"evidenceDigest": digest(&proof), "how": "read"}});
    let events = json!([{"eventType": "message-durably-received"}, {"eventType": "receiver-decided"}, told]);
    story.call("builder", "audit.list", message(number)).ok(events);
    // What was prepared for a harness gives way.
    let other = story.accepted("suggest", 0);
    story.declare(profile());
    story.prepare(other, 1).keep("submission", "/submission/submissionId").ok(json!({}));
    story.call("builder", READ, reading(other, 1, "call-1")).ok(json!({"disposition": admitted(2)}));
    story.begin(1).error("not-visible").effects(json!([]));
    story
}

/// What was read is read again under today's authority, is recorded, and moves nothing.
fn read_again() -> Story {
    let mut story = Story::granted("what was read is read again", "peer");
    let number = story.accepted("suggest", 0);
    let keyed = with(reading(number, 1, "call-1"), "/idempotencyKey", "idem_read-1");
    story.call("builder", READ, keyed.clone()).keep("text", "/rendering/text").ok(json!({"disposition": admitted(2)}));
    let same = json!({"disposition": admitted(2), "rendering": {"text": var("text")}});
    for (caller, revision, call) in [("builder", 2, "call-2"), ("builder-w1", 1, "call-3")] {
        story.call(caller, READ, reading(number, revision, call)).ok(same.clone());
    }
    let again = json!([{"eventType": "context-read-again"}, {"eventType": "context-read-again"}]);
    let page = with(message(number), "/afterCursor", 3);
    story.call("builder", "audit.list", page).ok(again);
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({}));
    story.call("builder", READ, reading(number, 2, "call-4")).refused("policy-denied", "PO-3");
    story.call("builder", READ, keyed.clone()).refused("policy-denied", "PO-3");
    story.grant(grant("peer", 2));
    story.call("builder", READ, keyed).refused("policy-denied", "PO-3");
    let other = story.accepted("suggest", 0);
    let keyed = with(reading(other, 1, "call-1"), "/idempotencyKey", "idem_read-2");
    story.call("builder", READ, keyed.clone()).ok(json!({"disposition": admitted(2)}));
    let fail = with(message_at(other, 2), "/failureReason", "It was of no use.");
    story.call("builder", "messages.failDelivery", fail).ok(json!({"delivery": "failed"}));
    story.call("builder", READ, keyed).refused("state-conflict", "CX-7");
    story.call("builder", READ, reading(other, 3, "call-2")).refused("state-conflict", "CX-7");
    story
}

/// Missing and foreign look the same, and the sender's side has no part in it.
fn unseen() -> Story {
    let mut story = story("missing and foreign admissions look the same", "acp-session");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder", number, 1);
    story.call("stranger", "messages.getDisposition", message(99)).named("unseen").error("not-visible");
    for target in [number, 99] {
        for (method, params) in [
            (PREPARE, message_at(target, 1)),
            (CONFIRM, confirmation(target, 1, evidence("acp-session"))),
            (RECOVER, recovery(target, 1, "confirmed-not-admitted")),
            (READ, reading(target, 1, "call-1")),
        ] {
            for caller in ["stranger", "carol", "writer", "alice", "host"] {
                story.call(caller, method, params.clone()).error("not-visible").same_as("unseen");
            }
            // Only the receiver itself shows anything.
            if method != RECOVER {
                for caller in ["bob", "guard", "ops"] {
                    story.call(caller, method, params.clone()).error("not-visible").same_as("unseen");
                }
            }
        }
    }
    story
}

/// The sender learns that its message was put before a model, and nothing by which that could be told or acted on.
fn what_the_sender_learns() -> Story {
    let mut story = story("what the sender learns of an admission", "acp-session");
    let number = story.accepted("suggest", 0);
    admit(&mut story, "builder", number, 1);
    story.call("builder", CONFIRM, confirmation(number, 1, evidence("acp-session"))).ok(admitted(2));
    let page = with(message(number), "/afterCursor", 2);
    let shown = |it: Value| {
        json!([
            {"eventType": "context-admission-claimed", "detail": {
                "admissionTokenDigest": it, "adapterRefDigest": it, "renderingDigest": it, "expiresAt": it,
            }},
            {"eventType": "context-admitted", "detail": {
                "evidenceDigest": it, "renderingDigest": it, "renderingBytes": it, "how": it,
            }},
        ])
    };
    for caller in ["writer", "alice"] {
        story.call(caller, "audit.list", page.clone()).ok(shown(absent()));
    }
    for caller in ["builder", "bob", "guard", "ops"] {
        story.call(caller, "audit.list", page.clone()).ok(shown(not(json!(""))));
    }
    story
}
