//! The interfaces of both worlds.

use crate::Component;
use crate::codes::code;
use crate::exports::threadmesh::core::{attestation, canonical_json, types};
use alloc::{string::String, vec::Vec};
use threadmesh_protocol as protocol;

pub(crate) fn error(error: protocol::Error) -> types::Error {
    types::Error { code: code(error.code), pointer: error.pointer, detail: error.detail }
}

impl canonical_json::Guest for Component {
    fn canonicalize(text: String) -> Result<String, types::Error> {
        protocol::json::parse(&text).map(|tree| tree.canonical()).map_err(error)
    }

    fn digest(text: String) -> Result<String, types::Error> {
        protocol::json::parse(&text).map(|tree| tree.digest()).map_err(error)
    }

    fn parse_time(text: String) -> Result<f64, types::Error> {
        protocol::time::parse(&text).map(|ms| ms as f64).map_err(error)
    }
}

fn verdict(verdict: protocol::attestation::Verdict) -> attestation::Verdict {
    attestation::Verdict {
        attestation_id: verdict.attestation_id,
        key_id: verdict.key_id,
        algorithm: verdict.algorithm,
        actor_id: verdict.actor_id,
        trust_domain: verdict.trust_domain,
        policy_id: verdict.policy_id,
        signed_payload_digest: verdict.signed_payload_digest,
        subject: verdict.subject,
    }
}

impl attestation::Guest for Component {
    fn verify(
        document: String,
        anchors: String,
        expected: String,
        now: f64,
    ) -> Result<attestation::Verdict, types::Error> {
        protocol::attestation::verify(&document, &anchors, &expected, now).map(verdict).map_err(error)
    }

    fn check_anchors(anchors: String) -> Result<u32, types::Error> {
        protocol::attestation::check_anchors(&anchors).map_err(error)
    }

    fn verify_disposition(
        document: String,
        anchors: String,
        now: f64,
    ) -> Result<Vec<attestation::Verdict>, types::Error> {
        protocol::attestation::verify_disposition(&document, &anchors, now)
            .map(|verdicts| verdicts.into_iter().map(verdict).collect())
            .map_err(error)
    }
}
