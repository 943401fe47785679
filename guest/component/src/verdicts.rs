//! Errors and verdicts across the boundary, one to one; in both worlds, and for the rules without the sandbox.

use crate::codes::code;
use crate::{Error, Verdict};
use threadmesh_protocol as protocol;

pub(crate) fn error(error: protocol::Error) -> Error {
    Error { code: code(error.code), pointer: error.pointer, detail: error.detail }
}

pub(crate) fn verdict(verdict: protocol::attestation::Verdict) -> Verdict {
    Verdict {
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
