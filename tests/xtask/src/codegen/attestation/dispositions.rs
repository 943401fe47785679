//! Vectors of dispositions whose outcome rests on attestations.

use super::{
    Expected, NOW, Vector,
    documents::{
        KEY_ID, P256_KEY_ID, anchors, attestation, disposition, p256_verifier, payload, sealed, verdict, verifier, with,
    },
    keys::{Signer, base64url},
    rules,
};
use p256::ecdsa::Signature;
use serde_json::{Value, json};

const LIST: &str = "/outcome/verificationAttestations";

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = accepted();
    all.extend(refused());
    all.extend(inconsistent());
    all
}

fn vector(name: &str, rules: Vec<String>, document: &Value, anchors: &Value, expected: Expected) -> Vector {
    let args = json!({"document": document.to_string(), "anchors": anchors.to_string(), "now": NOW});
    Vector { name: name.into(), rules, function: "verify-disposition", args, expected }
}

/// A second attestation of the same, by the other key.
fn second() -> Value {
    sealed(with(payload(), "/attestationId", "att_vector-0002"), &p256_verifier(), P256_KEY_ID)
}

fn accepted() -> Vec<Vector> {
    let verdicts = |attestations: &[Value]| Expected::Ok(attestations.iter().map(verdict).collect());
    let one = [attestation()];
    let two = [attestation(), second()];
    let labelled = with(disposition(&one), "/receiver/harness", "codex");
    vec![
        vector(
            "one attestation",
            rules((1..=30).filter(|rule| *rule != 2)),
            &disposition(&one),
            &anchors(),
            verdicts(&one),
        ),
        vector("two attestations by two keys", rules([17, 32]), &disposition(&two), &anchors(), verdicts(&two)),
        vector("a receiver with a harness, which is a label", rules([17]), &labelled, &anchors(), verdicts(&one)),
    ]
}

fn refused() -> Vec<Vector> {
    let good = disposition(&[attestation()]);
    let at = |number: usize, pointer: &str| format!("{LIST}/{number}{pointer}");
    let stranger = sealed(payload(), &Signer::ed25519("stranger"), KEY_ID);
    let mut observed = with(good.clone(), "/outcome/state", "effect-observed");
    let unproven = || Expected::error("verification-proof-invalid", at(1, "/proof/signature"));
    let renamed = |signed: Value| with(signed, "/attestationId", "att_vector-0002");
    let bad_second = sealed(renamed(payload()), &Signer::ed25519("stranger"), KEY_ID);
    let denied = Expected::error("verification-trust-denied", at(0, "/proof/keyId"));
    let state = || Expected::error("disposition-not-externally-verified", "/outcome/state");
    let mut all = vec![
        vector("no anchors", rules([18]), &good, &json!([]), denied),
        vector("attestations on an outcome that is only observed", rules([17]), &observed, &anchors(), state()),
        vector(
            "the signature of a stranger",
            rules([30]),
            &disposition(&[stranger]),
            &anchors(),
            Expected::error("verification-proof-invalid", at(0, "/proof/signature")),
        ),
        vector(
            "one good attestation does not cover for a bad one",
            rules([30]),
            &disposition(&[attestation(), bad_second]),
            &anchors(),
            unproven(),
        ),
        vector(
            "bad anchors before a bad document",
            rules([5]),
            &json!({}),
            &json!([{}]),
            Expected::error("anchor-invalid", "/0/keyId"),
        ),
    ];
    observed["outcome"].as_object_mut().expect("an object").remove("verificationAttestations");
    all.push(vector(
        "no attestations on an outcome that is only observed",
        rules([17]),
        &observed,
        &anchors(),
        state(),
    ));
    let invalid = |pointer: &str| Expected::error("disposition-invalid", pointer);
    let mut bare = good;
    bare["outcome"].as_object_mut().expect("an object").remove("verificationAttestations");
    all.push(vector(
        "externally verified by evidence references alone",
        vec!["DI-6".into()],
        &bare,
        &anchors(),
        invalid("/outcome/verificationAttestations"),
    ));
    for (name, rule, pointer, value, fault) in [
        ("about another message", "DI-11", "/subject/messageId", "msg_vector-0002", "/subject/messageId"),
        ("about another receiver", "DI-12", "/subject/receiver/taskId", "task-other", "/subject/receiver"),
        (
            "about another incarnation of the receiver",
            "DI-12",
            "/subject/receiver/incarnationId",
            "inc_receiver-0002",
            "/subject/receiver",
        ),
    ] {
        let signed = sealed(with(payload(), pointer, value), &verifier(), KEY_ID);
        all.push(vector(name, vec![rule.into()], &disposition(&[signed]), &anchors(), invalid(&at(0, fault))));
    }
    all
}

fn inconsistent() -> Vec<Vector> {
    let at = |pointer: &str| format!("{LIST}/1{pointer}");
    let repeated = || Expected::error("disposition-invalid", at("/attestationId"));
    let other_claim = with(payload(), "/subject/claimType", "artifact-state");
    let by_p256 = sealed(payload(), &p256_verifier(), P256_KEY_ID);
    let other_sender =
        with(with(payload(), "/attestationId", "att_vector-0002"), "/subject/senderIncarnationId", "inc_sender-0002");
    let mismatch = Expected::error("disposition-invalid", at("/subject/senderIncarnationId"));
    let list = |second: Value| disposition(&[attestation(), second]);
    let (first, twin) = twins();
    vec![
        vector("the same attestation twice", rules([32]), &list(attestation()), &anchors(), repeated()),
        vector("one payload under two keys", rules([32]), &list(by_p256), &anchors(), repeated()),
        vector(
            "one payload under two signatures of one P-256 key",
            rules([32]),
            &disposition(&[first, twin]),
            &anchors(),
            repeated(),
        ),
        vector(
            "two payloads under one id",
            rules([32]),
            &list(sealed(other_claim, &verifier(), KEY_ID)),
            &anchors(),
            repeated(),
        ),
        vector(
            "two senders",
            vec!["DI-13".into()],
            &list(sealed(other_sender, &verifier(), KEY_ID)),
            &anchors(),
            mismatch,
        ),
    ]
}

/// One payload with a P-256 signature, and with its malleated twin.
fn twins() -> (Value, Value) {
    let signer = p256_verifier();
    let sealed = |signature: Signature| {
        super::documents::sealed_with(
            payload(),
            signer.algorithm(),
            P256_KEY_ID,
            &base64url(signature.to_der().as_bytes()),
        )
    };
    let low = signer.sign_p256(super::documents::message(&payload()).as_bytes()).normalize_s();
    let high = Signature::from_scalars(low.r(), -low.s()).expect("both are in range");
    (sealed(low), sealed(high))
}
