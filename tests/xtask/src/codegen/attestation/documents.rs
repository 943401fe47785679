//! Attestations, anchors and dispositions to vary.

use super::{
    Expected,
    keys::{self, Signer},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(super) const KEY_ID: &str = "https://verifier.example/keys/test-1";
pub(super) const P256_KEY_ID: &str = "https://verifier.example/keys/test-2";

/// The text and digest of the RFC 8785 form: these documents hold ASCII names and no numbers but small integers, for
/// which sorted members and no white space are all there is to it.
pub(in crate::codegen) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            let each = members.iter().map(|(name, value)| format!("{}:{}", json!(name), canonical(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

pub(in crate::codegen) fn digest(bytes: impl AsRef<[u8]>) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// What an attestation says, without its digest and proof.
pub(super) fn payload() -> Value {
    json!({
        "specVersion": "0.0-draft",
        "attestationId": "att_vector-0001",
        "verifier": {
            "actorType": "service",
            "actorId": "verifier-service",
            "authenticationId": "authn_verifier-01",
            "trustDomain": "verifier.example"
        },
        "subject": {
            "messageId": "msg_vector-0001",
            "senderIncarnationId": "inc_sender-0001",
            "receiver": {"taskId": "task-receiver", "incarnationId": "inc_receiver-0001"},
            "claimType": "external-effect",
            "claimDigest": digest("claim")
        },
        "method": "direct-resource-query",
        "evidenceDigest": digest("evidence"),
        "verifiedAt": "2026-03-01T12:00:00Z",
        "trustPolicy": {
            "policyId": "policy-external-effects",
            "decisionId": "decision_vector-01",
            "decision": "trusted",
            "decidedAt": "2026-03-01T12:00:30.000Z"
        }
    })
}

/// `base` with the value at a JSON Pointer replaced, or its last member added.
pub(super) fn with(mut base: Value, pointer: &str, value: impl Into<Value>) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a member");
    base.pointer_mut(parent).expect("the parent exists")[name] = value.into();
    base
}

/// The payload with its digest and a proof of `signature` in base64url.
pub(super) fn sealed_with(payload: Value, algorithm: &str, key_id: &str, signature: &str) -> Value {
    let digest = digest(canonical(&payload));
    let proof = json!({"algorithm": algorithm, "keyId": key_id, "signature": signature});
    with(with(payload, "/signedPayloadDigest", digest), "/proof", proof)
}

/// The payload signed: the signature is over the text of the digest.
pub(super) fn sealed(payload: Value, signer: &Signer, key_id: &str) -> Value {
    let signature = keys::base64url(&signer.sign(message(&payload).as_bytes()));
    sealed_with(payload, signer.algorithm(), key_id, &signature)
}

/// What is signed.
pub(super) fn message(payload: &Value) -> String {
    digest(canonical(payload))
}

/// The Ed25519 key that the vectors trust.
pub(super) fn verifier() -> Signer {
    Signer::ed25519("verifier")
}

/// The P-256 key that the vectors trust.
pub(super) fn p256_verifier() -> Signer {
    Signer::p256("verifier")
}

/// An anchor for a key.
pub(super) fn anchor(signer: &Signer, key_id: &str) -> Value {
    json!({
        "keyId": key_id,
        "algorithm": signer.algorithm(),
        "actorId": "verifier-service",
        "trustDomain": "verifier.example",
        "policyId": "policy-external-effects",
        "publicKeyPem": keys::pem(&signer.spki())
    })
}

/// The list of both trusted keys.
pub(super) fn anchors() -> Value {
    json!([anchor(&verifier(), KEY_ID), anchor(&p256_verifier(), P256_KEY_ID)])
}

/// A sealed attestation by the trusted Ed25519 key.
pub(super) fn attestation() -> Value {
    sealed(payload(), &verifier(), KEY_ID)
}

/// The verdict on a sealed attestation, by an anchor of [`anchors`].
pub(super) fn verdict(attestation: &Value) -> Value {
    json!({
        "attestationId": attestation["attestationId"],
        "keyId": attestation["proof"]["keyId"],
        "algorithm": attestation["proof"]["algorithm"],
        "actorId": "verifier-service",
        "trustDomain": "verifier.example",
        "policyId": "policy-external-effects",
        "signedPayloadDigest": attestation["signedPayloadDigest"],
        "subject": canonical(&attestation["subject"])
    })
}

/// That the attestation verifies.
pub(super) fn proven(attestation: &Value) -> Expected {
    Expected::Ok(verdict(attestation))
}

/// A disposition whose outcome rests on `attestations`.
pub(super) fn disposition(attestations: &[Value]) -> Value {
    json!({
        "specVersion": "0.0-draft",
        "dispositionId": "dsp_vector-0001",
        "messageId": "msg_vector-0001",
        "receiver": {"taskId": "task-receiver", "incarnationId": "inc_receiver-0001"},
        "revision": 4,
        "delivery": {"state": "adapter-submitted", "observedAt": "2026-03-01T11:59:00Z"},
        "decision": {
            "state": "accepted",
            "decidedAt": "2026-03-01T11:58:00Z",
            "decidedBy": {"actorType": "user", "actorId": "owner"},
            "reasonCode": "accepted"
        },
        "outcome": {
            "state": "externally-verified",
            "observedAt": "2026-03-01T12:00:40Z",
            "evidenceRefs": ["https://verifier.example/evidence/1"],
            "verificationAttestations": attestations
        },
        "updatedAt": "2026-03-01T12:00:41Z"
    })
}
