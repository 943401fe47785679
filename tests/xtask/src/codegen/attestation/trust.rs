//! Vectors of what comes before the signature: arguments, anchors that do not match, and time.

use super::{
    Expected, NOW, VERIFIED_AT, Vector,
    documents::{
        KEY_ID, P256_KEY_ID, anchor, anchors, attestation, p256_verifier, payload, proven, sealed, sealed_with,
        verifier, with,
    },
    keys::Signer,
    rules,
};
use serde_json::{Value, json};

/// The rules that a verified attestation passes.
pub(super) const VERIFIED: [std::ops::RangeInclusive<u32>; 2] = [1..=16, 18..=31];
const DENIED: &str = "verification-trust-denied";

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = arguments();
    all.extend(mismatches());
    all.extend(times());
    all.extend(precedence());
    all
}

/// A vector of `verify` without expected members.
pub(super) fn vector(
    name: impl Into<String>,
    rules: Vec<String>,
    document: &Value,
    anchors: &Value,
    now: impl Into<Value>,
    expected: Expected,
) -> Vector {
    let (document, anchors, now) = (document.to_string(), anchors.to_string(), now.into());
    let args = json!({"document": document, "anchors": anchors, "expected": "{}", "now": now});
    Vector { name: name.into(), rules, function: "verify", args, expected }
}

fn denied(name: &str, rule: u32, document: &Value, anchors: &Value, now: i64, pointer: &str) -> Vector {
    vector(name, rules([rule]), document, anchors, now, Expected::error(DENIED, pointer))
}

fn arguments() -> Vec<Vector> {
    let good = attestation();
    let mut all = Vec::new();
    for signed in [good.clone(), sealed(payload(), &p256_verifier(), P256_KEY_ID)] {
        let name = format!("verified: {}", signed["proof"]["algorithm"].as_str().unwrap_or_default());
        all.push(vector(name, rules(VERIFIED.into_iter().flatten()), &signed, &anchors(), NOW, proven(&signed)));
    }
    let timeless = json!([anchor(&verifier(), KEY_ID)]);
    let latest = 9_007_199_254_740_991_i64;
    all.push(vector("the last time there is", rules([1]), &good, &timeless, latest, proven(&good)));
    let misuse = || Expected::error("host-misuse", "");
    for now in [json!(1.5), json!(-1), json!(latest + 1), json!(1e300)] {
        all.push(vector(format!("now is {now}"), rules([1]), &good, &anchors(), now, misuse()));
    }
    all
}

/// Everything that must be the anchor's. The document stays as it was signed: the anchor or the proof differs.
fn mismatches() -> Vec<Vector> {
    let good = attestation();
    let own = |pointer: &str, value: &str| json!([with(anchor(&verifier(), KEY_ID), pointer, value)]);
    let rejected = sealed(with(payload(), "/trustPolicy/decision", "rejected"), &verifier(), KEY_ID);
    let others = with(good.clone(), "/proof/algorithm", "ecdsa-p256-sha256");
    let scoped = |types: Value| json!([with(anchor(&verifier(), KEY_ID), "/claimTypes", types)]);
    let in_scope = scoped(json!(["artifact-state", "external-effect"]));
    let mut all = vec![
        denied("no anchors", 18, &good, &json!([]), NOW, "/proof/keyId"),
        denied(
            "no anchor with that key id, though one with that key",
            18,
            &good,
            &own("/keyId", "https://verifier.example/keys/test-10"),
            NOW,
            "/proof/keyId",
        ),
        denied(
            "a key id that differs in case",
            18,
            &good,
            &own("/keyId", "https://VERIFIER.example/keys/test-1"),
            NOW,
            "/proof/keyId",
        ),
        denied(
            "an algorithm that is not the anchor's, though the key and the signature are",
            19,
            &others,
            &anchors(),
            NOW,
            "/proof/algorithm",
        ),
        denied("another actor", 20, &good, &own("/actorId", "verifier-service-2"), NOW, "/verifier/actorId"),
        denied("another trust domain", 21, &good, &own("/trustDomain", "example"), NOW, "/verifier/trustDomain"),
        denied("another policy", 22, &good, &own("/policyId", "policy-artifacts"), NOW, "/trustPolicy/policyId"),
        denied("a recorded decision that is not trusted", 23, &rejected, &anchors(), NOW, "/trustPolicy/decision"),
        denied(
            "a claim type that the anchor does not stand for",
            24,
            &good,
            &scoped(json!(["artifact-state"])),
            NOW,
            "/subject/claimType",
        ),
        vector("a claim type that the anchor stands for", rules([10, 24]), &good, &in_scope, NOW, proven(&good)),
    ];
    let composed = with(payload(), "/verifier/actorId", "v\u{e9}rifier");
    let anchor = json!([with(anchor(&verifier(), KEY_ID), "/actorId", "ve\u{301}rifier")]);
    let signed = sealed(composed, &verifier(), KEY_ID);
    all.push(denied(
        "an actor that differs in Unicode normalization only",
        20,
        &signed,
        &anchor,
        NOW,
        "/verifier/actorId",
    ));
    all
}

