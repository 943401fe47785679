//! Vectors of what the caller expects the attestation to be about.

use super::{
    Expected, NOW, Vector,
    documents::{KEY_ID, anchors, attestation, digest, payload, proven, sealed, verifier, with},
    rules,
};
use serde_json::{Value, json};

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = matches();
    all.extend(mismatches());
    all.extend(misuse());
    all
}

fn vector(
    name: impl Into<String>,
    rule: Vec<String>,
    document: &Value,
    wanted: impl Into<String>,
    expected: Expected,
) -> Vector {
    let (document, anchors, wanted) = (document.to_string(), anchors().to_string(), wanted.into());
    let args = json!({"document": document, "anchors": anchors, "expected": wanted, "now": NOW});
    Vector { name: name.into(), rules: rule, function: "verify", args, expected }
}

/// Everything that can be expected, as the attestation has it.
fn all_members() -> Value {
    json!({
        "messageId": "msg_vector-0001",
        "senderIncarnationId": "inc_sender-0001",
        "receiver": {"taskId": "task-receiver", "incarnationId": "inc_receiver-0001"},
        "claimType": "external-effect",
        "claimDigest": digest("claim"),
        "evidenceDigest": digest("evidence")
    })
}

fn matches() -> Vec<Vector> {
    let good = attestation();
    let labelled = sealed(with(payload(), "/subject/receiver/harness", "codex"), &verifier(), KEY_ID);
    let ok = |name: &str, document: &Value, wanted: Value| {
        vector(name, rules([2, 31]), document, wanted.to_string(), proven(document))
    };
    let mut all = vec![
        ok("everything expected and found", &good, all_members()),
        ok("the receiver, whatever its harness", &labelled, all_members()),
    ];
    for (name, value) in all_members().as_object().into_iter().flatten() {
        all.push(ok(&format!("{name} alone"), &good, json!({name: value})));
    }
    all
}

fn mismatches() -> Vec<Vector> {
    let mismatch = |name: &str, wanted: Value, pointer: &str| {
        let expected = Expected::error("verification-subject-mismatch", pointer);
        vector(name, rules([31]), &attestation(), wanted.to_string(), expected)
    };
    let mut all = Vec::new();
    for (wanted, value, pointer) in [
        ("/messageId", json!("msg_vector-0002"), "/subject/messageId"),
        ("/senderIncarnationId", json!("inc_sender-0002"), "/subject/senderIncarnationId"),
        ("/receiver/taskId", json!("task-other"), "/subject/receiver/taskId"),
        ("/receiver/incarnationId", json!("inc_receiver-0002"), "/subject/receiver/incarnationId"),
        ("/claimType", json!("artifact-state"), "/subject/claimType"),
        ("/claimDigest", json!(digest("another claim")), "/subject/claimDigest"),
        ("/claimDigest", json!(digest("claim").to_uppercase()), "/subject/claimDigest"),
        ("/claimDigest", json!(""), "/subject/claimDigest"),
        ("/evidenceDigest", json!(digest("claim")), "/evidenceDigest"),
    ] {
        let name = format!("another {}: {value}", wanted.trim_start_matches('/'));
        all.push(mismatch(&name, with(all_members(), wanted, value), pointer));
    }
    let two = json!({"claimDigest": digest("x"), "messageId": "msg_vector-0002"});
    all.push(mismatch("two faults: the message comes first", two, "/subject/messageId"));
    all
}

fn misuse() -> Vec<Vector> {
    let fault = |name: &str, text: &str, pointer: &str| {
        vector(name, rules([2]), &attestation(), text, Expected::error("host-misuse", pointer))
    };
    let of = |value: Value| value.to_string();
    let receiver = |value: Value| of(with(all_members(), "/receiver", value));
    vec![
        fault("expected is no text", "", ""),
        fault("expected is a list", "[]", ""),
        fault("expected is null", "null", ""),
        fault("a member twice", r#"{"messageId":"msg_vector-0001","messageId":"msg_vector-0001"}"#, "/messageId"),
        fault("a misspelt member", &of(json!({"messageID": "msg_vector-0001"})), "/messageID"),
        fault("a member that is null", &of(json!({"messageId": null})), "/messageId"),
        fault("a member that is a number", &of(json!({"claimDigest": 1})), "/claimDigest"),
        fault("a receiver that is a string", &receiver(json!("task-receiver")), "/receiver"),
        fault("half a receiver", &receiver(json!({"taskId": "task-receiver"})), "/receiver"),
        fault(
            "a receiver with a harness",
            &receiver(json!({"taskId": "task-receiver", "incarnationId": "inc_receiver-0001", "harness": "codex"})),
            "/receiver",
        ),
        fault(
            "a receiver with another member",
            &receiver(json!({"taskId": "task-receiver", "incarnation": "x"})),
            "/receiver/incarnation",
        ),
    ]
}
