//! Every vector of `spec/conformance/attestation/`, natively and without a driver.

use super::{Verdict, check_anchors, verify, verify_disposition};
use crate::Error;
use crate::json::{self, Value};
use std::format;
use std::string::String;
use std::vec::Vec;

/// The files are larger than a document may be.
const LIMITS: json::Limits = json::Limits { bytes_max: 1 << 24, depth_max: 8, members_max: 1 << 20 };

/// The answer as canonical JSON.
fn call(vector: Value<'_>) -> Result<String, Error> {
    let args = vector.get("args").unwrap();
    let text = |name: &str| args.get(name).and_then(|arg| arg.as_str()).unwrap();
    let now = || args.get("now").and_then(|arg| arg.as_f64()).unwrap();
    match vector.get("function").and_then(|function| function.as_str()).unwrap() {
        "check-anchors" => check_anchors(text("anchors")).map(|count| format!("{count}")),
        "verify" => verify(text("document"), text("anchors"), text("expected"), now()).map(|verdict| shown(&verdict)),
        "verify-disposition" => {
            let verdicts = verify_disposition(text("document"), text("anchors"), now())?;
            Ok(format!("[{}]", verdicts.iter().map(shown).collect::<Vec<_>>().join(",")))
        }
        other => panic!("no function {other}"),
    }
}

fn shown(verdict: &Verdict) -> String {
    let mut members = [
        ("attestationId", &verdict.attestation_id),
        ("keyId", &verdict.key_id),
        ("algorithm", &verdict.algorithm),
        ("actorId", &verdict.actor_id),
        ("trustDomain", &verdict.trust_domain),
        ("policyId", &verdict.policy_id),
        ("signedPayloadDigest", &verdict.signed_payload_digest),
        ("subject", &verdict.subject),
    ];
    members.sort_by_key(|(name, _)| *name);
    let each = members.iter().map(|(name, value)| format!("\"{name}\":{}", serde_json::to_string(value).unwrap()));
    format!("{{{}}}", each.collect::<Vec<_>>().join(","))
}

/// Runs a file: how many vectors accept and reject.
fn run(file: &str) -> (usize, usize) {
    let tree = json::parse_with(file, &LIMITS, false).unwrap();
    let (mut accepting, mut rejecting, mut wrong) = (0, 0, Vec::new());
    for vector in tree.root().get("vectors").unwrap().items() {
        let name = vector.get("name").and_then(|name| name.as_str()).unwrap();
        match (call(vector), vector.get("ok"), vector.get("error")) {
            (Ok(answer), Some(expected), None) if answer == expected.canonical() => accepting += 1,
            (Err(error), None, Some(expected)) if matches(&error, expected, vector) => rejecting += 1,
            (got, ..) => wrong.push(format!("{name}: {got:?}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    (accepting, rejecting)
}

fn matches(error: &Error, expected: Value<'_>, vector: Value<'_>) -> bool {
    let part = |name: &str| expected.get(name).and_then(|part| part.as_str());
    let rules: Vec<&str> = vector.get("rules").unwrap().items().filter_map(|rule| rule.as_str()).collect();
    part("code") == Some(error.code.name())
        && part("pointer") == Some(error.pointer.as_str())
        && rules.iter().any(|rule| error.detail.starts_with(&format!("{rule}:")))
}

#[test]
fn anchors() {
    let (accepting, rejecting) = run(include_str!("../../../../spec/conformance/attestation/anchors.json"));
    assert!(accepting > 5 && rejecting > 100);
}

#[test]
fn trust() {
    run(include_str!("../../../../spec/conformance/attestation/trust.json"));
}

#[test]
fn signatures() {
    run(include_str!("../../../../spec/conformance/attestation/signatures.json"));
}

#[test]
fn subjects() {
    run(include_str!("../../../../spec/conformance/attestation/subjects.json"));
}

#[test]
fn dispositions() {
    run(include_str!("../../../../spec/conformance/attestation/dispositions.json"));
}

#[test]
fn a_time_that_is_no_number_is_misuse() {
    for now in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5] {
        assert_eq!(verify("", "", "", now).unwrap_err().code, crate::Code::HostMisuse);
        assert_eq!(verify_disposition("", "", now).unwrap_err().code, crate::Code::HostMisuse);
    }
}