fn times() -> Vec<Vector> {
    let good = attestation();
    let list = |members: &[(&str, &str)]| {
        json!([members.iter().fold(anchor(&verifier(), KEY_ID), |anchor, (name, time)| with(
            anchor,
            &format!("/{name}"),
            *time
        ))])
    };
    let ok = |name: &str, rule: u32, anchors: Value, now: i64| {
        vector(name, rules([rule]), &good, &anchors, now, proven(&good))
    };
    let no = |name: &str, rule: u32, anchors: Value, now: i64, pointer: &str| {
        denied(name, rule, &good, &anchors, now, pointer)
    };
    let later = sealed(with(payload(), "/trustPolicy/decidedAt", "2026-03-01T12:01:05.001Z"), &verifier(), KEY_ID);
    let at_skew = sealed(with(payload(), "/trustPolicy/decidedAt", "2026-03-01T12:01:05.000Z"), &verifier(), KEY_ID);
    vec![
        ok("verified in the first instant of the window", 25, list(&[("notBefore", "2026-03-01T12:00:00Z")]), NOW),
        no("verified before the window", 25, list(&[("notBefore", "2026-03-01T12:00:00.001Z")]), NOW, "/verifiedAt"),
        ok("judged in the last instant of the window", 26, list(&[("notAfter", "2026-03-01T12:01:00.001Z")]), NOW),
        no(
            "verified at the end of the window, judged before it",
            25,
            list(&[("notAfter", "2026-03-01T12:00:00Z")]),
            VERIFIED_AT - 1000,
            "/verifiedAt",
        ),
        no("judged at the end of the window", 26, list(&[("notAfter", "2026-03-01T12:01:00Z")]), NOW, "/proof/keyId"),
        no(
            "judged before the window",
            26,
            list(&[("notBefore", "2026-03-01T12:00:00Z")]),
            VERIFIED_AT - 1,
            "/proof/keyId",
        ),
        ok(
            "judged in the last instant before a revocation",
            27,
            list(&[("revokedAt", "2026-03-01T12:01:00.001Z")]),
            NOW,
        ),
        no(
            "judged in the instant of a revocation",
            27,
            list(&[("revokedAt", "2026-03-01T12:01:00Z")]),
            NOW,
            "/proof/keyId",
        ),
        no(
            "verified long before a revocation, judged after it",
            27,
            list(&[("revokedAt", "2026-03-01T13:00:00Z")]),
            NOW + 86_400_000,
            "/proof/keyId",
        ),
        ok("verified later than now, within the skew", 28, anchors(), VERIFIED_AT + 25_000),
        no("verified later than now", 28, anchors(), VERIFIED_AT - 5001, "/verifiedAt"),
        no("verified within the skew, decided later", 28, anchors(), VERIFIED_AT - 5000, "/trustPolicy/decidedAt"),
        vector("decided later than now, within the skew", rules([28]), &at_skew, &anchors(), NOW, proven(&at_skew)),
        denied("decided later than now", 28, &later, &anchors(), NOW, "/trustPolicy/decidedAt"),
    ]
}

/// Which of two faults is reported.
fn precedence() -> Vec<Vector> {
    let good = attestation();
    let wrong = sealed_with(payload(), "ed25519", KEY_ID, &"A".repeat(86));
    let elsewhere = json!([with(anchor(&verifier(), KEY_ID), "/trustDomain", "example")]);
    let broken = json!([anchor(&verifier(), KEY_ID), {}]);
    let unsealed = with(good.clone(), "/signedPayloadDigest", super::documents::digest("something else"));
    let invalid = || Expected::error("anchor-invalid", "/1/keyId");
    let mut all = vec![
        vector("a bad time before bad anchors", rules([1]), &good, &broken, 1.5, Expected::error("host-misuse", "")),
        vector("a bad anchor that is not needed", rules([5]), &good, &broken, NOW, invalid()),
        vector("bad anchors before a bad document", rules([5]), &json!({}), &broken, NOW, invalid()),
        denied("denied trust before a bad signature", 21, &wrong, &elsewhere, NOW, "/verifier/trustDomain"),
    ];
    let code = "verification-attestation-invalid";
    all.push(vector(
        "a digest that does not recompute before denied trust",
        vec!["VA-1".into()],
        &unsealed,
        &elsewhere,
        NOW,
        Expected::error(code, "/signedPayloadDigest"),
    ));
    let adapter = sealed(with(payload(), "/verifier/actorType", "adapter"), &verifier(), KEY_ID);
    all.push(vector(
        "an adapter verifies nothing",
        vec!["SH-5".into()],
        &adapter,
        &anchors(),
        NOW,
        Expected::error(code, "/verifier/actorType"),
    ));
    let stranger = sealed(payload(), &Signer::ed25519("stranger"), KEY_ID);
    all.push(vector(
        "a signature by a key that no anchor has",
        rules([30]),
        &stranger,
        &anchors(),
        NOW,
        Expected::error("verification-proof-invalid", "/proof/signature"),
    ));
    all
}
