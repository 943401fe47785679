//! Attestations that are signed here, with a key that protects nothing, and keys of arbitrary bytes.

use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value as Other, json};
use threadmesh_protocol::{
    attestation::{check_anchors, verify},
    documents::{self, verification_attestation::payload_digest},
    json, time,
};

/// The fixed start of a subjectPublicKeyInfo of Ed25519.
const ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A list with one anchor, whose key is whatever the bytes are. Whether it was taken.
pub(super) fn key(data: &[u8]) -> bool {
    let Some((head, der)) = data.split_first() else { return false };
    let algorithm = if head & 1 == 0 { "ed25519" } else { "ecdsa-p256-sha256" };
    // Half of them with the right start, so that the point is what is judged.
    let der = if head & 2 == 0 { der.to_vec() } else { [ED25519, der].concat() };
    let anchors = anchor(algorithm, &pem(&der), &json!({}));
    let loaded = check_anchors(&anchors);
    assert_eq!(loaded, check_anchors(&anchors));
    let text = String::from_utf8_lossy(data);
    assert!(verify(&text, &anchors, "{}", 0.0).is_err());
    assert_eq!(check_anchors(&text), check_anchors(&text));
    loaded.is_ok()
}

/// Whatever the document says, signed here and trusted here, verifies exactly if it is sound and trusted.
pub(super) fn sealed(document: &str) {
    let Ok(mut whole) = serde_json::from_str::<Other>(document) else { return };
    if !whole["proof"].is_object() || !whole["verifier"].is_object() {
        return;
    }
    let key = SigningKey::from_bytes(&[7; 32]);
    whole["proof"]["algorithm"] = "ed25519".into();
    let digest = with_digest(whole.clone()).and_then(|text| serde_json::from_str::<Other>(&text).ok());
    let Some(mut whole) = digest else { return };
    let message = whole["signedPayloadDigest"].as_str().unwrap_or_default().to_owned();
    whole["proof"]["signature"] = base64(&key.sign(message.as_bytes()).to_bytes(), URL, false).into();
    let text = whole.to_string();
    let der = [ED25519, key.verifying_key().as_bytes().as_slice()].concat();
    let anchors = anchor("ed25519", &pem(&der), &whole);
    let times = ["/verifiedAt", "/trustPolicy/decidedAt"]
        .map(|at| whole.pointer(at).and_then(Other::as_str).and_then(|text| time::parse(text).ok()).unwrap_or(0));
    let now = times[0].max(times[1]).max(0);
    let verdict = verify(&text, &anchors, "{}", now as f64);
    let sound = documents::check("verification-attestation", &text).is_ok();
    let trusted = whole["trustPolicy"]["decision"] == "trusted" && check_anchors(&anchors).is_ok();
    assert_eq!(verdict.is_ok(), sound && trusted, "{verdict:?}");
    // Another key of the same name vouches for nothing of this.
    let other = SigningKey::from_bytes(&[8; 32]);
    let der = [ED25519, other.verifying_key().as_bytes().as_slice()].concat();
    assert!(verify(&text, &anchor("ed25519", &pem(&der), &whole), "{}", now as f64).is_err());
}

/// The document with the digest of what it says now; nothing where it is no strict JSON.
pub(super) fn with_digest(mut whole: Other) -> Option<String> {
    let text = whole.to_string();
    let tree = json::parse(&text).ok()?;
    let digest = payload_digest(tree.root());
    whole["signedPayloadDigest"] = digest.into();
    Some(whole.to_string())
}

/// A list with one anchor, which trusts what `document` names.
fn anchor(algorithm: &str, pem: &str, document: &Other) -> String {
    let text = |pointer: &str| document.pointer(pointer).and_then(Other::as_str).unwrap_or("none");
    json!([{
        "keyId": text("/proof/keyId"),
        "algorithm": algorithm,
        "actorId": text("/verifier/actorId"),
        "trustDomain": text("/verifier/trustDomain"),
        "policyId": text("/trustPolicy/policyId"),
        "publicKeyPem": pem,
    }])
    .to_string()
}

fn pem(der: &[u8]) -> String {
    let text = base64(der, STANDARD, true);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

fn base64(bytes: &[u8], letters: &[u8; 64], padded: bool) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(char::from(letters[(bits >> (18 - 6 * place) & 63) as usize]));
            } else if padded {
                out.push('=');
            }
        }
    }
    out
}
